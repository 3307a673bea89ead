"""Ops that fail often, and searches that find nothing, on the home page."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.utils import timezone

from analytics import reports
from analytics.events.event_filters import CountedAs
from analytics.reports import FailingOpFigures, totals
from analytics.reports.report_filter import ReportFilter
from console.home.links import map_op_urls
from console.reports import row_links


class FailingOp(NamedTuple):
    """An op that fails often, with the URLs of its page, of its calls and of its failed calls."""

    failing: FailingOpFigures
    link: str
    calls: str
    failed: str


def build_failing_ops(_: HttpRequest) -> dict[str, Any]:
    """Return the ops that failed most in the last days, with the argument that caused the most errors."""
    at = timezone.now()
    return {"failing": list(_list_failing_ops(at)), "calls": reports.count_calls(at=at), "days": reports.DAYS}


def _list_failing_ops(at: datetime) -> Iterable[FailingOp]:
    failing_ops = reports.list_failing_ops(at=at)
    pages = map_op_urls(each.op for each in failing_ops)
    for each in failing_ops:
        calls_url, failed_url = (
            row_links.to_last_days_of_op(each.op, which) for which in (CountedAs.CALLS, CountedAs.FAILED)
        )
        yield FailingOp(each, pages.get(each.op, ""), calls_url, failed_url)


def build_misses(_: HttpRequest) -> dict[str, Any]:
    """Return how many searches of the last days found nothing, and the URL of their events."""
    period = ReportFilter(timezone.now(), days=reports.DAYS)
    return {
        "totals": totals.sum_period(period),
        "events": row_links.to_events(period, CountedAs.MISSES),
        "days": reports.DAYS,
    }
