"""Pages of a list, newest first: what a query may ask for, and the cursor that the next page begins after."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
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


def asked(parameters: dict[str, list[str]]) -> Page:
    """Return the page that URL parameters ask for. Raises Invalid with all that is wrong with them."""
    query = discovery.from_parameters(parameters)
    errors = field_errors(_validator(), QUERY, query)
    after = None
    if not errors and "cursor" in query:
        after = _read(query["cursor"])
        if after is None:
            message = "The cursor is not one of ours. Send the next_cursor of the page before."
            errors.append(FieldError("/cursor", "invalid", message))
    if errors:
        raise Invalid(f"The query is malformed. {errors[0].message}", reason="malformed_call", field_errors=errors)
    return Page(query.get("limit", LIMIT), after)


def told(rows: list[dict[str, Any]], last: tuple[datetime, str] | None) -> Mapping[str, Any]:
    """Return rows as a page; `last` is the time and key of its last row where others follow."""
    return {"results": rows, "next_cursor": None if last is None else _cursor(*last)}


@cache
def _validator() -> schemas.Validator:
    return schemas.Validator(QUERY)


def _cursor(at: datetime, key: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([at.isoformat(), key]).encode()).decode().rstrip("=")


def _read(cursor: str) -> tuple[datetime, str] | None:
    try:
        text = base64.b64decode(cursor.encode() + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        at, key = json.loads(text)
        found = datetime.fromisoformat(at), str(key)
    except (binascii.Error, ValueError, TypeError, RecursionError):
        return None
    return found if found[0].tzinfo is not None and "\x00" not in found[1] else None
