"""The location layer of a user who looks at nothing in particular."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from chat.context import reads
from chat.context.reads import Results
from chat.context.sections import calendar
from chat.context.sections.row_lines import Size, format_id, format_name, format_task, format_value
from chat.context.sections.tool_names import ToolNames


def describe_overview(results: Results, tools: ToolNames, size: Size, zone: ZoneInfo, *, now: datetime) -> str:
    """Return the projects updated last, the most urgent open tasks, and the events of today."""
    projects = results.list_rows(reads.PROJECTS, "projects")
    tasks = results.list_rows(reads.TASKS, "tasks")
    events = calendar.list_events_on(now.date(), results, size, zone)
    has_more = results.by_name.get(reads.EVENTS, {}).get("has_more")
    sections = (
        (reads.PROJECTS, "Projects updated last", [_format_project(row, size) for row in projects[: size.rows]]),
        (
            reads.TASKS,
            "Most urgent open tasks, [priority] title (date)",
            [format_task(row, size, zone) for row in tasks[: size.rows]],
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


def _format_project(row: Mapping[str, Any], size: Size) -> str:
    counts = f"{row.get('active_task_count', 0)} active of {row.get('task_count', 0)} tasks"
    return f"- {format_name(row, size)} ({format_value(row.get('state_key'))}, {counts}){format_id(row, size)}"
