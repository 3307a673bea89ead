"""Reads for a prompt, sent as one batch, and the names of rows in their answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from chat.context import layers as places
from chat.context.layers import Place

MAX_NAME_CHARS = 200
LABELS = ("name", "title", "text")  # a requirement has a text
OPEN_STATES = ("todo", "in_progress", "blocked")
TOP_TASKS = 5
SIBLINGS = TOP_TASKS + 1  # the task itself may be among them
MILESTONES_LOADED = 50  # the most of a page: those without a date come first, then the earliest
DAY = timedelta(days=1)
OF_EVENTS = ["title", "start_at", "end_at"]  # fields; with them, each occurrence of an event is a row
PROFILE, PROJECT, PROJECTS, TASK, TASKS, EVENTS = "profile", "project", "projects", "task", "tasks", "events"
NOTES, BRAIN_DUMPS, MILESTONES, CURRENT_MILESTONES = "notes", "brain_dumps", "milestones", "current_milestones"

# Characters of long texts: a get shows 100 of each, then fills the texts in their order. The context is the last one of
# a project, after a description of at most 20,000 and a summary of at most 5,000 characters.
PROJECT_CHARS, TASK_CHARS = 26_000, 500


def collect_names(value: Any) -> dict[str, str]:
    """Return {id: name} of all rows inside a result or envelope."""
    return dict(_find_names(value))


def get_label(row: Any) -> str:
    """Return the name of a row, or an empty string."""
    return next((row[label] for label in LABELS if isinstance(row.get(label), str) and row[label]), "")


def _find_names(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for each in value:
            yield from _find_names(each)
    elif isinstance(value, dict):
        yield from _get_own_names(value)
        for each in value.values():
            yield from _find_names(each)


def _get_own_names(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    pairs = (
        (row.get("id"), get_label(row)),
        (row.get("project_id"), row.get("project_name")),
        (row.get("entity_id"), row.get("entity_name")),
    )
    by_name = row.get("project_ids")
    named = ((id, name) for name, id in by_name.items()) if isinstance(by_name, dict) else ()
    for id, name in (*named, *pairs):
        if isinstance(id, str) and isinstance(name, str) and id and name:
            yield id, name[:MAX_NAME_CHARS]


class BatchCall(Protocol):
    """The gateway client's call of POST /api/v1/batch."""

    def __call__(self, entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Run {type: "exec", op, args} entries and return their envelopes, in order. Raises if the gateway fails."""


@dataclass(frozen=True, slots=True)
class Results:
    """The results of the reads by name. A read that failed has a reason instead."""

    by_name: Mapping[str, Mapping[str, Any]]
    failures: Mapping[str, str]
    names: Mapping[str, str]

    def get_row(self, name: str) -> Mapping[str, Any] | None:
        """Return the row that a get answered under its own name; None if the read failed."""
        row = self.by_name.get(name, {}).get(name)
        return row if isinstance(row, dict) else None

    def list_rows(self, name: str, key: str) -> list[Mapping[str, Any]]:
        """Return the rows under a key of a list's result; none if the read failed."""
        rows = self.by_name.get(name, {}).get(key)
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def load(batch: BatchCall, place: Place, *, at: datetime) -> Results:
    """Load what the layers of a place need, in one batch. Raises what the batch call raises."""
    reads = {PROFILE: ("util.profile.get", {}), **_list_reads(place, at)}
    envelopes = batch([{"type": "exec", "op": op, "args": args} for op, args in reads.values()])
    answers = dict(zip(reads, envelopes, strict=False))
    results = {name: each["result"] for name, each in answers.items() if each.get("ok") and _is_object(each, "result")}
    failures = {name: _get_reason(answers.get(name, {})) for name in reads if name not in results}
    return Results(results, failures, collect_names(list(results.values())))


def _list_reads(place: Place, at: datetime) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the op and the args of each read of a place, by name. Entry 0 of the batch is the profile."""
    if place.type == places.PROJECT:
        return _list_project_reads(place.project_id or place.entity_id)
    if place.type == places.TASK:
        project_id = {"$result": "1#/result/task/project_id"}
        return {
            TASK: ("onto.task.get", {"task_id": place.entity_id, "max_chars": TASK_CHARS}),
            TASKS: ("onto.task.list", {"project_id": project_id, **_most_urgent(SIBLINGS)}),
        }
    if place.type == places.CALENDAR:
        return {EVENTS: ("cal.event.list", {"calendar_scope": "user", "limit": 50, "fields": OF_EVENTS})}
    # The user's day lies within these two days, whatever their time zone is.
    days = {"time_min": (at - DAY).isoformat(), "time_max": (at + DAY).isoformat()}
    return {
        PROJECTS: ("onto.project.list", {"limit": 5}),
        TASKS: ("onto.task.list", _most_urgent(TOP_TASKS)),
        EVENTS: ("cal.event.list", {"calendar_scope": "user", "limit": 50, "fields": OF_EVENTS, **days}),
    }


def _list_project_reads(project_id: str | None) -> dict[str, tuple[str, dict[str, Any]]]:
    of_project = {"project_id": project_id}
    documents, milestones = {**of_project, "limit": 3}, {**of_project, "limit": MILESTONES_LOADED}
    return {
        PROJECT: ("onto.project.get", {**of_project, "include_phases": False, "max_chars": PROJECT_CHARS}),
        TASKS: ("onto.task.list", {**of_project, **_most_urgent(TOP_TASKS)}),
        NOTES: ("onto.document.list", {**documents, "type_key": "document.note"}),
        BRAIN_DUMPS: ("onto.document.list", {**documents, "type_key": "document.brain_dump"}),
        MILESTONES: ("onto.milestone.list", {**milestones, "state_key": "pending"}),
        CURRENT_MILESTONES: ("onto.milestone.list", {**milestones, "state_key": "in_progress"}),
    }


def _most_urgent(limit: int) -> dict[str, Any]:
    return {"state_key": list(OPEN_STATES), "sort_by": "priority", "limit": limit}


def _is_object(envelope: Mapping[str, Any], name: str) -> bool:
    return isinstance(envelope.get(name), dict)


def _get_reason(envelope: Mapping[str, Any]) -> str:
    error = envelope.get("error")
    details = error.get("details") if isinstance(error, dict) else None
    return str(details.get("reason", "")) if isinstance(details, dict) else ""
