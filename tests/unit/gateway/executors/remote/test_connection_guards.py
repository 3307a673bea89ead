"""A connection that fails or has no place gets no call, and the error says when to try again."""

import pytest

from core.database.deadlines import Deadline
from gateway.contracts.errors import UpstreamBusyError
from gateway.executors.base import ClientSubject
from gateway.executors.remote import connection_guards
from gateway.executors.remote.connection_guards import guard_call
from registry.catalog.connections import ConnectionConfig

ANA, BEN, CLIENT = ClientSubject(1, "ana"), ClientSubject(1, "ben"), ClientSubject(1, "")
SHOP, OTHER = (ConnectionConfig(name, "http", max_in_flight=2) for name in ("shop", "other"))


def build_deadline() -> Deadline:
    return Deadline.after(milliseconds=60_000)


def test_one_more_call_than_allowed_is_refused() -> None:
    with guard_call(SHOP, ANA, build_deadline()), guard_call(SHOP, BEN, build_deadline()):
        with pytest.raises(UpstreamBusyError) as error, guard_call(SHOP, CLIENT, build_deadline()):
            pass
        with guard_call(OTHER, ANA, build_deadline()):
            pass

    assert (error.value.status, error.value.reason, error.value.headers["Retry-After"]) == (503, "upstream_busy", "1")
    assert error.value.retryable
    with guard_call(SHOP, CLIENT, build_deadline()):
        pass


def test_connection_that_fails_is_not_called() -> None:
    for caller in [ANA, BEN] * 10:
        with guard_call(SHOP, caller, build_deadline()) as attempt:
            attempt.failed = True

    with pytest.raises(UpstreamBusyError) as error, guard_call(SHOP, CLIENT, build_deadline()):
        pass

    assert (error.value.status, error.value.reason) == (503, "upstream_circuit_open")
    assert (error.value.headers["Retry-After"], error.value.retryable) == ("5", True)
    with guard_call(OTHER, ANA, build_deadline()):
        pass


@pytest.mark.parametrize(
    ("status", "is_failure"),
    [(200, False), (400, False), (429, False), (501, False), (505, False), (500, True), (503, True)],
)
def test_status_that_blames_the_call_is_no_failure(status: int, is_failure: bool) -> None:
    assert connection_guards.is_failure_status(status) is is_failure
