"""What happened on which day, for the charts of reports: releases that went live, and cohorts that changed."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from django.http import HttpRequest

from analytics import audit_text
from analytics.models import AuditEntry
from core.admin.charts import ChartMarker
from registry.models import Activation

MAX_RELEASES = 12  # days of a chart with a release; more would hide the line
MAX_COHORT_CHANGES = 30


class _Happening(NamedTuple):
    at: datetime
    marker: ChartMarker


def list_markers(request: HttpRequest, days: Sequence[date], *, cohort: str = "") -> Mapping[int, list[ChartMarker]]:
    """Return what happened on each of some consecutive days: {index of the day: markers}.

    First the last release that went live on a day, then the changes of one cohort or of all, for those who may view the
    audit log.
    """
    happenings = list(_iter_releases(days))
    if request.user.has_perm("analytics.view_auditentry"):
        happenings += _iter_cohort_changes(days, cohort)
    markers: defaultdict[int, list[ChartMarker]] = defaultdict(list)
    for at, marker in happenings:
        markers[_get_index(days, at)].append(marker)
    return dict(markers)


def _iter_releases(days: Sequence[date]) -> Iterator[_Happening]:
    begin, end = _get_bounds(days)
    activations = Activation.objects.filter(activated_at__gte=begin, activated_at__lt=end)
    rows = activations.order_by("activated_at", "id").values_list("activated_at", "release__number", "release_id")
    last_by_day = {_get_index(days, at): (at, f"r{number}" if number else version[:6]) for at, number, version in rows}
    for _, (at, name) in sorted(last_by_day.items())[-MAX_RELEASES:]:
        yield _Happening(at, ChartMarker(name, f"{name} went live"))


def _iter_cohort_changes(days: Sequence[date], cohort: str) -> Iterator[_Happening]:
    begin, end = _get_bounds(days)
    entries = AuditEntry.objects.filter(kind=AuditEntry.Kind.COHORT, time__gte=begin, time__lt=end)
    if cohort:
        entries = entries.filter(name=cohort)
    for entry in reversed(entries.order_by("-time", "-id")[:MAX_COHORT_CHANGES]):
        changes = audit_text.describe_changes(entry)
        text = f"{entry.name}: {changes}" if changes else f"{entry.name} {entry.get_action_display()}"
        yield _Happening(entry.time, ChartMarker(entry.name, text))


def _get_bounds(days: Sequence[date]) -> tuple[datetime, datetime]:
    begin, end = (datetime.combine(day, time(), UTC) for day in (days[0], days[-1] + timedelta(days=1)))
    return begin, end


def _get_index(days: Sequence[date], at: datetime) -> int:
    return (at.astimezone(UTC).date() - days[0]).days
