"""Report: two cohorts or two releases side by side, and whether one of them is better."""

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import escape
from unfold.widgets import UnfoldAdminSelectWidget

from analytics.events.event_filters import CountedAs
from analytics.experiments.cohorts import comparison
from analytics.experiments.cohorts.comparison import (
    CALL_LIMIT,
    ComparisonVerdict,
    MetricComparison,
    OpChange,
    Proportion,
)
from analytics.experiments.proportions import ConfidenceInterval
from analytics.experiments.statistics import MIN_SUBJECTS
from analytics.flags import LIVE, FlagKey
from analytics.reports import totals
from analytics.reports.report_filter import NO_COHORT, ReportFilter
from analytics.reports.totals import Totals
from analytics.rollout.models import Cohort
from analytics.turns.models import Feedback, TurnWith
from console.reports import breakdowns
from console.reports.by_op import map_op_urls
from console.reports.parts import report_query, tables, verdicts
from console.reports.parts.charts import build_side_charts, choose_side_colors
from console.reports.parts.report_content import ReportContent
from console.reports.parts.report_query import ReportQuery, build_choices, label_values
from console.reports.parts.tables import ReportCell, ReportColumn, ReportTable
from console.reports.parts.verdicts import VerdictBox, build_sides_verdict
from core.admin import charts
from registry.models import Activation, Release


class ComparisonSidesForm(forms.Form):
    """The two sides to compare."""

    first = forms.ChoiceField(widget=UnfoldAdminSelectWidget)
    second = forms.ChoiceField(widget=UnfoldAdminSelectWidget)

    def __init__(self, options: Sequence[tuple[str, str]], pair: tuple[str, str]) -> None:
        super().__init__(initial=dict(zip(("first", "second"), pair, strict=True)), auto_id="side-%s")
        for field in self.fields.values():
            field.choices = options  # type: ignore[attr-defined]  # both are ChoiceFields


LinkRows = Callable[[ReportFilter], str]

# The rows that a rate counts, by the name of its metric, and those of other figures.
RATE_LINKS: Mapping[str, LinkRows] = {
    "failure_rate": lambda scope: report_query.to_events(scope, CountedAs.FAILED),
    "repair_rate": lambda scope: report_query.to_events(scope, CountedAs.REPAIRED),
    "turn_success": lambda scope: report_query.to_turns(scope, TurnWith.SUCCESS),
    "thumbs_up": lambda scope: report_query.to_feedback(scope, {"thumb__exact": Feedback.Thumb.UP.value}),
    "unknown_turns": lambda scope: report_query.to_turns(scope, TurnWith.UNKNOWN_NAME),
    "loop_rate": lambda scope: report_query.to_turns(scope, TurnWith.LOOP),
    "miss_rate": lambda scope: report_query.to_events(scope, CountedAs.MISSES),
}
DIMENSION_TITLES = {"cohort": "Cohorts", "release": "Releases"}
LEAD = "The difference is second minus first, with an interval that holds at every look."
EXPLANATION = (
    f"Users are compared, not calls: the calls of one user are alike. A rate is tested once both sides have "
    f"{MIN_SUBJECTS} users, and of one user at most {CALL_LIMIT} calls count in full, so that the difference is not "
    "always that of the two rates. If the bar crosses zero, the difference may be chance; however often you look, one "
    "comparison in twenty without a difference ever says otherwise. All bars have the same scale; the middle is zero."
)
SINGLE_SIDE_HINTS = {
    "cohort": "All calls came from one cohort, or from none. Add another under Rollout, Cohorts.",
    "release": "All calls used one release. Publish another, then put a cohort on one of the two.",
}
UNTESTED_METRICS: tuple[tuple[str, Callable[[Totals], float | None], tables.Formatter, LinkRows | None], ...] = (
    (
        "Calls",
        lambda each: each.calls,
        tables.format_count,
        lambda scope: report_query.to_events(scope, CountedAs.CALLS),
    ),
    ("Turns", lambda each: each.turns, tables.format_count, report_query.to_turns),
    (
        "Unknown names per 1,000 calls",
        lambda each: each.unknown_per_thousand,
        tables.format_mean,
        lambda scope: report_query.to_events(scope, CountedAs.UNKNOWN_NAMES),
    ),
    ("Average latency", lambda each: each.mean_latency_ms, tables.format_milliseconds, None),
)


def build_report(request: HttpRequest) -> ReportContent:
    """Show two cohorts or releases side by side: those in the query string, else the two with most calls."""
    by = request.GET.get("by", "")
    by = by if by in DIMENSION_TITLES else "cohort"
    query = ReportQuery(request, left_out=[by])
    totals_by_side = totals.sum_by_value(query.scope, by)
    first, second = (request.GET.get(name, "") for name in ("first", "second"))
    pair = comparison.choose_sides(totals_by_side, by, first=first, second=second, live=_get_live_version())
    by_side = comparison.sum_sides(query.scope, by, pair) if pair else {}
    rates = comparison.compare_sides(query.scope, by, pair, totals_by_side, by_side) if pair else []
    kinds = [
        {"title": DIMENSION_TITLES[each], "link": query.build_query_string(by=each), "is_here": each == by}
        for each in DIMENSION_TITLES
    ]
    context: dict[str, object] = {"sides": _build_sides_form(by, totals_by_side, pair), "by": by, "kinds": kinds}
    releases = pair if by == "release" or pair is None else _find_releases_of_cohorts(pair)
    if releases and releases[0] != releases[1] and Release.objects.filter(pk__in=releases).count() == 2:
        compared = urlencode({"before": releases[0], "after": releases[1]})
        context["copy"] = f"{reverse('admin:registry_release_compare')}?{compared}"
    return ReportContent(
        query=query,
        lead=LEAD,
        explanations=[EXPLANATION],
        verdict=_build_verdict(query.scope, by, pair, totals_by_side, rates) if pair else None,
        charts=build_side_charts(request, query.scope, by, pair) if pair else [],
        tables=_build_tables(query.scope, by, totals_by_side, pair, rates, by_side),
        is_empty=pair is None,
        has_other_rows=bool(totals_by_side),
        empty=SINGLE_SIDE_HINTS[by] if totals_by_side else "",
        context=context,
    )


def _build_verdict(
    scope: ReportFilter,
    by: str,
    pair: tuple[str, str],
    totals_by_side: Mapping[str, Totals],
    rates: Sequence[MetricComparison],
) -> VerdictBox:
    """Return the verdict on the second side; on the first one, if the second side is users in no cohort."""
    if pair[1] == NO_COHORT:
        pair = pair[1], pair[0]
        rates = comparison.compare_sides(scope, by, pair, totals_by_side)
    return build_sides_verdict(by, pair, rates)


def _find_releases_of_cohorts(names: tuple[str, str]) -> tuple[str, str]:
    """Return the release of each cohort's users: that of a cohort of releases, else the live one."""
    variants = dict(Cohort.objects.filter(flag=FlagKey.RELEASE, name__in=names).values_list("name", "variant"))
    live = _get_live_version()
    first, second = (variant if (variant := variants.get(name, LIVE)) != LIVE else live for name in names)
    return first, second


def _get_live_version() -> str:
    return str(Activation.objects.filter(is_live=True).values_list("release_id", flat=True).first())


def _build_sides_form(
    by: str, totals_by_side: Mapping[str, Totals], pair: tuple[str, str] | None
) -> ComparisonSidesForm | None:
    """Return the form that chooses the sides; None if there are fewer than two."""
    if pair is None:
        return None
    names = [name for name in totals_by_side if name not in ("", NO_COHORT)]
    return ComparisonSidesForm(build_choices(by, names, chosen=pair), pair)


def _build_tables(
    scope: ReportFilter,
    by: str,
    totals_by_side: dict[str, Totals],
    pair: tuple[str, str] | None,
    rates: Sequence[MetricComparison],
    by_side: comparison.SideSums,
) -> list[ReportTable]:
    all_sides_table = breakdowns.build_breakdown_table(
        f"{by}s", f"All {DIMENSION_TITLES[by].lower()}", by, scope, totals_by_side
    )
    if pair is None:
        return [all_sides_table]
    first, second = (totals_by_side.get(name, Totals()) for name in pair)
    labels = list(label_values(by, pair).values())
    moved = comparison.find_changed_ops(scope, by, pair, by_side)
    intervals = [*(each.interval for each in rates if each.interval), *(each.interval for each in moved)]
    ends = [abs(end) for interval in intervals for end in interval]
    limit = max(ends, default=0) or 1.0
    side_columns = [
        ReportColumn(label, str, color=color) for label, color in zip(labels, choose_side_colors(pair), strict=True)
    ]
    sides = [scope.narrow(by, name) for name in pair]
    return [
        ReportTable(
            "comparison",
            "Side by side",
            _build_columns(side_columns, limit),
            _build_rate_rows(sides, rates, limit),
        ),
        ReportTable(
            "other_figures",
            "Other figures",
            [ReportColumn("Figure"), *side_columns],
            _build_untested_rows(sides, first, second),
        ),
        ReportTable(
            "moved",
            "Ops whose failure rate changed, beyond chance",
            _build_columns(side_columns, limit, "Op"),
            _build_moved_rows(scope, moved, limit),
        ),
        all_sides_table,
    ]


def _build_columns(sides: Sequence[ReportColumn], limit: float, first: str = "Metric") -> list[ReportColumn]:
    columns = [ReportColumn(first), *sides, ReportColumn("Difference", str)]
    columns += [
        ReportColumn(f"Interval (−{limit * 100:.0f} to +{limit * 100:.0f} points)"),
        ReportColumn("Verdict"),
    ]
    labels = [each.title for each in sides]
    exact = [f"{name}, of" for name in labels] + ["Interval from", "Interval to"]
    return columns + [ReportColumn(title, only_csv=True) for title in exact]


def _build_share_cell(share: Proportion, link: str = "") -> ReportCell:
    return ReportCell(share.rate, link if share.total else "", escape(verdicts.format_share(share)))


def _build_exact_cells(first: Proportion, second: Proportion, interval: ConfidenceInterval | None) -> list[ReportCell]:
    """Return the cells that only the CSV file has."""
    return [ReportCell(value) for value in (first.total, second.total, *(interval or (None, None)))]


def _build_rate_rows(
    sides: Sequence[ReportFilter], comparisons: Sequence[MetricComparison], limit: float
) -> list[list[ReportCell]]:
    return [
        [
            ReportCell(f"{each.metric.title}, of {each.metric.of}"),
            *(
                _build_share_cell(share, RATE_LINKS[each.metric.name](side))
                for side, share in zip(sides, (each.first, each.second), strict=True)
            ),
            ReportCell(None)
            if each.interval is None or each.difference is None
            else _build_difference_cell(each.difference, each.interval),
            _draw_interval(each.interval, limit, each.verdict),
            ReportCell(verdicts.describe_comparison(each)),
            *_build_exact_cells(each.first, each.second, each.interval),
        ]
        for each in comparisons
    ]


def _build_untested_rows(sides: Sequence[ReportFilter], first: Totals, second: Totals) -> list[list[ReportCell]]:
    def build_cell(figure: float | None, formatter: tables.Formatter, link: str) -> ReportCell:
        return ReportCell(None) if figure is None else ReportCell(figure, link, escape(formatter(figure)))

    return [
        [
            ReportCell(title),
            *(
                build_cell(value(each), formatter, link(side) if link else "")
                for side, each in zip(sides, (first, second), strict=True)
            ),
        ]
        for title, value, formatter, link in UNTESTED_METRICS
    ]


def _build_moved_rows(scope: ReportFilter, moved_ops: Sequence[OpChange], limit: float) -> list[list[ReportCell]]:
    urls = map_op_urls(each.op for each in moved_ops)
    return [
        [
            ReportCell(each.op, urls.get(each.op, "")),
            *(_build_share_cell(side) for side in (each.first, each.second)),
            _build_difference_cell(
                each.difference, each.interval, report_query.to_events_of_op(scope, CountedAs.FAILED, each.op)
            ),
            _draw_interval(
                each.interval, limit, ComparisonVerdict.BETTER if each.difference < 0 else ComparisonVerdict.WORSE
            ),
            ReportCell(f"{'Better' if each.difference < 0 else 'Worse'}: {verdicts.describe_range(each.interval)}"),
            *_build_exact_cells(each.first, each.second, each.interval),
        ]
        for each in moved_ops
    ]


def _build_difference_cell(difference: float, interval: ConfidenceInterval, link: str = "") -> ReportCell:
    return ReportCell(difference, link, html=escape(verdicts.format_points(difference, interval)))


def _draw_interval(interval: ConfidenceInterval | None, limit: float, verdict: ComparisonVerdict) -> ReportCell:
    if interval is None:
        return ReportCell(None)
    ends = " to ".join(verdicts.format_signed(end, interval) for end in interval)
    return ReportCell(ends, html=charts.draw_interval(interval.low, interval.high, limit, kind=verdict))
