"""The crash runner: keyed writes, alone and in batches, while processes die at chosen points and are restarted.

Clients follow the protocol: they send the same call with the same key until they get a final answer.
"""

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from tests.support.servers.fault_points import WEB, WORKER
from tests.support.servers.processes import (
    PLAIN_HTTP,
    Process,
    answers,
    eventually,
    free_port,
    start_server,
    start_worker,
)

CLIENTS = 6
WORKERS = 2  # while one restarts, the other takes over its entries
BATCH_SIZE = 10
CLIENT_SECONDS = 90.0  # a client without a final answer by then has found a hang
FAULT_SECONDS = 60.0

_STEPS = ("entry-claim", "key-claim", "handler", "outcome", "entry-finish", "event", "commit", "exec", "run")


@dataclass(frozen=True, slots=True)
class FaultPoint:
    """A place where a process dies, and the signal that kills it."""

    role: str
    place: str
    sign: signal.Signals

    def __str__(self) -> str:
        return f"{self.role}.{self.place}.{self.sign.name}"


def _iterate_places() -> Iterator[tuple[str, str]]:
    for step in _STEPS:
        for when in ("before", "after"):
            yield WORKER, f"{step}-{when}"
            yield WEB, f"{step}-{when}"
    yield from ((WEB, place) for place in ("taken-before", "taken-after", "wake-before", "wake-after"))
    yield from ((WEB, place) for place in ("answer-before", "answer-after"))
    yield from ((role, place) for role in (WORKER, WEB) for place in ("go-on-before", "sweep-before", "sweep-after"))
    yield from ((WORKER, place) for place in ("turn-before", "turn-after", "help-before", "help-after"))


PLACES = tuple(_iterate_places())

# Places that every run tests: claim, handler, commit, answer, wake-up and sweep, in both kinds of process.
ALWAYS_TESTED = (
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


def plan_faults(count: int, rng: random.Random, *, roles: Sequence[str]) -> list[FaultPoint]:
    """Return `count` points: those that are always tested, then others. Both signals alternate."""
    chosen = [each for each in ALWAYS_TESTED if each[0] in roles]
    others = [each for each in PLACES if each[0] in roles and each not in chosen]
    rng.shuffle(others)
    places = [*chosen, *others]
    signs = [signal.SIGKILL, signal.SIGTERM]
    rng.shuffle(signs)
    # In pairs, because otherwise each role would always get the same signal.
    return [FaultPoint(*places[n % len(places)], signs[n // 2 % 2]) for n in range(count)]


@dataclass
class Ledger:
    """The answers to clients: the result of each key, and unexpected answers."""

    acknowledged: dict[str, str] = field(default_factory=dict)
    unexpected: list[str] = field(default_factory=list)
    replays: int = 0

    def record(self, key: str, envelope: Mapping[str, Any]) -> bool:
        """Record an answer for a key, and return whether it is final."""
        if envelope["ok"]:
            known = self.acknowledged.setdefault(key, envelope["result"]["id"])
            self.replays += bool(envelope["meta"].get("replayed"))
            if known != envelope["result"]["id"]:
                self.unexpected.append(f"{key} was {known} and is {envelope['result']['id']}")
            return True
        details = envelope["error"]["details"]
        is_retryable = details["retryable"] or details["reason"] in ("timeout", "cancelled", "runner_lost", "internal")
        if not is_retryable:
            self.unexpected.append(f"{key}: {envelope['error']}")
        return not is_retryable


class Client:
    """A client that repeats its calls until it gets a final answer."""

    def __init__(self, urls: Sequence[str], key: str, ledger: Ledger, rng: random.Random) -> None:
        self.urls, self.ledger, self.rng = urls, ledger, rng
        self.http = httpx2.Client(headers={"Authorization": f"Bearer {key}"}, timeout=40, **PLAIN_HTTP)

    def write(self, keys: Sequence[str]) -> None:
        """Write each key, in one of several ways."""
        ways = [self._write_one_by_one, self._write_as_batch, self._write_as_batch, self._write_in_background]
        with self.http:
            self._write_one_by_one(self.rng.choice(ways)(keys))

    def _write_one_by_one(self, keys: Iterable[str]) -> list[str]:
        for key in keys:
            self._repeat_until(lambda key=key: self._run_exec(key), key)
        return []

    def _run_exec(self, key: str) -> bool:
        body = {"op": "probe.keep", "args": {"title": key}, "idempotency_key": key}
        response = self._send("POST", "/api/v1/exec", json=body)
        return response is not None and self.ledger.record(key, response.json())

    def _write_as_batch(self, keys: Sequence[str]) -> list[str]:
        body = {"ops": [_build_entry(key) for key in keys], "mode": self.rng.choice(["sequential", "parallel"])}
        if self.rng.random() < 0.5:
            body["idempotency_key"] = f"batch-{keys[0]}"
        envelopes: list[dict[str, Any]] = []
        self._repeat_until(
            lambda: self._record_envelope(envelopes, "POST", "/api/v1/batch", json=body), f"the batch of {keys[0]}"
        )
        return self._list_unfinished(keys, envelopes[-1])

    def _write_in_background(self, keys: Sequence[str]) -> list[str]:
        body = {"ops": [_build_entry(key) for key in keys], "idempotency_key": f"background-{keys[0]}"}
        body["mode"] = self.rng.choice(["sequential", "parallel"])
        envelopes: list[dict[str, Any]] = []
        prefer = {"Prefer": "respond-async"}
        self._repeat_until(
            lambda: self._record_envelope(envelopes, "POST", "/api/v1/batch", json=body, headers=prefer), keys[0]
        )
        path = f"/api/v1/batches/{envelopes[-1]['batch_id']}?wait=2"
        self._repeat_until(
            lambda: self._record_envelope(envelopes, "GET", path) and envelopes[-1]["status"] == "done", path
        )
        return self._list_unfinished(keys, envelopes[-1])

    def _list_unfinished(self, keys: Sequence[str], batch: dict[str, Any]) -> list[str]:
        return [key for key, result in zip(keys, batch["results"], strict=True) if not self.ledger.record(key, result)]

    def _record_envelope(self, envelopes: list[dict[str, Any]], method: str, path: str, **options: Any) -> bool:
        response = self._send(method, path, **options)
        if response is None:
            return False
        envelopes.append(response.json())
        if "results" in envelopes[-1]:
            return True
        if not envelopes[-1]["error"]["details"]["retryable"] and response.status_code != 503:
            self.ledger.unexpected.append(f"{path}: {envelopes[-1]['error']}")
        return False

    def _send(self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **options: Any) -> Any:
        try:
            return self.http.request(method, self.rng.choice(self.urls) + path, headers=headers, **options)
        except httpx2.TransportError:  # the answering process died
            return None

    def _repeat_until(self, attempt: Callable[[], bool], what: str) -> None:
        until = time.monotonic() + CLIENT_SECONDS
        while not attempt():
            if time.monotonic() > until:
                raise TimeoutError(f"{what} had no final answer within {CLIENT_SECONDS} s")
            time.sleep(0.1)


def _build_entry(key: str) -> dict[str, Any]:
    return {"type": "exec", "op": "probe.keep", "args": {"title": key}, "idempotency_key": key}


class SupervisedProcess:
    """A process that is restarted whenever it ends, as by a supervisor."""

    def __init__(self, start: Callable[[], Process]) -> None:
        self.start = start
        self.processes = [start()]
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._supervise)
        self._thread.start()

    @property
    def output(self) -> str:
        return "".join(process.output for process in self.processes)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        self.processes[-1].kill()

    def _supervise(self) -> None:
        while not self._stopping.wait(0.1):
            if self.processes[-1].inner.poll() is not None:
                self.processes[-1].kill()
                self.processes.append(self.start())


@dataclass
class Fleet:
    """Web servers and, with a broker, workers. Files in a folder make them die."""

    environment: Mapping[str, str]
    folder: Path
    broker_url: str = ""
    urls: list[str] = field(default_factory=list)
    processes: list[SupervisedProcess] = field(default_factory=list)

    @property
    def roles(self) -> tuple[str, ...]:
        return (WEB, WORKER) if self.broker_url else (WEB,)

    @contextmanager
    def running(self) -> Iterator[None]:
        try:
            port = free_port()
            self.urls.append(f"http://127.0.0.1:{port}")
            self.processes.append(SupervisedProcess(lambda: start_server(self._variables(WEB), port)))
            for _ in range(WORKERS if self.broker_url else 0):
                self.processes.append(SupervisedProcess(lambda: start_worker(self._variables(WORKER))))
            eventually(lambda: answers(f"{self.urls[0]}/readyz"), within=60, what="the fleet's start")
            yield
        finally:
            for each in self.processes:
                each.stop()
            print("\n".join(each.output for each in self.processes))

    def arm(self, points: Iterable[FaultPoint]) -> None:
        """Make the first process at each point die."""
        for point in points:
            (self.folder / str(point)).touch()

    def armed(self) -> set[str]:
        """Return the points at which no process has died yet."""
        return {path.name for path in self.folder.iterdir()}

    def _variables(self, role: str) -> dict[str, str]:
        return {
            **self.environment,
            "DJANGO_SETTINGS_MODULE": "tests.support.servers.crash_settings",
            "CELERY_BROKER_URL": self.broker_url,
            "CRASH_ROLE": role,
            "CRASH_FOLDER": str(self.folder),
        }


def run_writes(fleet: Fleet, points: Sequence[FaultPoint], *, writes: int, key: str, rng: random.Random) -> Ledger:
    """Send `writes` writes for each point, while one process of each role dies, and return the answers."""
    ledger, number = Ledger(), 0
    points_per_round = len(fleet.roles)
    for first in range(0, len(points), points_per_round):
        round_points = points[first : first + points_per_round]
        fleet.arm(round_points)
        keys = [f"{number + n}-{rng.getrandbits(32):08x}" for n in range(writes * len(round_points))]
        number += len(keys)
        _send_writes(fleet, keys, key, ledger, rng)
        _send_until_fired(fleet, key, ledger, rng)
    return ledger


def _send_writes(fleet: Fleet, keys: Sequence[str], key: str, ledger: Ledger, rng: random.Random) -> None:
    key_groups = [keys[first : first + BATCH_SIZE] for first in range(0, len(keys), BATCH_SIZE)]
    with ThreadPoolExecutor(CLIENTS) as pool:
        clients = [Client(fleet.urls, key, ledger, random.Random(rng.getrandbits(64))) for _ in key_groups]
        for done in [
            pool.submit(client.write, key_group) for client, key_group in zip(clients, key_groups, strict=True)
        ]:
            done.result()


def _send_until_fired(fleet: Fleet, key: str, ledger: Ledger, rng: random.Random) -> None:
    """Send more writes until a process has died at every armed point. A restarting process gets there later."""
    until = time.monotonic() + FAULT_SECONDS
    while armed := fleet.armed():
        assert time.monotonic() < until, f"No process reached {sorted(armed)}"
        _send_writes(fleet, [f"more-{rng.getrandbits(64):016x}" for _ in range(2 * BATCH_SIZE)], key, ledger, rng)


def send_until_final(fleet: Fleet, point: FaultPoint, *, op: str, key: str) -> str:
    """Send a write while its process dies, and then again with the same idempotency key until the answer is final.

    Returns "a result", "a replay" or the reason of the error.
    """
    body = {"op": op, "args": {"product": point.place}, "idempotency_key": point.place}
    headers = {"Authorization": f"Bearer {key}"}
    fleet.arm([point])
    until = time.monotonic() + CLIENT_SECONDS
    while time.monotonic() < until:
        try:
            response = httpx2.post(f"{fleet.urls[0]}/api/v1/exec", json=body, headers=headers, timeout=20, **PLAIN_HTTP)
        except httpx2.TransportError:  # the answering process died
            time.sleep(0.1)
            continue
        assert not fleet.armed(), f"No process reached {point}: {response.text}"
        envelope = response.json()
        if envelope["ok"]:
            return "a replay" if envelope["meta"].get("replayed") else "a result"
        if envelope["error"]["details"]["reason"] != "in_progress":
            return str(envelope["error"]["details"]["reason"])
        time.sleep(0.2)
    raise TimeoutError(f"{point} led to no final answer within {CLIENT_SECONDS} s")


def read_seed() -> int:
    """Return CRASH_SEED, or a new seed if it is not set."""
    return int(os.environ.get("CRASH_SEED") or random.SystemRandom().getrandbits(32))
