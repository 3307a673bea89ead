"""Generate invented turns: searches, help, calls and repairs, at random from a fixed seed."""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any, NamedTuple

from analytics import events
from analytics.models import OperationEvent, ToolSelection

CLIENT = "demo-chat"
Type, Outcome = OperationEvent.Type, ToolSelection.Outcome


class DemoOp(NamedTuple):
    """An op of the shipped catalog, its relative frequency, and the errors of its failed calls."""

    op: str
    tool_name: str
    often: int
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
NO_NAMES = ("onto.task.snooze", "onto.task.complete", "cal.event.invite", "onto.project.archive", "send_email")
LEGACY_TOOLS = [each.tool_name for each in OPS]
GATEWAY_TOOLS = ["tool_batch", "tool_exec", "tool_help"]


@dataclass(frozen=True, slots=True)
class Served:
    """What a group of users gets, and how well models cope: probabilities (0 to 1) per call or per turn."""

    cohort: str
    surface: str
    release: str
    fails: float
    mends: float
    is_lost: float
    loops: float


@dataclass(frozen=True, slots=True)
class Family:
    """A family of models: its share of turns in percent, and a factor on the failure rate."""

    name: str
    often: int
    fails: float


FAMILIES = (Family("claude", 50, 0.85), Family("gpt", 35, 1.0), Family("gemini", 15, 1.4))


class Ops:
    """Draws ops at random by their frequency."""

    def __init__(self, ops: Sequence[DemoOp]) -> None:
        self._ops, self._often = ops, list(accumulate(each.often for each in ops))

    def some(self, chance: random.Random, number: int) -> list[DemoOp]:
        return chance.choices(self._ops, cum_weights=self._often, k=number)


class TurnWriter:
    """Generates one turn after another; the same seed gives the same turns."""

    def __init__(self, seed: int, ops: Sequence[DemoOp] = OPS) -> None:
        self._chance, self._ops = random.Random(seed), Ops(ops)
        self._number = 0

    def turn(self, subject: str, served: Served, at: datetime) -> tuple[list[dict[str, Any]], ToolSelection]:
        """Return the events of a turn that starts at `at`, and its tool selection."""
        self._number += 1
        family = self._chance.choices(FAMILIES, [each.often for each in FAMILIES])[0]
        turn = _Turn(self._chance, self._ops, f"demo-{self._number}", subject, served, family, at)
        turn.go()
        return turn.events, turn.selection()


class _Turn:
    """One turn in progress. Each event is a few seconds after the previous one."""

    def __init__(
        self, chance: random.Random, ops: "Ops", name: str, subject: str, served: Served, family: Family, at: datetime
    ) -> None:
        self.events: list[dict[str, Any]] = []
        self._chance, self._ops, self._served, self._at = chance, ops, served, at
        self._fails = min(0.9, served.fails * family.fails)
        self._used: set[str] = set()
        self._missed: set[str] = set()
        self._same = {
            "client": CLIENT,
            "key": "demo",
            "subject": subject,
            "turn": name,
            "session": f"demo-{subject}-{at:%m%d}",
            "release": served.release,
            "surface": served.surface,
            "cohort": served.cohort,
            "model": family.name,
        }

    def go(self) -> None:
        """Simulate the turn: search and read help if the surface needs it, call a few ops, repair some failures."""
        if self._served.surface == "gateway" and self._chance.random() < 0.55:
            self._happen(Type.SEARCH, result_count=0 if self._chance.random() < 0.06 else self._chance.randint(1, 8))
        if self._chance.random() < self._served.is_lost:
            self._unknown()
        for op in self._ops.some(self._chance, self._chance.choice((0, 1, 1, 2, 2, 3, 4, 5))):
            if self._served.surface == "gateway" and self._chance.random() < 0.6:
                short = self._chance.random() < 0.8
                self._happen(Type.HELP, op, format="short" if short else "full", call=f"help {op.op}")
            self._call(op)

    def selection(self) -> ToolSelection:
        """Return the tool selection that the chat service reported for the turn."""
        loaded = GATEWAY_TOOLS if self._served.surface == "gateway" else LEGACY_TOOLS
        used = {"tool_help", "tool_exec"} & set(loaded) or self._used & set(loaded)
        names = ("client", "session", "turn", "subject", "release", "surface", "cohort", "model")
        return ToolSelection(
            time=self._at,
            toolset="demo",
            loaded=sorted(loaded),
            used=sorted(used if self._used else ()),
            missed=sorted(self._missed),
            escalated=sorted(self._missed & set(LEGACY_TOOLS)),
            tokens=self._chance.randint(900, 2_400) + 700 * len(self.events) + 160 * len(loaded),
            outcome=self._outcome(),
            **{name: self._same[name] for name in names},
        )

    def _outcome(self) -> str:
        if not self.events:
            return Outcome.UNKNOWN
        if self.events[-1]["ok"]:
            return Outcome.SUCCEEDED
        return Outcome.ABANDONED if self._chance.random() < 0.4 else Outcome.FAILED

    def _call(self, op: DemoOp) -> None:
        self._used.add(op.tool_name)
        if self._served.surface != "gateway" and self._chance.random() < 0.05:
            self._missed.add(op.tool_name)
        if self._chance.random() < self._served.loops:
            for _ in range(self._chance.randint(3, 6)):
                self._fail(op, call=f"loop {op.op}")
            return
        if self._chance.random() < self._fails * (1.0 if op.errors else 0.25):
            self._fail(op)
            if self._chance.random() >= self._served.mends:
                return
        self._happen(Type.EXEC, op)

    def _fail(self, op: DemoOp, **more: Any) -> None:
        if op.errors and self._chance.random() < 0.85:
            error = self._chance.choices(op.errors, range(len(op.errors), 0, -1))[0]
            more |= {"code": "VALIDATION_ERROR", "reason": "invalid_args", "field_errors": [list(error)]}
        elif self._chance.random() < 0.8:
            more |= {"code": "NOT_FOUND", "reason": "not_found"}
        else:
            more |= {"code": "INTERNAL", "reason": "timeout"}
        self._happen(Type.EXEC, op, **more)

    def _unknown(self) -> None:
        name = self._chance.choice(NO_NAMES)
        self._missed.add(name)
        self._happen(Type.EXEC, op_name=name, code="NOT_FOUND", reason="unknown_op")

    def _happen(self, type: OperationEvent.Type, op: DemoOp | None = None, op_name: str = "", **more: Any) -> None:
        self._at += timedelta(seconds=self._chance.uniform(1, 7))
        said = {"op": op.op, "tool_name": op.tool_name} if op else {"op": op_name}
        said["digest"] = digest(more.pop("call", f"call {len(self.events)}"))
        usual = op.latency_ms if op and type == Type.EXEC else 2
        self.events.append(
            events.new(
                time=self._at,
                type=type,
                ok="code" not in more,
                status=400 if "code" in more else 200,
                latency_ms=round(self._chance.lognormvariate(0, 0.4) * usual, 3),
                trace_id=f"tr_{self._chance.getrandbits(128):032x}",
                **self._same,
                **said,
                **more,
            )
        )


def digest(text: str) -> str:
    """Return a hash of a text as 16 hex characters."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
