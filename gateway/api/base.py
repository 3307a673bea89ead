"""The base views of all endpoints: checks before a call, error envelopes and headers after it."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from rest_framework.exceptions import MethodNotAllowed, Throttled
from rest_framework.request import Request
from rest_framework.views import APIView

from analytics.events.models import OperationEvent
from core import logs, metrics, tracing
from core.database.watch import is_schema_missing, is_unavailable
from core.metrics import CallLabels
from core.overload import RateLimitDecision
from core.text import json_text
from core.tracing import TraceSpan
from gateway.access import release_routing, request_context, surface_names
from gateway.access.key_verification import VerifiedKey
from gateway.access.request_context import Caller
from gateway.api import requests
from gateway.contracts import envelopes
from gateway.contracts.envelopes import Trace
from gateway.contracts.errors import (
    EXPECTED_REASONS,
    GatewayError,
    InternalError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    build_too_large_error,
)
from gateway.execution import db_errors
from gateway.models import Scope
from gateway.recording import spans
from gateway.recording.call_events import record_failed_call
from registry.catalog import cache

log = logging.getLogger(__name__)
JSON_CONTENT_TYPE = "application/json"


def to_api_error(exc: Exception, *, allowed_methods: Sequence[str], trace_id: str) -> GatewayError:
    """Return the API error for an exception of any layer. A bug is logged and becomes INTERNAL without details."""
    if isinstance(exc, GatewayError):
        return exc
    if isinstance(exc, MethodNotAllowed):
        return NotFoundError(
            f"This endpoint does not support this method. Use {' or '.join(allowed_methods)}.",
            status=405,
            reason="method_not_allowed",
            headers={"Allow": ", ".join(allowed_methods)},
        )
    if isinstance(exc, Throttled):
        wait = max(1, round(getattr(exc, "wait", None) or 1))
        return PermissionDeniedError(
            f"This API key has reached its rate limit. Wait {wait} s.",
            status=429,
            reason="rate_limited",
            retryable=True,
            headers={"Retry-After": str(wait)},
        )
    if isinstance(exc, RequestDataTooBig):
        return build_too_large_error(settings.GATEWAY_BODY_MAX_BYTES)
    if isinstance(exc, TooManyFieldsSent):
        limit = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
        return InvalidRequestError(
            f"The query has more than {limit} parameters. Send only those of help.", reason="malformed_call"
        )
    if isinstance(exc, cache.NoLiveRelease):
        return InternalError(str(exc), status=503, reason="nothing_live", retryable=True, headers={"Retry-After": "1"})
    if is_unavailable(exc) or is_schema_missing(exc):
        return db_errors.to_api_error(exc, keyed=False)
    log.error("request.crashed trace=%s\n%s", trace_id, logs.format_safely(exc))
    return InternalError("The gateway failed to run this call. Tell the administrator its trace id.")


class GatewayView(APIView):
    """Base view of all endpoints: checks size, key, rate, scope and headers, in this order.

    Adds the trace and rate-limit headers, and turns every exception into an error envelope.
    """

    http_method_names = ["get", "head", "post"]
    scope: Scope | None = None
    event_type: OperationEvent.Type | None = None
    has_routing = False  # a toolset or the flags choose its surface and release
    admits_later = False  # for a protocol that answers refusals in its own way: it calls `admit` itself
    runs_as_agent = False  # for an endpoint without routing: it limits itself to the agent's ops
    requested_path: str = ""  # the path as sent, for the event of a failed call
    rate_limit: RateLimitDecision | None = None
    key: VerifiedKey | None = None
    caller: Caller | None = None
    span: TraceSpan  # of the request, while it is answered
    metric_labels: CallLabels | None = None  # how the call ended; None if the request is not a call
    trace: Trace

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        self.trace = Trace(request_context.read_trace_id(request.META))
        logs.trace.set(self.trace.id)
        self.span = start_request_span(request, self.trace).__enter__()
        # We parse bodies and render responses ourselves, so parsers and content negotiation are not set up.
        return Request(request, authenticators=self.get_authenticators())

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        requests.check_size(request._request, self.get_max_body_bytes())
        request_context.check_no_header_repeats(request._request.META)
        self.perform_authentication(request)
        if not self.admits_later:
            self.admit(request)

    def get_max_body_bytes(self) -> int:
        """Return how large a body can be."""
        return int(settings.GATEWAY_BODY_MAX_BYTES)

    def admit(self, request: Request) -> None:
        """Check rate, scope and headers of an authenticated request, and identify its caller."""
        self.check_throttles(request)
        key: VerifiedKey = request.auth  # type: ignore[assignment]  # DRF's stubs know only its own Token
        self.key = key  # from here on errors are recorded as events
        self.check_permissions(request)
        self.caller = request_context.identify_caller(key, request._request.META)
        meta = request._request.META
        if self.has_routing:
            self.caller = request_context.apply_routing(self.caller, meta, self.trace.at)
            self.caller = request_context.apply_agent(self.caller, meta, release_routing.get_catalog)
        elif not self.runs_as_agent:
            request_context.refuse_agent(meta)

    def perform_authentication(self, request: Request) -> None:
        request.auth  # noqa: B018 - reading it authenticates

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]  # rendered by us
        error = self.to_api_error(exc)
        if self.event_type is None:
            envelope = envelopes.build_failure(None, error, envelopes.build_meta(self.trace))
        else:
            caller = self.caller or (Caller(self.key) if self.key else None)
            envelope, self.metric_labels = record_failed_call(
                self.event_type, error, caller=caller, trace=self.trace, name=self.requested_path
            )
        envelope = surface_names.name_ops_in_failure(envelope, self.caller, self.trace)
        return render_envelope(envelope, error.status, error.headers)

    def to_api_error(self, exc: Exception) -> GatewayError:
        """Return the API error for an exception of any layer."""
        return to_api_error(exc, allowed_methods=self.allowed_methods, trace_id=self.trace.id)

    def require_caller(self) -> Caller:
        """Return the caller. Raises RuntimeError before the request was authenticated."""
        if self.caller is None:
            raise RuntimeError("A view answered before its caller was known.")
        return self.caller

    def finalize_response(  # type: ignore[override]  # rendered by us
        self, request: Request, response: HttpResponseBase, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        headers = response.headers
        if self.metric_labels is not None:
            metrics.count_call(self.metric_labels, seconds=self.trace.elapsed_ms() / 1000)
        headers["Gateway-Trace"] = self.trace.id
        if self.trace.release:
            headers["Gateway-Release"] = self.trace.release
        if self.trace.hint:
            headers["Gateway-Hint"] = self.trace.hint
        headers["Server-Timing"] = self.trace.format_server_timing()
        headers["Cache-Control"] = "private, no-cache"
        if self.rate_limit is not None:
            headers["RateLimit"] = f'"key";r={self.rate_limit.remaining};t=1'
        self._end_span(response.status_code)
        logs.clear_context()  # the thread's next log line may belong to another request
        return response

    def _end_span(self, status: int) -> None:
        self.span.add({"http.response.status_code": status})
        if self.caller is not None and self.span.is_recorded:
            self.span.add(spans.describe_caller(self.caller, self.trace))
        if status >= 500:
            self.span.fail(str(status))
        self.span.__exit__(None, None, None)


def start_request_span(request: HttpRequest, trace: Trace) -> TraceSpan:
    """Return the span of a request, which goes on with the trace of its header `traceparent`."""
    if not tracing.is_on():
        return tracing.start_span("")
    route = f"/{request.resolver_match.route}" if request.resolver_match else ""
    attributes = {"http.request.method": request.method, "http.route": route}
    parent = request.META.get("HTTP_TRACEPARENT", "")
    return tracing.start_span(f"{request.method} {route}", "server", attributes, parent=parent, trace=trace.id)


class PublicView(GatewayView):
    """Base view of endpoints without authentication."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        requests.check_size(request._request, self.get_max_body_bytes())


def render_accepted(status: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> HttpResponse:
    """Return the status of a batch that runs in the background as a response, with its address."""
    location = reverse("batch_status", kwargs={"id": status["batch_id"]})
    preferred = {"Location": location, "Preference-Applied": "respond-async"}
    return render_envelope(status, 202, {**preferred, **(headers or {})})


def render_envelope(envelope: Mapping[str, Any], status: int, headers: dict[str, str] | None = None) -> HttpResponse:
    """Return an envelope as a response."""
    response = HttpResponse(json_text.dump(envelope), status=status, content_type=JSON_CONTENT_TYPE, headers=headers)
    if envelope.get("error", {}).get("details", {}).get("reason") in EXPECTED_REASONS:
        response._has_been_logged = True  # type: ignore[attr-defined]  # Django logs every other 5xx as ERROR
    return response
