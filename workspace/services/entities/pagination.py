"""Keyset pagination of lists.

The cursor holds the sort keys of the last row. Unlike an offset it costs the same on every page, and it neither repeats
nor skips rows when others are inserted.
"""

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

from core.handler_contract import ArgumentError, InvalidArgs, build_invalid_args
from core.text import json_text, lists
from workspace.entity_types import EntityType, SortKey, SortOrder
from workspace.models import Entity, EntityQuerySet
from workspace.services.entities import serialization
from workspace.services.time import times

DEFAULT_LIMIT = 20
MAX_LIMIT = 50  # whatever the schema allows

# The packed position of a cursor: the mark of the list, the id of the row, the sort keys as JSON.
_MARK_BYTES = 4
_ID_END = _MARK_BYTES + 16

# Arguments of the page, not of the list.
_PAGE_ARGUMENTS = ("cursor", "limit", serialization.ARGUMENT)

Field = models.Field[Any, Any]


@dataclass(frozen=True, slots=True)
class Listing:
    """The list that a cursor belongs to: rows of a type in one order, filtered by arguments."""

    kind: EntityType
    order: SortOrder
    mark: str  # a hash of the type, order and filters
    fields: tuple[str, ...] = ()  # the fields of each row; empty: those of a list row

    @classmethod
    def from_args(cls, kind: EntityType, args: Mapping[str, Any] | None = None) -> "Listing":
        """Return the listing for an op's arguments. Raises InvalidArgs for unknown `fields`."""
        args = args or {}
        fields = serialization.choose_fields(args, kind.answer_fields, also=kind.row_fields)
        return cls(kind, kind.get_order(args.get("sort_by")), build_mark(kind, args), fields)


@dataclass(frozen=True, slots=True)
class RowPosition:
    """The last row of a page: the values of its sort keys, and its id.

    `relaxed` means that the search fell back to rows with any of the words.
    """

    values: tuple[Any, ...]
    id: UUID
    relaxed: bool = False


@dataclass(frozen=True, slots=True)
class RowPage:
    """List rows, their total number, and the cursor of the next page, if any."""

    rows: list[dict[str, Any]]
    total: int
    next_cursor: str | None = None


def build_mark(kind: EntityType, args: Mapping[str, Any]) -> str:
    """Return what identifies a list: a hash of its type, order and filters."""
    filters = {name: _canonicalize(value) for name, value in args.items() if name not in _PAGE_ARGUMENTS}
    active_filters = {name: value for name, value in filters.items() if value is not None and value != []}
    identity = [kind.name, active_filters | {"sort_by": kind.get_order(args.get("sort_by")).name}]
    return hashlib.sha256(json_text.canonicalize(identity)).hexdigest()[: 2 * _MARK_BYTES]


def read_page(
    queryset: EntityQuerySet[Any],
    *,
    listing: Listing,
    limit: int,
    after: RowPosition | None,
    at: datetime,
    relaxed: bool = False,
) -> RowPage:
    """Return the page after a position, in two queries, or in one if there are no rows."""
    total = queryset.count()
    if not total:
        return RowPage(rows=[], total=0)
    limit = min(limit, MAX_LIMIT)
    if after:
        queryset = queryset.filter(_filter_after(after, listing))
    page_rows = list_first(queryset, listing=listing, limit=limit + 1)
    shown = page_rows[:limit]
    last = get_position(shown[-1], listing=listing, relaxed=relaxed) if len(page_rows) > limit else None
    return RowPage(
        rows=[serialization.serialize_list_row(row, kind=listing.kind, at=at, fields=listing.fields) for row in shown],
        total=total,
        next_cursor=encode_cursor(last, listing=listing) if last else None,
    )


def list_first(queryset: EntityQuerySet[Any], *, listing: Listing, limit: int, is_whole: bool = False) -> list[Entity]:
    """Return the first rows in the listing's order, in one query, whole or with only the fields that a list row needs.

    A subquery selects the rows first, so that annotations are computed only for the rows shown.
    """
    kind, order = listing.kind, [*map(_build_ordering, listing.order.keys), OrderBy(F("pk"), descending=True)]
    selected = queryset.order_by(*order).values("pk")[:limit]
    if is_whole:
        return list(kind.get_rows().filter(pk__in=selected).with_context().order_by(*order))
    texts = serialization.get_preview_lengths(kind, listing.fields)
    sorted_by = {key.column for key in listing.order.keys}
    columns = {"id", *kind.list_row, *kind.extra_columns, *sorted_by, *listing.fields} & kind.columns - texts.keys()
    previews = {f"{name}_preview": Left(name, length + 1) for name, length in texts.items()}
    annotated = kind.get_rows().filter(pk__in=selected).with_context().annotate(**previews)
    return list(annotated.only(*columns).order_by(*order))


def serialize_first(
    queryset: EntityQuerySet[Any], *, listing: Listing, limit: int, at: datetime
) -> tuple[list[dict[str, Any]], bool]:
    """Return the first list rows of a listing and whether there are more, in one query.

    Gets use it for rows in the project of the row that they return, so the rows do not repeat their project.
    """
    first_rows = list_first(queryset, listing=listing, limit=limit + 1)
    rows = [serialization.serialize_list_row(row, kind=listing.kind, at=at) for row in first_rows[:limit]]
    return [serialization.leave_out(row, serialization.PROJECT_FIELDS) for row in rows], len(first_rows) > limit


def get_position(row: Entity, *, listing: Listing, relaxed: bool = False) -> RowPosition:
    """Return the position of a row in a listing."""
    return RowPosition(tuple(getattr(row, key.column) for key in listing.order.keys), row.pk, relaxed)


def encode_cursor(position: RowPosition, *, listing: Listing) -> str:
    """Return the position as an opaque cursor."""
    values = [_serialize_key(value) for value in position.values]
    text = json.dumps([int(position.relaxed), *values], separators=(",", ":"))
    return lists.encode_bytes(bytes.fromhex(listing.mark) + position.id.bytes + text.encode())


def decode_cursor(cursor: str | None, *, listing: Listing) -> RowPosition | None:
    """Return the position of a cursor, or None without a cursor.

    Raises InvalidArgs for a malformed cursor, and for one of another order or other filters.
    """
    if cursor is None:
        return None
    try:
        packed = lists.decode_bytes(cursor)
        id, (relaxed, *values) = UUID(bytes=packed[_MARK_BYTES:_ID_END]), json.loads(packed[_ID_END:])
        columns = [_get_column(listing, key) for key in listing.order.keys]
        key_values = tuple(_parse_key(value, column) for value, column in zip(values, columns, strict=True))
        position = RowPosition(key_values, id, bool(relaxed))
    except (ValueError, TypeError, AttributeError, ValidationError, RecursionError) as error:
        raise _build_cursor_error() from error
    if encode_cursor(position, listing=listing) != cursor:
        raise _build_cursor_error()
    return position


def _canonicalize(value: Any) -> Any:
    """Return a filter value in canonical form, so that equivalent filters compare equal."""
    if isinstance(value, list):
        return sorted(value, key=str)
    return value.casefold() if isinstance(value, str) else value


def _build_cursor_error() -> InvalidArgs:
    message = (
        "cursor does not belong to this list; send next_cursor of the previous page unchanged with the same filters "
        "and order, or leave it out."
    )
    return build_invalid_args([ArgumentError(path="/cursor", code="malformed_cursor", message=message)])


def _get_column(listing: Listing, key: SortKey) -> Field:
    return cast("Field", listing.kind.model._meta.get_field(key.column))


def _serialize_key(value: Any) -> str | int | None:
    if isinstance(value, datetime):
        return times.format_time(value)
    return value.isoformat() if isinstance(value, date) else cast("int | None", value)


def _parse_key(value: Any, column: Field) -> Any:
    """Return a sort key as a value of its column. Raises ValueError, TypeError or ValidationError if it is invalid."""
    if value is None and column.null:
        return None
    if isinstance(column, models.DateTimeField):
        return times.parse_time(value)
    if isinstance(column, models.DateField):
        return date.fromisoformat(value)
    if type(value) is not int:
        raise TypeError("The other sort columns are integers.")
    column.run_validators(value)
    return value


def _build_ordering(key: SortKey) -> OrderBy:
    # Always explicit, because databases sort nulls differently.
    nulls = {"nulls_first": True} if key.none_first else {"nulls_last": True}
    return OrderBy(F(key.column), descending=key.descending, **nulls)


def _filter_after(after: RowPosition, listing: Listing) -> Q:
    """Return a filter for rows after a position: beyond it in one key, and equal in all keys before that one."""
    keys: Sequence[SortKey] = (*listing.order.keys, SortKey("id", descending=True))
    condition, equal_so_far = Q(pk__in=[]), Q()
    for key, value in zip(keys, (*after.values, after.id), strict=True):
        condition |= equal_so_far & _filter_beyond_key(key, value, nullable=_get_column(listing, key).null)
        equal_so_far &= _filter_equal_key(key, value)
    leading, value = keys[0], after.values[0]
    # Redundant, but a bound on the leading key alone lets its index be used.
    return condition & _filter_key_bound(leading, value, nullable=_get_column(listing, leading).null)


def _filter_beyond_key(key: SortKey, value: Any, *, nullable: bool) -> Q:
    if value is None:
        return Q((f"{key.column}__isnull", False)) if key.none_first else Q(pk__in=[])
    condition = Q((f"{key.column}__{'lt' if key.descending else 'gt'}", value))
    return condition | Q((key.column, None)) if nullable and not key.none_first else condition


def _filter_equal_key(key: SortKey, value: Any) -> Q:
    return Q((f"{key.column}__isnull", True)) if value is None else Q((key.column, value))


def _filter_key_bound(key: SortKey, value: Any, *, nullable: bool) -> Q:
    if nullable:
        return Q()
    return Q((f"{key.column}__{'lte' if key.descending else 'gte'}", value))
