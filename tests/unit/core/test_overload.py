"""A service that fails gets no calls for a while, and no caller takes all places or retries of one."""

import time
from contextlib import ExitStack
from itertools import cycle
from threading import Event, Thread

import pytest

from core import overload
from core.overload import (
    SHARED_SECONDS,
    THREE_IN_A_ROW,
    Caller,
    CircuitBreaker,
    CircuitState,
    InFlightCalls,
    Overloaded,
    ServiceGuard,
)

ANA, BEN, CLIENT = "ana", "ben", ""


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker("shop", clock=clock)


def run(breaker: CircuitBreaker, *callers: str, failed: bool | None, times: int = 1) -> None:
    """Let calls through, in turns of the callers, or of two."""
    for caller, _ in zip(cycle(callers or (ANA, BEN)), range(times), strict=False):
        with breaker.guard(caller) as attempt:
            attempt.failed = failed


def get_retry_after(breaker: CircuitBreaker, caller: Caller = CLIENT) -> float | None:
    with pytest.raises(Overloaded) as error, breaker.guard(caller):
        pass
    return error.value.retry_after


def test_opens_at_half_of_twenty_calls(breaker: CircuitBreaker, caplog: pytest.LogCaptureFixture) -> None:
    run(breaker, failed=False, times=10)
    run(breaker, failed=True, times=9)
    assert not breaker.get_state().is_open

    run(breaker, failed=True)

    assert breaker.get_state() == CircuitState(is_open=True, calls=20, failures=10, probe_in_seconds=5.0)
    assert get_retry_after(breaker) == 5
    assert caplog.messages == ["shop.paused reason=10 of 20 calls failed seconds=5"]


def test_opens_only_for_a_caller_whose_calls_alone_fail(
    breaker: CircuitBreaker, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    run(breaker, ANA, failed=True, times=20)  # nobody else knows whether the service fails

    assert get_retry_after(breaker, ANA) == 5
    assert not breaker.get_state().is_open
    assert caplog.messages == []
    run(breaker, BEN, CLIENT, failed=False, times=4)
    clock.now += 5
    run(breaker, ANA, failed=False)
    assert breaker.get_state() == CircuitState()


def test_opens_for_everyone_once_the_calls_of_others_fail_too(breaker: CircuitBreaker) -> None:
    run(breaker, ANA, failed=True, times=20)
    run(breaker, BEN, failed=False, times=4)
    run(breaker, BEN, failed=True)
    assert not breaker.get_state().is_open

    run(breaker, CLIENT, failed=True)

    assert breaker.get_state().is_open
    assert get_retry_after(breaker, BEN) == 5


def test_forgets_calls_after_thirty_seconds(breaker: CircuitBreaker, clock: Clock) -> None:
    run(breaker, failed=True, times=19)
    clock.now += 31
    run(breaker, failed=True)

    assert breaker.get_state() == CircuitState(calls=1, failures=1)


def test_calls_that_say_nothing_are_not_counted(breaker: CircuitBreaker) -> None:
    run(breaker, failed=None, times=30)

    assert breaker.get_state() == CircuitState()


def test_successful_probe_closes(breaker: CircuitBreaker, clock: Clock) -> None:
    run(breaker, failed=True, times=20)
    clock.now += 5

    with breaker.guard(ANA) as probe:
        assert get_retry_after(breaker) == 0  # all other calls still fail fast
        probe.failed = False

    assert breaker.get_state() == CircuitState()


def test_failed_probes_wait_twice_as_long_up_to_a_minute(breaker: CircuitBreaker, clock: Clock) -> None:
    run(breaker, failed=True, times=20)
    waits = []
    for _ in range(6):
        waits.append(get_retry_after(breaker) or 0)
        clock.now += waits[-1]
        run(breaker, failed=True)

    assert waits == [5, 10, 20, 40, 60, 60]


def test_probe_that_ends_without_an_outcome_lets_the_next_one_through(breaker: CircuitBreaker, clock: Clock) -> None:
    run(breaker, failed=True, times=20)
    clock.now += 5
    with pytest.raises(RuntimeError), breaker.guard(ANA):
        raise RuntimeError

    run(breaker, failed=False)

    assert not breaker.get_state().is_open


def fail(guard: ServiceGuard, times: int = 1) -> None:
    for _ in range(times):
        with pytest.raises(ConnectionError), guard.let_through(failures=(ConnectionError,)):
            raise ConnectionError("no answer in time")


def is_paused(guard: ServiceGuard) -> bool:
    return guard.get_state().is_open


def test_three_failures_in_a_row_begin_a_pause_which_is_logged(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    guard = ServiceGuard("llm.fast", THREE_IN_A_ROW, clock=clock)
    fail(guard)
    clock.now += 60  # calls may take long
    fail(guard)
    assert not is_paused(guard)

    fail(guard)

    assert is_paused(guard)
    assert caplog.messages == ["llm.fast.paused reason=no answer in time seconds=10"]
    with pytest.raises(Overloaded, match="paused after several failures"), guard.let_through():
        pass


def test_an_answer_ends_the_row_of_failures(clock: Clock) -> None:
    guard = ServiceGuard("llm.fast", THREE_IN_A_ROW, clock=clock)
    fail(guard, 2)
    with guard.let_through(failures=(ConnectionError,)):
        pass
    fail(guard, 2)
    assert not is_paused(guard)
    with pytest.raises(KeyError), guard.let_through(failures=(ConnectionError,)):
        raise KeyError  # says nothing about the service

    fail(guard)

    assert is_paused(guard)


def test_a_pause_ends_and_the_next_failure_begins_another(clock: Clock) -> None:
    guard = ServiceGuard("llm.fast", THREE_IN_A_ROW, clock=clock)
    fail(guard, 3)
    for _ in range(3):
        clock.now += 10
        fail(guard)
        assert guard.get_state().probe_in_seconds == 10

    clock.now += 10
    with guard.let_through(failures=(ConnectionError,)):
        pass
    assert guard.get_state() == CircuitState()


def test_guard_is_that_of_the_service() -> None:
    fail(overload.get_guard("shop", THREE_IN_A_ROW), 3)

    assert is_paused(overload.get_guard("shop"))
    assert not is_paused(overload.get_guard("other"))
    overload.clear_guards()
    assert not is_paused(overload.get_guard("shop"))


def hold_places(calls: InFlightCalls, caller: str, stack: ExitStack, *, limit: int) -> int:
    """Hold as many places as the caller may have, and return how many these are."""
    for held in range(limit + 1):
        try:
            stack.enter_context(calls.hold_place(caller, limit, seconds=0))
        except Overloaded:
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
    monkeypatch.setattr(overload.time, "monotonic", lambda: later)

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


def test_call_without_a_place_says_nothing_about_the_service() -> None:
    guard = ServiceGuard("shop")
    with guard.let_through(ANA, limit=1) as attempt:
        with pytest.raises(Overloaded), guard.let_through(BEN, limit=1, failures=(Overloaded,)):
            pass
        attempt.failed = False

    assert guard.get_state() == CircuitState(calls=1)


def test_retries_are_a_tenth_of_the_calls_once_the_budget_is_used() -> None:
    guard = ServiceGuard("shop")
    assert [guard.spend_retry() for _ in range(11)] == [True] * 10 + [False]

    spent = 0
    for _ in range(100):
        guard.earn_retry()
        spent += guard.spend_retry()

    assert spent in (9, 10)  # sums of tenths are not exact
