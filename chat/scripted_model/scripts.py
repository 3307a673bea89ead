"""The scripted turns, from scripts.yaml, as plans."""

import re
from collections.abc import Generator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from chat.scripted_model.dates import Days
from chat.scripted_model.op_names import HELP
from chat.scripted_model.outcomes import Outcome
from chat.scripted_model.plans import Call, CallFailed, Plan
from chat.scripted_model.rows import Row
from chat.scripted_model.script_values import NamedResult, fill
from chat.scripted_model.searches import NOT_IN_PROJECTS, search_other_projects

_FILE = Path(__file__).with_name("scripts.yaml")
NOT_IN_HELP = "The help names no op for that, so I called none."
_NOT_WORDS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a script, or several at once. The fields are explained in scripts.yaml."""

    run: str = ""
    args: dict[str, Any] = field(default_factory=dict)
    help: str = ""
    together: tuple["Step", ...] = ()
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
    steps: tuple[Step, ...]
    answer: str
    phrases: tuple[str, ...] = ()

    def matches(self, message: str) -> bool:
        """Return whether a message is this script's or has one of its phrases, in any case and punctuation."""
        words = _get_words(message)
        return words == _get_words(self.message) or any(phrase in words for phrase in self.phrases)


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
    return str(fill(script.answer.replace("{place}", where), values, days))


def _run_step(
    step: Step, values: dict[str, NamedResult], days: Days, place: Row | None
) -> Generator[list[Call], list[Outcome], None]:
    steps = step.together or (step,)
    if step.found_by and not values[step.found_by].names_op(step.run):
        raise _Finished(NOT_IN_HELP)
    try:
        outcomes = yield [_build_call(one, values, days) for one in steps]
    except CallFailed as failed:
        for error in failed.outcome.field_errors:
            if text := step.if_refused.get(str(error.get("code"))):
                raise _Finished(text) from failed
        raise
    for one, outcome in zip(steps, outcomes, strict=True):
        if not outcome.ok and not one.help:
            raise CallFailed(outcome)
        values[one.name] = NamedResult(outcome, one.pick)
        if place and one.pick and values[one.name].is_empty and one.run not in NOT_IN_PROJECTS:
            elsewhere = yield from search_other_projects(one.run, one.pick, place)
            results = [NamedResult(outcome, one.pick) for outcome in elsewhere]
            values[one.name] = next((each for each in results if not each.is_empty), values[one.name])
        if one.or_say and values[one.name].is_empty:
            raise _Finished(one.or_say)


def _build_call(step: Step, values: dict[str, NamedResult], days: Days) -> Call:
    if step.help:
        return Call(HELP, {"query": step.help})
    return Call(str(fill(step.run, values, days)), fill(step.args, values, days))


def _build_script(steps: list[dict[str, Any]], phrases: list[str] | None = None, **fields: str) -> Script:
    return Script(steps=tuple(_build_step(step) for step in steps), phrases=tuple(phrases or ()), **fields)


def _build_step(entry: dict[str, Any]) -> Step:
    fields = dict(entry)
    name = fields.pop("as", "")
    together = tuple(_build_step(step) for step in fields.pop("together", ()))
    return Step(name=name, together=together, **fields)


def _get_words(text: str) -> str:
    return _NOT_WORDS.sub(" ", text).strip().casefold()
