"""The related layer: rows related to the one that the user looks at, by priority."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from chat.context import budgets, reads
from chat.context import layers as places
from chat.context.layers import Layer
from chat.context.reads import Results
from chat.context.sections import row_lines
from chat.context.sections.row_lines import Size, format_id, format_name, format_task
from chat.context.sections.tool_names import ToolNames
from chat.context.shortening.clipping import clip
from core.text import token_budget

NAME = "related"
SIZE = Size()
PREVIEW_CHARS = 80
MAX_NOTES, MAX_SIBLINGS = 3, reads.TOP_TASKS

Row = Mapping[str, Any]


def build_related(results: Results, tools: ToolNames, *, place: str, zone: ZoneInfo, now: datetime) -> Layer:
    """Return the related layer, without its last lines if it does not fit. It is empty if nothing is related."""
    lines, op = _list_lines(results, tools, place, zone, now)
    if not lines:
        return Layer.of_text(NAME, "", budget=budgets.RELATED)
    fitted = token_budget.fit_lines(
        ["## Related", *lines],
        budget=budgets.RELATED,
        note=lambda missing: f"- {missing} more, not shown; {tools.describe(op)} has them.",
    )
    return Layer.of_text(NAME, fitted.text, budget=budgets.RELATED, is_cut=fitted.is_cut)


def _list_lines(results: Results, tools: ToolNames, place: str, zone: ZoneInfo, now: datetime) -> tuple[list[str], str]:
    """Return the lines, and the op that has more of them."""
    if place == places.PROJECT and results.get_row(reads.PROJECT):
        return _list_project_lines(results, tools, zone, now), "onto.document.list"
    if place == places.TASK and (task := results.get_row(reads.TASK)):
        return [*_list_links(task), *_list_siblings(task, results, zone)], "onto.entity.links.get"
    return [], ""


def _list_project_lines(results: Results, tools: ToolNames, zone: ZoneInfo, now: datetime) -> list[str]:
    lines = _describe_next_milestone(results, tools, zone, now)
    for name, label in ((reads.NOTES, "Note"), (reads.BRAIN_DUMPS, "Brain dump")):
        if name in results.failures:
            lines.append(f"- {label}s could not be loaded.")
        lines += [_format_document(row, label) for row in results.list_rows(name, "documents")[:MAX_NOTES]]
    return lines


def _describe_next_milestone(results: Results, tools: ToolNames, zone: ZoneInfo, now: datetime) -> list[str]:
    names = (reads.MILESTONES, reads.CURRENT_MILESTONES)
    if any(name in results.failures for name in names):
        return ["- Milestones could not be loaded."]
    first = {name: _find_next_milestone(results.list_rows(name, "milestones"), zone, now) for name in names}
    coming = [each for each in first.values() if each]
    lines = []
    if coming:
        day, row = min(coming, key=lambda each: each[0])
        lines.append(f"- Next milestone: {format_name(row, SIZE)} ({day}){format_id(row, SIZE)}")
    if any(not first[name] and results.by_name[name].get("has_more") for name in names):
        missed = "An earlier one" if coming else "The next milestone"
        lines.append(
            f"- {missed} may be among more than were loaded; {tools.describe('onto.milestone.list')} reads on."
        )
    return lines


def _find_next_milestone(rows: list[Row], zone: ZoneInfo, now: datetime) -> tuple[str, Row] | None:
    """Return the day and the row of the milestone that is due next, from today on."""
    days = [(row_lines.format_day(row.get("due_at"), zone), row) for row in rows]
    return min((each for each in days if each[0] >= f"{now:%Y-%m-%d}"), key=lambda each: each[0], default=None)


def _format_document(row: Row, label: str) -> str:
    texts = (row.get(name) for name in ("ai_summary", "ai_summary_preview", "content_preview", "content"))
    preview = clip(next(filter(None, texts), ""), PREVIEW_CHARS)
    return f"- {label}: {format_name(row, SIZE)}{f' – {preview}' if preview else ''}{format_id(row, SIZE)}"


def _list_links(task: Row) -> list[str]:
    links = task.get("links")
    rows = [row for row in links if isinstance(row, dict)] if isinstance(links, list) else []
    return [_format_link(row) for row in rows]


def _format_link(row: Row) -> str:
    other = f"{row.get('kind', 'row')} {format_name(row, SIZE)}{format_id(row, SIZE)}"
    rel = clip(row.get("rel"), 60)
    return f"- {other} {rel} this task" if row.get("direction") == "incoming" else f"- This task {rel} {other}"


def _list_siblings(task: Row, results: Results, zone: ZoneInfo) -> list[str]:
    if reads.TASKS in results.failures:
        return ["- Other tasks of the project could not be loaded."]
    rows = [row for row in results.list_rows(reads.TASKS, "tasks") if row.get("id") != task.get("id")]
    lines = [format_task(row, SIZE, zone) for row in rows[:MAX_SIBLINGS]]
    return ["Other open tasks of its project:", *lines] if lines else []
