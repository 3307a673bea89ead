"""Circuit breakers open when half of the calls fail, and one probe decides whether they close."""

from itertools import cycle

import pytest

from gateway.contracts.errors import UpstreamBusyError
from gateway.executors.base import ClientSubject
from gateway.executors.remote import circuit_breaker
from gateway.executors.remote.circuit_breaker import CircuitBreaker, CircuitState

ANA, BEN, CLIENT = ClientSubject(1, "ana"), ClientSubject(1, "ben"), ClientSubject(1, "")


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(clock)


def run(breaker: CircuitBreaker, *callers: ClientSubject, failed: bool | None, times: int = 1) -> None:
    """Let calls through, in turns of the callers, or of two."""
    for caller, _ in zip(cycle(callers or (ANA, BEN)), range(times), strict=False):
        with breaker.guard(caller) as attempt:
            attempt.failed = failed


def get_retry_after(breaker: CircuitBreaker, caller: ClientSubject = CLIENT) -> str:
    with pytest.raises(UpstreamBusyError) as error, breaker.guard(caller):
        pass
    assert (error.value.status, error.value.reason) == (503, "upstream_circuit_open")
    assert error.value.retryable
    return error.value.headers["Retry-After"]


def test_opens_at_half_of_twenty_calls(breaker: CircuitBreaker) -> None:
    run(breaker, failed=False, times=10)
    run(breaker, failed=True, times=9)
    assert not breaker.get_state().is_open

    run(breaker, failed=True)

    assert breaker.get_state() == CircuitState(is_open=True, calls=20, failures=10, probe_in_seconds=5.0)
    assert get_retry_after(breaker) == "5"


def test_stays_closed_while_most_calls_succeed(breaker: CircuitBreaker) -> None:
    run(breaker, failed=False, times=51)
    run(breaker, failed=True, times=50)

    assert not breaker.get_state().is_open


def test_opens_only_for_a_caller_whose_calls_alone_fail(breaker: CircuitBreaker, clock: Clock) -> None:
    run(breaker, ANA, failed=True, times=20)  # nobody else knows whether the service fails

    assert get_retry_after(breaker, ANA) == "5"
    assert not breaker.get_state().is_open
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
    assert get_retry_after(breaker, BEN) == "5"


@pytest.mark.parametrize(
    ("status", "is_failure"),
    [(200, False), (400, False), (429, False), (501, False), (505, False), (500, True), (503, True)],
)
def test_status_that_blames_the_call_is_no_failure(status: int, is_failure: bool) -> None:
    assert circuit_breaker.is_failure_status(status) is is_failure


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
        get_retry_after(breaker)  # all other calls still fail fast
        probe.failed = False

    assert breaker.get_state() == CircuitState()


def test_failed_probes_wait_twice_as_long_up_to_a_minute(breaker: CircuitBreaker, clock: Clock) -> None:
    run(breaker, failed=True, times=20)
    waits = []
    for _ in range(6):
        waits.append(int(get_retry_after(breaker)))
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


def test_state_is_that_of_the_connection() -> None:
    run(circuit_breaker.get_breaker("shop"), failed=True, times=20)

    assert circuit_breaker.get_state("shop").is_open
    assert circuit_breaker.get_state("other") == CircuitState()
    circuit_breaker.clear()
    assert circuit_breaker.get_state("shop") == CircuitState()
