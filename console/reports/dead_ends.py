"""Report: unknown names and loops, where models get stuck."""

from collections.abc import Collection, Mapping

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from analytics.events.event_filters import CountedAs
from analytics.reports import misses, totals
from analytics.reports.report_filter import ReportFilter
from analytics.reports.totals import Totals
from analytics.turns.models import Turn, TurnWith
from console.reports import suggested_edits
from console.reports.parts import report_query, tables
from console.reports.parts.report_content import ReportContent, ReportFigure
from console.reports.parts.report_query import ReportQuery, label_value, label_values
from console.reports.parts.tables import ReportCell, ReportColumn, ReportTable
from registry.models import Group, Op, OpAlias, name_validator

LEAD = (
    "Names that models called or looked up but that do not exist, and turns that repeated the same call three times or "
    "more. If a name is frequent, add it as an alias of the op it means, or a rule that says what to send instead."
)
NAME_COLUMNS = [ReportColumn("Name sent"), ReportColumn("Times", tables.format_count), ReportColumn("Alias of")]
LOOP_COLUMNS = [
    ReportColumn("Turn"),
    ReportColumn("Repeated calls", tables.format_count),
    ReportColumn("Calls", tables.format_count),
    ReportColumn("Failed", tables.format_count),
    ReportColumn("Model"),
    ReportColumn("Release"),
    ReportColumn("Started"),
]


def build_report(request: HttpRequest) -> ReportContent:
    """Show the rates of unknown names and loops, with the names and the turns."""
    query = ReportQuery(request)
    total = totals.sum_period(query.scope)
    return ReportContent(
        query=query,
        lead=LEAD,
        figures=_build_figures(query.scope, total),
        tables=[_build_names_table(request, query.scope), _build_loops_table(query.scope)],
        is_empty=not (total.calls or total.turns),
    )


def _build_figures(scope: ReportFilter, total: Totals) -> list[ReportFigure]:
    per_thousand = total.unknown_per_thousand
    unknown = report_query.to_events(scope, CountedAs.UNKNOWN_NAMES)
    return [
        ReportFigure(
            "Unknown names",
            value="–" if per_thousand is None else tables.format_mean(per_thousand),
            of=f"per 1,000 calls, {tables.format_count(total.unknown_names)} in all",
            link=unknown,
        ),
        ReportFigure(
            "Turns with an unknown name",
            value=tables.format_count(total.lost),
            of=f"of {tables.format_count(total.turns)}",
            link=report_query.to_turns(scope, TurnWith.UNKNOWN_NAME),
        ),
        ReportFigure(
            "Turns with a loop",
            value=tables.format_count(total.looping),
            of=f"of {tables.format_count(total.turns)}",
            link=report_query.to_turns(scope, TurnWith.LOOP),
        ),
    ]


def _build_names_table(request: HttpRequest, scope: ReportFilter) -> ReportTable:
    unknown_names = misses.count_unknown_names(scope)
    aliases = _build_alias_cells(request, {each.name: each.times for each in unknown_names})
    rows, rows_of_one = (
        [
            [
                ReportCell(each.name),
                ReportCell(
                    each.times, report_query.to_events(scope, CountedAs.UNKNOWN_NAMES, {"op__exact": each.name})
                ),
                aliases.get(each.name, ReportCell(None)),
            ]
            for each in unknown_names
            if (each.times == 1) == is_single
        ]
        for is_single in (False, True)
    )
    return ReportTable("names", "Unknown names", NAME_COLUMNS, rows, minor_rows=rows_of_one, minor_reason="seen once")


def _build_alias_cells(request: HttpRequest, times_by_name: Mapping[str, int]) -> dict[str, ReportCell]:
    """Return a cell per name: the op it is an alias of in the draft, or the link to a prefilled edit, if permitted."""
    aliases = OpAlias.objects.filter(name__in=times_by_name).values_list("name", "op__op", "op_id")
    cells = {name: ReportCell(op, reverse("admin:registry_op_change", args=[pk])) for name, op, pk in aliases}
    if request.user.has_perm("registry.change_op"):
        taken_names, catalog = _find_taken_names(times_by_name), suggested_edits.get_live_catalog()
        for name, times in times_by_name.items():
            if name not in cells and name not in taken_names and _is_valid_alias(name):
                suggested = suggested_edits.suggest_for_name(name, catalog)
                url = suggested_edits.build_edit_url(suggested, evidence=suggested_edits.describe_unknown_name(times))
                cells[name] = ReportCell("", url, SafeString(f"Add {suggested.label.lower()}"))
    return cells


def _find_taken_names(names: Collection[str]) -> set[str]:
    """Return the names that ops and groups of the draft already use."""
    ops = Op.objects.filter(Q(op__in=names) | Q(tool_name__in=names)).values_list("op", "tool_name")
    return {name for pair in ops for name in pair} | set(
        Group.objects.filter(path__in=names).values_list("path", flat=True)
    )


def _is_valid_alias(name: str) -> bool:
    try:
        name_validator(name)
    except ValidationError:
        return False
    return True


def _build_loops_table(scope: ReportFilter) -> ReportTable:
    turns = list(misses.list_worst_loops(scope))
    releases = label_values("release", (turn.release for turn in turns))
    rows = [_build_loop_row(turn, releases[turn.release]) for turn in turns]
    return ReportTable("loops", "Turns with the longest loops", LOOP_COLUMNS, rows)


def _build_loop_row(turn: Turn, release: str) -> list[ReportCell]:
    turn_url = reverse("admin:analytics_turn_change", args=[turn.pk])
    return [
        ReportCell(turn.turn, turn_url),
        ReportCell(turn.repeats),
        ReportCell(turn.calls),
        ReportCell(turn.failed),
        ReportCell(label_value("model", turn.model)),
        ReportCell(release),
        ReportCell(
            turn.time.isoformat(" ", "minutes"), html=escape(date_format(localtime(turn.time), "DATETIME_FORMAT"))
        ),
    ]
