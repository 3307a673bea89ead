"""Plans of requests that change rows: create, update, delete, schedule."""

import re
from collections.abc import Generator
from datetime import datetime, timedelta
from typing import Any

from chat.scripted_model.dates import Days, read_time
from chat.scripted_model.intents import SHIFT_DAYS, ScriptedIntent
from chat.scripted_model.outcomes import ScriptedOutcome, build_op
from chat.scripted_model.plans import Plan, ScriptedCall, ScriptedCallFailed, run
from chat.scripted_model.rows import Row, describe_slots, read_rows
from chat.scripted_model.rules.lookup import Finished, describe_candidates, find_project, find_row
from chat.scripted_model.rules.reads import find_slots, read_minutes
from chat.scripted_model.rules.request import Request, read_ordinal

_TITLE_FIELD = {"project": "name", "goal": "name", "plan": "name", "requirement": "text"}
_DATE_FIELD = {"goal": "target_date", "plan": "end_date", "project": "end_at", "event": "start_at"}
_HEAD = re.compile(
    r"^(?:please |can you |could you )?(?:create|add|make|start|write|record|note|(?:i|we) (?:need|want))?\s*"
    r"(?:a |an |the |new )*[\w-]+(?:\s+|: *|$)(?:called |named |titled |to |about |that |for (?:my |our |an? )|: ?)?",
    re.IGNORECASE,
)
_MOVED_TO = re.compile(r"\b(?:at|to) (\d{1,2})(?::(\d\d)|(?= ?[ap]m))\s?(am|pm)?\b", re.IGNORECASE)
_IMPACT = re.compile(r"\b(low|medium|high|critical)\b")
_TASKS = re.compile(r"\bwith (?:the |\w+ )?tasks?:? (.+)$", re.IGNORECASE)
_BETWEEN_TASKS = re.compile(r",(?: and)? | and ")
_WORD = re.compile(r"[^\W_]+")
_DANGLING = re.compile(r"\b(?:in|into|to|for|of|on)(?: the| my| project){0,3} ?$")
DEADLINE_QUESTION = "Shall I move its deadline, too?"


def plan_create(request: Request, days: Days) -> Plan:
    """Create a row in the project that the message names, or ask which project."""
    intent = request.intent
    kind = intent.kind or "task"
    title = _read_title(intent)
    if not title:
        return f"What should the {kind} be called? Say, for example: create a {kind} “Call the printer”."
    if kind == "project":
        return (yield from _create_project(request, title))
    if kind == "event":
        return (yield from _create_event(intent, title, days))
    project = yield from _find_project_to_write(request, days)
    args = {"project_id": project.id, _TITLE_FIELD.get(kind, "title"): title} | _adapt_changes(intent.changes, kind)
    if intent.content:
        args["content"] = intent.content
    if kind == "risk":
        impact = _IMPACT.search(intent.message.lower())
        args["impact"] = impact[1] if impact else "medium"
    outcome = yield from run(build_op(kind, "create"), **args)
    return f"{outcome.message} It is in **{project.title}**."


def _create_project(request: Request, title: str) -> Plan:
    outcome = yield from run("onto.project.search", query=title[:200])
    if not request.agreed and any(row.title.casefold() == title.casefold() for row in read_rows(outcome)):
        return f"There is a project **{title}** already. Shall I create another one?"
    tasks = _TASKS.search(request.intent.message)
    titles = _BETWEEN_TASKS.split(tasks[1].strip(" .!")) if tasks else []
    entities = [{"temp_id": f"t{at}", "kind": "task", "title": text} for at, text in enumerate(titles, 1) if text]
    project = {"name": title, "type_key": "project.personal.general"}
    args = {"project": project, "entities": entities, "relationships": []}
    created = yield from run("onto.project.create", **args)
    return created.message


def _create_event(intent: ScriptedIntent, title: str, days: Days) -> Plan:
    day, time = days.parse_day(intent.message), read_time(intent.message)
    if not day:
        return f"When is **{title}**? Say, for example: create an event “{title}” tomorrow at 10:00."
    times = {"start_at": f"{day}T{time}" if time else day}
    if time and (minutes := read_minutes(intent.message)):
        times["end_at"] = _add_minutes(times["start_at"], minutes)
    outcome = yield from run("cal.event.create", title=title, **times, calendar_scope="user")
    return outcome.message


def _find_project_to_write(request: Request, days: Days) -> Generator[list[ScriptedCall], list[ScriptedOutcome], Row]:
    if request.row and request.row.kind == "project":
        return request.row
    if request.intent.project and (project := (yield from find_project(request.intent.project))):
        return project
    is_named = bool(request.intent.project) and "project" in request.intent.message.lower()
    if request.place and not is_named:
        return request.place
    outcome = yield from run("onto.project.list", limit=3)
    candidates = describe_candidates(read_rows(outcome), days)
    unknown = f"I found no project named “{request.intent.project}”. " if is_named else ""
    raise Finished(f"{unknown}Which project should it be in? Nothing was created yet.\n\n{candidates}")


def plan_update(request: Request, days: Days) -> Plan:
    """Change a row, or ask what to change."""
    row = yield from find_row(request, days, default_kind=request.intent.kind or "task")
    changes = _adapt_changes(request.intent.changes, row.kind)
    if SHIFT_DAYS in changes:
        changes = yield from _shift_date(row, changes, days)
    if row.kind == "event":
        changes = _move_event(row, changes, request.intent.message, days)
    if not changes:
        return (
            f"What should I change about **{row.title}**? I can mark it as done, rename it, set its priority or move "
            "its date."
        )
    outcome = yield from run(build_op(row.kind, "update"), **{f"{row.kind}_id": row.id}, **changes)
    return outcome.message


def _move_event(row: Row, changes: dict[str, Any], message: str, days: Days) -> dict[str, Any]:
    """Return the changes with the new time of an event, if the message names one. It takes as long as before."""
    start, end = (days.parse_local(row.fields.get(name)) for name in ("start_at", "end_at"))
    time = read_time(message, _MOVED_TO)
    if not time or not start:
        return changes
    moved = f"{days.parse_day(message) or start.date().isoformat()}T{time}"
    minutes = read_minutes(message) or (int((end - start).total_seconds() // 60) if end else 60)
    return {**changes, "start_at": moved, "end_at": _add_minutes(moved, minutes)}


def _shift_date(
    row: Row, changes: dict[str, Any], days: Days
) -> Generator[list[ScriptedCall], list[ScriptedOutcome], dict[str, Any]]:
    """Return the changes with a new date for a row that should move by some days. Raises Finished."""
    name = _DATE_FIELD.get(row.kind, "due_at")
    if name not in row.fields:
        outcome = yield from run(build_op(row.kind, "get"), **{f"{row.kind}_id": row.id})
        row = next((one for one in read_rows(outcome) if one.id == row.id), row)
    day = days.shift(row.fields.get(name), changes[SHIFT_DAYS])
    if day is None:
        raise Finished(f"**{row.title}** has no date that I could move. Say, for example: set it due tomorrow.")
    return {**{key: value for key, value in changes.items() if key != SHIFT_DAYS}, name: day}


def plan_delete(request: Request, days: Days) -> Plan:
    """Delete a row."""
    row = yield from find_row(request, days)
    outcome = yield from run(build_op(row.kind, "delete"), **{f"{row.kind}_id": row.id})
    return outcome.message


def plan_schedule(request: Request, days: Days) -> Plan:
    """Schedule a task at the time that the message names, else in the first free time."""
    row = yield from find_row(request, days, default_kind="task")
    message = request.intent.message
    named_minutes = read_minutes(message)
    day, time = days.parse_day(message), read_time(message)
    free = ""
    offered = read_ordinal(message) if request.offered_starts else None
    if day and time:
        start = f"{day}T{time}"
    elif offered is not None and offered < len(request.offered_starts):
        start = request.offered_starts[offered]
    else:
        minutes = named_minutes or (yield from _get_duration(row))
        slots = yield from find_slots(message, minutes, days)
        start = next((str(slot.get("start")) for slot in slots.result.get("slots") or ()), "")
        if not start:
            return (
                f"You have no {minutes} minutes free in one piece, so **{row.title}** was not scheduled. "
                f"Name a shorter time, for example: schedule “{row.title}” for 1 hour."
            )
        free = f"\n\nIt is your first free time of {minutes} minutes:\n\n{describe_slots(slots.result, days)}"
    moves_deadline = request.agreed and DEADLINE_QUESTION in request.question
    args: dict[str, Any] = {"task_id": row.id, "start_at": start}
    args |= {"duration_minutes": named_minutes} if named_minutes else {}
    args |= {"due_at": _add_minutes(start, named_minutes or 60)} if moves_deadline else {}
    try:
        outcome = yield from run("cal.task.schedule", **args)
    except ScriptedCallFailed as failed:
        if not any(error.get("code") == "after_due" for error in failed.outcome.field_errors):
            raise
        return f"**{row.title}** is due before that time, so nothing was scheduled. {DEADLINE_QUESTION}"
    return f"{outcome.message}{free}"


def _get_duration(row: Row) -> Generator[list[ScriptedCall], list[ScriptedOutcome], int]:
    """Return how long a task takes; lists leave this out."""
    outcome = yield from run("onto.task.get", task_id=row.id, max_chars=500)
    minutes = next((one.fields.get("duration_minutes") for one in read_rows(outcome) if one.id == row.id), None)
    return minutes if isinstance(minutes, int) else 60


def _adapt_changes(changes: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return changes with the field names of a kind."""
    names = {"title": _TITLE_FIELD.get(kind, "title"), "due_at": _DATE_FIELD.get(kind, "due_at")}
    return {names.get(name, name): value for name, value in changes.items()}


def _read_title(intent: ScriptedIntent) -> str:
    if intent.title:
        return intent.title
    head = _HEAD.match(intent.message)
    text = intent.message[head.end() :] if head else intent.message
    word = _WORD.match(text)
    if head and word and word[0].lower().removesuffix("s") in (intent.kind or "task", "note"):
        text = f"{head[0].split()[-1]} {text}"  # a status note
    text = _TASKS.sub("", text)
    if intent.project:
        text = _DANGLING.sub("", text.rpartition(intent.project)[0]) or text
    text = text.strip(" .!?:")[:200]
    return text[:1].upper() + text[1:]


def _add_minutes(start: str, minutes: int) -> str:
    return (datetime.fromisoformat(start) + timedelta(minutes=minutes)).isoformat()
