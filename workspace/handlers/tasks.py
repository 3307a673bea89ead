"""Ops that only tasks have."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from workspace.contract import Outcome, Request
from workspace.errors import FieldError
from workspace.handlers import reads
from workspace.kinds import PROJECT, TASK
from workspace.models import Entity
from workspace.services import access, excerpts, neighbours, pages, rows, subtasks, task_events

MOST_SUBTASKS, MOST_LINKS = 50, 20
BY_PRIORITY = pages.Listing.of(TASK, {"sort_by": "priority"})

# The project fields that include_project_context adds.
PROJECT_CONTEXT = ("id", "name", "state_key", "executive_summary", "context")


def get(request: Request) -> Outcome:
    """Return the complete task and, if requested, its first subtasks, its links and its project's context.

    Raises NotFound.
    """
    outcome = reads.get_row(request, kind=TASK)
    if request.args.get("field") is not None:
        return outcome
    task: dict[str, Any] = dict(outcome.result["task"])
    message = outcome.result["message"]
    if request.args.get("include_subtasks"):
        below = TASK.rows().visible_to(request.subject).filter(parent_task=task["id"], project=task["project_id"])
        task["subtasks"], has_more = pages.beginning(below, listing=BY_PRIORITY, limit=MOST_SUBTASKS, at=request.at)
        if has_more:
            message += reads.only_first(MOST_SUBTASKS, "subtasks", path=TASK.path("list"))
    if request.args.get("include_links"):
        task["links"], has_more = neighbours.in_brief(UUID(task["id"]), subject=request.subject, limit=MOST_LINKS)
        if has_more:
            message += reads.only_first(MOST_LINKS, "links", path="onto.entity.links.get")
    if request.args.get("include_project_context"):
        context = _context(task, request)
        task["project_context"] = context.row
        message += reads.cut(context, kind=PROJECT, place=" in project_context")
    return replace(outcome, result={"task": task, "message": message})


def problems(row: Entity, sent: Mapping[str, Any]) -> list[FieldError]:
    """Return the errors that no single column can show: those of the parent task and the recurrence."""
    return subtasks.problems(row, sent) + task_events.problems(row, sent)


def _context(task: dict[str, Any], request: Request) -> excerpts.Excerpt:
    """Return the context of the task's project, cut to the characters that the task's own texts leave."""
    project = access.visible_row(PROJECT, subject=request.subject, id=task["project_id"])
    whole = rows.columns(project, kind=PROJECT)
    left = reads.max_chars(request) - sum(len(task[name] or "") for name in TASK.long)
    return excerpts.of_row({name: whole[name] for name in PROJECT_CONTEXT}, kind=PROJECT, max_chars=left)
