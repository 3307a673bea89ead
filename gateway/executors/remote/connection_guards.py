"""Guards of connections, and the errors of calls that they do not let through."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil

from core import overload
from core.database.deadlines import Deadline
from core.overload import Attempt, Overloaded, ServiceGuard
from gateway.executors.base import ClientSubject
from gateway.executors.remote.errors import build_busy_error, build_circuit_open_error
from registry.catalog.connections import ConnectionConfig

WAIT_SECONDS = 0.5  # for one of the calls that a connection may have at a time
CALLERS_STATUSES = frozenset({501, 505})  # from 500 on, but they say that the call is wrong, not that the service fails


def is_failure_status(status: int) -> bool:
    """Return whether an HTTP status says that the upstream failed, and not that the call is wrong."""
    return status >= 500 and status not in CALLERS_STATUSES


def get_guard(connection: str) -> ServiceGuard:
    """Return the guard of a connection."""
    return overload.get_guard(f"connection.{connection}")


@contextmanager
def guard_call(config: ConnectionConfig, caller: ClientSubject, deadline: Deadline) -> Iterator[Attempt]:
    """Let one call through. Raises UpstreamBusyError if the connection fails, or after half a second without a place.

    A caller is an end user of a client, or a client itself: what one of them uses up is not taken from the others.
    """
    seconds = min(WAIT_SECONDS, deadline.get_remaining_ms() / 1000)
    try:
        with get_guard(config.name).let_through(caller, limit=config.max_in_flight, seconds=seconds) as attempt:
            yield attempt
    except Overloaded as error:
        if error.retry_after is None:
            raise build_busy_error() from None
        raise build_circuit_open_error(max(1, ceil(error.retry_after))) from None
