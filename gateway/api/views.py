"""The API endpoints. Each view checks the body, calls one service and returns its response."""

import logging
import re
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import MethodNotAllowed, Throttled
from rest_framework.request import Request
from rest_framework.views import APIView

from analytics.events import event_log
from analytics.models import OperationEvent
from core import logs, metrics, safe_traceback
from core.rate_limit import RateLimitDecision
from core.text_cache import cache_by_text
from gateway import request_context
from gateway.api import events, openapi, pagination, releases
from gateway.batches import service
from gateway.clients.api_keys import VerifiedKey
from gateway.contracts import envelopes, request_schemas
from gateway.contracts.envelopes import Trace
from gateway.contracts.errors import (
    FieldError,
    GatewayError,
    InternalError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    build_too_large_error,
)
from gateway.execution import db_errors, pipeline
from gateway.help import service as help_service
from gateway.models import Scope
from gateway.recording import call_events
from gateway.request_context import Caller
from gateway.toolset import service as toolset
from gateway.toolset import telemetry
from registry.catalog import model

log = logging.getLogger(__name__)

JSON_CONTENT_TYPE = "application/json"
_SECONDS = re.compile(r"[0-9]{1,4}")


class GatewayView(APIView):
    """Base view of all endpoints: checks size, key, rate, scope and headers, in this order.

    Adds the trace and rate-limit headers, and turns every exception into an error envelope.
    """

    http_method_names = ["get", "head", "post"]
    scope: Scope | None = None
    event_type: OperationEvent.Type | None = None
    has_routing = False  # a toolset or the flags choose its surface and release
    requested_path: str = ""  # the path as sent, for the event of a failed call
    rate_limit: RateLimitDecision | None = None
    key: VerifiedKey | None = None
    caller: Caller | None = None
    trace: Trace

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        self.trace = Trace(request_context.read_trace_id(request.META))
        logs.trace.set(self.trace.id)
        # We parse bodies and render responses ourselves, so parsers and content negotiation are not set up.
        return Request(request, authenticators=self.get_authenticators())

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        request_schemas.check_size(request._request)
        self.perform_authentication(request)
        self.check_throttles(request)
        key: VerifiedKey = request.auth  # type: ignore[assignment]  # DRF's stubs know only its own Token
        self.key = key  # from here on errors are recorded as events
        self.check_permissions(request)
        self.caller = request_context.identify_caller(key, request._request.META)
        if self.has_routing:
            self.caller = request_context.apply_routing(self.caller, request._request.META, self.trace.at)

    def perform_authentication(self, request: Request) -> None:
        request.auth  # noqa: B018 - reading it authenticates

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]  # rendered by us
        error = to_api_error(exc, self)
        envelope = envelopes.build_failure(None, error, envelopes.build_meta(self.trace))
        if self.key is not None and self.event_type is not None:
            event = call_events.build_event(
                self.event_type,
                caller=self.caller or Caller(self.key),
                trace=self.trace,
                name=self.requested_path,
                status=error.status,
                error=envelope["error"],
            )
            event_log.enqueue_event(event)
        elif self.event_type is not None:
            self.trace.metric_labels = (str(self.event_type), "", str(error.code), error.reason)
        return render_envelope(envelope, error.status, error.headers)

    def finalize_response(  # type: ignore[override]  # rendered by us
        self, request: Request, response: HttpResponseBase, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        headers = response.headers
        if self.trace.metric_labels is not None:
            metrics.count_call(self.trace.metric_labels, seconds=self.trace.elapsed_ms() / 1000)
        headers["Gateway-Trace"] = self.trace.id
        if self.trace.release:
            headers["Gateway-Release"] = self.trace.release
        headers["Server-Timing"] = self.trace.format_server_timing()
        headers["Cache-Control"] = "private, no-cache"
        if self.rate_limit is not None:
            headers["RateLimit"] = f'"key";r={self.rate_limit.remaining};t=1'
        logs.clear_context()  # the thread's next log line may belong to another request
        return response


class HelpView(GatewayView):
    """help: list, read, search."""

    scope = Scope.HELP
    event_type = OperationEvent.Type.HELP
    has_routing = True

    @openapi.help_by_post
    def post(self, request: Request) -> HttpResponse:
        return self._respond(request_schemas.read_json_object(request._request))

    @openapi.help_by_get
    def get(self, request: Request) -> HttpResponse:
        response = self._respond(
            help_service.parse_parameters(_parse_query_string(request._request.META["QUERY_STRING"]))
        )
        if etag_matches(request._request.META.get("HTTP_IF_NONE_MATCH", ""), response.headers["ETag"]):
            response.status_code, response.content = 304, b""
            del response.headers["Content-Type"]
        return response

    def _respond(self, body: dict[str, Any]) -> HttpResponse:
        self.requested_path = path if isinstance(path := body.get("path"), str) else ""
        self.event_type = help_service.get_event_type(body)
        help_answer = help_service.answer_help(body=body, caller=require_caller(self), trace=self.trace)
        return HttpResponse(help_answer.body, content_type=JSON_CONTENT_TYPE, headers={"ETag": help_answer.etag})


class ExecView(GatewayView):
    """exec: run one op. The op decides which scope it needs."""

    event_type = OperationEvent.Type.EXEC
    has_routing = True

    @openapi.exec_by_post
    def post(self, request: Request) -> HttpResponse:
        response = pipeline.execute(
            body=request_schemas.read_json_object(request._request), caller=require_caller(self), trace=self.trace
        )
        return render_envelope(response.envelope, response.status, response.headers)


class BatchView(GatewayView):
    """batch: several calls in one request. Each entry also needs its own scope."""

    scope = Scope.BATCH
    has_routing = True

    @openapi.batch_by_post
    def post(self, request: Request) -> HttpResponse:
        in_background = _prefers_background(request._request.META.get("HTTP_PREFER", ""))
        body = request_schemas.read_json_object(request._request)
        payload = service.submit(body, require_caller(self), self.trace, in_background=in_background)
        replay_headers = {"Idempotent-Replayed": "true"} if payload["meta"].get("replayed") else {}
        if not in_background:
            return render_envelope(payload, 200, replay_headers)
        location = reverse("batch_status", kwargs={"id": payload["batch_id"]})
        return render_envelope(
            payload, 202, {"Location": location, "Preference-Applied": "respond-async", **replay_headers}
        )


class BatchStatusView(GatewayView):
    """Progress of a batch, and cancelling its entries that have not started."""

    http_method_names = ["get", "head", "delete"]
    scope = Scope.BATCH

    @openapi.batch_status
    def get(self, request: Request, id: UUID) -> HttpResponse:
        wait = _parse_wait(request._request.META["QUERY_STRING"])
        return render_envelope(service.get_status(id, require_caller(self), self.trace, wait=wait), 200)

    @openapi.batch_cancel
    def delete(self, request: Request, id: UUID) -> HttpResponse:
        return render_envelope(service.cancel(id, require_caller(self), self.trace), 200)


class ReleasesView(GatewayView):
    """releases: list the releases."""

    scope = Scope.EVENTS

    @openapi.releases_list
    def get(self, request: Request) -> HttpResponse:
        page = pagination.parse_list_query(_parse_query_string(request._request.META["QUERY_STRING"])).page
        return HttpResponse(orjson.dumps(releases.list_releases(page)), content_type=JSON_CONTENT_TYPE)


class ReleaseView(GatewayView):
    """releases/<version>: one release, its ops and their tokens."""

    scope = Scope.EVENTS

    @openapi.release_get
    def get(self, request: Request, version: str) -> HttpResponse:
        return HttpResponse(
            orjson.dumps(releases.get_release(version, require_caller(self))), content_type=JSON_CONTENT_TYPE
        )


class EventsView(GatewayView):
    """events: list the client's own operation events."""

    scope = Scope.EVENTS

    @openapi.events_list
    def get(self, request: Request) -> HttpResponse:
        parameters = _parse_query_string(request._request.META["QUERY_STRING"])
        list_query = pagination.parse_list_query(parameters, events.QUERY, numbered=True)
        return HttpResponse(
            orjson.dumps(events.list_events(list_query, require_caller(self))), content_type=JSON_CONTENT_TYPE
        )


class ToolsetView(GatewayView):
    """toolset: what to show the model in this turn."""

    scope = Scope.TOOLSET

    @openapi.toolset_by_post
    def post(self, request: Request) -> HttpResponse:
        payload = toolset.build_toolset(
            request_schemas.read_json_object(request._request), require_caller(self), self.trace
        )
        return HttpResponse(orjson.dumps(payload), content_type=JSON_CONTENT_TYPE)


class TelemetryView(GatewayView):
    """telemetry: the chat service reports how a turn went."""

    scope = Scope.TOOLSET

    @openapi.telemetry_by_post
    def post(self, request: Request) -> HttpResponse:
        telemetry.record_turn(request_schemas.read_json_object(request._request), require_caller(self), self.trace)
        return render_envelope({"ok": True, "meta": envelopes.build_meta(self.trace)}, 200)


class PublicView(GatewayView):
    """Base view of endpoints without authentication."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        request_schemas.check_size(request._request)


class SchemaView(PublicView):
    """The OpenAPI document."""

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(openapi.render_document(), content_type=JSON_CONTENT_TYPE)


class DocsView(PublicView):
    """The OpenAPI document as an interactive page. All its assets are served from here."""

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        return render(request._request, "gateway/docs.html")


def render_envelope(envelope: dict[str, Any], status: int, headers: dict[str, str] | None = None) -> HttpResponse:
    """Return an envelope as a response."""
    return HttpResponse(orjson.dumps(envelope), status=status, content_type=JSON_CONTENT_TYPE, headers=headers)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Return the 404 response for an unknown URL."""
    return _render_error(
        request, NotFoundError("There is nothing at this address. See /api/v1/help.", reason="unknown_address")
    )


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Return the 400 response for requests that Django refuses before any view, such as an unknown host."""
    return _render_error(request, InvalidRequestError("The request is malformed, or its host is not served here."))


def https_required(request: HttpRequest) -> HttpResponse:
    """Return the 400 response for plain http.

    A redirect would lose the body, and the client would keep sending its key in the clear.
    """
    return _render_error(
        request, InvalidRequestError("The API is served over https only. Send the call there.", reason="https_required")
    )


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Return the 403 response for requests that Django forbids before any view."""
    return _render_error(request, PermissionDeniedError("The request is not allowed."))


def server_error(request: HttpRequest) -> HttpResponse:
    """Return the 500 response for a failure outside every view."""
    return _render_error(
        request, InternalError("The call failed on our side. Its trace id tells the administrator where.")
    )


def _render_error(request: HttpRequest, error: GatewayError) -> HttpResponse:
    trace = Trace(request_context.read_trace_id(request.META))
    response = render_envelope(
        envelopes.build_failure(None, error, envelopes.build_meta(trace)), error.status, error.headers
    )
    response.headers["Gateway-Trace"] = trace.id
    return response


def to_api_error(exc: Exception, view: GatewayView) -> GatewayError:
    """Return the API error for an exception of any layer. A bug is logged and becomes INTERNAL without details."""
    if isinstance(exc, GatewayError):
        return exc
    if isinstance(exc, MethodNotAllowed):
        allowed = view.allowed_methods
        return NotFoundError(
            f"This address does not take that method. Send {' or '.join(allowed)}.",
            status=405,
            reason="method_not_allowed",
            headers={"Allow": ", ".join(allowed)},
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
    if isinstance(exc, model.NoLiveRelease):
        return InternalError(str(exc), status=503, reason="nothing_live", retryable=True, headers={"Retry-After": "1"})
    if isinstance(exc, OperationalError | InterfaceError):
        return db_errors.to_api_error(exc, keyed=False)
    log.error("request.crashed trace=%s\n%s", view.trace.id, safe_traceback.format(exc))
    return InternalError("The call failed on our side. Its trace id tells the administrator where.")


def require_caller(view: GatewayView) -> Caller:
    """Return the caller of a view. Raises RuntimeError before the request was authenticated."""
    if view.caller is None:
        raise RuntimeError("A view answered before its caller was known.")
    return view.caller


@cache_by_text
def _parse_query_string(query_string: str) -> dict[str, list[str]]:
    query = QueryDict(query_string.encode("latin-1"))  # WSGI carries bytes as latin-1 (PEP 3333)
    return {str(name): [str(value) for value in values] for name, values in query.lists()}


def _prefers_background(header: str) -> bool:
    """Whether a Prefer header (RFC 7240) asks not to wait for the result."""
    return any(each.partition(";")[0].strip().lower() == "respond-async" for each in header.split(","))


def _parse_wait(query_string: str) -> int:
    """Return the seconds that ?wait= asks for. Raises InvalidRequestError."""
    parameters = _parse_query_string(query_string)
    values = parameters.get("wait", ["0"])
    is_number = set(parameters) <= {"wait"} and len(values) == 1 and _SECONDS.fullmatch(values[0])
    if is_number and int(values[0]) <= service.MAX_WAIT_SECONDS:
        return int(values[0])
    message = f"wait must be a whole number of seconds from 0 to {service.MAX_WAIT_SECONDS}, and the only parameter."
    raise InvalidRequestError(message, reason="malformed_call", field_errors=[FieldError("/wait", "format", message)])


def etag_matches(header: str, etag: str) -> bool:
    """Whether an If-None-Match header matches, by weak comparison (RFC 9110 section 13.1.2)."""
    return header.strip() == "*" or etag in (tag.strip().removeprefix("W/") for tag in header.split(","))
