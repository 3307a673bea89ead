"""Report: two cohorts or two releases side by side, and whether one of them is better."""

from collections.abc import Callable, Mapping, Sequence

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from unfold.widgets import UnfoldAdminSelectWidget

from analytics import links
from analytics.reports import comparing, totals
from analytics.reports.comparing import LEAST, Compared, Moved, Share, Verdict
from analytics.reports.intervals import Interval
from analytics.reports.scope import NONE, Scope
from analytics.reports.totals import Totals
from core import charts
from gateway.admin.reports import by_model, showing, tables
from gateway.admin.reports.asked import Asked, called, choices
from gateway.admin.reports.by_op import op_pages
from gateway.admin.reports.showing import Report
from gateway.admin.reports.tables import Cell, Column, Table
from registry.models import Activation, Release


class SidesForm(forms.Form):
    """The two sides to compare."""

    first = forms.ChoiceField(widget=UnfoldAdminSelectWidget)
    second = forms.ChoiceField(widget=UnfoldAdminSelectWidget)

    def __init__(self, options: Sequence[tuple[str, str]], pair: tuple[str, str]) -> None:
        super().__init__(initial=dict(zip(("first", "second"), pair, strict=True)), auto_id="side-%s")
        for field in self.fields.values():
            field.choices = options  # type: ignore[attr-defined]  # both are ChoiceFields


BY = {"cohort": "Cohorts", "release": "Releases"}
LEAD = (
    f"One row per metric. A rate is tested once both sides have {LEAST} samples. The difference is second minus first, "
    "with its 95% confidence interval (Newcombe, Wilson scores). If the bar crosses zero, the difference may be "
    "chance; so may one in twenty that do not cross it."
)
ALONE = {
    "cohort": "All calls came from one cohort, or from none. Add another under Rollout, Cohorts.",
    "release": "All calls used one release. Publish another, then put a cohort on one of the two.",
}
AVERAGES: tuple[tuple[str, Callable[[Totals], float | None], tables.Told], ...] = (
    *(("Calls", lambda each: each.calls, tables.count), ("Turns", lambda each: each.turns, tables.count)),
    ("Unknown names per 1,000 calls", lambda each: each.unknown_per_thousand, tables.mean),
    ("Average latency", lambda each: each.mean_latency_ms, tables.milliseconds),
)


def page(request: HttpRequest) -> HttpResponse:
    """Show two cohorts or releases side by side: those in the query string, else the two with most calls."""
    showing.check(request)
    by = request.GET.get("by", "")
    by = by if by in BY else "cohort"
    asked = Asked(request, left_out=[by])
    found = totals.each(asked.scope, by)
    pair = _pair(request.GET, by, found)
    report = Report(
        lead=LEAD,
        tables=_tables(asked.scope, by, found, pair),
        is_empty=len(found) < 2,
        empty=ALONE[by] if found else "",
    )
    kinds = [{"title": BY[each], "link": asked.address(by=each), "is_here": each == by} for each in BY]
    more: dict[str, object] = {"sides": _sides(by, found, pair), "by": by, "kinds": kinds}
    if by == "release" and pair and Release.objects.filter(pk__in=pair).count() == 2:
        address = reverse("admin:registry_release_compare")
        more["copy"] = f"{address}?before={pair[0]}&after={pair[1]}"
    return showing.answer(request, "report_comparison", asked, report, **more)


def _pair(query: Mapping[str, str], by: str, found: Mapping[str, Totals]) -> tuple[str, str] | None:
    """Return the two requested sides, else the two with most calls, the default (no cohort, live release) first."""
    most = sorted(found, key=lambda name: -found[name].calls)[:2]
    if len(most) < 2:
        return None
    live = str(Activation.objects.filter(is_live=True).values_list("release_id", flat=True).first())
    most.sort(key=lambda name: name != NONE if by == "cohort" else name == live)
    first, second = (query.get(name, "") for name in ("first", "second"))
    return (first, second) if {first, second} <= set(found) and first != second else (most[0], most[1])


def _sides(by: str, found: Mapping[str, Totals], pair: tuple[str, str] | None) -> SidesForm | None:
    """Return the form that chooses the sides; None if there are fewer than two."""
    if pair is None:
        return None
    return SidesForm(choices(by, [name for name in found if name != NONE]), pair)


def _tables(scope: Scope, by: str, found: dict[str, Totals], pair: tuple[str, str] | None) -> list[Table]:
    every = by_model.of_each(f"{by}s", f"All {BY[by].lower()}", by, scope, found)
    if pair is None:
        return [every]
    first, second = (found[name] for name in pair)
    named = [called(by, name) for name in pair]
    rates = comparing.compared(first, second, days=scope.days)
    moved = comparing.moved(scope, by, *pair)
    return [
        Table("comparison", "Side by side", _columns(named), [*_rates(rates), *_averages(first, second)]),
        Table("moved", "Ops whose failure rate changed significantly", _columns(named, "Op"), _moved(scope, moved)),
        every,
    ]


def _columns(named: Sequence[str], first: str = "Metric") -> list[Column]:
    columns = [Column(first), *(Column(name, str) for name in named), Column("Difference", str)]
    return [*columns, Column("95% interval"), Column("Verdict")]


def _rates(found: Sequence[Compared]) -> list[list[Cell]]:
    most = max((abs(end) for each in found if each.interval for end in each.interval), default=1.0) or 1.0
    return [
        [
            Cell(f"{each.metric.name}, of {each.metric.of}"),
            *(Cell(_share(side)) for side in (each.first, each.second)),
            Cell(None if each.interval is None or each.difference is None else _points(each.difference, each.interval)),
            _drawn(each.interval, most),
            Cell(_said(each)),
        ]
        for each in found
    ]


def _averages(first: Totals, second: Totals) -> list[list[Cell]]:
    rows = []
    for title, value, told in AVERAGES:
        cells = [Cell(None if (figure := value(side)) is None else told(figure)) for side in (first, second)]
        rows.append([Cell(title), *cells, Cell(None), Cell(None), Cell("Not tested")])
    return rows


def _moved(scope: Scope, found: Sequence[Moved]) -> list[list[Cell]]:
    pages = op_pages(each.op for each in found)
    most = max((abs(end) for each in found for end in each.interval), default=1.0)
    return [
        [
            Cell(each.op, pages.get(each.op, "")),
            *(Cell(_share(side)) for side in (each.first, each.second)),
            Cell(_points(each.difference, each.interval), links.events(scope, {"op__exact": each.op}, links.FAILED)),
            _drawn(each.interval, most),
            Cell(f"{'Better' if each.difference < 0 else 'Worse'}: {_between(each.interval)}"),
        ]
        for each in found
    ]


def _share(share: Share) -> str:
    return "–" if share.rate is None else f"{tables.rate(share.rate)} of {tables.count(share.of)}"


def _drawn(interval: Interval | None, most: float) -> Cell:
    if interval is None:
        return Cell(None)
    ends = f"{_signed(interval.low, interval)} to {_signed(interval.high, interval)}"
    return Cell(ends, drawn=charts.interval(interval.low, interval.high, most))


def _said(each: Compared) -> str:
    if each.interval is None:
        fewest = min(each.first.of, each.second.of)
        wait = f"; about {each.days_to_wait} more days" if each.days_to_wait else ""
        return f"Not enough data: {fewest} of {LEAST} {each.metric.of}{wait}."
    if each.verdict == Verdict.NONE:
        low, high = (_signed(end, each.interval) for end in each.interval)
        return f"No significant difference: between {low} and {high} points."
    return f"{'Better' if each.verdict == Verdict.BETTER else 'Worse'}: {_between(each.interval)}"


def _between(interval: Interval) -> str:
    """Describe the distance from zero of an interval that does not contain zero."""
    near, far = sorted(abs(end) for end in interval)
    told = [_bare(end, interval) for end in (near, far)]
    return f"{told[0]} to {told[1]} points {'lower' if interval.high < 0 else 'higher'}."


def _points(difference: float, interval: Interval) -> str:
    return f"{_signed(difference, interval)} points"


def _signed(value: float, interval: Interval) -> str:
    told = _bare(abs(value), interval)
    return told if not float(told) else f"{'−' if value < 0 else '+'}{told}"


def _bare(value: float, interval: Interval) -> str:
    """Return percentage points, with a decimal only if the interval is narrower than 10 points."""
    return f"{value * 100:.{1 if interval.high - interval.low < 0.1 else 0}f}"
