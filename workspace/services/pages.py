"""Keyset pagination of lists.

The cursor holds the sort keys of the last row. Unlike an offset it costs the same on every page, and it neither repeats
nor skips rows when others are inserted.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, cast
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, OrderBy, Q
from django.db.models.functions import Left

from core import canonical
from workspace.errors import FieldError, Invalid, invalid
from workspace.kinds import Key, Kind, Order
from workspace.models import Entity, EntityQuerySet
from workspace.services import rows, times

DEFAULT_LIMIT = 20
LARGEST_LIMIT = 50  # whatever the schema allows

# Arguments of the page, not of the list.
_OF_THE_PAGE = ("cursor", "limit")

Field = models.Field[Any, Any]


@dataclass(frozen=True, slots=True)
class Listing:
    """The list that a cursor belongs to: rows of a type in one order, filtered by arguments."""

    kind: Kind
    order: Order
    mark: str  # a hash of the type, order and filters

    @classmethod
    def of(cls, kind: Kind, args: Mapping[str, Any] | None = None) -> "Listing":
        """Return the listing for an op's arguments."""
        args = args or {}
        order = kind.order(args.get("sort_by"))
        narrowed = {name: _alike(value) for name, value in args.items() if name not in _OF_THE_PAGE}
        asked = {name: value for name, value in narrowed.items() if value is not None and value != []}
        mark = hashlib.sha256(canonical.dumps([kind.name, asked | {"sort_by": order.name}])).hexdigest()[:8]
        return cls(kind, order, mark)


@dataclass(frozen=True, slots=True)
class Position:
    """The last row of a page: the values of its sort keys, and its id.

    `relaxed` means that the search fell back to rows with any of the words.
    """

    values: tuple[Any, ...]
    id: UUID
    relaxed: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """List rows, their total number, and the cursor of the next page, if any."""

    rows: list[dict[str, Any]]
    total: int
    next_cursor: str | None = None


def read(
    found: EntityQuerySet[Any],
    *,
    listing: Listing,
    limit: int,
    after: Position | None,
    at: datetime,
    relaxed: bool = False,
) -> Page:
    """Return the page after a position, in two queries, or in one if there are no rows."""
    total = found.count()
    if not total:
        return Page(rows=[], total=0)
    limit = min(limit, LARGEST_LIMIT)
    if after:
        found = found.filter(_beyond(after, listing))
    read_rows = first(found, listing=listing, limit=limit + 1)
    shown = read_rows[:limit]
    last = position(shown[-1], listing=listing, relaxed=relaxed) if len(read_rows) > limit else None
    return Page(
        rows=[rows.abbreviated(row, kind=listing.kind, at=at) for row in shown],
        total=total,
        next_cursor=encode(last, listing=listing) if last else None,
    )


def first(found: EntityQuerySet[Any], *, listing: Listing, limit: int) -> list[Entity]:
    """Return the first rows in the listing's order, in one query, with only the columns that a list row needs.

    A subquery selects the rows first, so that annotations are computed only for the rows shown.
    """
    kind, order = listing.kind, [*map(_sorted, listing.order.keys), OrderBy(F("pk"), descending=True)]
    chosen = found.order_by(*order).values("pk")[:limit]
    needed = {"id", *kind.list_row, *kind.hinted, *(key.column for key in listing.order.keys)} & kind.columns
    beginnings = {f"{name}_preview": Left(name, length + 1) for name, length in kind.texts.items()}
    dressed = kind.rows().filter(pk__in=chosen).with_context().annotate(**beginnings)
    return list(dressed.only(*needed).order_by(*order))


def beginning(
    found: EntityQuerySet[Any], *, listing: Listing, limit: int, at: datetime
) -> tuple[list[dict[str, Any]], bool]:
    """Return the first list rows of a listing and whether there are more, in one query.

    Gets use it for related rows.
    """
    read = first(found, listing=listing, limit=limit + 1)
    return [rows.abbreviated(row, kind=listing.kind, at=at) for row in read[:limit]], len(read) > limit


def position(row: Entity, *, listing: Listing, relaxed: bool = False) -> Position:
    """Return the position of a row in a listing."""
    return Position(tuple(getattr(row, key.column) for key in listing.order.keys), row.pk, relaxed)


def encode(position: Position, *, listing: Listing) -> str:
    """Return the position as an opaque cursor (base64url without padding)."""
    values = [_written(value) for value in position.values]
    parts = [listing.mark, int(position.relaxed), *values, position.id.hex]
    text = json.dumps(parts, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(cursor: str | None, *, listing: Listing) -> Position | None:
    """Return the position of a cursor, or None without a cursor.

    Raises InvalidArgs for a malformed cursor, and for one of another order or other filters.
    """
    if cursor is None:
        return None
    try:
        _, relaxed, *values, id = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        columns = [_column(listing, key) for key in listing.order.keys]
        read = tuple(_read(value, column) for value, column in zip(values, columns, strict=True))
        position = Position(read, UUID(hex=id), bool(relaxed))
    except (ValueError, TypeError, AttributeError, ValidationError, RecursionError) as error:
        raise _malformed() from error
    if encode(position, listing=listing) != cursor:
        raise _malformed()
    return position


def _alike(value: Any) -> Any:
    """Return a filter value in canonical form, so that equivalent filters compare equal."""
    if isinstance(value, list):
        return sorted(value, key=str)
    return value.casefold() if isinstance(value, str) else value


def _malformed() -> Invalid:
    message = (
        "cursor does not belong to this list; send next_cursor of the previous page unchanged with the same filters "
        "and order, or leave it out."
    )
    return invalid([FieldError(path="/cursor", code="malformed_cursor", message=message)])


def _column(listing: Listing, key: Key) -> Field:
    return cast("Field", listing.kind.model._meta.get_field(key.column))


def _written(value: Any) -> str | int | None:
    if isinstance(value, datetime):
        return times.write(value)
    return value.isoformat() if isinstance(value, date) else cast("int | None", value)


def _read(value: Any, column: Field) -> Any:
    """Return a sort key as a value of its column. Raises ValueError, TypeError or ValidationError if it is invalid."""
    if value is None and column.null:
        return None
    if isinstance(column, models.DateTimeField):
        return times.read(value)
    if isinstance(column, models.DateField):
        return date.fromisoformat(value)
    if type(value) is not int:
        raise TypeError("The other sort columns are integers.")
    column.run_validators(value)
    return value


def _sorted(key: Key) -> OrderBy:
    # Always explicit, because databases sort nulls differently.
    nulls = {"nulls_first": True} if key.none_first else {"nulls_last": True}
    return OrderBy(F(key.column), descending=key.descending, **nulls)


def _beyond(after: Position, listing: Listing) -> Q:
    """Return a filter for rows after a position: beyond it in one key, and equal in all keys before that one."""
    keys: Sequence[Key] = (*listing.order.keys, Key("id", descending=True))
    found, alike = Q(pk__in=[]), Q()
    for key, value in zip(keys, (*after.values, after.id), strict=True):
        found |= alike & _further(key, value, nullable=_column(listing, key).null)
        alike &= _same(key, value)
    leading, value = keys[0], after.values[0]
    # Redundant, but a bound on the leading key alone lets its index be used.
    return found & _bound(leading, value, nullable=_column(listing, leading).null)


def _further(key: Key, value: Any, *, nullable: bool) -> Q:
    if value is None:
        return Q((f"{key.column}__isnull", False)) if key.none_first else Q(pk__in=[])
    further = Q((f"{key.column}__{'lt' if key.descending else 'gt'}", value))
    return further | Q((key.column, None)) if nullable and not key.none_first else further


def _same(key: Key, value: Any) -> Q:
    return Q((f"{key.column}__isnull", True)) if value is None else Q((key.column, value))


def _bound(key: Key, value: Any, *, nullable: bool) -> Q:
    if nullable:
        return Q()
    return Q((f"{key.column}__{'lte' if key.descending else 'gte'}", value))
