"""The pages of turns, of the tool selections that are reported for them, and of what end users think of them."""

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import F, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.text import get_text_list

from analytics.events.event_filters import BY_MODEL
from analytics.events.models import OperationEvent
from analytics.reports.selection import HAS_ESCALATION, HAS_MISS, MISSED_TOOL_PARAMETER, match_missed_tool
from analytics.turns.models import TURN_CONDITIONS, TURN_WITH_PARAMETER, ToolSelection, Turn, TurnWith
from console import contents
from console.log_pages import RELEASE_FILTER, TIME_FILTER, CohortFilter, ConditionFilter, LogAdmin, show_release
from core.templatetags.admin_format import breakable
from core.text.display import DASH
from registry.models import Release

if TYPE_CHECKING:  # unfold ships no types; what it derives from has them
    from django.contrib.admin.views.main import ChangeList
else:
    from unfold.views import ChangeList

TurnKey = tuple[str, str, str]  # client, session, turn

COUNT_FIELDS = (
    "searches",
    "misses",
    "helps",
    "calls",
    "failed",
    "repaired",
    "unknown_names",
    "repeats",
    "is_first_call_ok",
)
MAX_NAMED_OPS = 2  # in the title of a turn
MAX_TITLE_LENGTH = 80  # characters of the words in a title


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


class TurnChangeList(ChangeList):
    """A page of the list. Sets each turn's title, its reported outcome and tokens, and the name of its release."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: list[Any] = list(self.result_list)
        titles = _build_titles(rows, with_contents=contents.may_see(request))
        selections = {
            _get_key(each): each for each in ToolSelection.objects.filter(turn__in={turn.turn for turn in rows})
        }
        releases = Release.objects.only("version", "number", "name").in_bulk({turn.release for turn in rows})
        for turn in rows:
            turn.shown_title = titles.get(_get_key(turn)) or turn.turn
            turn.selection = selections.get(_get_key(turn))
            turn.served_by = releases.get(turn.release)
        self.result_list = rows


def _get_key(row: Turn | ToolSelection) -> TurnKey:
    return row.client, row.session, row.turn


def _build_titles(turns: list[Turn], *, with_contents: bool) -> dict[TurnKey, str]:
    """Return what each turn was about: the words of its first search if they may be read, else the ops it called."""
    events = OperationEvent.objects.filter(BY_MODEL, turn__in={turn.turn for turn in turns})
    events = events.order_by("time", "id")
    words: dict[TurnKey, str] = {}
    if with_contents:
        query = KeyTextTransform("query", KeyTextTransform("args", "content"))
        searches = events.filter(type=OperationEvent.Type.SEARCH, content__isnull=False).annotate(query=query)
        for client, session, turn, text in searches.values_list("client", "session", "turn", "query"):
            words.setdefault((client, session, turn), f"“{text[:MAX_TITLE_LENGTH]}”" if text else "")
    ops: defaultdict[TurnKey, dict[str, None]] = defaultdict(dict)
    calls = events.filter(type=OperationEvent.Type.EXEC)
    for client, session, turn, op in calls.values_list("client", "session", "turn", "op"):
        ops[client, session, turn][op] = None
    return {key: words.get(key) or _name_ops(list(ops[key])) for key in {*words, *ops}}


def _name_ops(ops: list[str]) -> str:
    more = len(ops) - MAX_NAMED_OPS
    return get_text_list([*ops[:MAX_NAMED_OPS], *([f"{more} more"] if more > 0 else [])], "and")


class TurnAdmin(LogAdmin):
    shows_seconds = True
    empty = "Turns are counted from calls that send a Gateway-Turn header."
    list_display = ["time", "title", "subject", "outcome", "calls", "tokens", "release_name", "cohort"]
    list_display_links = ["title"]
    list_filter = [TIME_FILTER, TurnWithFilter, "surface", CohortFilter, "model", RELEASE_FILTER]
    link_lookups = ["cohort__exact", "client__exact"]
    search_fields = ["turn", "session", "subject"]
    # Folded, because the page begins with what happened.
    fieldsets = [
        (
            "Caller",
            {"fields": ["time", "client", "subject", "session", "turn", "model"], "classes": ["collapse"]},
        ),
        ("Rollout", {"fields": ["shown_release", "surface", "cohort"], "classes": ["collapse"]}),
        ("Counts", {"fields": COUNT_FIELDS, "classes": ["collapse"]}),
    ]
    readonly_fields = ["shown_release"]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return TurnChangeList

    @admin.display(description="turn")
    def title(self, turn: Any) -> str:
        return breakable(turn.shown_title)

    @admin.display(description="outcome", ordering=F("failed") - F("repaired"))
    def outcome(self, turn: Any) -> str:
        """Show how the turn ended: as the chat service reported it, and whether calls failed for good."""
        failed, reported = turn.failed > turn.repaired, turn.selection and turn.selection.outcome
        words = [failures] if (failures := turn.describe_failures()) else []
        if reported in (ToolSelection.Outcome.FAILED, ToolSelection.Outcome.ABANDONED):
            words.insert(0, "turn failed" if reported == ToolSelection.Outcome.FAILED else "abandoned")
        if not words:
            return "OK" if turn.calls else "no call"
        text = ", ".join(words)
        return format_html('<span class="ui-text-danger">{}</span>', text) if failed else text

    @admin.display(description="tokens")
    def tokens(self, turn: Any) -> str:
        tokens = turn.selection.tokens if turn.selection else None
        return DASH if tokens is None else f"{tokens:,}"

    @admin.display(description="Release")
    def shown_release(self, turn: Turn) -> str:
        return show_release(turn.release)

    @admin.display(description="release", ordering="release")
    def release_name(self, turn: Any) -> str:
        return turn.served_by.short_name if turn.served_by else turn.release[:12] or DASH


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
        RELEASE_FILTER,
    ]
    link_lookups = ["cohort__exact", "client__exact"]
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


class FeedbackAdmin(LogAdmin):
    shows_seconds = True
    empty = "Chat services send what their users think of a turn with POST feedback."
    list_display = ["time", "thumb", "reason", "turn", "cohort", "model"]
    list_display_links = ["time"]
    list_filter = [TIME_FILTER, "thumb", "surface", CohortFilter, "model", RELEASE_FILTER]
    link_lookups = ["cohort__exact", "client__exact"]
    search_fields = ["turn", "session", "subject", "reason"]
