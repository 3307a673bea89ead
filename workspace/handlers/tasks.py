"""What only tasks do."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from workspace.contract import Outcome, Request
from workspace.errors import FieldError, invalid
from workspace.handlers.reads import outcome
from workspace.kinds import TASK
from workspace.models import Project, Task
from workspace.services import access, changes


def create(request: Request) -> Outcome:
    """Add a task to a project. Raises NotFound and Forbidden for the project, Invalid."""
    project = access.changeable_project(subject=request.subject, id=request.args["project_id"])
    task, errors = build(request.args, project=project, by=request.subject, at=request.at)
    if errors:
        raise invalid(errors)
    task.save(force_insert=True)
    return outcome(task, kind=TASK, message="Created the task.")


def build(
    sent: Mapping[str, Any], *, project: Project, by: str, at: datetime, pointer: str = ""
) -> tuple[Task, list[FieldError]]:
    """Return a task of what was sent, not yet saved, and what is wrong with it."""
    task = Task(project=project, created_by=by, created_at=at, updated_at=at)
    task.project_name = project.name
    return task, changes.assign(task, kind=TASK, sent=sent, at=at, pointer=pointer)
