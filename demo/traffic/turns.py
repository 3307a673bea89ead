"""Generate invented turns: searches, help, calls and repairs, at random from a fixed seed."""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any, NamedTuple

from analytics.events import event_log
from analytics.events.models import OperationEvent
from analytics.flags import STATIC, Surface
from analytics.turns.models import Feedback, ToolSelection

CLIENT = "demo-chat"
Type, Outcome = OperationEvent.Type, ToolSelection.Outcome


class DemoOp(NamedTuple):
    """An op of the shipped catalog, its relative frequency, and the errors of its failed calls."""

    op: str
    tool_name: str
    weight: int
    latency_ms: float
    errors: tuple[tuple[str, str], ...] = ()  # (JSON Pointer, code); without any, its calls fail with NOT_FOUND


OPS = (
    DemoOp("onto.task.list", "list_onto_tasks", 14, 9),
    DemoOp("onto.task.search", "search_onto_tasks", 10, 12),
    DemoOp("onto.task.get", "get_onto_task_details", 8, 4, (("/task_id", "format"),)),
    DemoOp("onto.task.update", "update_onto_task", 16, 15, (("/state_key", "enum"), ("/due_at", "format"))),
    DemoOp("onto.task.create", "create_onto_task", 11, 18, (("/project_id", "required"), ("/priority", "type"))),
    DemoOp("onto.project.get", "get_onto_project_details", 7, 6),
    DemoOp("onto.project.graph.get", "get_onto_project_graph", 3, 35),
    DemoOp("onto.document.update", "update_onto_document", 5, 22, (("/content", "required"),)),
    DemoOp("onto.document.search", "search_onto_documents", 5, 14),
    DemoOp("onto.edge.link", "link_onto_entities", 4, 11, (("/rel", "enum"),)),
    DemoOp("cal.event.list", "list_calendar_events", 8, 10, (("/time_min", "format"),)),
    DemoOp("cal.event.create", "create_calendar_event", 6, 17, (("/end_at", "required"), ("/start_at", "format"))),
    DemoOp("util.web.search", "web_search", 3, 640),
)
UNKNOWN_NAMES = ("onto.task.snooze", "onto.task.complete", "cal.event.invite", "onto.project.archive", "send_email")
TURN_FIELDS = ("client", "session", "turn", "subject", "release", "surface", "cohort", "model")
SURFACE_COHORT = "gateway-pilot"  # of all who get another surface than the default
RATED_SHARE = 0.12  # of the turns
REASONS = (
    "It changed the wrong task.",
    "I asked for a date, not for a list.",
    "It took three attempts.",
    "It found nothing, but the document is there.",
)
LEGACY_TOOLS = [each.tool_name for each in OPS]
GATEWAY_TOOLS = ["tool_batch", "tool_exec", "tool_help"]


@dataclass(frozen=True, slots=True)
class DemoVariant:
    """What a group of users gets, and how well models cope: probabilities (0 to 1) per call or per turn."""

    cohort: str
    surface: str
    release: str
    failure_rate: float
    repair_rate: float
    unknown_name_rate: float
    loop_rate: float

    @property
    def cohorts(self) -> str:
        """The cohorts that decide what the group gets, as events have them: of the surface, then of the release."""
        return " ".join(filter(None, [SURFACE_COHORT if self.surface != Surface.LEGACY else "", self.cohort]))


@dataclass(frozen=True, slots=True)
class ModelFamily:
    """A family of models: its share of turns in percent, and a factor on the failure rate."""

    name: str
    weight: int
    failure_factor: float


MODEL_FAMILIES = (ModelFamily("claude", 50, 0.85), ModelFamily("gpt", 35, 1.0), ModelFamily("gemini", 15, 1.4))


class OpSampler:
    """Draws ops at random by their frequency."""

    def __init__(self, ops: Sequence[DemoOp]) -> None:
        self._ops, self._cumulative_weights = ops, list(accumulate(each.weight for each in ops))

    def draw_ops(self, rng: random.Random, number: int) -> list[DemoOp]:
        return rng.choices(self._ops, cum_weights=self._cumulative_weights, k=number)


def draw_feedback(selection: ToolSelection) -> Feedback | None:
    """Return what the user thinks of a turn; None for most turns, on which users say nothing."""
    rng = random.Random(f"feedback on {selection.turn}")  # not the one of the turns, which are the same without it
    if rng.random() >= RATED_SHARE:
        return None
    is_up = rng.random() < (0.9 if selection.outcome == Outcome.SUCCEEDED else 0.35)
    return Feedback(
        time=selection.time + timedelta(minutes=1),
        thumb=Feedback.Thumb.UP if is_up else Feedback.Thumb.DOWN,
        reason="" if is_up or rng.random() < 0.5 else rng.choice(REASONS),
        **{name: getattr(selection, name) for name in TURN_FIELDS},
    )


class TurnGenerator:
    """Generates one turn after another; the same seed gives the same turns."""

    def __init__(self, seed: int | str, ops: Sequence[DemoOp] = OPS) -> None:
        self._rng, self._sampler = random.Random(seed), OpSampler(ops)
        self._number, self._prefix = 0, "demo" if isinstance(seed, int) else seed.replace(" ", "-")

    def generate_turn(
        self, subject: str, variant: DemoVariant, at: datetime
    ) -> tuple[list[dict[str, Any]], ToolSelection]:
        """Return the events of a turn that starts at `at`, and its tool selection."""
        self._number += 1
        family = self._rng.choices(MODEL_FAMILIES, [each.weight for each in MODEL_FAMILIES])[0]
        turn = _TurnSimulation(self._rng, self._sampler, f"{self._prefix}-{self._number}", subject, variant, family, at)
        turn.run()
        return turn.events, turn.build_selection()


class _TurnSimulation:
    """One turn in progress. Each event is a few seconds after the previous one."""

    def __init__(
        self,
        rng: random.Random,
        ops: "OpSampler",
        name: str,
        subject: str,
        variant: DemoVariant,
        family: ModelFamily,
        at: datetime,
    ) -> None:
        self.events: list[dict[str, Any]] = []
        self._rng, self._sampler, self._variant, self._at = rng, ops, variant, at
        self._failure_rate = min(0.9, variant.failure_rate * family.failure_factor)
        self._used_tools: set[str] = set()
        self._missed_tools: set[str] = set()
        self._shared_fields = {
            "client": CLIENT,
            "key": "demo",
            "subject": subject,
            "turn": name,
            "session": f"demo-{subject}-{at:%m%d}",
            "release": variant.release,
            "surface": variant.surface,
            "cohort": variant.cohorts,
            "model": family.name,
        }

    def run(self) -> None:
        """Simulate the turn: search and read help if the surface needs it, call a few ops, repair some failures."""
        if self._variant.surface == "gateway" and self._rng.random() < 0.55:
            self._add_event(Type.SEARCH, result_count=0 if self._rng.random() < 0.06 else self._rng.randint(1, 8))
        if self._rng.random() < self._variant.unknown_name_rate:
            self._add_unknown_name()
        for op in self._sampler.draw_ops(self._rng, self._rng.choice((0, 1, 1, 2, 2, 3, 4, 5))):
            if self._variant.surface == "gateway" and self._rng.random() < 0.6:
                is_short = self._rng.random() < 0.8
                self._add_event(Type.HELP, op, format="short" if is_short else "full", call=f"help {op.op}")
            self._simulate_call(op)

    def build_selection(self) -> ToolSelection:
        """Return the tool selection that the chat service reported for the turn."""
        loaded = GATEWAY_TOOLS if self._variant.surface == "gateway" else LEGACY_TOOLS
        used = {"tool_help", "tool_exec"} & set(loaded) or self._used_tools & set(loaded)
        return ToolSelection(
            time=self._at,
            toolset="demo",
            selection_kind="" if self._variant.surface == Surface.GATEWAY else STATIC,
            loaded=sorted(loaded),
            used=sorted(used if self._used_tools else ()),
            missed=sorted(self._missed_tools),
            escalated=sorted(self._missed_tools & set(LEGACY_TOOLS)),
            tokens=self._rng.randint(900, 2_400) + 700 * len(self.events) + 160 * len(loaded),
            outcome=self._choose_outcome(),
            **{name: self._shared_fields[name] for name in TURN_FIELDS},
        )

    def _choose_outcome(self) -> str:
        if not self.events:
            return Outcome.UNKNOWN
        if self.events[-1]["ok"]:
            return Outcome.SUCCEEDED
        return Outcome.ABANDONED if self._rng.random() < 0.4 else Outcome.FAILED

    def _simulate_call(self, op: DemoOp) -> None:
        self._used_tools.add(op.tool_name)
        if self._variant.surface != "gateway" and self._rng.random() < 0.05:
            self._missed_tools.add(op.tool_name)
        if self._rng.random() < self._variant.loop_rate:
            for _ in range(self._rng.randint(3, 6)):
                self._add_failed_call(op, call=f"loop {op.op}")
            return
        if self._rng.random() < self._failure_rate * (1.0 if op.errors else 0.25):
            self._add_failed_call(op)
            if self._rng.random() >= self._variant.repair_rate:
                return
        self._add_event(Type.EXEC, op)

    def _add_failed_call(self, op: DemoOp, **more: Any) -> None:
        if op.errors and self._rng.random() < 0.85:
            error = self._rng.choices(op.errors, range(len(op.errors), 0, -1))[0]
            more |= {"code": "VALIDATION_ERROR", "reason": "invalid_args", "field_errors": [list(error)]}
        elif self._rng.random() < 0.8:
            more |= {"code": "NOT_FOUND", "reason": "not_found"}
        else:
            more |= {"code": "INTERNAL", "reason": "timeout"}
        self._add_event(Type.EXEC, op, **more)

    def _add_unknown_name(self) -> None:
        name = self._rng.choice(UNKNOWN_NAMES)
        self._missed_tools.add(name)
        self._add_event(Type.EXEC, op_name=name, code="NOT_FOUND", reason="unknown_op")

    def _add_event(self, type: OperationEvent.Type, op: DemoOp | None = None, op_name: str = "", **more: Any) -> None:
        self._at += timedelta(seconds=self._rng.uniform(1, 7))
        call_fields = {"op": op.op, "tool_name": op.tool_name} if op else {"op": op_name}
        call_fields["digest"] = short_digest(more.pop("call", f"call {len(self.events)}"))
        typical_latency_ms = op.latency_ms if op and type == Type.EXEC else 2
        self.events.append(
            event_log.build_event(
                time=self._at,
                type=type,
                ok="code" not in more,
                status=400 if "code" in more else 200,
                latency_ms=round(self._rng.lognormvariate(0, 0.4) * typical_latency_ms, 3),
                trace_id=f"tr_{self._rng.getrandbits(128):032x}",
                **self._shared_fields,
                **call_fields,
                **more,
            )
        )


def short_digest(text: str) -> str:
    """Return a hash of a text as 16 hex characters."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
