"""Requests are sent again only if that may help, cannot apply a write twice, and fits into the deadline."""

from typing import Any

import pytest

from core import http, overload
from core.database.deadlines import Deadline
from core.overload import FailureRules
from gateway.contracts.errors import UpstreamBusyError
from gateway.executors.base import ClientSubject
from gateway.executors.http import sending
from gateway.executors.http.sending import SendingRules
from gateway.executors.remote import connection_guards
from gateway.executors.remote.credentials import BuiltRequest
from registry.catalog.connections import ConnectionConfig
from tests.support.loops import for_each

CONFIG = ConnectionConfig("shop", "http", "https://shop.test")
REQUEST = BuiltRequest("POST", "https://shop.test/orders", {})
CALLER = ClientSubject(1, "ana")
READ, WRITE, KEYED = (False, True), (True, False), (True, True)  # is_write, can_repeat


def build_response(status: int, **headers: str) -> http.Response:
    return http.Response(status, "", {name.replace("_", "-"): value for name, value in headers.items()}, b"", 0)


def fail(error: type[http.OutgoingError], *, was_sent: bool = False) -> http.OutgoingError:
    failure = error()
    failure.was_sent = was_sent
    return failure


def start_anew() -> None:
    overload.clear_guards()


class FakeNetwork:
    def __init__(self, *outcomes: http.Response | http.OutgoingError) -> None:
        self.outcomes = list(outcomes)
        self.waits: list[float] = []

    def request(self, *_: Any, **__: Any) -> http.Response:
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, http.OutgoingError):
            raise outcome
        return outcome


@pytest.fixture
def send(monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(network: FakeNetwork, rules: tuple[bool, bool], *, milliseconds: int = 60_000) -> Any:
        monkeypatch.setattr(sending.http, "request", network.request)
        monkeypatch.setattr(sending.time, "sleep", network.waits.append)
        try:
            return sending.send(
                REQUEST, CONFIG, SendingRules(Deadline.after(milliseconds=milliseconds), *rules, CALLER)
            )
        except http.OutgoingError as error:
            return error

    return run


OK = build_response(200)


@for_each(
    "first, rules, attempts",
    [
        # A read is sent again after what may be temporary.
        (build_response(503), READ, 2),
        (build_response(429), READ, 2),
        (fail(http.TimedOut, was_sent=True), READ, 2),
        (fail(http.BrokenAnswer, was_sent=True), READ, 2),
        # It is not sent again after what will not change.
        (build_response(404), READ, 1),
        (build_response(501), READ, 1),
        (fail(http.TooLarge, was_sent=True), READ, 1),
        (fail(http.AddressRefused), READ, 1),
        (fail(http.Untrusted), READ, 1),
        # A write is sent again if nothing was sent, or with a key.
        (fail(http.Unreachable), WRITE, 2),
        (fail(http.Unreachable, was_sent=True), WRITE, 1),
        (build_response(503), WRITE, 1),
        (build_response(500), KEYED, 2),
        (fail(http.Unreachable, was_sent=True), KEYED, 2),
    ],
)
def test_request_is_sent_again_if_that_is_safe_and_may_help(
    send: Any, first: Any, rules: tuple[bool, bool], attempts: int
) -> None:
    start_anew()
    network = FakeNetwork(first, OK)

    outcome = send(network, rules)

    assert (outcome is OK) == (attempts == 2)
    assert len(network.waits) == attempts - 1


def test_request_is_sent_three_times_at_most(send: Any) -> None:
    network = FakeNetwork(*[build_response(503)] * 3, OK)

    assert send(network, READ).status == 503
    assert len(network.outcomes) == 1


def test_waits_are_random_and_grow(send: Any) -> None:
    network = FakeNetwork(*[build_response(503)] * 3)

    send(network, READ)

    assert 0.1 <= network.waits[0] <= 0.5
    assert 0.1 <= network.waits[1] <= 2.0


def test_retry_after_is_followed_if_it_fits(send: Any) -> None:
    network = FakeNetwork(build_response(429, retry_after="3"), OK)
    assert send(network, READ) is OK
    assert network.waits == [3.0]

    network = FakeNetwork(build_response(429, retry_after="120"), OK)
    assert send(network, READ).status == 429
    assert network.waits == []


def test_nothing_is_sent_again_without_budget(send: Any) -> None:
    while connection_guards.get_guard(CONFIG.name).spend_retry():
        pass

    assert send(FakeNetwork(build_response(503), OK), READ).status == 503


def test_deadline_that_has_passed_is_a_timeout_of_what_was_not_sent(send: Any) -> None:
    error = send(FakeNetwork(), WRITE, milliseconds=-1)

    assert isinstance(error, http.TimedOut)
    assert not error.was_sent


@for_each(
    "first, was_sent",
    [
        (fail(http.TimedOut, was_sent=True), True),
        (build_response(500), True),
        (build_response(503), True),
        (build_response(503, retry_after="0"), False),  # it refused the write
        (fail(http.Unreachable), False),
    ],
)
def test_write_counts_as_sent_if_an_earlier_attempt_was(send: Any, first: Any, was_sent: bool) -> None:
    start_anew()

    error = send(FakeNetwork(first, *[fail(http.AddressRefused)] * 2), KEYED)

    assert error.was_sent is was_sent


def test_first_outcome_stays_when_the_circuit_opens(send: Any) -> None:
    for _ in range(FailureRules().min_calls - 1):
        with connection_guards.get_guard(CONFIG.name).let_through(CALLER) as attempt:
            attempt.failed = True

    assert send(FakeNetwork(build_response(500), OK), KEYED).status == 500
    with pytest.raises(UpstreamBusyError):
        send(FakeNetwork(OK), KEYED)
