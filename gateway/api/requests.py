"""Read requests: the JSON body, the query string and ETags."""

from typing import Any, cast

from django.conf import settings
from django.http import HttpRequest, QueryDict

from core.server.environ import BODY_PROBLEM, BodyProblem
from core.text import json_text
from core.text.lists import cache_by_text
from gateway.contracts.errors import (
    FieldError,
    InvalidRequestError,
    build_too_large_error,
    build_unsupported_media_type_error,
)


def check_size(request: HttpRequest) -> None:
    """Raise InvalidRequestError if the body is too large (413) or did not arrive in time (408). Runs first."""
    if request.META.get(BODY_PROBLEM) == BodyProblem.TOO_SLOW:
        raise InvalidRequestError(
            "The body did not arrive in time. Send it again in one piece.",
            status=408,
            reason="body_too_slow",
            retryable=True,
            headers={"Connection": "close"},
        )
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not str(length).isdecimal() or int(length) > settings.GATEWAY_BODY_MAX_BYTES:
        raise build_too_large_error(settings.GATEWAY_BODY_MAX_BYTES)


def read_json_object(request: HttpRequest) -> dict[str, Any]:
    """Return the JSON object in a request's body. Raises InvalidRequestError: 415 for the media type, else 400."""
    _check_media_type(request)
    raw = request.body
    _check_complete(request, raw)
    if not raw:
        raise InvalidRequestError(
            'The body is empty. Send a JSON object, such as {"path": "root"}.', reason="invalid_json"
        )
    try:
        body = json_text.parse(raw)
    except json_text.NotStrictJSON as error:
        raise InvalidRequestError(str(error), reason=error.code) from None
    if not isinstance(body, dict):
        raise InvalidRequestError(
            "The body is not an object. Send one JSON object.",
            reason="not_an_object",
            field_errors=[FieldError("", "type", "Send an object.", expected="object")],
        )
    return cast("dict[str, Any]", body)


def _check_complete(request: HttpRequest, raw: bytes) -> None:
    """Raise InvalidRequestError for an incomplete body.

    WSGI gives no body without a Content-Length, and no error for a truncated one.
    """
    if not raw and "HTTP_TRANSFER_ENCODING" in request.META:
        raise InvalidRequestError(
            "The body has no Content-Length. Send it in one piece, not chunked.", reason="length_required"
        )
    declared_length = int(request.META.get("CONTENT_LENGTH") or 0)
    if len(raw) < declared_length:
        raise InvalidRequestError(
            f"The body ended after {len(raw)} of {declared_length} bytes. Send all of it.", reason="body_cut_off"
        )


def _check_media_type(request: HttpRequest) -> None:
    charset = (request.content_params or {}).get("charset", "utf-8").strip('"').lower()
    encoded = request.META.get("HTTP_CONTENT_ENCODING", "identity").strip().lower()
    if request.content_type != "application/json" or charset not in ("utf-8", "utf8") or encoded != "identity":
        raise build_unsupported_media_type_error()


@cache_by_text
def parse_query_string(query_string: str) -> dict[str, list[str]]:
    """Return the values of each parameter, in the order sent."""
    query = QueryDict(query_string.encode("latin-1"))  # WSGI carries bytes as latin-1 (PEP 3333)
    return {str(name): [str(value) for value in values] for name, values in query.lists()}


def matches_etag(header: str, etag: str) -> bool:
    """Return whether an If-None-Match header matches, by weak comparison (RFC 9110 section 13.1.2)."""
    return header.strip() == "*" or etag in (tag.strip().removeprefix("W/") for tag in header.split(","))
