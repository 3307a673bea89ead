"""Send a request, and again within a retry budget if no write can be applied twice."""

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from urllib.parse import urlsplit

from core import http, tracing
from core.database.deadlines import Deadline, DeadlineExceeded
from core.records import record
from gateway.contracts.errors import UpstreamBusyError
from gateway.executors.base import ClientSubject
from gateway.executors.remote import connection_guards
from gateway.executors.remote.credentials import BuiltRequest
from registry.catalog.connections import ConnectionConfig

MAX_RETRIES = 2
MIN_WAIT_SECONDS = 0.1
MAX_WAIT_SECONDS = 2.0
FIRST_MAX_WAIT_SECONDS = 0.5  # four times as long before the second retry
MAX_ANSWER_SECONDS = 2.0  # that are left for the answer when the reading of a stream stops
SHARE_FOR_ANSWER = 0.1  # of the time of the call
TEMPORARY_STATUSES = frozenset({425, 429, 500, 502, 503, 504})

# Errors that the next attempt would also get, and that do not mean that the upstream fails.
PERMANENT_ERRORS = (http.AddressRefused, http.BadRequest, http.BadUrl, http.TooLarge, http.TooManyRedirects)
Outcome = http.Response | http.OutgoingError


@record
class SendingRules:
    """How a request can be sent, and for which subject.

    `can_repeat`: sending it twice applies it once, because it reads or has a key.
    """

    deadline: Deadline
    is_write: bool
    can_repeat: bool
    caller: ClientSubject
    on_event_chunk: Callable[[bytes], None] | None = None  # gets a stream of events as it arrives


def send(request: BuiltRequest, config: ConnectionConfig, rules: SendingRules) -> http.Response:
    """Return the answer, with any status. Raises OutgoingError, or UpstreamBusyError if nothing was sent."""
    guard = connection_guards.get_guard(config.name)
    guard.earn_retry()
    outcome = _attempt(request, config, rules)
    for retry in range(MAX_RETRIES):
        if not _may_repeat(outcome, rules):
            break
        wait = choose_wait(retry, outcome)
        if time.monotonic() + wait >= rules.deadline.at or not guard.spend_retry():
            break
        time.sleep(wait)
        try:
            outcome = _combine(outcome, _attempt(request, config, rules))
        except UpstreamBusyError:
            break  # the earlier outcome says more, above all whether the request was sent
    if isinstance(outcome, http.OutgoingError):
        raise outcome
    return outcome


def choose_wait(retry: int, outcome: Outcome) -> float:
    """Return the seconds to wait: those that the upstream asks for, else a random time (full jitter)."""
    if isinstance(outcome, http.Response) and (seconds := get_retry_after(outcome)) is not None:
        return seconds
    return random.uniform(MIN_WAIT_SECONDS, min(MAX_WAIT_SECONDS, FIRST_MAX_WAIT_SECONDS * 4**retry))


def get_retry_after(response: http.Response) -> float | None:
    """Return the seconds of the header Retry-After, None if there is none."""
    return http.parse_retry_after(response.headers.get("retry-after", ""), now=datetime.now(UTC))


def _attempt(request: BuiltRequest, config: ConnectionConfig, rules: SendingRules) -> Outcome:
    try:
        with connection_guards.guard_call(config, rules.caller, rules.deadline) as attempt:
            outcome = _request(request, config, rules)
            attempt.failed = _is_failure(outcome)
            return outcome
    except DeadlineExceeded:
        return http.TimedOut()


def _request(request: BuiltRequest, config: ConnectionConfig, rules: SendingRules) -> Outcome:
    """Make one attempt in a span of its own, and tell the service its trace."""
    if not tracing.is_on():
        return _exchange(request, config, rules)
    with tracing.start_span(request.method, "client", {"http.request.method": request.method}) as span:
        outcome = _exchange(request, config, rules)
        url = urlsplit(request.url)
        span.add({"server.address": url.hostname, "server.port": url.port, "gateway.connection": config.name})
        if isinstance(outcome, http.OutgoingError):
            span.fail(type(outcome).__name__)
        else:
            span.add({"http.response.status_code": outcome.status})
            if outcome.status >= 400:
                span.fail(str(outcome.status))
        return outcome


def _exchange(request: BuiltRequest, config: ConnectionConfig, rules: SendingRules) -> Outcome:
    try:
        return http.request(
            request.method,
            request.url,
            headers={**request.headers, **tracing.build_headers()},
            body=request.body,
            deadline=rules.deadline,
            max_bytes=config.max_response_kb * 1000,
            read_seconds=None,
            follow_redirects=not rules.is_write,
            same_origin=True,
            allow=http.get_upstream_networks(),
            keep_unread=rules.is_write,
            stream_deadline=_end_before(rules.deadline),
            on_event_chunk=rules.on_event_chunk,
        )
    except http.OutgoingError as error:
        return error


def _end_before(deadline: Deadline) -> Deadline:
    """Return when to stop reading a stream, so that its answer is ready before the deadline of the call."""
    seconds = deadline.get_remaining_ms() / 1000
    return Deadline(deadline.at - min(MAX_ANSWER_SECONDS, seconds * SHARE_FOR_ANSWER))


def _is_failure(outcome: Outcome) -> bool | None:
    """Return whether the upstream failed, None if the outcome does not show it."""
    if isinstance(outcome, http.Response):
        return connection_guards.is_failure_status(outcome.status)
    return None if isinstance(outcome, PERMANENT_ERRORS) else True


def _may_repeat(outcome: Outcome, rules: SendingRules) -> bool:
    if isinstance(outcome, http.Response):
        return rules.can_repeat and outcome.status in TEMPORARY_STATUSES
    if isinstance(outcome, (*PERMANENT_ERRORS, http.Untrusted)):
        return False
    return rules.can_repeat or not outcome.was_sent


def _is_refused(response: http.Response) -> bool:
    """Return whether the upstream says that it did not take the call."""
    return response.status == 429 or (response.status == 503 and get_retry_after(response) is not None)


def _combine(earlier: Outcome, later: Outcome) -> Outcome:
    """Return the later outcome. An error counts as sent if the earlier attempt may have applied the request."""
    if isinstance(later, http.OutgoingError):
        is_refused = isinstance(earlier, http.Response) and _is_refused(earlier)
        was_sent = isinstance(earlier, http.Response) or earlier.was_sent
        later.was_sent = later.was_sent or (was_sent and not is_refused)
    return later
