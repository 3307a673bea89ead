"""The tasks of the evaluation, read from tasks.yaml."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

TASKS_FILE = Path(__file__).parent / "tasks.yaml"

Fact = str | int | Mapping[str, Any] | Sequence[Any]


@dataclass(frozen=True, slots=True)
class ExpectedChange:
    """A row that a task creates, changes or deletes. Its fields match one of the alternatives."""

    action: str  # create, change, delete
    kind: str
    title: str  # of the row before it; empty for rows without a title, such as edges
    alternatives: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class EvaluationTask:
    """One task: what the user says and where, and what must be true afterwards."""

    name: str
    kind: str
    messages: tuple[str, ...]
    place: Mapping[str, str]
    confirm: str  # approve or decline: what the user answers if the chat asks for agreement
    must_confirm: bool
    rows: tuple[ExpectedChange, ...]
    answer: tuple[Fact, ...]
    answer_lacks: tuple[str, ...]
    asks: bool
    refuses: bool


def load_tasks() -> tuple[EvaluationTask, ...]:
    """Return all tasks, in the order of the file."""
    return tuple(_build_task(each) for each in yaml.safe_load(TASKS_FILE.read_text(encoding="utf-8")))


def _build_task(entry: dict[str, Any]) -> EvaluationTask:
    task = EvaluationTask(
        name=entry.pop("name"),
        kind=entry.pop("kind"),
        messages=tuple(entry.pop("messages")),
        place=entry.pop("place", {"type": "global"}),
        must_confirm="confirm" in entry,
        confirm=entry.pop("confirm", "decline"),
        rows=tuple(_build_change(each) for each in entry.pop("rows", ())),
        answer=tuple(entry.pop("answer", ())),
        answer_lacks=tuple(entry.pop("answer_lacks", ())),
        asks=entry.pop("asks", False),
        refuses=entry.pop("refuses", False),
    )
    if entry:
        raise ValueError(f"{task.name} has unknown fields: {', '.join(entry)}.")
    return task


def _build_change(entry: dict[str, Any]) -> ExpectedChange:
    action = next(each for each in ("create", "change", "delete") if each in entry)
    fields = entry.get("fields", {})
    alternatives = (fields,) if isinstance(fields, Mapping) else tuple(fields)
    return ExpectedChange(action, entry[action], entry.get("title", ""), alternatives)
