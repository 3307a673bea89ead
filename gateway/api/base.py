"""The base views of all endpoints: checks before a call, and error envelopes and headers after it."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.views import APIView

from analytics.models import OperationEvent
from core import logs, metrics
from core.metrics import CallLabels
from core.overload import RateLimitDecision
from core.text import json_text
from gateway import request_context
from gateway.api import exception_mapping, request_body
from gateway.clients.key_verification import VerifiedKey
from gateway.contracts import envelopes
from gateway.contracts.envelopes import Trace
from gateway.contracts.errors import EXPECTED_REASONS, GatewayError
from gateway.models import Scope
from gateway.recording.failed_calls import record_failed_call
from gateway.request_context import Caller
from gateway.routing import release_routing

JSON_CONTENT_TYPE = "application/json"


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
    metric_labels: CallLabels | None = None  # how the call ended; None if the request is not a call
    trace: Trace

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        self.trace = Trace(request_context.read_trace_id(request.META))
        logs.trace.set(self.trace.id)
        # We parse bodies and render responses ourselves, so parsers and content negotiation are not set up.
        return Request(request, authenticators=self.get_authenticators())

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        request_body.check_size(request._request)
        request_context.check_no_header_repeats(request._request.META)
        self.perform_authentication(request)
        if not self.admits_later:
            self.admit(request)

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
        return render_envelope(envelope, error.status, error.headers)

    def to_api_error(self, exc: Exception) -> GatewayError:
        """Return the API error for an exception of any layer."""
        return exception_mapping.to_api_error(exc, allowed_methods=self.allowed_methods, trace_id=self.trace.id)

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
        logs.clear_context()  # the thread's next log line may belong to another request
        return response


class PublicView(GatewayView):
    """Base view of endpoints without authentication."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        request_body.check_size(request._request)


def render_envelope(envelope: dict[str, Any], status: int, headers: dict[str, str] | None = None) -> HttpResponse:
    """Return an envelope as a response."""
    response = HttpResponse(json_text.dump(envelope), status=status, content_type=JSON_CONTENT_TYPE, headers=headers)
    if envelope.get("error", {}).get("details", {}).get("reason") in EXPECTED_REASONS:
        response._has_been_logged = True  # type: ignore[attr-defined]  # Django logs every other 5xx as ERROR
    return response
