"""Stored contents: for how many days events keep args and results, who may see them, and what is redacted in them."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models, transaction

from analytics.events.redaction_patterns import PatternName
from audit import audit_log
from audit.models import AuditEntry
from core.background.poller import PolledQuery, Row

AUDIT_KIND = "contents"
LOCAL_DAYS = 7  # with which a gateway started by `make run` begins
ALL_PATTERNS = tuple(str(each) for each in PatternName)


class StoredContents(models.Model):
    """The one row that says what is stored of args and results; migrate creates it. Without it, nothing is stored."""

    class SeenBy(models.TextChoices):
        VIEWERS = "viewers", "everyone who can see events"
        MANAGERS = "managers", "people who can change this page"

    PK = 1
    id = models.PositiveSmallIntegerField(primary_key=True, default=PK, editable=False)
    days = models.PositiveSmallIntegerField(
        "days to keep them",
        default=0,
        help_text="Args, results and words of searches older than this are deleted within ten minutes. 0: store none.",
    )
    seen_by = models.CharField(
        "who may see them",
        max_length=10,
        choices=SeenBy,
        default=SeenBy.VIEWERS,
        help_text="In the console. A key with the scope events reads what is stored of its client's calls.",
    )
    redacted = models.JSONField(
        "what is redacted",
        default=list,
        blank=True,
        help_text="In texts, before they are stored. What a schema marks as secret is never stored.",
    )

    class Meta:
        verbose_name = verbose_name_plural = "stored contents"
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="stored_contents_is_one_row")]

    def __str__(self) -> str:
        return "settings"

    def list_audit_values(self) -> dict[str, Any]:
        """Return what the audit log compares."""
        return {"days": self.days, "seen_by": self.seen_by, "redacted": self.redacted}

    def clean(self) -> None:
        """Raise ValidationError for more days than GATEWAY_CONTENT_DAYS allows, or an unknown pattern."""
        if self.days > settings.GATEWAY_CONTENT_DAYS:
            raise ValidationError(
                {"days": f"Enter at most {settings.GATEWAY_CONTENT_DAYS}, or raise GATEWAY_CONTENT_DAYS."}
            )
        if not isinstance(self.redacted, list) or not set(self.redacted) <= set(ALL_PATTERNS):
            raise ValidationError({"redacted": f"Choose from {', '.join(ALL_PATTERNS)}."})


@dataclass(frozen=True, slots=True)
class ContentRules:
    """The row as every call reads it."""

    days: int = 0
    is_for_managers: bool = False
    redacted: tuple[str, ...] = ALL_PATTERNS


def begin_locally(*, by: str, at: datetime) -> None:
    """Store contents for LOCAL_DAYS, unless somebody has chosen or GATEWAY_CONTENT_DAYS allows fewer."""
    with transaction.atomic():
        row = StoredContents.objects.select_for_update().filter(pk=StoredContents.PK).first()
        if row is None or AuditEntry.objects.filter(kind=AUDIT_KIND).exists():
            return
        before = row.list_audit_values()
        row.days = min(LOCAL_DAYS, settings.GATEWAY_CONTENT_DAYS)
        row.save()
        audit_log.record_change(AUDIT_KIND, str(row), before, row.list_audit_values(), by=by, at=at)


def get_rules() -> ContentRules:
    """Return the rules as this process knows them, without a query. Before the first poll nothing is stored."""
    rules = _rules or ContentRules()
    limit: int = settings.GATEWAY_CONTENT_DAYS
    return rules if rules.days <= limit else ContentRules(limit, rules.is_for_managers, rules.redacted)


def refresh_rules() -> None:
    """Read the rules from the database. One query."""
    global _rules
    rows = _query.fetch_rows()
    _rules = _build_rules(rows[0]) if rows else ContentRules()


def clear_rules() -> None:
    """Clear the cache, for tests."""
    global _rules
    _rules = None


def _build_rules(row: Row) -> ContentRules:
    days, seen_by, redacted = row
    return ContentRules(days, seen_by == StoredContents.SeenBy.MANAGERS, tuple(json.loads(redacted)))


_rules: ContentRules | None = None
_query = PolledQuery(lambda: StoredContents.objects.values_list("days", "seen_by", "redacted")[:1])
