"""Who got in, and what changed, on the home page: what an auditor looks at first."""

from datetime import timedelta
from typing import Any

from axes.models import AccessAttempt
from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils import timezone

from analytics import audit_text
from analytics.models import AuditEntry
from gateway.models import ApiKey

EXPIRES_SOON = timedelta(days=14)
LONG_UNUSED = timedelta(days=90)
MAX_KEYS = 5
MAX_ENTRIES = 6


def build_access(_: HttpRequest) -> dict[str, Any]:
    """Return failed sign-ins, keys to look at with the reason, and the newest entries of the audit log."""
    at = timezone.now()
    entries = AuditEntry.objects.exclude(kind=AuditEntry.Kind.SIGN_IN)[:MAX_ENTRIES]
    return {
        "failed_sign_ins": AccessAttempt.objects.count(),
        "expiring": list(_usable_keys().filter(expires_at__gt=at, expires_at__lt=at + EXPIRES_SOON)[:MAX_KEYS]),
        "unused": list(
            _usable_keys()
            .annotate(used_at=Coalesce(F("last_used_at"), F("created_at")))
            .filter(Q(expires_at=None) | Q(expires_at__gt=at), used_at__lt=at - LONG_UNUSED)[:MAX_KEYS]
        ),
        "unused_days": LONG_UNUSED.days,
        "entries": [(entry, audit_text.describe_entry(entry)) for entry in entries],
    }


def _usable_keys() -> Any:
    return ApiKey.objects.filter(revoked_at=None).select_related("client").order_by("expires_at", "pk")
