"""The columns of rows: which of them a row keeps longest, and how to take the others out."""

from collections.abc import Iterable, Mapping
from typing import Any

from chat.context.shortening.json_text import dump

# What names a row or says what a call did. These members stay, with all ids.
NAMES = ("name", "title")
ESSENTIAL = frozenset(("op", "ok", "error", "id", *NAMES, "path", "type", "kind", "message", "shown", "has_more"))

# What rows keep besides, as long as all of them fit: where they stand, and when.
STATES = frozenset(("state", "status", "state_key"))
DATES = frozenset(("date", "day", "time", "start", "end", "due"))
DATE_ENDINGS = ("_at", "_date", "_on")
RECORD_DATES = frozenset(("created_at", "updated_at", "modified_at"))  # when a row was written, not what it is about
UNITS = frozenset(("currency", "currency_code", "unit"))  # without them, numbers of the row say something else
MAX_FIRST_COLUMNS = 3  # that name a row of which neither id nor name are known


def is_key_column(name: str) -> bool:
    """Return whether all rows keep a column before any row is left out: id, name, state and dates."""
    is_date = name in DATES or (name.endswith(DATE_ENDINGS) and name not in RECORD_DATES)
    return name in ESSENTIAL or name == "text" or name in STATES or is_date


def drop_empty_members(value: Any, depth: int = 12) -> Any:
    """Return a JSON value without the members of objects that say nothing: null, and empty texts, lists and objects."""
    if isinstance(value, dict) and depth:
        return {name: drop_empty_members(each, depth - 1) for name, each in value.items() if not _is_empty(each)}
    if isinstance(value, list) and depth:
        return [drop_empty_members(each, depth - 1) for each in value]
    return value


def has_more_columns(rows: Iterable[Any]) -> bool:
    """Return whether rows can lose a column."""
    return find_largest_column(rows) is not None


def find_largest_column(rows: Iterable[Any]) -> str | None:
    """Return the column with the most text of those that rows can lose, or None. Units go after all others."""
    sizes: dict[str, int] = {}
    for row in rows:
        if isinstance(row, dict):
            kept = set() if _has_name(row) else set(list(row)[:MAX_FIRST_COLUMNS])
            for name, value in row.items():
                if name not in kept and not is_key_column(name):
                    sizes[name] = sizes.get(name, 0) + len(dump(value)) + len(name)
    return max(sizes, key=lambda name: (name not in UNITS, sizes[name]), default=None)


def drop_column(rows: Iterable[Any], name: str) -> int:
    """Take a column out of all rows, and return how many characters that saves."""
    having = [row for row in rows if isinstance(row, dict) and name in row]
    return sum(len(dump({name: row.pop(name)})) - 1 for row in having)


def _has_name(row: Mapping[str, Any]) -> bool:
    return any(name in row for name in ("id", *NAMES, "path"))


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})
