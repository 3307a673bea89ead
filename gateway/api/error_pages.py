"""Errors outside of every view, in the form of the API. console/error_pages.py has the pages for people."""

import sys

from django.http import HttpRequest, HttpResponse

from core.database.watch import is_schema_missing, is_unavailable
from core.server.environ import BODY_PROBLEM, BodyProblem
from gateway.access import request_context
from gateway.api.base import render_envelope
from gateway.contracts import envelopes
from gateway.contracts.envelopes import Trace
from gateway.contracts.errors import (
    GatewayError,
    InternalError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    build_not_migrated_error,
    build_unavailable_error,
)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Return the 404 response for an unknown URL."""
    return _render_error(
        request, NotFoundError("There is no endpoint at this address. See /api/v1/help.", reason="unknown_address")
    )


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Return the 400 response for requests that Django refuses before any view, such as an unknown host."""
    return _render_error(request, InvalidRequestError("The request is malformed, or its host is not served here."))


def body_not_read(request: HttpRequest) -> HttpResponse:
    """Return the response for a form that is too large (413) or came too slowly (408), as the server says."""
    if request.META[BODY_PROBLEM] == BodyProblem.TOO_LARGE:
        status, message = 413, "What you sent is too large. Go back and send less at a time."
    else:
        status, message = 408, "What you sent did not arrive in time. Go back and send it again."
    return HttpResponse(message, status=status, content_type="text/plain")


def https_required(request: HttpRequest) -> HttpResponse:
    """Return the 400 response for plain http.

    A redirect would lose the body, and the client would keep sending its key in the clear.
    """
    return _render_error(
        request, InvalidRequestError("The API is served over https only. Send the call there.", reason="https_required")
    )


def render_forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Return the 403 response for requests that Django forbids before any view."""
    return _render_error(request, PermissionDeniedError("The request is not allowed."))


def server_error(request: HttpRequest) -> HttpResponse:
    """Return the response for a failure outside every API view: 503 if the database is the cause, else 500."""
    cause = sys.exc_info()[1]
    if is_schema_missing(cause):
        error = build_not_migrated_error()
    elif is_unavailable(cause):
        error = build_unavailable_error()
    else:
        error = InternalError("The gateway failed to run this call. Tell the administrator its trace id.")
    if "text/html" in request.headers.get("Accept", ""):  # a person's browser; no template, which may need the database
        return HttpResponse(str(error), status=error.status, content_type="text/plain", headers=error.headers)
    return _render_error(request, error)


def _render_error(request: HttpRequest, error: GatewayError) -> HttpResponse:
    trace = Trace(request_context.read_trace_id(request.META))
    response = render_envelope(
        envelopes.build_failure(None, error, envelopes.build_meta(trace)), error.status, error.headers
    )
    response.headers["Gateway-Trace"] = trace.id
    return response
