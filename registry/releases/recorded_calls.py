"""Calls that worked under the live release, tried on the draft before it is published.

The gateway owns calls and knows how to read their args. It sets the function that replays them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit.models import AuditEntry
from registry.snapshot.copy_kinds import Kind
from registry.snapshot.diff import CopyChange, index_entries

# The fields of an op that decide which args it takes. All others are only read.
CONTRACT_FIELDS = frozenset({"parameters_schema", "argument_aliases", "display_only", "action", "request", "status"})


@dataclass(frozen=True, slots=True)
class ReplayedOp:
    """An op whose contract the draft changes: its entry in the live release, and in the draft if it still exists."""

    live: dict[str, Any]
    draft: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class CallProblem:
    """Calls that would fail for the same reason."""

    pointer: str  # JSON Pointer into the args; empty for the args as a whole
    code: str  # of the field error, or why the op would not run: removed, retired
    calls: int
    events: tuple[int, ...]  # ids of the newest ones


@dataclass(frozen=True, slots=True)
class OpReplay:
    """How the recorded calls of an op that worked would go."""

    op: str
    calls: int
    failing: int
    problems: tuple[CallProblem, ...]  # those of most calls first; a call may have several


@dataclass(frozen=True, slots=True)
class Replay:
    """How recorded calls of all ops whose contract changed would go."""

    is_stored: bool  # whether args are stored at all
    ops: tuple[OpReplay, ...] = ()  # those with recorded calls, those with the most failures first

    @property
    def calls(self) -> int:
        return sum(op.calls for op in self.ops)

    @property
    def failing(self) -> int:
        return sum(op.failing for op in self.ops)


Replayer = Callable[[Sequence[ReplayedOp]], Replay]


def _replay_nothing(_: Sequence[ReplayedOp]) -> Replay:
    return Replay(is_stored=False)


_replay: Replayer = _replay_nothing


def set_replayer(replayer: Replayer) -> None:
    """Set the function that replays the recorded calls of ops."""
    global _replay
    _replay = replayer


def replay_changes(changes: Sequence[CopyChange], before: Mapping[str, Any], after: Mapping[str, Any]) -> Replay | None:
    """Return how recorded calls would go after these changes; None if they change no contract of a live op."""
    live, draft = index_entries(before, Kind.OP), index_entries(after, Kind.OP)
    changed = [
        ReplayedOp(live[change.name], draft.get(change.name))
        for change in changes
        if change.kind == Kind.OP and change.action != AuditEntry.Action.ADDED and CONTRACT_FIELDS & set(change.fields)
    ]
    return _replay(changed) if changed else None
