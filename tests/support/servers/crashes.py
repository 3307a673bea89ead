"""The crash runner: keyed writes, alone and in batches, while processes die at chosen points and are started again.

Clients do as they are told: they send the same call under the same key until there is an answer that stands.
"""

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from django.conf import settings

from gateway.management.commands import start
from tests.support.servers.fault_points import WEB, WORKER
from tests.support.servers.processes import Process, eventually, free_port, start_worker

CLIENTS = 6
WORKERS = 2  # over a broker: while one that died starts again, the other goes on, and takes over what it held
OF_ONE_BATCH = 10
ENDS_WITHIN = 90.0  # seconds that a client goes on with one piece of work; no answer by then is a hang
FIRES_WITHIN = 60.0

_STEPS = ("entry-claim", "key-claim", "handler", "outcome", "entry-finish", "event", "commit", "exec", "run")


@dataclass(frozen=True, slots=True)
class Point:
    """Where a process dies, and of what."""

    role: str
    place: str
    sign: signal.Signals

    def __str__(self) -> str:
        return f"{self.role}.{self.place}.{self.sign.name}"


def _places() -> Iterator[tuple[str, str]]:
    for step in _STEPS:
        for when in ("before", "after"):
            yield WORKER, f"{step}-{when}"
            yield WEB, f"{step}-{when}"
    yield from ((WEB, place) for place in ("taken-before", "taken-after", "wake-before", "wake-after"))
    yield from ((WEB, place) for place in ("answer-before", "answer-after"))
    yield from ((role, place) for role in (WORKER, WEB) for place in ("go-on-before", "sweep-before", "sweep-after"))
    yield from ((WORKER, place) for place in ("turn-before", "turn-after", "help-before", "help-after"))


PLACES = tuple(_places())

# What every run of the tests has: claim, handler, commit, answer, waking, the sweep; in both kinds of process.
CHOSEN = (
    (WORKER, "entry-claim-before"),
    (WEB, "taken-after"),
    (WORKER, "entry-claim-after"),
    (WEB, "key-claim-after"),
    (WORKER, "handler-after"),
    (WEB, "handler-after"),
    (WORKER, "event-after"),  # the next step is the commit
    (WEB, "commit-after"),
    (WORKER, "commit-after"),
    (WEB, "answer-after"),
    (WORKER, "run-after"),  # stored, and the message not acknowledged
    (WEB, "sweep-after"),
)


def plan(count: int, rng: random.Random, *, roles: Sequence[str]) -> list[Point]:
    """Return so many points: the chosen ones first, then others; both signals take turns from a random one."""
    chosen = [each for each in CHOSEN if each[0] in roles]
    others = [each for each in PLACES if each[0] in roles and each not in chosen]
    rng.shuffle(others)
    places = [*chosen, *others]
    signs = [signal.SIGKILL, signal.SIGTERM]
    rng.shuffle(signs)
    # Two by two: those of one role would else meet but one of the signals.
    return [Point(*places[n % len(places)], signs[n // 2 % 2]) for n in range(count)]


@dataclass
class Ledger:
    """What clients were told: the result of each key, and what should not have been answered."""

    acknowledged: dict[str, str] = field(default_factory=dict)
    unexpected: list[str] = field(default_factory=list)
    replays: int = 0

    def take(self, key: str, envelope: Mapping[str, Any]) -> bool:
        """Note an answer to a key; return whether it stands."""
        if envelope["ok"]:
            known = self.acknowledged.setdefault(key, envelope["result"]["id"])
            self.replays += bool(envelope["meta"].get("replayed"))
            if known != envelope["result"]["id"]:
                self.unexpected.append(f"{key} was {known} and is {envelope['result']['id']}")
            return True
        details = envelope["error"]["details"]
        may_come_again = details["retryable"] or details["reason"] in (
            "timeout",
            "cancelled",
            "runner_lost",
            "internal",
        )
        if not may_come_again:
            self.unexpected.append(f"{key}: {envelope['error']}")
        return not may_come_again


class Client:
    """One chat service. It stops for nothing but an answer."""

    def __init__(self, urls: Sequence[str], key: str, ledger: Ledger, rng: random.Random) -> None:
        self.urls, self.ledger, self.rng = urls, ledger, rng
        self.http = httpx2.Client(
            headers={"Authorization": f"Bearer {key}"},
            trust_env=False,
            timeout=40,
            verify=False,
        )

    def write(self, keys: Sequence[str]) -> None:
        """Have each key written, in one of the ways there are."""
        ways = [self._one_by_one, self._in_a_batch, self._in_a_batch, self._in_the_background]
        with self.http:
            self._one_by_one(self.rng.choice(ways)(keys))

    def _one_by_one(self, keys: Iterable[str]) -> list[str]:
        for key in keys:
            self._until(lambda key=key: self._exec(key), key)
        return []

    def _exec(self, key: str) -> bool:
        body = {"op": "probe.keep", "args": {"title": key}, "idempotency_key": key}
        answer = self._send("POST", "/api/v1/exec", json=body)
        return answer is not None and self.ledger.take(key, answer.json())

    def _in_a_batch(self, keys: Sequence[str]) -> list[str]:
        body = {"ops": [_entry(key) for key in keys], "mode": self.rng.choice(["sequential", "parallel"])}
        if self.rng.random() < 0.5:
            body["idempotency_key"] = f"batch-{keys[0]}"
        told: list[dict[str, Any]] = []
        self._until(lambda: self._told(told, "POST", "/api/v1/batch", json=body), f"the batch of {keys[0]}")
        return self._left(keys, told[-1])

    def _in_the_background(self, keys: Sequence[str]) -> list[str]:
        body = {"ops": [_entry(key) for key in keys], "idempotency_key": f"background-{keys[0]}"}
        body["mode"] = self.rng.choice(["sequential", "parallel"])
        told: list[dict[str, Any]] = []
        prefer = {"Prefer": "respond-async"}
        self._until(lambda: self._told(told, "POST", "/api/v1/batch", json=body, headers=prefer), keys[0])
        path = f"/api/v1/batches/{told[-1]['batch_id']}?wait=2"
        self._until(lambda: self._told(told, "GET", path) and told[-1]["status"] == "done", path)
        return self._left(keys, told[-1])

    def _left(self, keys: Sequence[str], batch: dict[str, Any]) -> list[str]:
        return [key for key, result in zip(keys, batch["results"], strict=True) if not self.ledger.take(key, result)]

    def _told(self, told: list[dict[str, Any]], method: str, path: str, **sent: Any) -> bool:
        answer = self._send(method, path, **sent)
        if answer is None:
            return False
        told.append(answer.json())
        if "results" in told[-1]:
            return True
        if not told[-1]["error"]["details"]["retryable"] and answer.status_code != 503:
            self.ledger.unexpected.append(f"{path}: {told[-1]['error']}")
        return False

    def _send(self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **sent: Any) -> Any:
        try:
            return self.http.request(method, self.rng.choice(self.urls) + path, headers=headers, **sent)
        except httpx2.TransportError:  # whoever was to answer died
            return None

    def _until(self, attempt: Callable[[], bool], what: str) -> None:
        until = time.monotonic() + ENDS_WITHIN
        while not attempt():
            if time.monotonic() > until:
                raise TimeoutError(f"{what} had no answer that stands within {ENDS_WITHIN} s")
            time.sleep(0.1)


def _entry(key: str) -> dict[str, Any]:
    return {"type": "exec", "op": "probe.keep", "args": {"title": key}, "idempotency_key": key}


class Kept:
    """A process that is started again whenever it has ended, as every supervisor does."""

    def __init__(self, begin: Callable[[], Process]) -> None:
        self.begin = begin
        self.processes = [begin()]
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep)
        self._thread.start()

    @property
    def output(self) -> str:
        return "".join(process.output for process in self.processes)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        self.processes[-1].kill()

    def _keep(self) -> None:
        while not self._stopping.wait(0.1):
            if self.processes[-1].inner.poll() is not None:
                self.processes[-1].kill()
                self.processes.append(self.begin())


@dataclass
class Fleet:
    """Web servers and, over a broker, workers; all of them can be made to die by files in a folder."""

    environment: Mapping[str, str]
    folder: Path
    broker_url: str = ""
    urls: list[str] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)

    @property
    def roles(self) -> tuple[str, ...]:
        """The kinds of processes that it has."""
        return (WEB, WORKER) if self.broker_url else (WEB,)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Have all of it run."""
        try:
            port = free_port()
            self.urls.append(f"http://127.0.0.1:{port}")
            web = [sys.executable, "-m", "config.serve", *start._build_server_arguments(port)]
            here = settings.BASE_DIR
            self.kept.append(Kept(lambda: Process(web, environment=self._variables(WEB), folder=here)))
            for _ in range(WORKERS if self.broker_url else 0):
                self.kept.append(Kept(lambda: start_worker(self._variables(WORKER))))
            eventually(self._serves, within=60, what="the fleet's start")
            yield
        finally:
            for each in self.kept:
                each.stop()
            print("\n".join(each.output for each in self.kept))

    def arm(self, points: Iterable[Point]) -> None:
        """Have the first that comes by each point die."""
        for point in points:
            (self.folder / str(point)).touch()

    def armed(self) -> set[str]:
        """Return the points at which nobody has died yet."""
        return {path.name for path in self.folder.iterdir()}

    def _serves(self) -> bool:
        try:
            return httpx2.get(f"{self.urls[0]}/readyz", timeout=5, trust_env=False).status_code == 200
        except httpx2.TransportError:
            return False

    def _variables(self, role: str) -> dict[str, str]:
        return {
            **self.environment,
            "DJANGO_SETTINGS_MODULE": "tests.support.servers.crash_settings",
            "CELERY_BROKER_URL": self.broker_url,
            "CRASH_ROLE": role,
            "CRASH_FOLDER": str(self.folder),
        }


def run(fleet: Fleet, points: Sequence[Point], *, writes: int, key: str, rng: random.Random) -> Ledger:
    """Have so many writes made for each point, one process of each role dying meanwhile; return what was told."""
    ledger, number = Ledger(), 0
    of_one = len(fleet.roles)
    for first in range(0, len(points), of_one):
        round_ = points[first : first + of_one]
        fleet.arm(round_)
        keys = [f"{number + n}-{rng.getrandbits(32):08x}" for n in range(writes * len(round_))]
        number += len(keys)
        _drive(fleet, keys, key, ledger, rng)
        _until_fired(fleet, key, ledger, rng)
    return ledger


def _drive(fleet: Fleet, keys: Sequence[str], key: str, ledger: Ledger, rng: random.Random) -> None:
    pieces = [keys[first : first + OF_ONE_BATCH] for first in range(0, len(keys), OF_ONE_BATCH)]
    with ThreadPoolExecutor(CLIENTS) as pool:
        clients = [Client(fleet.urls, key, ledger, random.Random(rng.getrandbits(64))) for _ in pieces]
        for done in [pool.submit(client.write, piece) for client, piece in zip(clients, pieces, strict=True)]:
            done.result()


def _until_fired(fleet: Fleet, key: str, ledger: Ledger, rng: random.Random) -> None:
    """Go on until every armed point has met its process: one that is only starting again comes by later."""
    until = time.monotonic() + FIRES_WITHIN
    while armed := fleet.armed():
        assert time.monotonic() < until, f"Nobody came by {sorted(armed)}"
        _drive(fleet, [f"more-{rng.getrandbits(64):016x}" for _ in range(2 * OF_ONE_BATCH)], key, ledger, rng)


def seed() -> int:
    """Return CRASH_SEED, a new one where it is not set."""
    return int(os.environ.get("CRASH_SEED") or random.SystemRandom().getrandbits(32))
