"""Scripts that the model plays, their templates, and suggestions of what to ask."""

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from chat.scripted_model.dates import Days
from chat.scripted_model.outcomes import HELP, ScriptedOutcome
from chat.scripted_model.plans import Plan, ScriptedCall, ScriptedCallFailed
from chat.scripted_model.rows import (
    NOT_IN_PROJECTS,
    Row,
    describe_details,
    describe_rows,
    describe_slots,
    read_rows,
    search_other_projects,
)

_PLACEHOLDER = re.compile(r"\{([a-z_]+)(?:\.([a-z_]+))?\}")
_FILE = Path(__file__).with_name("scripts.yaml")
NOT_IN_HELP = "The help names no op for that, so I called none."
_NOT_WORDS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class NamedResult:
    """The outcome of a step, and the title of the row that the step is about, if it names one."""

    outcome: ScriptedOutcome
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


def fill_template(template: Any, values: Values, days: Days) -> Any:
    """Return a template with its placeholders filled in, at any depth. A lone placeholder keeps its type."""
    if isinstance(template, dict):
        filled = {key: fill_template(value, values, days) for key, value in template.items()}
        return {key: value for key, value in filled.items() if value is not None}
    if isinstance(template, list):
        return [fill_template(item, values, days) for item in template]
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


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """One call of a script, or several together. The fields are explained in scripts.yaml."""

    run: str = ""
    args: dict[str, Any] = field(default_factory=dict)
    help: str = ""
    together: tuple["ScriptStep", ...] = ()
    name: str = ""
    pick: str | None = None
    or_say: str = ""
    unless: str = ""
    if_refused: dict[str, str] = field(default_factory=dict)
    found_by: str = ""


@dataclass(frozen=True, slots=True)
class Script:
    """A suggested message, and what the scripted model does with it."""

    title: str
    message: str
    steps: tuple[ScriptStep, ...]
    answer: str
    phrases: tuple[str, ...] = ()

    def matches(self, message: str) -> bool:
        """Return whether a message is this script's or has one of its phrases, in any case and punctuation.

        A phrase that goes on with a place, such as "what is on my plate in the kitchen", asks for something else.
        """
        words = _get_words(message)
        if words == _get_words(self.message):
            return True
        return any(phrase in words and f"{phrase} in " not in words for phrase in self.phrases)


class _Finished(Exception):
    """A step has the answer already."""


@cache
def load_scripts() -> tuple[Script, ...]:
    """Load the shipped scripts. An unknown field raises TypeError."""
    entries = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return tuple(_build_script(**entry) for entry in entries)


def find_script(message: str) -> Script | None:
    """Return the script of a message, or None."""
    return next((script for script in load_scripts() if script.matches(message)), None)


def plan_script(script: Script, days: Days, *, place: Row | None = None) -> Plan:
    """Return the plan of a script. `place` is the project that the user looks at."""
    values: dict[str, NamedResult] = {}
    for step in script.steps:
        if step.unless and step.unless in values and values[step.unless].row:
            continue
        try:
            yield from _run_step(step, values, days, place)
        except _Finished as finished:
            return str(finished)
    where = f" in **{place.title}**" if place else ""
    return str(fill_template(script.answer.replace("{place}", where), values, days))


def _run_step(
    step: ScriptStep, values: dict[str, NamedResult], days: Days, place: Row | None
) -> Generator[list[ScriptedCall], list[ScriptedOutcome], None]:
    steps = step.together or (step,)
    if step.found_by and not values[step.found_by].names_op(step.run):
        raise _Finished(NOT_IN_HELP)
    try:
        outcomes = yield [_build_call(one, values, days) for one in steps]
    except ScriptedCallFailed as failed:
        for error in failed.outcome.field_errors:
            if text := step.if_refused.get(str(error.get("code"))):
                raise _Finished(text) from failed
        raise
    for one, outcome in zip(steps, outcomes, strict=True):
        if not outcome.ok and not one.help:
            raise ScriptedCallFailed(outcome)
        values[one.name] = NamedResult(outcome, one.pick)
        if place and one.pick and values[one.name].is_empty and one.run not in NOT_IN_PROJECTS:
            elsewhere = yield from search_other_projects(one.run, one.pick, place)
            results = [NamedResult(outcome, one.pick) for outcome in elsewhere]
            values[one.name] = next((each for each in results if not each.is_empty), values[one.name])
        if one.or_say and values[one.name].is_empty:
            raise _Finished(one.or_say)


def _build_call(step: ScriptStep, values: dict[str, NamedResult], days: Days) -> ScriptedCall:
    if step.help:
        return ScriptedCall(HELP, {"query": step.help})
    return ScriptedCall(str(fill_template(step.run, values, days)), fill_template(step.args, values, days))


def _build_script(steps: list[dict[str, Any]], phrases: list[str] | None = None, **fields: str) -> Script:
    return Script(steps=tuple(_build_step(step) for step in steps), phrases=tuple(phrases or ()), **fields)


def _build_step(entry: dict[str, Any]) -> ScriptStep:
    fields = dict(entry)
    name = fields.pop("as", "")
    together = tuple(_build_step(step) for step in fields.pop("together", ()))
    return ScriptStep(name=name, together=together, **fields)


def _get_words(text: str) -> str:
    return _NOT_WORDS.sub(" ", text).strip().casefold()


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A message that the user can send with one click, and a short label."""

    text: str
    title: str


SUGGESTIONS: tuple[Suggestion, ...] = tuple(Suggestion(script.message, script.title) for script in load_scripts())
