"""Ops that only tasks have."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workspace.contract import OpOutcome, OpRequest
from workspace.entity_types import PROJECT, TASK
from workspace.errors import ArgumentError
from workspace.handlers.generic import generic_reads
from workspace.handlers.generic.row_outcomes import build_cut_note
from workspace.models import Entity
from workspace.services.access import access
from workspace.services.calendar import task_events
from workspace.services.documents import excerpts
from workspace.services.entities import pagination, serialization, subtasks

MAX_SUBTASKS = 50
BY_PRIORITY = pagination.Listing.from_args(TASK, {"sort_by": "priority"})

# The project fields that include_project_context adds.
PROJECT_CONTEXT = ("id", "name", "state_key", "executive_summary", "context")


def get_task(request: OpRequest) -> OpOutcome:
    """Return the complete task and, if requested, its first subtasks, its links and its project's context.

    Raises NotFound.
    """
    outcome = generic_reads.get_row(request, kind=TASK)
    if request.args.get("field") is not None:
        return outcome
    task: dict[str, Any] = dict(outcome.result["task"])
    message = outcome.result["message"]
    if request.args.get("include_subtasks"):
        queryset = (
            TASK.get_rows().visible_to(request.subject).filter(parent_task=task["id"], project=task["project_id"])
        )
        task["subtasks"], has_more = pagination.serialize_first(
            queryset, listing=BY_PRIORITY, limit=MAX_SUBTASKS, at=request.at
        )
        if has_more:
            message += generic_reads.build_more_note(MAX_SUBTASKS, "subtasks", path=TASK.get_op_path("list"))
    if request.args.get("include_project_context"):
        context = _get_project_context(task, request)
        task["project_context"] = context.row
        message += build_cut_note(context, kind=PROJECT, place=" in project_context")
    return replace(outcome, result={"task": task, "message": message})


def check_task(row: Entity, sent: Mapping[str, Any]) -> list[ArgumentError]:
    """Return the errors that no single column can show: those of the parent task and the recurrence."""
    return subtasks.check_parent_task(row, sent) + task_events.check_recurrence_end(row, sent)


def _get_project_context(task: dict[str, Any], request: OpRequest) -> excerpts.Excerpt:
    """Return the context of the task's project, cut to the characters that the task's own texts leave."""
    project = access.get_visible_row(PROJECT, subject=request.subject, id=task["project_id"])
    columns = serialization.serialize_columns(project, kind=PROJECT)
    remaining = generic_reads.get_max_chars(request) - sum(len(task[name] or "") for name in TASK.long_texts)
    return excerpts.truncate_row({name: columns[name] for name in PROJECT_CONTEXT}, kind=PROJECT, max_chars=remaining)
