"""Pages of a list: newest update first, by keyset.

A keyset (the sort key of the last row, handed back as an opaque cursor) costs the same on every page and neither
repeats nor skips a row when others are inserted, as an offset does.
"""

import base64
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Left

from workspace.errors import FieldError, Invalid, invalid
from workspace.kinds import Kind
from workspace.models import EntityQuerySet
from workspace.services import rows, times

DEFAULT_LIMIT = 20
LARGEST_LIMIT = 50  # whatever a schema allows


@dataclass(frozen=True, slots=True)
class Position:
    """The last row of a page. `relaxed` says that its search had fallen back to rows with any of the words."""

    updated_at: datetime
    id: UUID
    relaxed: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Abbreviated rows, how many there are in all, and the cursor of the next page where there is one."""

    rows: list[dict[str, Any]]
    total: int
    next_cursor: str | None = None


def read(found: EntityQuerySet[Any], *, kind: Kind, limit: int, after: Position | None, relaxed: bool = False) -> Page:
    """Return the page of `found` after a position, in two queries whatever its length, or one where nothing is."""
    total = found.count()
    if not total:
        return Page(rows=[], total=0)
    limit = min(limit, LARGEST_LIMIT)
    if after:
        found = found.filter(_beyond(after))
    columns = found.with_context().order_by("-updated_at", "-id")
    beginnings = {f"{name}_preview": Left(name, length + 1) for name, length in kind.texts.items()}
    read_rows = list(columns.values(*kind.list_row, **beginnings)[: limit + 1])
    shown = read_rows[:limit]
    last = Position(shown[-1]["updated_at"], shown[-1]["id"], relaxed) if len(read_rows) > limit else None
    return Page(
        rows=[rows.abbreviated(row, kind=kind) for row in shown],
        total=total,
        next_cursor=encode(last) if last else None,
    )


def encode(position: Position) -> str:
    """Return the position as an opaque cursor (base64url without padding)."""
    parts = (times.write(position.updated_at), position.id.hex, "any" if position.relaxed else "all")
    return base64.urlsafe_b64encode("|".join(parts).encode()).decode().rstrip("=")


def decode(cursor: str | None) -> Position | None:
    """Return the position that a cursor stands for, None without one. Raises Invalid for anything not made here."""
    if cursor is None:
        return None
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        updated_at, id, words = text.split("|")
        position = Position(times.read(updated_at), UUID(hex=id), words == "any")
    except ValueError as error:
        raise _malformed() from error
    if encode(position) != cursor:
        raise _malformed()
    return position


def _malformed() -> Invalid:
    message = "cursor is not one of ours; send next_cursor of the page before unchanged, or leave it out."
    return invalid([FieldError(path="/cursor", code="malformed_cursor", message=message)])


def _beyond(position: Position) -> Q:
    # Both halves bound updated_at, so that an index on it can begin at the position.
    same_time = Q(updated_at=position.updated_at, id__lt=position.id)
    return Q(updated_at__lte=position.updated_at) & (Q(updated_at__lt=position.updated_at) | same_time)
