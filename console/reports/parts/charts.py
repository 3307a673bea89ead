"""Charts of reports: lines with markers of releases, and charts side by side."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from django.http import HttpRequest

from analytics.events.event_filters import CountedAs
from analytics.reports import totals
from analytics.reports.report_filter import NO_COHORT, ReportFilter
from analytics.reports.totals import Totals
from analytics.turns.models import TurnWith
from audit import audit_log
from audit.models import AuditEntry
from console.reports.parts import report_query, tables
from console.reports.parts.report_query import label_values
from core.admin.charts import AxisUnit, ChartLine, ChartMarker, LineChart, LineColor, choose_color
from registry.models import Activation

MAX_RELEASES = 12  # days of a chart with a release; more would hide the line
MAX_COHORT_CHANGES = 30
Rate = Callable[[Totals], float | None]
LinkDays = Callable[[ReportFilter, Iterable[date]], list[str]]


class _Happening(NamedTuple):
    at: datetime
    marker: ChartMarker


def list_markers(request: HttpRequest, days: Sequence[date], *, cohort: str = "") -> Mapping[int, list[ChartMarker]]:
    """Return what happened on each of some consecutive days: {index of the day: markers}.

    First the last release that went live on a day, then the changes of one cohort or of all, for users who can view the
    audit log.
    """
    happenings = list(_iter_releases(days))
    if request.user.has_perm("audit.view_auditentry"):
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
    entries = AuditEntry.objects.filter(kind="cohort", time__gte=begin, time__lt=end)
    if cohort:
        entries = entries.filter(name=cohort)
    for entry in reversed(entries.order_by("-time", "-id")[:MAX_COHORT_CHANGES]):
        changes = audit_log.describe_changes(entry)
        text = f"{entry.name}: {changes}" if changes else f"{entry.name} {audit_log.describe_action(entry)}"
        yield _Happening(entry.time, ChartMarker(entry.name, text))


def _get_bounds(days: Sequence[date]) -> tuple[datetime, datetime]:
    begin, end = (datetime.combine(day, time(), UTC) for day in (days[0], days[-1] + timedelta(days=1)))
    return begin, end


def _get_index(days: Sequence[date], at: datetime) -> int:
    return (at.astimezone(UTC).date() - days[0]).days


def link_events(scope: ReportFilter, counted_as: CountedAs, days: Iterable[date]) -> list[str]:
    """Return the links to the events behind a figure on each day."""
    return [report_query.to_events(scope, counted_as, day=day) for day in days]


def link_turns(scope: ReportFilter, contains: TurnWith | None, days: Iterable[date]) -> list[str]:
    """Return the links to the turns behind a figure on each day."""
    return [report_query.to_turns(scope, contains, day=day) for day in days]


def build_side_charts(request: HttpRequest, scope: ReportFilter, by: str, pair: Sequence[str]) -> list[LineChart]:
    """Return a line chart of each rate with a line for each side."""
    days_by_side = [totals.sum_by_day(scope.narrow(by, name)) for name in pair]
    days = list(days_by_side[0])
    markers, labels = list_markers(request, days), label_values(by, pair)
    return [
        LineChart(
            name=name,
            title=title,
            axis=axis,
            days=days,
            lines=[
                ChartLine(
                    labels[side],
                    [rate(each) for each in totals_by_day.values()],
                    color,
                    link_days(scope.narrow(by, side), days),
                )
                for side, totals_by_day, color in zip(pair, days_by_side, choose_side_colors(pair), strict=True)
            ],
            format_value=tables.format_rate,
            unit=AxisUnit.PERCENT,
            markers=markers,
            is_over=scope.is_over,
        )
        for name, title, axis, rate, link_days in CHARTED_RATES
    ]


CHARTED_RATES: tuple[tuple[str, str, str, Rate, LinkDays], ...] = (
    (
        "failure",
        "Failure rate, % of calls",
        "% of calls",
        lambda each: each.failure_rate,
        lambda scope, days: link_events(scope, CountedAs.FAILED, days),
    ),
    (
        "success",
        "Turns with a successful call, % of turns with a call",
        "% of turns with a call",
        lambda each: each.success_rate,
        lambda scope, days: link_turns(scope, TurnWith.SUCCESS, days),
    ),
)


def choose_side_colors(pair: Sequence[str]) -> list[LineColor]:
    """Return a colour for each side; users in no cohort are what a cohort is compared with."""
    colors: list[LineColor] = []
    for name in pair:
        colors.append(LineColor.FAINT if name == NO_COHORT else choose_color(name, not_color=next(iter(colors), None)))
    return colors
