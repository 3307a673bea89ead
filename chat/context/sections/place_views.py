"""What the prompt says about a place (overview, project, task, calendar) and the user."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

from chat.context import budgets, reads
from chat.context.layers import Layer
from chat.context.reads import Results, get_label
from chat.context.sections import row_lines
from chat.context.sections.row_lines import (
    NOT_SET,
    Size,
    format_id,
    format_name,
    format_task,
    format_text,
    format_value,
    get_length,
)
from chat.context.sections.tool_names import ToolNames
from chat.context.shortening.clipping import clip
from chat.context.shortening.json_text import dump
from core.text import token_budget

NAME = "profile"
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MAX_NAME_CHARS, MAX_VALUE_CHARS = 60, 120
MAX_HOURS_CHARS = 400
CONTEXT_CHARS = 500
SUMMARY_CHARS = DESCRIPTION_CHARS = 600
TEXT_CHARS = 100
MAX_SUBTASKS = 50  # of a get
Event = Mapping[str, Any]


def build_profile(results: Results, tools: ToolNames, *, has_hours: bool, subject: str = "") -> Layer:
    """Return the profile layer. Whole lines are left out if it does not fit, the last preferences first."""
    profile = results.get_row(reads.PROFILE)
    if profile is None:
        return Layer.of_text(NAME, "The user's profile could not be loaded.", budget=budgets.PROFILE)
    lines = [f"## User: {clip(profile.get('name'), MAX_NAME_CHARS) or 'name not set'}"]
    if subject:
        lines.append(f"- Id as created_by shows it: {clip(subject, MAX_NAME_CHARS)}")
    if has_hours:
        lines.append(f"- Working hours: {describe_hours(profile.get('working_hours'))}")
    lines += _list_preferences(profile.get("preferences"))
    fitted = token_budget.fit_lines(
        lines,
        budget=budgets.PROFILE,
        note=lambda missing: f"- {missing} more preferences; {tools.describe('util.profile.get')} has all.",
    )
    return Layer.of_text(NAME, fitted.text, budget=budgets.PROFILE, is_cut=fitted.is_cut)


def describe_hours(week: Any) -> str:
    """Return working hours by weekday in short: mon-thu 09:00-12:30, 13:30-17:30; fri 09:00-13:00; sat-sun off."""
    if not isinstance(week, dict) or not week:
        return "not set"
    days = [(day[:3], ", ".join(map(str, week.get(day) or ())) or "off") for day in WEEKDAYS]
    runs = [(hours, [day for day, _ in run]) for hours, run in groupby(days, key=lambda each: each[1])]
    return clip(
        "; ".join(f"{'-'.join(dict.fromkeys((run[0], run[-1])))} {hours}" for hours, run in runs), MAX_HOURS_CHARS
    )


def _list_preferences(preferences: Any) -> Iterator[str]:
    for name, value in (preferences if isinstance(preferences, Mapping) else {}).items():
        text = value if isinstance(value, str) else dump(value)
        if len(text) <= MAX_VALUE_CHARS:
            yield f"- {clip(name, MAX_NAME_CHARS)}: {clip(text, MAX_VALUE_CHARS)}"
        elif isinstance(value, str):
            yield f"- {clip(name, MAX_NAME_CHARS)} (beginning): {clip(text, MAX_VALUE_CHARS)}"
        else:
            yield f"- {clip(name, MAX_NAME_CHARS)}: {type(value).__name__} of {len(value)} entries, not shown"


def describe_project(results: Results, tools: ToolNames, size: Size, zone: ZoneInfo) -> str:
    """Return the facts, the beginnings of the texts and the most urgent open tasks of the project."""
    project = results.get_row(reads.PROJECT)
    if project is None:
        return _describe_missing(results)
    facts = [
        f"## The user looks at the project {format_name(project, size)}",
        f"- Id: {project.get('id')}",
        f"- State: {format_value(project.get('state_key'))}, {project.get('completion_percentage', 0)}% complete",
        f"- Period: {_format_period(project, zone)}",
        f"- Tasks: {project.get('active_task_count', 0)} active, {project.get('completed_task_count', 0)} done, "
        f"{project.get('task_count', 0)} total",
    ]
    return "\n".join([*facts, *_list_texts(project, tools, size), *_list_tasks(results, size, zone)])


def _describe_missing(results: Results) -> str:
    if results.failures.get(reads.PROJECT) == "not_found":
        return "The user looks at a project that does not exist or that they may not see."
    return "The user looks at a project that could not be loaded."


def _format_period(project: Mapping[str, Any], zone: ZoneInfo) -> str:
    start, end = (row_lines.format_day(project.get(name), zone) or NOT_SET for name in ("start_at", "end_at"))
    return f"{start} to {end}"


def _list_texts(project: Mapping[str, Any], tools: ToolNames, size: Size) -> list[str]:
    texts = (("executive_summary", "Summary", SUMMARY_CHARS), ("description", "Description", DESCRIPTION_CHARS))
    lines = [
        f"- {label}: {format_text(text, size.scale(chars), length=get_length(project, name))}"
        for name, label, chars in texts
        if (text := project.get(name))
    ]
    if context := project.get("context"):
        shown = format_text(context, size.scale(CONTEXT_CHARS), length=get_length(project, "context"))
        lines.append(f"- Context: {shown}")
    if any(line.endswith("characters]") for line in lines):
        lines.append(f"- The rest of a text: {tools.describe('onto.project.get')}")
    return lines


def _list_tasks(results: Results, size: Size, zone: ZoneInfo) -> list[str]:
    if reads.TASKS in results.failures:
        return ["Its tasks could not be loaded."]
    tasks = results.list_rows(reads.TASKS, "tasks")
    lines = [format_task(row, size, zone) for row in tasks[: size.rows]]
    return [f"{_head_tasks(len(lines), results)}:", *lines] if lines else ["No open tasks."]


def _head_tasks(shown: int, results: Results) -> str:
    """Return the heading of the most urgent open tasks, which says whether these are all."""
    if not shown:
        return "Open tasks"
    total = max(shown, _get_total(results, reads.TASKS))
    count = f"{shown} of {total}" if shown < total else "all"
    return f"Open tasks by priority ({count}), [priority] title (state, date)"


def describe_task(results: Results, tools: ToolNames, size: Size, zone: ZoneInfo) -> str:
    """Return the facts and the beginnings of the texts of the task."""
    task = results.get_row(reads.TASK)
    if task is None:
        if results.failures.get(reads.TASK) == "not_found":
            return "The user looks at a task that does not exist or that they may not see."
        return "The user looks at a task that could not be loaded."
    texts = [
        f"- {label}: {format_text(text, size.scale(TEXT_CHARS), length=get_length(task, name))}"
        for name, label in (("description", "Description"), ("details", "Details"))
        if (text := task.get(name))
    ]
    if any(line.endswith("characters]") for line in texts):
        texts.append(f"- The rest of a text: {tools.describe('onto.task.get')}")
    project = clip(task.get("project_name"), size.scale(TEXT_CHARS)) or NOT_SET
    return "\n".join(
        [
            f"## The user looks at the task {format_name(task, size)}",
            f"- Id: {task.get('id')}",
            f"- State: {format_value(task.get('state_key'))}, priority {format_value(task.get('priority'))}",
            f"- Project: {project} {task.get('project_id', '')}".rstrip(),
            f"- Date: {_format_dates(task, zone)}",
            f"- Minutes: {format_value(task.get('duration_minutes'))}",
            f"- Recurrence: {format_value(task.get('recurrence') or 'none')}",
            *texts,
            f"- Subtasks: {_count_subtasks(task)}",
        ]
    )


def _format_dates(task: Mapping[str, Any], zone: ZoneInfo) -> str:
    start, due = (row_lines.format_day(task.get(name), zone) for name in ("start_at", "due_at"))
    parts = [f"from {start}" if start else "", f"due {due}" if due else "", "overdue" if task.get("is_overdue") else ""]
    return ", ".join(filter(None, parts)) or NOT_SET


def _count_subtasks(task: Mapping[str, Any]) -> str:
    subtasks = task.get("subtasks")
    count = len(subtasks) if isinstance(subtasks, list) else 0
    return f"{count} or more" if count >= MAX_SUBTASKS else str(count)


def describe_calendar(results: Results, tools: ToolNames, size: Size, zone: ZoneInfo) -> str:
    """Return the working hours and the events of the next seven days."""
    heading = "## The user looks at the calendar"
    profile = results.get_row(reads.PROFILE) or {}
    hours = f"- Working hours: {describe_hours(profile.get('working_hours'))}"
    if reads.EVENTS in results.failures:
        return f"{heading}\n{hours}\nThe events could not be loaded."
    events = results.list_rows(reads.EVENTS, "events")
    shown = events[: size.rows]
    total = max(len(events), _get_total(results, reads.EVENTS))
    lines = ["Next seven days:" if events else "No events in the next seven days."]
    repeats = _find_repeats(shown, zone)
    firsts = [event for event, _ in repeats]
    for day, of_day in groupby(repeats, key=lambda each: _get_start_day(each[0], zone)):
        lines.append(f"{day:%a %Y-%m-%d}" if day else "No date")
        lines += [
            _format_event(event, size, zone, is_first=_is_first(event, firsts), repeats=days) for event, days in of_day
        ]
    if len(shown) < total:
        lines.append(f"{len(shown)} of {total} events; {tools.describe('cal.event.list')} reads on.")
    return "\n".join([heading, hours, *lines])


def _find_repeats(events: Iterable[Event], zone: ZoneInfo) -> list[tuple[Event, list[date]]]:
    """Return each event once, with the later days on which it takes place at the same time."""
    found: dict[tuple[Any, str, str], tuple[Event, list[date]]] = {}
    for event in events:
        key = (event.get("id"), get_label(event), _format_times(event, zone))
        _, days = found.setdefault(key, (event, []))
        day = _get_start_day(event, zone)
        if day and found[key][0] is not event:
            days.append(day)
    return list(found.values())


def list_events_on(day: date, results: Results, size: Size, zone: ZoneInfo) -> list[str]:
    """Return a line for each event that takes place on a day."""
    events = results.list_rows(reads.EVENTS, "events")
    of_day = [event for event in events if _is_on(event, day, zone)][: size.rows]
    return [_format_event(event, size, zone, is_first=_is_first(event, of_day)) for event in of_day]


def _is_first(event: Event, shown: list[Event]) -> bool:
    """Return whether no earlier line has this id: an event that repeats has one id for all its occurrences."""
    return next((each for each in shown if each.get("id") == event.get("id")), None) is event


def _format_event(event: Event, size: Size, zone: ZoneInfo, *, is_first: bool, repeats: Sequence[date] = ()) -> str:
    again = f" (again {_format_days(repeats)})" if repeats else ""
    name = f"{format_name(event, size)}{again}"
    return f"- {_format_times(event, zone)} {name}{format_id(event, size) if is_first else ''}"


def _format_times(event: Event, zone: ZoneInfo) -> str:
    start, end = (row_lines.parse_moment(event.get(name), zone) for name in ("start_at", "end_at"))
    if not isinstance(start, datetime):
        return "all day"
    return f"{start:%H:%M}" + (f"-{end:%H:%M}" if isinstance(end, datetime) else "")


def _format_days(days: Iterable[date]) -> str:
    """Return days in short, those that follow each other as one: Mon-Thu, Sat."""
    runs = list[list[date]]()
    for day in days:
        if runs and day - runs[-1][-1] == reads.DAY:
            runs[-1].append(day)
        else:
            runs.append([day])
    return ", ".join("-".join(dict.fromkeys((f"{run[0]:%a}", f"{run[-1]:%a}"))) for run in runs)


def _get_start_day(event: Event, zone: ZoneInfo) -> date | None:
    start = row_lines.parse_moment(event.get("start_at"), zone)
    return row_lines.get_day(start) if start else None


def _is_on(event: Event, day: date, zone: ZoneInfo) -> bool:
    """Return whether an event takes place on a day. The last day of an all-day event counts; midnight does not."""
    start, end = (row_lines.parse_moment(event.get(name), zone) for name in ("start_at", "end_at"))
    if start is None:
        return False
    first = row_lines.get_day(start)
    last = row_lines.get_day(end) if end else first
    if isinstance(end, datetime) and (end.hour, end.minute) == (0, 0) and last > first:
        return first <= day < last
    return first <= day <= last


def _get_total(results: Results, name: str) -> int:
    total = results.by_name.get(name, {}).get("total")
    return total if isinstance(total, int) else 0


def describe_overview(results: Results, tools: ToolNames, size: Size, zone: ZoneInfo, *, now: datetime) -> str:
    """Return the projects updated last, the most urgent open tasks, and the events of today."""
    projects = results.list_rows(reads.PROJECTS, "projects")
    tasks = results.list_rows(reads.TASKS, "tasks")
    events = list_events_on(now.date(), results, size, zone)
    has_more = results.by_name.get(reads.EVENTS, {}).get("has_more")
    sections = (
        (reads.PROJECTS, "Projects updated last", [_format_project(row, size) for row in projects[: size.rows]]),
        (
            reads.TASKS,
            _head_tasks(len(tasks[: size.rows]), results),
            [f"{format_task(row, size, zone)}{_format_place(row, results, size)}" for row in tasks[: size.rows]],
        ),
        (
            reads.EVENTS,
            "Events today",
            [*events, *([f"- perhaps more; {tools.describe('cal.event.list')} has all"] if has_more else [])],
        ),
    )
    lines = ["## The user looks at no project or task"]
    for name, title, rows in sections:
        if name in results.failures:
            lines.append(f"{title}: could not be loaded.")
        else:
            lines += [f"{title}:", *rows] if rows else [f"{title}: none."]
    return "\n".join(lines)


def _format_place(row: Mapping[str, Any], results: Results, size: Size) -> str:
    """Return the project of a task. Tasks of one project have it beside the list."""
    name = row.get("project_name") or results.by_name.get(reads.TASKS, {}).get("project_name")
    return f", project {clip(name, size.scale(TEXT_CHARS))}" if name else ""


def _format_project(row: Mapping[str, Any], size: Size) -> str:
    counts = f"{row.get('active_task_count', 0)} open of {row.get('task_count', 0)} tasks"
    return f"- {format_name(row, size)} ({format_value(row.get('state_key'))}, {counts}){format_id(row, size)}"
