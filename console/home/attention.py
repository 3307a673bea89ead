"""What needs attention on the home page: access, copy, failing ops, and links to them."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from axes.models import AccessAttempt
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from analytics import reports
from analytics.events import problems
from analytics.events.event_filters import CountedAs
from analytics.reports import FailingOpFigures, totals
from analytics.reports.report_filter import ReportFilter
from audit import audit_log
from audit.models import AuditEntry
from console import diff_view
from console.access.audit_log import filter_visible
from console.reports.parts import report_query
from gateway.models import ApiKey
from registry.models import Activation, Op, Release
from registry.releases import stored_releases, unpublished
from registry.reviews import requests, scheduling
from registry.snapshot.copy_kinds import Kind

EXPIRES_SOON = timedelta(days=14)
LONG_UNUSED = timedelta(days=90)
MAX_KEYS = 5
MAX_ENTRIES = 6
MAX_NAMED_OPS = 5


def build_access(request: HttpRequest) -> dict[str, Any]:
    """Return failed sign-ins, keys to look at with the reason, and the newest entries of the audit log."""
    at = timezone.now()
    entries = list(filter_visible(AuditEntry.objects.exclude(kind="sign_in"), request)[:MAX_ENTRIES])
    releases = stored_releases.map_short_names(audit_log.find_versions(entries))
    failed_sign_ins = AccessAttempt.objects.count()
    expiring = list(_usable_keys().filter(expires_at__gt=at, expires_at__lt=at + EXPIRES_SOON)[:MAX_KEYS])
    return {
        "is_urgent": bool(failed_sign_ins or expiring),
        "failed_sign_ins": failed_sign_ins,
        "expiring": expiring,
        "unused": list(
            _usable_keys()
            .annotate(used_at=Coalesce(F("last_used_at"), F("created_at")))
            .filter(Q(expires_at=None) | Q(expires_at__gt=at), used_at__lt=at - LONG_UNUSED)[:MAX_KEYS]
        ),
        "unused_days": LONG_UNUSED.days,
        "entries": [(entry, audit_log.describe_entry(entry, releases)) for entry in entries],
    }


def _usable_keys() -> Any:
    return ApiKey.objects.filter(revoked_at=None).select_related("client").order_by("expires_at", "pk")


class NamedLink(NamedTuple):
    """A name and the URL of its page; "" if it has none."""

    name: str
    link: str


def map_op_urls(names: Iterable[str]) -> dict[str, str]:
    """Return the URL of each op's page by op name."""
    rows = Op.objects.filter(op__in=list(names)).values_list("op", "pk")
    return {op: reverse("admin:registry_op_change", args=[pk]) for op, pk in rows}


def build_unpublished(request: HttpRequest) -> dict[str, Any]:
    """Return how many entries of copy differ from the live release, and the first of their ops."""
    names = unpublished.find_unpublished_names()
    total = sum(map(len, names.values()))
    first = sorted(names[Kind.OP])[:MAX_NAMED_OPS]
    pages = map_op_urls(first)
    schedules, failed_schedule = scheduling.list_waiting(), scheduling.get_last_failed()
    reviews = requests.describe_open_reviews(
        user=str(request.user), may_decide=request.user.has_perm("registry.add_release")
    )
    needs_somebody = bool(total or schedules or failed_schedule or reviews)
    return {
        "is_urgent": needs_somebody,
        "is_quiet": not needs_somebody,
        "change_counts": diff_view.format_counts({kind: len(changed) for kind, changed in names.items()}),
        "total": total,
        "may_edit": request.user.has_perm("registry.change_op"),
        "first": [NamedLink(op, pages.get(op, "")) for op in first],
        "more": total - len(first) if first else 0,
        "schedules": schedules,
        "failed_schedule": failed_schedule,
        "reviews": reviews,
    }


def build_live_release(_: HttpRequest) -> dict[str, Any]:
    """Return the current activation and the release to roll back to, if there is one.

    On the activation, `own_note` says what the release is. `is_again`: it was also live earlier, so going to the
    previous one is not a rollback.
    """
    earlier = Activation.objects.filter(release=OuterRef("release"), is_live=False)
    rows = Activation.objects.filter(is_live=True).select_related("release").defer(*stored_releases.LARGE_COLUMNS)
    activation = rows.annotate(is_again=Exists(earlier), own_note=stored_releases.build_own_note("release")).first()
    try:
        before: Release | None = stored_releases.get_previous_release()
    except stored_releases.UnknownRelease:
        before = None
    return {"activation": activation, "before": before}


class FailingOp(NamedTuple):
    """An op that fails often, with the URLs of its page, of its calls and of its failed calls."""

    failing: FailingOpFigures
    problem: str  # the most frequent field error in words; "" if none was recorded
    link: str
    calls: str
    failed: str


def build_failing_ops(_: HttpRequest) -> dict[str, Any]:
    """Return the ops that failed most in the last days, with the argument that caused the most errors."""
    at = timezone.now()
    failing, calls = list(_list_failing_ops(at)), reports.count_calls(at=at)
    return {
        "failing": failing,
        "calls": calls,
        "days": reports.DAYS,
        "is_urgent": bool(failing),
        "is_quiet": bool(calls and not failing),
    }


def _list_failing_ops(at: datetime) -> Iterable[FailingOp]:
    failing_ops = reports.list_failing_ops(at=at)
    pages = map_op_urls(each.op for each in failing_ops)
    for each in failing_ops:
        calls_url, failed_url = (
            report_query.to_last_days_of_op(each.op, which) for which in (CountedAs.CALLS, CountedAs.FAILED)
        )
        problem = problems.describe_field_error(*each.error) if each.error else ""
        yield FailingOp(each, problem, pages.get(each.op, ""), calls_url, failed_url)


def build_misses(_: HttpRequest) -> dict[str, Any]:
    """Return how many searches of the last days found nothing, and the URL of their events."""
    period = ReportFilter(timezone.now(), days=reports.DAYS)
    sums = totals.sum_period(period)
    return {
        "totals": sums,
        "is_urgent": bool(sums.misses),
        "is_quiet": not sums.misses,
        "events": report_query.to_events(period, CountedAs.MISSES),
        "days": reports.DAYS,
    }
