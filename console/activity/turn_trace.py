"""The trace of a turn on its page: each event with its bar, and what it cost in tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.safestring import SafeString

from analytics.events.event_filters import NOT_TRIED_IN_ADMIN
from analytics.events.models import OperationEvent
from analytics.turns import trace
from analytics.turns.models import ToolSelection, Turn
from analytics.turns.trace import TraceStep, TurnTrace
from core.admin import charts
from core.text import json_text, token_budget
from registry.models import Release

MAX_STEPS = 200  # of a trace; a longer turn's other events are in their list

UNKNOWN_TOKENS_NOTE = "Tokens are known for help, and for args and results while these are stored. Known here: {}."
OUTCOME_WORDS = {
    ToolSelection.Outcome.SUCCEEDED.value: "succeeded",
    ToolSelection.Outcome.FAILED.value: "failed",
    ToolSelection.Outcome.ABANDONED.value: "was abandoned",
    ToolSelection.Outcome.UNKNOWN.value: "ended, but not how",
}

ReleaseTokens = Mapping[str, Mapping[str, Sequence[int]]]  # {release: {op: [short, full]}}


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step with its link, its bar and its tokens; None if they are not known."""

    step: TraceStep
    url: str
    bar: SafeString
    tokens: int | None

    @property
    def name(self) -> str:
        """The op or path; for a search, its words if they are stored."""
        event = self.step.event
        if event.type != OperationEvent.Type.SEARCH:
            return event.op or "the root"
        query = ((event.content or {}).get("args") or {}).get("query")
        return f"“{query}”" if isinstance(query, str) and query else "words not stored"

    @property
    def began(self) -> str:
        return f"+{format_duration(self.step.start_ms)}"

    @property
    def took(self) -> str:
        return format_duration(self.step.event.latency_ms)


@dataclass(frozen=True, slots=True)
class ShownTrace:
    """A turn's trace, the report of the chat service, and whether steps are left out."""

    trace: TurnTrace
    steps: Sequence[ShownStep]
    known_tokens: int
    selection: ToolSelection | None
    is_cut: bool

    @property
    def summary(self) -> str:
        """What happened, in a sentence or two."""
        count = len(self.steps)
        parts = [f"{count:,} step{'' if count == 1 else 's'} in {format_duration(self.trace.length_ms)}"]
        parts.append(f"of which the gateway took {format_duration(self.trace.gateway_ms)}")
        text = f"{', '.join(parts)}; {describe_failures(self.trace.failed, self.trace.repaired)}."
        if self.selection is None:
            return text
        cost = "" if self.selection.tokens is None else f" It cost {self.selection.tokens:,} tokens in all."
        return f"{text}{cost} The chat service says that it {OUTCOME_WORDS[self.selection.outcome]}."

    @property
    def notes(self) -> list[str]:
        """What the table leaves out."""
        notes = []
        if any(each.tokens is None for each in self.steps):
            known = f"{self.known_tokens:,}" if self.known_tokens else "none"
            notes.append(UNKNOWN_TOKENS_NOTE.format(known))
        if self.is_cut:
            notes.append(f"These are the first {MAX_STEPS} steps. Events of the turn has all of them.")
        return notes


def build_turn_trace(turn: Turn, *, with_contents: bool) -> ShownTrace | None:
    """Return the trace of a turn, with or without what is stored of args and results; None if its events are gone."""
    turn_key = {"client": turn.client, "session": turn.session, "turn": turn.turn}
    rows = OperationEvent.objects.filter(NOT_TRIED_IN_ADMIN, **turn_key).order_by("time", "id")[: MAX_STEPS + 1]
    events = list(rows)
    if not events:
        return None
    if not with_contents:
        for event in events:
            event.content = None
    built = trace.build_trace(events[:MAX_STEPS])
    help_tokens = _load_help_tokens(events)
    steps = [
        ShownStep(
            step,
            reverse("admin:analytics_operationevent_change", args=[step.event.pk]),
            charts.draw_span(step.start_share, step.length_share, is_failed=step.has_failed),
            _count_tokens(step.event, help_tokens),
        )
        for step in built.steps
    ]
    known_tokens = sum(each.tokens or 0 for each in steps)
    selection = ToolSelection.objects.filter(**turn_key).first()
    return ShownTrace(built, steps, known_tokens, selection, len(events) > MAX_STEPS)


def _load_help_tokens(events: Sequence[OperationEvent]) -> ReleaseTokens:
    releases = {event.release for event in events if event.type == OperationEvent.Type.HELP}
    return dict(Release.objects.filter(pk__in=releases).values_list("pk", "tokens")) if releases else {}


def _count_tokens(event: OperationEvent, help_tokens: ReleaseTokens) -> int | None:
    """Return the tokens of a step: from its release for an op's help, else of its stored args and result."""
    content: dict[str, Any] = event.content or {}
    if content and "too_large" not in content:
        return sum(token_budget.count(json_text.canonicalize(part).decode()) for part in content.values())
    counts = help_tokens.get(event.release, {}).get(event.op)
    formats = (OperationEvent.Format.SHORT, OperationEvent.Format.FULL)
    if event.type == OperationEvent.Type.HELP and event.ok and counts and event.format in formats:
        return counts[formats.index(OperationEvent.Format(event.format))]
    return None


def describe_failures(failed: int, repaired: int) -> str:
    """Return how many calls failed, and how many of them were repaired."""
    if not failed:
        return "none failed"
    if not repaired:
        return f"{failed} failed"
    if failed == repaired:
        return f"{failed} failed and {'was' if failed == 1 else 'were'} repaired"
    return f"{failed} failed, {repaired} of them {'was' if repaired == 1 else 'were'} repaired"


def format_duration(milliseconds: float) -> str:
    """Return a duration in the unit that suits it: "12 ms", "6.4 s" or "2 min 5 s"."""
    if milliseconds < 1_000:
        return f"{milliseconds:.1f} ms" if 0 < milliseconds < 10 else f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1_000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes:,} min {seconds} s"
