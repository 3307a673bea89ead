"""Read requests: the JSON body, the query string, cursors of lists and ETags."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, cast

from django.db.models import Q, QuerySet
from django.http import HttpRequest, QueryDict

from core.server.environ import BODY_PROBLEM, BodyProblem
from core.text import json_text, lists
from core.text.lists import cache_by_text
from gateway.contracts import request_schemas
from gateway.contracts.errors import (
    FieldError,
    InvalidRequestError,
    build_too_large_error,
    build_unsupported_media_type_error,
)
from gateway.contracts.validation import find_field_errors
from gateway.help import service
from registry.jsonschema.dialect import Schema
from registry.jsonschema.validator import SchemaValidator

DEFAULT_LIMIT = 50
INVALID_CURSOR = FieldError("/cursor", "invalid", "The cursor is not valid. Send the next_cursor of the previous page.")


def prefers_background(meta: Mapping[str, Any]) -> bool:
    """Return whether a Prefer header (RFC 7240) asks not to wait for the result."""
    header = str(meta.get("HTTP_PREFER", ""))
    return header != "" and any(each.partition(";")[0].strip().lower() == "respond-async" for each in header.split(","))


def check_size(request: HttpRequest, max_bytes: int) -> None:
    """Raise InvalidRequestError if the body is too large (413) or did not arrive in time (408). Runs first."""
    if request.META.get(BODY_PROBLEM) == BodyProblem.TOO_SLOW:
        raise InvalidRequestError(
            "The body did not arrive in time. Send it again in one piece.",
            status=408,
            reason="body_too_slow",
            retryable=True,
        )
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not str(length).isdecimal() or int(length) > max_bytes:
        raise build_too_large_error(max_bytes)


def read_json_object(request: HttpRequest) -> dict[str, Any]:
    """Return the JSON object in a request's body. Raises InvalidRequestError: 415 for the media type, else 400."""
    _check_media_type(request)
    raw = request.read()  # Django's `body` checks the length again, and keeps what nobody else reads
    check_complete(request, len(raw))
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


def check_complete(request: HttpRequest, received: int) -> None:
    """Raise InvalidRequestError for an incomplete body.

    WSGI does not pass on a body without a Content-Length, and reports no error for a truncated one.
    """
    if not received and "HTTP_TRANSFER_ENCODING" in request.META:
        raise InvalidRequestError(
            "The body has no Content-Length. Send it in one piece, not chunked.", reason="length_required"
        )
    declared_length = int(request.META.get("CONTENT_LENGTH") or 0)
    if received < declared_length:
        raise InvalidRequestError(
            f"The body ended after {received} of {declared_length} bytes. Send all of it.", reason="body_cut_off"
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


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The size of a page and the (time, key) of the row before it; None for the first page."""

    limit: int = DEFAULT_LIMIT
    after: tuple[datetime, str] | None = None

    def build_filter(self, time: str, key: str) -> Q:
        """Return the filter for rows after the cursor, ordered by time and key, both descending."""
        if self.after is None:
            return Q()
        at, name = self.after
        return Q(**{f"{time}__lt": at}) | Q(**{time: at, f"{key}__lt": name})


@dataclass(frozen=True, slots=True)
class ListQuery:
    """A page and the validated query parameters of a list request."""

    page: PageRequest
    query: dict[str, Any]


def parse_list_query(
    parameters: dict[str, list[str]], schema: Schema = request_schemas.LIST_QUERY, *, numbered: bool = False
) -> ListQuery:
    """Parse URL parameters by a schema; `numbered` says that the keys of the rows are integers.

    Raises InvalidRequestError with all field errors.
    """
    values = parse_query(parameters, schema)
    after = None
    if "cursor" in values:
        after = _decode_cursor(values["cursor"])
        if after is None or (numbered and not _is_row_number(after[1])):
            raise build_query_error([INVALID_CURSOR])
    return ListQuery(PageRequest(values.get("limit", DEFAULT_LIMIT), after), values)


def parse_query(parameters: dict[str, list[str]], schema: Schema) -> dict[str, Any]:
    """Return the URL parameters as values of a schema. Raises InvalidRequestError with all field errors."""
    values = service.parse_parameters(parameters, schema)
    if errors := find_field_errors(_get_validator(json.dumps(schema)), values):
        raise build_query_error(errors)
    return values


def build_query_error(errors: Sequence[FieldError]) -> InvalidRequestError:
    """Return the error for parameters of the URL."""
    return InvalidRequestError(
        f"The query is malformed. {errors[0].message}", reason="malformed_call", field_errors=errors
    )


def build_page(
    rows: QuerySet[Any], page: PageRequest, serialize: Callable[[Any], dict[str, Any]], *, time: str, key: str
) -> Mapping[str, Any]:
    """Return {results, next_cursor}: a page of the rows, newest first. `time` and `key` are what orders them."""
    matches = list(rows.filter(page.build_filter(time, key)).order_by(f"-{time}", f"-{key}")[: page.limit + 1])
    shown = matches[: page.limit]
    cursor = None
    if len(matches) > page.limit:
        cursor = _encode_cursor(getattr(shown[-1], time), str(getattr(shown[-1], key)))
    return {"results": [serialize(each) for each in shown], "next_cursor": cursor}


@lru_cache
def _get_validator(schema: str) -> SchemaValidator:
    return SchemaValidator(json.loads(schema))


def _encode_cursor(at: datetime, key: str) -> str:
    return lists.encode_cursor(json.dumps([at.isoformat(), key]))


def _decode_cursor(cursor: str) -> tuple[datetime, str] | None:
    try:
        at, key = json.loads(lists.decode_cursor(cursor))
        time, key = datetime.fromisoformat(at), str(key)
        # Refuse what databases do not accept: a time before year 1 in UTC, a lone surrogate, a NUL.
        position = time.astimezone(UTC), key.encode().decode()
    except (ValueError, TypeError, RecursionError, OverflowError):
        return None
    return position if time.tzinfo is not None and "\x00" not in key else None


def _is_row_number(key: str) -> bool:
    return key.isascii() and key.isdecimal() and len(key) < 19
