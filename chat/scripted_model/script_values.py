"""The placeholders of a script: {name} and {name.field} stand for values of earlier results."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from chat.scripted_model.dates import Days
from chat.scripted_model.outcomes import Outcome
from chat.scripted_model.rows import Row, describe_details, describe_rows, describe_slots, read_rows

_PLACEHOLDER = re.compile(r"\{([a-z_]+)(?:\.([a-z_]+))?\}")


@dataclass(frozen=True, slots=True)
class NamedResult:
    """The outcome of a step, and the title of the row that the step is about, if it names one."""

    outcome: Outcome
    title: str | None = None

    @property
    def row(self) -> Row | None:
        rows = read_rows(self.outcome)
        if self.title is None:
            return rows[0] if rows else None
        return next((row for row in rows if row.title.casefold() == self.title.casefold()), None)

    @property
    def is_empty(self) -> bool:
        """Whether there is no such row, and no free time."""
        return self.row is None and not self.outcome.result.get("slots") and not self.outcome.is_cut

    def names_op(self, op: str) -> bool:
        """Return whether this is help that names an op, or no help at all, or help that the chat shortened."""
        items = self.outcome.result.get("items")
        paths = [item.get("path") for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        return op in paths or self.outcome.is_cut or not self.outcome.ok

    @property
    def total(self) -> int:
        total = self.outcome.result.get("total")
        return total if isinstance(total, int) else len(read_rows(self.outcome))

    @property
    def unused_title(self) -> str:
        """The title of the step, with a number if rows have it already."""
        titles = {row.title.casefold() for row in read_rows(self.outcome)}
        wanted = self.title or ""
        candidates = (wanted, *(f"{wanted} {number}" for number in range(2, len(titles) + 2)))
        return next((title for title in candidates if title.casefold() not in titles), wanted)


Values = Mapping[str, NamedResult]


def fill(template: Any, values: Values, days: Days) -> Any:
    """Return a template with its placeholders filled in, at any depth. A lone placeholder keeps its type."""
    if isinstance(template, dict):
        filled = {key: fill(value, values, days) for key, value in template.items()}
        return {key: value for key, value in filled.items() if value is not None}
    if isinstance(template, list):
        return [fill(item, values, days) for item in template]
    if not isinstance(template, str):
        return template
    if match := _PLACEHOLDER.fullmatch(template):
        return _get_value(match[1], match[2], values, days)
    return _PLACEHOLDER.sub(lambda found: _get_text(found[1], found[2], values, days), template)


def _get_text(name: str, field: str | None, values: Values, days: Days) -> str:
    value = _get_value(name, field, values, days)
    return "not set" if value is None else str(value)


def _get_value(name: str, field: str | None, values: Values, days: Days) -> Any:
    if name == "days":
        times = days.parse_range("next week")
        return times.get("time_min" if field == "next_monday" else "time_max")
    named = values.get(name)
    if named is None:
        return None
    if field is None:
        return describe_rows(read_rows(named.outcome), days, total=named.total) or "None."
    if field in _READERS:
        return _READERS[field](named, days)
    return named.row.fields.get(field) if named.row else None


def _get_start(named: NamedResult, _: Days) -> Any:
    slots = named.outcome.result.get("slots") or ()
    return next((slot.get("start") for slot in slots if isinstance(slot, dict)), None)


def _get_details(named: NamedResult, days: Days) -> str:
    return describe_details(named.row, days) if named.row else named.outcome.message


# By field. Other fields are those of the row.
_READERS: Mapping[str, Callable[[NamedResult, Days], Any]] = {
    "total": lambda named, _: named.total,
    "open_tasks": lambda named, _: f"{named.total} open task{'' if named.total == 1 else 's'}",
    "risks": lambda named, _: f"{named.total} risk{'' if named.total == 1 else 's'}",
    "message": lambda named, _: named.outcome.message,
    "unused_title": lambda named, _: named.unused_title,
    "slots": lambda named, days: describe_slots(named.outcome.result, days) or "None.",
    "start": _get_start,
    "executive_summary": lambda named, _: (named.row.fields.get("executive_summary") or "") if named.row else "",
    "id": lambda named, _: named.row.id if named.row else None,
    "title": lambda named, _: named.row.title if named.row else None,
    "details": _get_details,
}
