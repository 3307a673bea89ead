"""Report: which tools models were given, used and missed."""

from django.http import HttpRequest

from analytics.models import ToolSelection
from analytics.reports import row_links, selection
from analytics.reports.report_filter import ReportFilter
from analytics.reports.selection import MISSED_TOOL_PARAMETER, SelectionTotals
from gateway.admin.reports import tables
from gateway.admin.reports.by_op import map_op_urls
from gateway.admin.reports.report_content import ReportContent, ReportFigure
from gateway.admin.reports.report_query import ReportQuery
from gateway.admin.reports.tables import ReportCell, ReportColumn, ReportTable

LEAD = (
    "What chat services report about their turns with POST telemetry. A tool miss is a call to a tool that was not in "
    "the toolset; an escalation adds the tool in the same turn."
)
EMPTY_TEXT = "No turns reported. A chat service reports each turn when it ends, with POST telemetry and the toolset id."
MISSED_COLUMNS = [
    ReportColumn("Tool"),
    ReportColumn("Turns", tables.format_count),
    ReportColumn("Of all turns", tables.format_rate),
]
OUTCOME_COLUMNS = [
    ReportColumn("How the turn ended"),
    ReportColumn("Turns", tables.format_count),
    ReportColumn("Of all turns", tables.format_rate),
]


def build_report(request: HttpRequest) -> ReportContent:
    """Show what was loaded, used, missed and escalated."""
    query = ReportQuery(request)
    selections = selection.sum_selections(query.scope)
    return ReportContent(
        query=query,
        lead=LEAD,
        figures=_build_figures(query.scope, selections),
        tables=[_build_missed_table(query.scope, selections), _build_outcomes_table(query.scope, selections)],
        is_empty=not selections.turns,
        empty=EMPTY_TEXT,
    )


def _build_figures(scope: ReportFilter, selections: SelectionTotals) -> list[ReportFigure]:
    turns, turn_count = selections.turns or 1, tables.format_count(selections.turns)
    all_rows = row_links.to_tool_selections(scope)
    tokens = "–" if selections.tokens is None else tables.format_count(selections.tokens)
    return [
        ReportFigure("Reported turns", turn_count, "", all_rows),
        ReportFigure("Tools loaded", tables.format_mean(selections.loaded / turns), "per turn, on average", all_rows),
        ReportFigure(
            *("Tools used", tables.format_rate(selections.used_rate or 0)),
            *(f"{tables.format_mean(selections.used / turns)} per turn, on average", all_rows),
        ),
        ReportFigure(
            *("Turns with a tool miss", tables.format_rate(selections.miss_rate or 0)),
            *(
                f"{tables.format_count(selections.turns_with_miss)} of {turn_count} turns",
                row_links.to_tool_selections(scope, {"missing": "yes"}),
            ),
        ),
        ReportFigure(
            *("Turns with an escalation", tables.format_rate(selections.escalation_rate or 0)),
            *(
                f"{tables.format_count(selections.turns_with_escalation)} of {turn_count} turns",
                row_links.to_tool_selections(scope, {"escalating": "yes"}),
            ),
        ),
        ReportFigure("Tokens", tokens, "per turn, on average of those that report it", all_rows),
    ]


def _build_missed_table(scope: ReportFilter, selections: SelectionTotals) -> ReportTable:
    missed_tools = selection.list_most_missed(scope)
    urls = map_op_urls(each.name for each in missed_tools)
    rows = [
        [
            ReportCell(each.name, urls.get(each.name, "")),
            ReportCell(each.turns, row_links.to_tool_selections(scope, {MISSED_TOOL_PARAMETER: each.name})),
            ReportCell(each.turns / selections.turns),
        ]
        for each in missed_tools
    ]
    return ReportTable("missed", "Most missed tools", MISSED_COLUMNS, rows)


def _build_outcomes_table(scope: ReportFilter, selections: SelectionTotals) -> ReportTable:
    rows = [
        [
            ReportCell(ToolSelection.Outcome(name).label),
            ReportCell(turns, row_links.to_tool_selections(scope, {"outcome__exact": name})),
            ReportCell(turns / selections.turns if selections.turns else None),
        ]
        for name, turns in selections.outcomes.items()
    ]
    return ReportTable("outcomes", "How turns ended for the user", OUTCOME_COLUMNS, rows)
