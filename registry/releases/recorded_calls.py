"""Calls that worked under the live release, tried on the draft before it is published.

The gateway owns calls and knows how to read their args. It sets the function that replays them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from audit.models import AuditEntry
from registry.snapshot.copy_kinds import Kind
from registry.snapshot.diff import CopyChange
from registry.snapshot.entries import OpEntry, Snapshot
from registry.vocabulary import CatalogVocabulary

# The fields of an op that decide which args it takes. All others are only read.
CONTRACT_FIELDS = frozenset({"parameters_schema", "argument_aliases", "display_only", "action", "request", "status"})


@dataclass(frozen=True, slots=True)
class ReplayedOp:
    """An op whose contract the draft changes: its entry in the live release, and in the draft if it still exists.

    The schemas of the entries have the words that the vocabulary has for their values.
    """

    live: OpEntry
    draft: OpEntry | None


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


def replay_changes(changes: Sequence[CopyChange], before: Snapshot, after: Snapshot) -> Replay | None:
    """Return how recorded calls would go after these changes; None if they change no contract of a live op."""
    live, draft = _index_ops(before), _index_ops(after)
    names = [
        change.name
        for change in changes
        if change.kind == Kind.OP and change.action != AuditEntry.Action.ADDED and CONTRACT_FIELDS & set(change.fields)
    ]
    if any(change.kind == Kind.VOCABULARY for change in changes):
        names += [name for name, op in draft.items() if name in live and name not in names and _differ(live[name], op)]
    changed = [ReplayedOp(live[name], draft.get(name)) for name in names]
    return _replay(changed) if changed else None


def _index_ops(content: Snapshot) -> dict[str, OpEntry]:
    """Return the entries of a snapshot's ops, by path, with the words for the values of their arguments."""
    vocabulary = CatalogVocabulary.build(content.get("vocabulary", []))
    return {
        entry["op"]: {
            **entry,
            "parameters_schema": vocabulary.add_value_aliases(entry["op"], entry["parameters_schema"]),
        }
        for entry in content["ops"]
    }


def _differ(live: OpEntry, draft: OpEntry) -> bool:
    return bool(live["parameters_schema"] != draft["parameters_schema"])
