"""The location layer of a project."""

from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from chat.context import reads
from chat.context.reads import Results
from chat.context.sections import local_days
from chat.context.sections.row_lines import (
    NOT_SET,
    Size,
    format_name,
    format_task,
    format_text,
    format_value,
    get_length,
)
from chat.context.sections.tool_names import ToolNames

CONTEXT_CHARS = 500
SUMMARY_CHARS = DESCRIPTION_CHARS = 600


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
    start, end = (local_days.format_day(project.get(name), zone) or NOT_SET for name in ("start_at", "end_at"))
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
    return ["Most urgent open tasks, [priority] title (date):", *lines] if lines else ["No open tasks."]
