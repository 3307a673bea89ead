"""A turn as a trace: its events in order, when each began and how long it took, what failed, and what came next."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from analytics.events import problems
from analytics.events.event_filters import HELP_TYPES
from analytics.events.models import OperationEvent

READING_TYPES = (*HELP_TYPES, OperationEvent.Type.SEARCH)  # steps that show the model text about ops


class StepKind(StrEnum):
    """What a step of a turn is."""

    SEARCH = "search"
    HELP = "help"
    CALL = "call"
    REPAIR = "repair"  # a call that succeeded after a failed one of the same op
    DRY_RUN = "dry run"
    ESCALATION = "escalation"
    CONTEXT = "context"  # the chat loads what its page shows, before the model begins


@dataclass(frozen=True, slots=True)
class TraceStep:
    """An event of a turn, with its place in it. Shares are of the whole turn, 0 to 1."""

    number: int
    event: OperationEvent
    kind: StepKind
    start_ms: float  # since the turn began
    start_share: float
    length_share: float
    problem: str  # what went wrong; "" if nothing did
    came_next: str  # after a problem: what the model did
    repairs: int | None  # number of the failed step that it repaired
    repaired_by: int | None  # number of the step that repaired it

    @property
    def has_failed(self) -> bool:
        return not self.event.ok


@dataclass(frozen=True, slots=True)
class TurnTrace:
    """The steps of a turn, in order of time, and how long it took until the last one ended."""

    steps: Sequence[TraceStep]
    length_ms: float

    @property
    def failed(self) -> int:
        return sum(step.has_failed for step in self.steps)

    @property
    def repaired(self) -> int:
        return sum(step.repaired_by is not None for step in self.steps)

    @property
    def gateway_ms(self) -> float:
        """How long the steps themselves took; the rest is the model's and the chat service's."""
        return sum(step.event.latency_ms for step in self.steps)


def build_trace(events: Sequence[OperationEvent]) -> TurnTrace:
    """Return the trace of a turn from its events, at least one, in order of time."""
    begin = events[0].time
    starts = [(event.time - begin) / timedelta(milliseconds=1) for event in events]
    length = max(start + event.latency_ms for start, event in zip(starts, events, strict=True)) or 1.0
    numbers = {event.pk: number for number, event in enumerate(events, start=1)}
    repaired_by = {event.repairs: numbers[event.pk] for event in events if event.repairs in numbers}
    steps = []
    for index, (event, start) in enumerate(zip(events, starts, strict=True)):
        problem = problems.describe_problem(event)
        steps.append(
            TraceStep(
                number=index + 1,
                event=event,
                kind=_get_kind(event),
                start_ms=start,
                start_share=min(1.0, start / length),
                length_share=min(1.0, event.latency_ms / length),
                problem=problem,
                came_next=describe_next(event, events[index + 1 :]) if problem else "",
                repairs=numbers.get(event.repairs) if event.repairs else None,
                repaired_by=repaired_by.get(event.pk),
            )
        )
    return TurnTrace(steps, length)


def _get_kind(event: OperationEvent) -> StepKind:
    if event.purpose == OperationEvent.Purpose.CONTEXT:
        return StepKind.CONTEXT
    if event.type == OperationEvent.Type.SEARCH:
        return StepKind.SEARCH
    if event.type in HELP_TYPES:
        return StepKind.HELP
    if event.type == OperationEvent.Type.ESCALATE:
        return StepKind.ESCALATION
    if event.dry_run:
        return StepKind.DRY_RUN
    return StepKind.REPAIR if event.repairs else StepKind.CALL


def describe_step(event: OperationEvent) -> str:
    """Return what a step is, in a few words: "full help of onto.task.update", or "call of it, failed"."""
    name = event.op or "the root"
    failed = "" if event.ok else ", failed"
    if event.type == OperationEvent.Type.SEARCH:
        return f"search with {event.result_count or 0} results"
    if event.type in HELP_TYPES:
        return f"{f'{event.format} ' if event.format else ''}help of {name}{failed}"
    if event.type == OperationEvent.Type.ESCALATE:
        return f"request for {name}{failed}"
    return f"call of {name}{failed}"


def describe_next(event: OperationEvent, later: Sequence[OperationEvent]) -> str:
    """Return what the model did after a problem, in a few words. `later` are the events of the turn after it."""
    if not later:
        return "the turn ended"
    following = later[0]
    name = following.op or "the root"
    if following.type == OperationEvent.Type.SEARCH:
        return "searched" if event.type != OperationEvent.Type.SEARCH else "searched again"
    if following.type in HELP_TYPES:
        return f"read help of {name}"
    if following.type == OperationEvent.Type.ESCALATE:
        return f"asked for {name}"
    if following.op != event.op or event.type != OperationEvent.Type.EXEC:
        return f"called {name}"
    if event.digest and following.digest == event.digest:
        return "sent the same call again"
    return "called it again with other args" if event.digest and following.digest else "called it again"
