"""The pages of turns and of the tool selections that are reported for them."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from analytics.reports.selection import HAS_ESCALATION, HAS_MISS, MISSED_TOOL_PARAMETER, match_missed_tool
from analytics.turns.models import TURN_CONDITIONS, TURN_WITH_PARAMETER, ToolSelection, TurnWith
from console.log_pages import TIME_FILTER, CohortFilter, ConditionFilter, LogAdmin
from core.templatetags.admin_format import breakable


class TurnWithFilter(ConditionFilter):
    title, parameter_name = "what happened", TURN_WITH_PARAMETER
    choices_by_value = {each.value: (str(each.label), TURN_CONDITIONS[each]) for each in TurnWith}


class ToolMissFilter(ConditionFilter):
    title, parameter_name = "tool miss", "missing"
    choices_by_value = {"yes": ("Yes", HAS_MISS)}


class EscalationFilter(ConditionFilter):
    title, parameter_name = "escalation", "escalating"
    choices_by_value = {"yes": ("Yes", HAS_ESCALATION)}


class MissedToolFilter(admin.SimpleListFilter):
    """Filter for the turns that missed a tool. Reports link to it; the list offers only the tool of the link."""

    title, parameter_name = "missed tool", MISSED_TOOL_PARAMETER

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name)] if (name := self.value()) else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(match_missed_tool(name)) if (name := self.value()) else queryset


class TurnAdmin(LogAdmin):
    shows_seconds = True
    empty = "Turns are counted from calls that send a Gateway-Turn header."
    list_display = [
        "time",
        "turn",
        "searches",
        "helps",
        "calls",
        "failed",
        "repaired",
        "unknown_names",
        "repeats",
        "model",
    ]
    list_display_links = ["turn"]
    list_filter = [TIME_FILTER, TurnWithFilter, "surface", CohortFilter, "model", "release"]
    link_lookups = ["cohort__exact"]
    search_fields = ["turn", "session", "subject"]


class ToolSelectionAdmin(LogAdmin):
    shows_seconds = True
    empty = "Chat services report a turn with POST telemetry when it ends."
    list_display = [
        "time",
        "turn",
        "count_loaded",
        "count_used",
        "show_missed",
        "show_escalated",
        "tokens",
        "outcome",
        "model",
    ]
    list_display_links = ["turn"]
    list_filter = [
        TIME_FILTER,
        ToolMissFilter,
        MissedToolFilter,
        EscalationFilter,
        "outcome",
        "selection_kind",
        "surface",
        CohortFilter,
        "model",
        "release",
    ]
    link_lookups = ["cohort__exact"]
    search_fields = ["turn", "session", "subject", "missed"]

    @admin.display(description="Tools loaded")
    def count_loaded(self, row: ToolSelection) -> int:
        return len(row.loaded)

    @admin.display(description="Used")
    def count_used(self, row: ToolSelection) -> int:
        return len(row.used)

    @admin.display(description="Missed")
    def show_missed(self, row: ToolSelection) -> str:
        return breakable(", ".join(row.missed))

    @admin.display(description="Escalated")
    def show_escalated(self, row: ToolSelection) -> str:
        return breakable(", ".join(row.escalated))
