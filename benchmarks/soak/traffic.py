"""The traffic of a soak: calls at a constant rate, and an admin who reads pages and publishes."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count, cycle
from typing import Any

import httpx2

from benchmarks.load import UnexpectedResponse
from benchmarks.soak import admin_session
from benchmarks.soak.admin_session import PAGES
from benchmarks.soak.calls import CallMix, EventKind, SoakCall

CALLERS = 16  # calls open at once; at the rate of a soak two or three are
CALLS_PER_CONNECTION = 50  # a connection stays with one worker, so that both get as many calls only if it changes
PAGE_SECONDS = 5.0  # an admin opens a page this often
TIMEOUT_SECONDS = 40.0  # a batch answers within 25


@dataclass(frozen=True, slots=True)
class CallResult:
    """How a call or an admin's step ended: when it was due, how much later it was answered, and what was wrong."""

    name: str
    due_s: float
    latency_ms: float
    events: Sequence[EventKind] = ()
    error: str = ""
    is_call: bool = True


@dataclass(slots=True)
class Traffic:
    """The results so far, in the order in which they came."""

    results: list[CallResult] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    started: float = field(default_factory=time.monotonic)

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.started

    def wait_until(self, due_s: float) -> bool:
        """Wait until this many seconds after the start. Return False if the traffic stopped in the meantime."""
        return not self.stop.wait(max(0.0, due_s - self.elapsed_s))

    def record(self, name: str, due_s: float, send: Callable[[], object], **more: Any) -> bool:
        """Send a request and record how it ended. Return whether it got the answer that it must have."""
        error = ""
        try:
            send()
        except (httpx2.TransportError, UnexpectedResponse) as wrong:
            error = f"{type(wrong).__name__}: {wrong}"
        latency_ms = (self.elapsed_s - due_s) * 1000
        self.results.append(CallResult(name, due_s, latency_ms, error=error, **more))
        return not error


@contextmanager
def run_traffic(
    url: str, *, mix: CallMix, headers: Mapping[str, str], cookie: str, per_second: float, publish_at: Iterable[float]
) -> Iterator[Traffic]:
    """Send calls and the requests of admins until the block ends; then wait for the last answers.

    `publish_at` are the seconds after the start at which an admin publishes a change.
    """
    traffic = Traffic()
    schedule = _iterate_schedule(mix, per_second)
    lock = threading.Lock()
    with ThreadPoolExecutor(CALLERS + 2) as pool:
        futures = [pool.submit(_send_calls, url, headers, traffic, schedule, lock, mix) for _ in range(CALLERS)]
        futures += [pool.submit(_read_pages, url, cookie, traffic)]
        futures += [pool.submit(_publish_changes, url, cookie, traffic, publish_at)]
        try:
            yield traffic
        finally:
            traffic.stop.set()
    for future in futures:
        future.result()  # raises a bug of ours


def _iterate_schedule(mix: CallMix, per_second: float) -> Iterator[tuple[float, SoakCall]]:
    for number in count():
        yield number / per_second, mix.choose_call()


def _send_calls(
    url: str,
    headers: Mapping[str, str],
    traffic: Traffic,
    schedule: Iterator[tuple[float, SoakCall]],
    lock: threading.Lock,
    mix: CallMix,
) -> None:
    """Send the next call of the schedule when it is due, until the traffic stops.

    A call that is late, because all callers wait for answers, is measured from when it was due: a server that stalls
    must not slow down the count of its slow calls.
    """
    while not traffic.stop.is_set():
        with _open_client(f"{url}/api/v1/", headers=headers) as http:
            for _ in range(CALLS_PER_CONNECTION):
                with lock:
                    due_s, call = next(schedule)
                if not traffic.wait_until(due_s):
                    return
                if traffic.record(call.name, due_s, partial(_send, http, call), events=call.events):
                    mix.remember_write(call)


def _send(http: httpx2.Client, call: SoakCall) -> None:
    method = "GET" if call.json is None else "POST"
    response = http.request(method, call.path, params=call.params, json=call.json, headers=call.headers)
    if response.status_code != call.status:
        raise UnexpectedResponse(f"{call.name}: {response.status_code} {response.text[:300]}")


def _read_pages(url: str, cookie: str, traffic: Traffic) -> None:
    """Read one page after the other until the traffic stops."""
    with _open_admin_client(url, cookie) as http:
        for number, (name, path) in enumerate(cycle(PAGES.items())):
            if not traffic.wait_until(number * PAGE_SECONDS):
                return
            _record_step(traffic, f"admin: {name}", partial(admin_session.read_page, http, path))


def _publish_changes(url: str, cookie: str, traffic: Traffic, publish_at: Iterable[float]) -> None:
    """Change the draft and publish it at these times, until the traffic stops."""
    with _open_admin_client(url, cookie) as http:
        for edition, due_s in enumerate(publish_at, start=1):
            if not traffic.wait_until(due_s):
                return
            _record_step(
                traffic, "admin: change and publish", partial(admin_session.publish_change, http, edition=edition)
            )


def _record_step(traffic: Traffic, name: str, send: Callable[[], object]) -> None:
    """Take an admin's step. It is measured from its own start: a person who waits does not click again."""
    traffic.record(name, traffic.elapsed_s, send, is_call=False)


def _open_admin_client(url: str, cookie: str) -> httpx2.Client:
    """Return a client that opens a connection for each request, so that every worker serves pages."""
    return _open_client(url, cookies=dict([cookie.split("=", 1)]), limits=httpx2.Limits(max_keepalive_connections=0))


def _open_client(url: str, **options: Any) -> httpx2.Client:
    # Without these options each client would read all CA certificates, which takes 25 ms.
    return httpx2.Client(base_url=url, timeout=TIMEOUT_SECONDS, trust_env=False, verify=False, **options)
