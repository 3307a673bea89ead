"""A connection has so many calls at a time, of which one caller never takes all; more wait a moment."""

import time
from contextlib import ExitStack
from threading import Event, Thread

import pytest

from core.database.deadlines import Deadline
from gateway.contracts.errors import UpstreamBusyError
from gateway.executors.base import ClientSubject
from gateway.executors.http.sending import RetryBudget
from gateway.executors.remote import call_limits
from gateway.executors.remote.call_limits import SHARED_SECONDS, InFlightCalls, limit_calls
from registry.catalog.connections import ConnectionConfig

ANA, BEN, CLIENT = ClientSubject(1, "ana"), ClientSubject(1, "ben"), ClientSubject(1, "")


def build_deadline() -> Deadline:
    return Deadline.after(milliseconds=60_000)


def test_one_more_call_than_allowed_is_refused() -> None:
    config, other = (ConnectionConfig(name, "http", max_in_flight=2) for name in ("shop", "other"))
    with limit_calls(config, ANA, build_deadline()), limit_calls(config, BEN, build_deadline()):
        with pytest.raises(UpstreamBusyError) as error, limit_calls(config, CLIENT, build_deadline()):
            pass
        with limit_calls(other, ANA, build_deadline()):
            pass

    assert (error.value.status, error.value.reason) == (503, "upstream_busy")
    assert error.value.retryable
    with limit_calls(config, CLIENT, build_deadline()):
        pass


def hold_places(calls: InFlightCalls, caller: ClientSubject, stack: ExitStack, *, limit: int) -> int:
    """Hold as many places as the caller may have, and return how many these are."""
    for held in range(limit + 1):
        try:
            stack.enter_context(calls.hold_place(caller, limit, seconds=0))
        except UpstreamBusyError:
            return held
    return limit + 1


@pytest.mark.parametrize(("limit", "alone", "beside_others"), [(1, 1, 1), (2, 1, 1), (3, 2, 1), (10, 9, 5)])
def test_one_caller_never_takes_all_places(limit: int, alone: int, beside_others: int) -> None:
    calls = InFlightCalls()
    with ExitStack() as stack:
        assert hold_places(calls, ANA, stack, limit=limit) == alone
        assert hold_places(calls, BEN, stack, limit=limit) == min(limit - alone, beside_others)
    with ExitStack() as stack:
        assert hold_places(calls, ANA, stack, limit=limit) == beside_others
        assert hold_places(calls, CLIENT, stack, limit=limit) == min(limit - beside_others, beside_others)


def test_caller_is_alone_again_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = InFlightCalls()
    for caller in (BEN, ANA):
        with calls.hold_place(caller, 10, seconds=0):
            pass
    later = time.monotonic() + SHARED_SECONDS
    monkeypatch.setattr(call_limits.time, "monotonic", lambda: later)

    with ExitStack() as stack:
        assert hold_places(calls, ANA, stack, limit=10) == 9


def test_call_gets_the_place_of_one_that_ends() -> None:
    calls, entered = InFlightCalls(), Event()

    def enter() -> None:
        with calls.hold_place(BEN, 1, seconds=60):
            entered.set()

    waiting = Thread(target=enter)
    with calls.hold_place(ANA, 1, seconds=0):
        waiting.start()
        assert not entered.is_set()
    waiting.join()

    assert entered.is_set()


def test_place_is_free_after_an_error() -> None:
    calls = InFlightCalls()
    with pytest.raises(RuntimeError), calls.hold_place(ANA, 1, seconds=0):
        raise RuntimeError

    with calls.hold_place(ANA, 1, seconds=0):
        pass


def test_retries_are_a_tenth_of_the_calls_once_the_budget_is_used() -> None:
    budget = RetryBudget()
    assert [budget.spend() for _ in range(11)] == [True] * 10 + [False]

    spent = 0
    for _ in range(100):
        budget.earn()
        spent += budget.spend()

    assert spent in (9, 10)  # sums of tenths are not exact
