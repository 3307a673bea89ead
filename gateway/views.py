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

from analytics import events
from analytics.models import OperationEvent
from core import faults, logs, metrics
from core.kept import kept
from core.ratelimit import Taken
from gateway import (
    bodies,
    callers,
    database,
    discovery,
    envelopes,
    execution,
    openapi,
    pages,
    recording,
    telemetry,
    told_events,
    told_releases,
)
from gateway.batches import service
from gateway.callers import Caller
from gateway.envelopes import Trace
from gateway.errors import Denied, Failed, FieldError, GatewayError, Invalid, Missing, too_large
from gateway.keys import VerifiedKey
from gateway.models import Scope
from gateway.toolset import service as toolset
from registry import catalogs

log = logging.getLogger(__name__)

JSON = "application/json"
_SECONDS = re.compile(r"[0-9]{1,4}")


class GatewayView(APIView):
    """Base view of all endpoints: checks size, key, rate, scope and headers, in this order.

    Adds the trace and rate-limit headers, and turns every exception into an error envelope.
    """

    http_method_names = ["get", "head", "post"]
    scope: Scope | None = None
    records: OperationEvent.Type | None = None
    is_of_a_turn = False  # a toolset or the flags choose its surface and release
    asked: str = ""  # the path as sent, for the event of a failed call
    taken: Taken | None = None
    key: VerifiedKey | None = None
    caller: Caller | None = None
    trace: Trace

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        self.trace = Trace(callers.trace_id(request.META))
        logs.trace.set(self.trace.id)
        # We parse bodies and render responses ourselves, so parsers and content negotiation are not set up.
        return Request(request, authenticators=self.get_authenticators())

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        bodies.check_size(request._request)
        self.perform_authentication(request)
        self.check_throttles(request)
        key: VerifiedKey = request.auth  # type: ignore[assignment]  # DRF's stubs know only its own Token
        self.key = key  # from here on errors are recorded as events
        self.check_permissions(request)
        self.caller = callers.identify(key, request._request.META)
        if self.is_of_a_turn:
            self.caller = callers.under(self.caller, request._request.META, self.trace.at)

    def perform_authentication(self, request: Request) -> None:
        request.auth  # noqa: B018 - reading it authenticates

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]  # rendered by us
        error = meaning(exc, self)
        envelope = envelopes.failure(None, error, envelopes.meta(self.trace))
        if self.key is not None and self.records is not None:
            event = recording.event(
                self.records,
                caller=self.caller or Caller(self.key),
                trace=self.trace,
                name=self.asked,
                status=error.status,
                error=envelope["error"],
            )
            events.later(event)
        elif self.records is not None:
            self.trace.told = (str(self.records), "", str(error.code), error.reason)
        return answer(envelope, error.status, error.headers)

    def finalize_response(  # type: ignore[override]  # rendered by us
        self, request: Request, response: HttpResponseBase, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        headers = response.headers
        if self.trace.told is not None:
            metrics.count_call(self.trace.told, seconds=self.trace.elapsed_ms() / 1000)
        headers["Gateway-Trace"] = self.trace.id
        if self.trace.release:
            headers["Gateway-Release"] = self.trace.release
        headers["Server-Timing"] = self.trace.timing()
        headers["Cache-Control"] = "private, no-cache"
        if self.taken is not None:
            headers["RateLimit"] = f'"key";r={self.taken.remaining};t=1'
        logs.clear()  # the thread's next log line may belong to another request
        return response


class HelpView(GatewayView):
    """help: list, read, search."""

    scope = Scope.HELP
    records = OperationEvent.Type.HELP
    is_of_a_turn = True

    @openapi.help_by_post
    def post(self, request: Request) -> HttpResponse:
        return self._answered(bodies.read(request._request))

    @openapi.help_by_get
    def get(self, request: Request) -> HttpResponse:
        response = self._answered(discovery.from_parameters(_parameters(request._request.META["QUERY_STRING"])))
        if matches(request._request.META.get("HTTP_IF_NONE_MATCH", ""), response.headers["ETag"]):
            response.status_code, response.content = 304, b""
            del response.headers["Content-Type"]
        return response

    def _answered(self, body: dict[str, Any]) -> HttpResponse:
        self.asked = path if isinstance(path := body.get("path"), str) else ""
        self.records = discovery.kind_of(body)
        found = discovery.ask(body=body, caller=caller_of(self), trace=self.trace)
        return HttpResponse(found.body, content_type=JSON, headers={"ETag": found.etag})


class ExecView(GatewayView):
    """exec: run one op. The op decides which scope it needs."""

    records = OperationEvent.Type.EXEC
    is_of_a_turn = True

    @openapi.exec_by_post
    def post(self, request: Request) -> HttpResponse:
        done = execution.execute(body=bodies.read(request._request), caller=caller_of(self), trace=self.trace)
        return answer(done.envelope, done.status, done.headers)


class BatchView(GatewayView):
    """batch: several calls in one request. Each entry also needs its own scope."""

    scope = Scope.BATCH
    is_of_a_turn = True

    @openapi.batch_by_post
    def post(self, request: Request) -> HttpResponse:
        in_background = _prefers_background(request._request.META.get("HTTP_PREFER", ""))
        body = bodies.read(request._request)
        told = service.submit(body, caller_of(self), self.trace, in_background=in_background)
        replayed = {"Idempotent-Replayed": "true"} if told["meta"].get("replayed") else {}
        if not in_background:
            return answer(told, 200, replayed)
        place = reverse("batch_status", kwargs={"id": told["batch_id"]})
        return answer(told, 202, {"Location": place, "Preference-Applied": "respond-async", **replayed})


class BatchStatusView(GatewayView):
    """Progress of a batch, and cancelling its entries that have not started."""

    http_method_names = ["get", "head", "delete"]
    scope = Scope.BATCH

    @openapi.batch_status
    def get(self, request: Request, id: UUID) -> HttpResponse:
        wait = _wait(request._request.META["QUERY_STRING"])
        return answer(service.tell(id, caller_of(self), self.trace, wait=wait), 200)

    @openapi.batch_cancel
    def delete(self, request: Request, id: UUID) -> HttpResponse:
        return answer(service.cancel(id, caller_of(self), self.trace), 200)


class ReleasesView(GatewayView):
    """releases: list the releases."""

    scope = Scope.EVENTS

    @openapi.releases_list
    def get(self, request: Request) -> HttpResponse:
        page = pages.asked(_parameters(request._request.META["QUERY_STRING"])).page
        return HttpResponse(orjson.dumps(told_releases.listed(page)), content_type=JSON)


class ReleaseView(GatewayView):
    """releases/<version>: one release, its ops and their tokens."""

    scope = Scope.EVENTS

    @openapi.release_get
    def get(self, request: Request, version: str) -> HttpResponse:
        return HttpResponse(orjson.dumps(told_releases.one(version, caller_of(self))), content_type=JSON)


class EventsView(GatewayView):
    """events: list the client's own operation events."""

    scope = Scope.EVENTS

    @openapi.events_list
    def get(self, request: Request) -> HttpResponse:
        parameters = _parameters(request._request.META["QUERY_STRING"])
        asked = pages.asked(parameters, told_events.QUERY, numbered=True)
        return HttpResponse(orjson.dumps(told_events.listed(asked, caller_of(self))), content_type=JSON)


class ToolsetView(GatewayView):
    """toolset: what to show the model in this turn."""

    scope = Scope.TOOLSET

    @openapi.toolset_by_post
    def post(self, request: Request) -> HttpResponse:
        found = toolset.ask(bodies.read(request._request), caller_of(self), self.trace)
        return HttpResponse(orjson.dumps(found), content_type=JSON)


class TelemetryView(GatewayView):
    """telemetry: the chat service reports how a turn went."""

    scope = Scope.TOOLSET

    @openapi.telemetry_by_post
    def post(self, request: Request) -> HttpResponse:
        telemetry.tell(bodies.read(request._request), caller_of(self), self.trace)
        return answer({"ok": True, "meta": envelopes.meta(self.trace)}, 200)


class PublicView(GatewayView):
    """Base view of endpoints without authentication."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        bodies.check_size(request._request)


class SchemaView(PublicView):
    """The OpenAPI document."""

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(openapi.document(), content_type=JSON)


class DocsView(PublicView):
    """The OpenAPI document as an interactive page. All its assets are served from here."""

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        return render(request._request, "gateway/docs.html")


def answer(envelope: dict[str, Any], status: int, headers: dict[str, str] | None = None) -> HttpResponse:
    """Return an envelope as a response."""
    return HttpResponse(orjson.dumps(envelope), status=status, content_type=JSON, headers=headers)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Return the 404 response for an unknown URL."""
    return _bare(request, Missing("There is nothing at this address. See /api/v1/help.", reason="unknown_address"))


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Return the 400 response for requests that Django refuses before any view, such as an unknown host."""
    return _bare(request, Invalid("The request is malformed, or its host is not served here."))


def insecure(request: HttpRequest) -> HttpResponse:
    """Return the 400 response for plain http.

    A redirect would lose the body, and the client would keep sending its key in the clear.
    """
    return _bare(request, Invalid("The API is served over https only. Send the call there.", reason="https_required"))


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Return the 403 response for requests that Django forbids before any view."""
    return _bare(request, Denied("The request is not allowed."))


def server_error(request: HttpRequest) -> HttpResponse:
    """Return the 500 response for a failure outside every view."""
    return _bare(request, Failed("The call failed on our side. Its trace id tells the administrator where."))


def _bare(request: HttpRequest, error: GatewayError) -> HttpResponse:
    trace = Trace(callers.trace_id(request.META))
    response = answer(envelopes.failure(None, error, envelopes.meta(trace)), error.status, error.headers)
    response.headers["Gateway-Trace"] = trace.id
    return response


def meaning(exc: Exception, view: GatewayView) -> GatewayError:
    """Return the API error for an exception of any layer. A bug is logged and becomes INTERNAL without details."""
    if isinstance(exc, GatewayError):
        return exc
    if isinstance(exc, MethodNotAllowed):
        allowed = view.allowed_methods
        return Missing(
            f"This address does not take that method. Send {' or '.join(allowed)}.",
            status=405,
            reason="method_not_allowed",
            headers={"Allow": ", ".join(allowed)},
        )
    if isinstance(exc, Throttled):
        wait = max(1, round(getattr(exc, "wait", None) or 1))
        return Denied(
            f"This API key has reached its rate limit. Wait {wait} s.",
            status=429,
            reason="rate_limited",
            retryable=True,
            headers={"Retry-After": str(wait)},
        )
    if isinstance(exc, RequestDataTooBig):
        return too_large(settings.GATEWAY_BODY_MAX_BYTES)
    if isinstance(exc, TooManyFieldsSent):
        most = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
        return Invalid(f"The query has more than {most} parameters. Send only those of help.", reason="malformed_call")
    if isinstance(exc, catalogs.NothingLive):
        return Failed(str(exc), status=503, reason="nothing_live", retryable=True, headers={"Retry-After": "1"})
    if isinstance(exc, OperationalError | InterfaceError):
        return database.meaning(exc, keyed=False)
    log.error("request.crashed trace=%s\n%s", view.trace.id, faults.told(exc))
    return Failed("The call failed on our side. Its trace id tells the administrator where.")


def caller_of(view: GatewayView) -> Caller:
    """Return the caller of a view. Raises RuntimeError before the request was authenticated."""
    if view.caller is None:
        raise RuntimeError("A view answered before its caller was known.")
    return view.caller


@kept
def _parameters(query_string: str) -> dict[str, list[str]]:
    query = QueryDict(query_string.encode("latin-1"))  # WSGI carries bytes as latin-1 (PEP 3333)
    return {str(name): [str(value) for value in values] for name, values in query.lists()}


def _prefers_background(header: str) -> bool:
    """Whether a Prefer header (RFC 7240) asks not to wait for the result."""
    return any(each.partition(";")[0].strip().lower() == "respond-async" for each in header.split(","))


def _wait(query_string: str) -> int:
    """Return the seconds that ?wait= asks for. Raises Invalid."""
    parameters = _parameters(query_string)
    values = parameters.get("wait", ["0"])
    is_number = set(parameters) <= {"wait"} and len(values) == 1 and _SECONDS.fullmatch(values[0])
    if is_number and int(values[0]) <= service.LONGEST_WAIT:
        return int(values[0])
    message = f"wait must be a whole number of seconds from 0 to {service.LONGEST_WAIT}, and the only parameter."
    raise Invalid(message, reason="malformed_call", field_errors=[FieldError("/wait", "format", message)])


def matches(header: str, etag: str) -> bool:
    """Whether an If-None-Match header matches, by weak comparison (RFC 9110 section 13.1.2)."""
    return header.strip() == "*" or etag in (tag.strip().removeprefix("W/") for tag in header.split(","))
