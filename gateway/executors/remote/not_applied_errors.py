"""Errors of calls that an upstream has not seen, or has refused for now: they may be sent again, writes too."""

from collections.abc import Mapping
from datetime import UTC, datetime
from math import ceil
from typing import Any

from core import http
from gateway.contracts.errors import UpstreamBusyError

MAX_RETRY_AFTER = 86_400  # seconds


def read_retry_seconds(headers: Mapping[str, str]) -> int | None:
    """Return the whole seconds of the header Retry-After, from 1 to a day; None if there is none."""
    seconds = http.parse_retry_after(headers.get("retry-after", ""), now=datetime.now(UTC))
    return None if seconds is None else min(max(1, ceil(seconds)), MAX_RETRY_AFTER)


def build_busy_error() -> UpstreamBusyError:
    """Return the error for a connection with as many calls as it may have at a time."""
    return UpstreamBusyError(
        "The service has as many calls as it may have at a time; nothing was sent. Send the same call again.",
        headers={"Retry-After": "1"},
    )


def build_circuit_open_error(seconds: int) -> UpstreamBusyError:
    """Return the error for a connection that gets no calls for a while, because too many have failed."""
    return UpstreamBusyError(
        f"The service has failed too often; nothing was sent. Send the same call again in {seconds} seconds.",
        reason="upstream_circuit_open",
        headers={"Retry-After": str(seconds)},
    )


def build_refused_for_now_error(
    *, is_rate_limit: bool, retry_after: int | None, details: Mapping[str, Any]
) -> UpstreamBusyError:
    """Return the error for an answer with status 429 or 503. Neither applies a call."""
    problem = "takes no more calls now" if is_rate_limit else "is not available now"
    when = f"in {retry_after} seconds" if retry_after else "later"
    return UpstreamBusyError(
        f"The service {problem}; nothing was done. Send the same call again {when}.",
        reason="upstream_rate_limited" if is_rate_limit else "upstream_unavailable",
        details=details,
        headers={"Retry-After": str(retry_after)} if retry_after else None,
    )
