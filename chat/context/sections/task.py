"""The location layer of a task."""

from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from chat.context import reads
from chat.context.reads import Results
from chat.context.sections import local_days
from chat.context.sections.row_lines import NOT_SET, Size, format_name, format_text, format_value, get_length
from chat.context.sections.tool_names import ToolNames
from chat.context.shortening.clipping import clip

TEXT_CHARS = 100
MAX_SUBTASKS = 50  # of a get


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
    start, due = (local_days.format_day(task.get(name), zone) for name in ("start_at", "due_at"))
    parts = [f"from {start}" if start else "", f"due {due}" if due else "", "overdue" if task.get("is_overdue") else ""]
    return ", ".join(filter(None, parts)) or NOT_SET


def _count_subtasks(task: Mapping[str, Any]) -> str:
    subtasks = task.get("subtasks")
    count = len(subtasks) if isinstance(subtasks, list) else 0
    return f"{count} or more" if count >= MAX_SUBTASKS else str(count)
