"""Results of connected services as tables for people."""

import re
from collections.abc import Iterable
from typing import Any

from chat.scripted_model.outcomes import ScriptedOutcome
from chat.scripted_model.rows import ROWS_SHOWN

MAX_COLUMNS = 5
MAX_CELL = 60  # characters
_FIRST_COLUMNS = ("id", "name", "title", "full_name")
_AMOUNTS = frozenset({"price", "total", "subtotal", "amount", "cost", "fee", "balance"})
_CURRENCIES = ("currency", "currency_code")
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")
UUID = re.compile(r"#t\d{1,6}\b|[0-9a-f]{8}-[0-9a-f-]{27}", re.IGNORECASE)  # or the chat's handle of one


def describe_result(outcome: ScriptedOutcome, entity: str) -> str:
    """Return the rows of a result as a table, its fields if it is one row, or its sections if it is a guide."""
    rows = find_rows(outcome.result)
    if rows is None:
        table = format_fields(outcome.result)
        return f"`{outcome.op}` returned:\n\n{table}" if table else outcome.message
    total = next((value for key in ("total", "count") if isinstance(value := outcome.result.get(key), int)), 0)
    total = max(total, len(rows))
    noun = entity if total == 1 else f"{entity.removesuffix('y')}ies" if _ends_in_y(entity) else f"{entity}s"
    if not rows:
        return f"`{outcome.op}` found no {noun}."
    if all(isinstance(row.get("title"), str) and isinstance(row.get("text"), str) for row in rows):
        return "\n\n".join(f"**{row['title']}**\n\n{row['text']}" for row in rows)  # the sections of a guide
    columns = _choose_columns(rows)
    shown = rows[:ROWS_SHOWN]
    table = _format_table([_title(name) for name in columns], [[row.get(name) for name in columns] for row in shown])
    rest = f"\n\n… and {total - len(shown)} more." if total > len(shown) else ""
    return f"{total} {noun}, from `{outcome.op}`:\n\n{table}{rest}"


def _ends_in_y(noun: str) -> bool:
    return noun.endswith("y") and noun[-2:-1] not in "aeiou"


def find_rows(result: dict[str, Any], depth: int = 0) -> list[dict[str, Any]] | None:
    """Return the first list of a result, as rows; None if it has none."""
    for value in result.values():
        if isinstance(value, list):
            return [_add_currency(item) if isinstance(item, dict) else {"value": item} for item in value]
    nested = (value for value in result.values() if isinstance(value, dict) and depth < 2)
    return next((rows for value in nested if (rows := find_rows(value, depth + 1)) is not None), None)


def _add_currency(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its currency beside each amount instead of in a field of its own."""
    name = next((name for name in _CURRENCIES if isinstance(row.get(name), str)), "")
    amounts = {
        field: f"{value} {row[name]}"
        for field, value in row.items()
        if name and isinstance(value, int | float) and not _AMOUNTS.isdisjoint(_title(field).lower().split())
    }
    return {field: value for field, value in (row | amounts).items() if not amounts or field != name}


def _choose_columns(rows: list[dict[str, Any]]) -> list[str]:
    """Return the names of at most five columns with short values: names first, and no UUIDs if there is more."""
    names = dict.fromkeys(
        name for row in rows for name, value in row.items() if value is not None and not isinstance(value, dict | list)
    )
    readable = [name for name in names if not any(UUID.fullmatch(str(row.get(name))) for row in rows)]
    chosen = readable or list(names)
    return sorted(chosen, key=lambda name: (name not in _FIRST_COLUMNS, chosen.index(name)))[:MAX_COLUMNS]


def format_fields(row: dict[str, Any]) -> str:
    """Return the fields of a row as a table, without nested ones. Empty if there are none."""
    fields = [[_title(key), value] for key, value in _add_currency(row).items() if not isinstance(value, dict | list)]
    return _format_table(["Field", "Value"], fields) if fields else ""


def _format_table(head: list[str], lines: Iterable[list[Any]]) -> str:
    rows = [head, ["---"] * len(head), *([_format_cell(value) for value in line] for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _format_cell(value: Any) -> str:
    if value is None:
        return "–"
    text = ("no", "yes")[value] if isinstance(value, bool) else " ".join(str(value).split())
    text = text if len(text) <= MAX_CELL else f"{text[: MAX_CELL - 1]}…"
    return text.replace("\\", "\\\\").replace("|", "\\|")


def _title(name: str) -> str:
    words = _CAMEL_CASE.sub(" ", name).replace("_", " ")
    return f"{words[:1].upper()}{words[1:].lower()}" if words != "id" else "ID"
