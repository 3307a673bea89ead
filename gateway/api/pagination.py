"""Cursor pagination of lists, newest first."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from django.db.models import Q

from core.text import lists
from gateway.contracts import request_schemas
from gateway.contracts.errors import FieldError, InvalidRequestError
from gateway.contracts.validation import find_field_errors
from gateway.help import service
from registry.jsonschema.validator import SchemaValidator

DEFAULT_LIMIT = 50


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
    parameters: dict[str, list[str]], schema: dict[str, Any] = request_schemas.LIST_QUERY, *, numbered: bool = False
) -> ListQuery:
    """Parse URL parameters by a schema; `numbered` tells that the keys of the rows are integers.

    Raises InvalidRequestError with all field errors.
    """
    values = service.parse_parameters(parameters)
    errors = find_field_errors(_get_validator(json.dumps(schema)), values)
    after = None
    if not errors and "cursor" in values:
        after = _decode_cursor(values["cursor"])
        if after is None or (numbered and not _is_row_number(after[1])):
            message = "The cursor is not valid. Send the next_cursor of the previous page."
            errors.append(FieldError("/cursor", "invalid", message))
    if errors:
        raise InvalidRequestError(
            f"The query is malformed. {errors[0].message}", reason="malformed_call", field_errors=errors
        )
    return ListQuery(PageRequest(values.get("limit", DEFAULT_LIMIT), after), values)


def build_page(rows: list[dict[str, Any]], last: tuple[datetime, str] | None) -> Mapping[str, Any]:
    """Return {results, next_cursor}; `last` is the (time, key) of the last row if more follow, else None."""
    return {"results": rows, "next_cursor": None if last is None else _encode_cursor(*last)}


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
