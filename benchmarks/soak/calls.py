"""The mix of calls of a soak, and the events that each call must leave."""

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple

from benchmarks import synthetic

OPS = 1_000  # synthetic ops in the catalog
BATCH_READS = 3
CALLS_PER_TURN, TURNS_PER_SESSION = 5, 10
USERS = 200
KEYS_REMEMBERED = 5_000


class EventKind(NamedTuple):
    """The fields of an event by which a soak counts it."""

    type: str
    source: str
    status: int
    replayed: bool = False

    def __str__(self) -> str:
        return f"{self.type} {self.source} {self.status}{' replayed' if self.replayed else ''}"


HELP, SEARCH, EXEC = (EventKind(kind, "api", 200) for kind in ("help", "search", "exec"))
REPLAY = EXEC._replace(replayed=True)
HELP_ENTRY, EXEC_ENTRY = EventKind("help", "batch", 200), EventKind("exec", "batch", 200)


@dataclass(frozen=True, slots=True)
class SoakCall:
    """One request: what it is, the status that it must have, and the events that it must leave."""

    name: str
    path: str
    events: Sequence[EventKind]
    params: dict[str, str] = field(default_factory=dict)
    json: dict[str, Any] | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class CallMix:
    """Chooses one call after the other, at random. For one thread at a time."""

    def __init__(self, tasks: Sequence[str], seed: int = 1) -> None:
        self.tasks = tasks
        self.rng = random.Random(seed)
        self.ops = [op["op"] for op in synthetic.build_ops(OPS)]
        self.words = [op["entity"].replace("_", " ") for op in synthetic.build_ops(OPS)]
        self._written: deque[SoakCall] = deque(maxlen=KEYS_REMEMBERED)
        self._numbers = count()

    def choose_call(self) -> SoakCall:
        """Return the next call. Neighbours belong to one turn of one user, as in a conversation."""
        number = next(self._numbers)
        [build_call] = self.rng.choices(list(WEIGHTS), list(WEIGHTS.values()))
        call = build_call(self)
        turn = number // CALLS_PER_TURN
        session = turn // TURNS_PER_SESSION
        context = {"Session": f"session-{session}", "Turn": f"turn-{turn}", "Subject": f"user-{session % USERS}"}
        # A key belongs to a user, so a replay has the headers of its write.
        return replace(call, headers=call.headers or {f"Gateway-{name}": value for name, value in context.items()})

    def remember_write(self, call: SoakCall) -> None:
        """Remember a keyed write that was answered, so that it may be replayed."""
        if call.name == "keyed write":
            self._written.append(call)

    def choose_written(self) -> SoakCall | None:
        """Return a keyed write that was answered."""
        return self.rng.choice(self._written) if self._written else None

    def create_key(self) -> str:
        """Return a new idempotency key."""
        return f"{self.rng.getrandbits(64):016x}"


def build_root_help(_mix: CallMix) -> SoakCall:
    """Return a call whose answer every worker has in its cache."""
    return SoakCall("cached help", "help", [HELP], params={"path": "root"})


def build_op_help(mix: CallMix) -> SoakCall:
    """Return help of any op, which a worker caches once it was read."""
    params = {"path": mix.rng.choice(mix.ops), "format": mix.rng.choice(["short", "full"])}
    return SoakCall("help of an op", "help", [HELP], params=params)


def build_search(mix: CallMix) -> SoakCall:
    return SoakCall("search", "help", [SEARCH], params={"query": mix.rng.choice(mix.words)})


def build_read(mix: CallMix) -> SoakCall:
    return SoakCall("read", "exec", [EXEC], json=_build_read_body(mix))


def build_keyed_write(mix: CallMix) -> SoakCall:
    body = _build_write_body(mix) | {"idempotency_key": mix.create_key()}
    return SoakCall("keyed write", "exec", [EXEC], json=body)


def build_replay(mix: CallMix) -> SoakCall:
    """Return an earlier write again, or a write if there is none yet."""
    written = mix.choose_written()
    return replace(written, name="replay", events=[REPLAY]) if written else build_keyed_write(mix)


def build_invalid_call(_mix: CallMix) -> SoakCall:
    body = {"op": synthetic.READ["op"], "args": {"task_id": "the first one", "limit": 5}}
    return SoakCall("invalid call", "exec", [EXEC._replace(status=400)], json=body, status=400)


def build_unknown_help(mix: CallMix) -> SoakCall:
    path = f"{mix.rng.choice(mix.ops)}_all"
    return SoakCall("unknown path", "help", [HELP._replace(status=404)], params={"path": path}, status=404)


def build_parallel_batch(mix: CallMix) -> SoakCall:
    return _build_batch(mix, "parallel")


def build_sequential_batch(mix: CallMix) -> SoakCall:
    return _build_batch(mix, "sequential")


# The share of each call in percent.
WEIGHTS: dict[Callable[[CallMix], SoakCall], int] = {
    build_root_help: 15,
    build_op_help: 20,
    build_search: 12,
    build_read: 25,
    build_keyed_write: 12,
    build_replay: 4,
    build_invalid_call: 4,
    build_unknown_help: 2,
    build_parallel_batch: 3,
    build_sequential_batch: 3,
}


def _build_batch(mix: CallMix, mode: str) -> SoakCall:
    entries: list[dict[str, Any]] = [{"type": "help", "path": mix.rng.choice(mix.ops)}]
    entries += [{"type": "exec", **_build_read_body(mix)} for _ in range(BATCH_READS)]
    entries += [{"type": "exec", **_build_write_body(mix), "idempotency_key": mix.create_key()}]
    events = [HELP_ENTRY, *[EXEC_ENTRY] * (len(entries) - 1)]
    return SoakCall(f"{mode} batch", "batch", events, json={"ops": entries, "mode": mode})


def _build_read_body(mix: CallMix) -> dict[str, Any]:
    return {"op": synthetic.READ_BY_ORM["op"], "args": {"task_id": mix.rng.choice(mix.tasks)}}


def _build_write_body(mix: CallMix) -> dict[str, Any]:
    args = {"task_id": mix.rng.choice(mix.tasks), "priority": mix.rng.randint(1, 5)}
    return {"op": synthetic.WRITE["op"], "args": args}
