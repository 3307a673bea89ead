"""The base views of all endpoints: checks before a call, error envelopes and headers after it."""

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.views import APIView

from analytics.events.models import OperationEvent
from core import logs, metrics, tracing
from core.database.watch import is_schema_missing, is_unavailable
from core.http.response_headers import PlainHeaders
from core.metrics import CallLabels
from core.overload import RateLimitDecision
from core.text import json_text
from core.tracing import TraceSpan
from gateway.access import key_verification, release_routing, request_context, surface_names
from gateway.access.key_verification import VerifiedKey
from gateway.access.request_context import Caller
from gateway.api import requests
from gateway.api.authentication import KeyAuthentication
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

    Adds the trace and rate-limit headers, and turns every exception into an error envelope. It has the steps of DRF's
    views without DRF's request: we parse bodies and render answers ourselves, and what that request offers costs a
    tenth of a cached help call (docs/adr/0053).
    """

    http_method_names = ["get", "head", "post"]
    scope: Scope | None = None  # that the key needs; None if it needs none, or the op decides
    event_type: OperationEvent.Type | None = None
    has_routing = False  # a toolset or the flags choose its surface and release
    admits_later = False  # for a protocol that answers refusals in its own way: it calls `admit` itself
    runs_as_agent = False  # for an endpoint without routing: it limits itself to the agent's ops
    source = "api"  # of its calls, for their events
    requested_path: str = ""  # the path as sent, for the event of a failed call
    rate_limit: RateLimitDecision | None = None
    key: VerifiedKey | None = None
    is_recorded = False  # whether a refusal is an event: not before the key's rate was checked
    caller: Caller | None = None
    span: TraceSpan  # of the request, while it is answered
    metric_labels: CallLabels | None = None  # how the call ended; None if the request is not a call
    trace: Trace

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        self.trace = Trace(request_context.read_trace_id(request.META), source=self.source)
        logs.trace.set(self.trace.id)
        self.span = start_request_span(request, self.trace).__enter__()
        try:
            self.initial(request)
            name = (request.method or "").lower()
            handler = getattr(self, name, None) if name in self.http_method_names else None
            if handler is None:
                raise MethodNotAllowed(name)
            response = handler(request, *args, **kwargs)
        except Exception as error:
            response = self.handle_exception(error)
        return self.finalize_response(request, response)

    def initial(self, request: HttpRequest) -> None:
        requests.check_size(request, self.get_max_body_bytes())
        request_context.check_no_header_repeats(request.META)
        [authentication] = self.authentication_classes
        _, self.key = cast(KeyAuthentication, authentication()).authenticate(request)
        if not self.admits_later:
            self.admit(request)

    def get_max_body_bytes(self) -> int:
        """Return how large a body can be."""
        return int(settings.GATEWAY_BODY_MAX_BYTES)

    def admit(self, request: HttpRequest) -> None:
        """Check rate, scope and headers of an authenticated request, and identify its caller."""
        meta, key = request.META, self.take_call()
        self.is_recorded = True
        if self.scope is not None and self.scope not in key.scopes:
            raise PermissionDeniedError(
                f"This API key lacks the scope {self.scope}. Use a key that has it.", reason="scope_missing"
            )
        self.caller = request_context.identify_caller(key, meta)
        if self.has_routing:
            self.caller = request_context.apply_routing(self.caller, meta, self.trace.at)
            self.caller = request_context.apply_agent(self.caller, meta, release_routing.get_catalog)
        elif not self.runs_as_agent:
            request_context.refuse_agent(meta)

    def take_call(self) -> VerifiedKey:
        """Take one call from the rate of the request's key, and return the key. Raises PermissionDeniedError (429)."""
        key = self.require_key()
        self.rate_limit = key_verification.take_call(key)
        if not self.rate_limit.allowed:
            wait = max(1, math.ceil(self.rate_limit.retry_after))
            raise PermissionDeniedError(
                f"This API key has reached its rate limit. Wait {wait} s.",
                status=429,
                reason="rate_limited",
                retryable=True,
                headers={"Retry-After": str(wait)},
            )
        return key

    def require_key(self) -> VerifiedKey:
        """Return the key of the request. Raises RuntimeError before it was authenticated."""
        if self.key is None:
            raise RuntimeError("A view answered before its key was known.")
        return self.key

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]  # rendered by us
        error = self.to_api_error(exc)
        if self.event_type is None:
            envelope = envelopes.build_failure(None, error, envelopes.build_meta(self.trace))
        else:
            caller = self.caller or (Caller(self.key) if self.key and self.is_recorded else None)
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

    def finalize_response(  # type: ignore[override]  # without DRF's request
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        trace, headers = self.trace, PlainHeaders.replace_in(response)
        if self.metric_labels is not None:
            metrics.count_call(self.metric_labels, seconds=trace.elapsed_ms() / 1000)
        headers.add(
            (
                ("Gateway-Trace", trace.id),
                ("Server-Timing", trace.format_server_timing()),
                ("Cache-Control", "private, no-cache"),
            )
        )
        if trace.release:
            headers.add([("Gateway-Release", trace.release)])
        if trace.hint:
            if trace.hint.isascii() and trace.hint.isprintable():
                headers.add([("Gateway-Hint", trace.hint)])
            else:
                headers["Gateway-Hint"] = trace.hint  # names of ops may be in any script
        if self.rate_limit is not None:
            headers.add([("RateLimit", f'"key";r={self.rate_limit.remaining};t=1')])
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

    def initial(self, request: HttpRequest) -> None:
        requests.check_size(request, self.get_max_body_bytes())


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
