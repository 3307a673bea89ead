"""A connection has so many calls at a time; more wait a moment."""

from threading import Event, Thread

import pytest

from core.deadlines import Deadline
from gateway.contracts.errors import UpstreamBusyError
from gateway.executors.http.retry_budget import RetryBudget
from gateway.executors.remote.call_limits import InFlightCalls, limit_calls
from registry.catalog.connections import ConnectionConfig


def build_deadline() -> Deadline:
    return Deadline.after(milliseconds=60_000)


def test_one_more_call_than_allowed_is_refused() -> None:
    config, other = (ConnectionConfig(name, "http", max_in_flight=2) for name in ("shop", "other"))
    with limit_calls(config, build_deadline()), limit_calls(config, build_deadline()):
        with pytest.raises(UpstreamBusyError) as error, limit_calls(config, build_deadline()):
            pass
        with limit_calls(other, build_deadline()):
            pass

    assert (error.value.status, error.value.reason) == (503, "upstream_busy")
    assert error.value.retryable
    with limit_calls(config, build_deadline()):
        pass


def test_call_gets_the_place_of_one_that_ends() -> None:
    calls, entered = InFlightCalls(), Event()

    def enter() -> None:
        with calls.hold_place(1, seconds=60):
            entered.set()

    waiting = Thread(target=enter)
    with calls.hold_place(1, seconds=0):
        waiting.start()
        assert not entered.is_set()
    waiting.join()

    assert entered.is_set()


def test_place_is_free_after_an_error() -> None:
    calls = InFlightCalls()
    with pytest.raises(RuntimeError), calls.hold_place(1, seconds=0):
        raise RuntimeError

    with calls.hold_place(1, seconds=0):
        pass


def test_retries_are_a_tenth_of_the_calls_once_the_budget_is_used() -> None:
    budget = RetryBudget()
    assert [budget.spend() for _ in range(11)] == [True] * 10 + [False]

    spent = 0
    for _ in range(100):
        budget.earn()
        spent += budget.spend()

    assert spent in (9, 10)  # sums of tenths are not exact
