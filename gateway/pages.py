"""Pages of a list, newest first: what a query may ask for, and the cursor that the next page begins after."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from django.db.models import Q

from gateway import bodies, discovery
from gateway.errors import FieldError, Invalid
from gateway.validation import field_errors
from registry import schemas

LIMIT = 50
QUERY: dict[str, Any] = {
    "type": "object",
    "properties": {name: bodies.HELP["properties"][name] for name in ("limit", "cursor")},
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Page:
    """How many rows are asked for, and after which: its time and its key; None for the first page."""

    limit: int = LIMIT
    after: tuple[datetime, str] | None = None

    def condition(self, time: str, key: str) -> Q:
        """Return the filter of the rows after the cursor, where the newest come first, of two at once the later key."""
        if self.after is None:
            return Q()
        at, name = self.after
        return Q(**{f"{time}__lt": at}) | Q(**{time: at, f"{key}__lt": name})


@dataclass(frozen=True, slots=True)
class Asked:
    """A page, and what else its query says."""

    page: Page
    query: dict[str, Any]


def asked(parameters: dict[str, list[str]], schema: dict[str, Any] = QUERY, *, numbered: bool = False) -> Asked:
    """Return what URL parameters ask for, held to a schema; `numbered` where rows have whole numbers for keys.

    Raises Invalid with all that is wrong with them.
    """
    query = discovery.from_parameters(parameters)
    errors = field_errors(_validator(json.dumps(schema)), schema, query)
    after = None
    if not errors and "cursor" in query:
        after = _read(query["cursor"])
        if after is None or (numbered and not _is_number(after[1])):
            message = "The cursor is not one of ours. Send the next_cursor of the page before."
            errors.append(FieldError("/cursor", "invalid", message))
    if errors:
        raise Invalid(f"The query is malformed. {errors[0].message}", reason="malformed_call", field_errors=errors)
    return Asked(Page(query.get("limit", LIMIT), after), query)


def told(rows: list[dict[str, Any]], last: tuple[datetime, str] | None) -> Mapping[str, Any]:
    """Return rows as a page; `last` is the time and key of its last row where others follow."""
    return {"results": rows, "next_cursor": None if last is None else _cursor(*last)}


@lru_cache
def _validator(schema: str) -> schemas.Validator:
    return schemas.Validator(json.loads(schema))


def _cursor(at: datetime, key: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([at.isoformat(), key]).encode()).decode().rstrip("=")


def _read(cursor: str) -> tuple[datetime, str] | None:
    try:
        text = base64.b64decode(cursor.encode() + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        at, key = json.loads(text)
        time, key = datetime.fromisoformat(at), str(key)
        # What no database takes: a moment before the year 1 in UTC, half a surrogate pair, a NUL.
        found = time.astimezone(UTC), key.encode().decode()
    except (binascii.Error, ValueError, TypeError, RecursionError, OverflowError):
        return None
    return found if time.tzinfo is not None and "\x00" not in key else None


def _is_number(key: str) -> bool:
    return key.isascii() and key.isdecimal() and len(key) < 19
