"""Report: which tools models were given, used and missed."""

from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from analytics.alerts import alert_text
from analytics.alerts.metrics import AlertMetric
from analytics.alerts.models import Alert
from analytics.flags import DYNAMIC, FLAGS, FlagKey
from analytics.reports import selection
from analytics.reports.report_filter import ReportFilter
from analytics.reports.selection import MISSED_TOOL_PARAMETER, SelectionTotals
from analytics.rollout import assignment
from analytics.turns.models import ToolSelection
from console.reports.by_op import map_op_urls
from console.reports.parts import report_query, tables
from console.reports.parts.report_content import ReportContent, ReportFigure
from console.reports.parts.report_query import ReportQuery
from console.reports.parts.tables import ReportCell, ReportColumn, ReportTable

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
KIND_COLUMNS = [
    ReportColumn("Selection"),
    ReportColumn("Turns", tables.format_count),
    ReportColumn("Tools loaded per turn", tables.format_mean),
    ReportColumn("Turns with a tool miss", tables.format_rate),
    ReportColumn("Turns with an escalation", tables.format_rate),
    ReportColumn("Unknown names per 1,000 calls", tables.format_mean),
]
OUTCOME_COLUMNS = [
    ReportColumn("How the turn ended"),
    ReportColumn("Turns", tables.format_count),
    ReportColumn("Of all turns", tables.format_rate),
]


def is_used() -> bool:
    """Return whether anybody's tools are selected dynamically, or a cohort says how. If not, the report has no tab."""
    flag = FlagKey.SELECTION
    return FLAGS[flag].default == DYNAMIC or bool(assignment.get_current_rollout().cohorts.get(flag))


def build_report(request: HttpRequest) -> ReportContent:
    """Show what was loaded, used, missed and escalated."""
    query = ReportQuery(request)
    selections = selection.sum_selections(query.scope)
    return ReportContent(
        query=query,
        lead=LEAD,
        alert=_describe_open_alert(),
        alert_url=_link_recent_misses(timezone.now()),
        figures=_build_figures(query.scope, selections),
        tables=[
            _build_kinds_table(query.scope),
            _build_missed_table(query.scope, selections),
            _build_outcomes_table(query.scope, selections),
        ],
        is_empty=not selections.turns,
        empty=EMPTY_TEXT,
    )


def _build_figures(scope: ReportFilter, selections: SelectionTotals) -> list[ReportFigure]:
    turns, turn_count = selections.turns or 1, tables.format_count(selections.turns)
    all_rows = report_query.to_tool_selections(scope)
    tokens = "–" if selections.tokens is None else tables.format_count(selections.tokens)
    return [
        ReportFigure("Reported turns", turn_count, "also those in which the model did not use the gateway", all_rows),
        ReportFigure("Tools loaded", tables.format_mean(selections.loaded / turns), "per turn, on average", all_rows),
        ReportFigure(
            "Tools used",
            value=tables.format_rate(selections.used_rate or 0),
            of=f"{tables.format_mean(selections.used / turns)} per turn, on average",
            link=all_rows,
        ),
        ReportFigure(
            "Turns with a tool miss",
            value=tables.format_rate(selections.miss_rate or 0),
            of=f"{tables.format_count(selections.turns_with_miss)} of {turn_count} reported turns",
            link=report_query.to_tool_selections(scope, {"missing": "yes"}),
        ),
        ReportFigure(
            "Turns with an escalation",
            value=tables.format_rate(selections.escalation_rate or 0),
            of=f"{tables.format_count(selections.turns_with_escalation)} of {turn_count} reported turns",
            link=report_query.to_tool_selections(scope, {"escalating": "yes"}),
        ),
        ReportFigure("Tokens", tokens, "per turn, on average of those that report it", all_rows),
    ]


def _describe_open_alert() -> str:
    """Say that too many turns miss a tool, while an alert of it is open; "" if not."""
    alerts = Alert.objects.filter(closed_at=None, rule__metric=AlertMetric.MISSED_TOOLS).select_related("rule")
    alert = alerts.order_by("-worst_value").first()
    return f"{alert}. {alert_text.describe_latest(alert)}" if alert else ""


def _link_recent_misses(at: datetime) -> str:
    """Return the list of the turns of the last day that missed a tool."""
    times = {"time__gte": (at - timedelta(hours=24)).isoformat(), "time__lt": at.isoformat()}
    return f"{reverse('admin:analytics_toolselection_changelist')}?{urlencode({**times, 'missing': 'yes'})}"


def _build_kinds_table(scope: ReportFilter) -> ReportTable:
    rows = [
        [
            ReportCell(each.kind),
            ReportCell(each.totals.turns, report_query.to_tool_selections(scope, {"selection_kind__exact": each.kind})),
            ReportCell(each.loaded_per_turn),
            ReportCell(each.totals.miss_rate),
            ReportCell(each.totals.escalation_rate),
            ReportCell(each.unknown_per_thousand),
        ]
        for each in selection.compare_kinds(scope)
    ]
    return ReportTable("kinds", "Static and dynamic selection", KIND_COLUMNS, rows)


def _build_missed_table(scope: ReportFilter, selections: SelectionTotals) -> ReportTable:
    missed_tools = selection.list_most_missed(scope)
    urls = map_op_urls(each.name for each in missed_tools)
    rows = [
        [
            ReportCell(each.name, urls.get(each.name, "")),
            ReportCell(each.turns, report_query.to_tool_selections(scope, {MISSED_TOOL_PARAMETER: each.name})),
            ReportCell(each.turns / selections.turns),
        ]
        for each in missed_tools
    ]
    return ReportTable("missed", "Most missed tools", MISSED_COLUMNS, rows)


def _build_outcomes_table(scope: ReportFilter, selections: SelectionTotals) -> ReportTable:
    rows = [
        [
            ReportCell(ToolSelection.Outcome(name).label),
            ReportCell(turns, report_query.to_tool_selections(scope, {"outcome__exact": name})),
            ReportCell(turns / selections.turns if selections.turns else None),
        ]
        for name, turns in selections.outcomes.items()
    ]
    return ReportTable("outcomes", "How turns ended for the user", OUTCOME_COLUMNS, rows)
