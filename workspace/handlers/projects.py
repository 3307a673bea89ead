"""What only projects do."""

from typing import Any

from workspace.contract import Outcome, Request
from workspace.errors import FieldError, invalid
from workspace.handlers import tasks
from workspace.kinds import PROJECT
from workspace.models import Membership, Project, Role, Task, TaskState
from workspace.services import changes, rows


def create(request: Request) -> Outcome:
    """Make a project with its owner and its first tasks, all or none. Raises Invalid with all that is wrong."""
    project, first_tasks, errors = _build(request)
    if errors:
        raise invalid(errors)
    project.save(force_insert=True)
    Membership.objects.create(project=project, subject=request.subject, role=Role.OWNER, created_at=request.at)
    Task.objects.bulk_create(first_tasks)
    return _created(project, first_tasks)


def _build(request: Request) -> tuple[Project, list[Task], list[FieldError]]:
    sent, entities = request.args["project"], request.args.get("entities", [])
    project = Project(created_by=request.subject, created_at=request.at, updated_at=request.at)
    errors = changes.assign(project, kind=PROJECT, sent=sent, at=request.at, pointer="/project")
    errors += _repeated(entities)
    first_tasks = []
    for index, entity in enumerate(entities):
        task, wrong = tasks.build(
            entity, project=project, by=request.subject, at=request.at, pointer=f"/entities/{index}"
        )
        first_tasks.append(task)
        errors += wrong
    return project, first_tasks, errors


def _repeated(entities: list[dict[str, Any]]) -> list[FieldError]:
    """Refuse every temp_id that stood before: a reference to it would be ambiguous."""
    seen: set[str] = set()
    errors = []
    for index, entity in enumerate(entities):
        if entity["temp_id"] in seen:
            message = "temp_id is used twice; give each of the entities its own."
            errors.append(FieldError(path=f"/entities/{index}/temp_id", code="duplicate", message=message))
        seen.add(entity["temp_id"])
    return errors


def _created(project: Project, first_tasks: list[Task]) -> Outcome:
    project.task_count = len(first_tasks)
    project.done_task_count = sum(task.state_key == TaskState.DONE for task in first_tasks)
    id = str(project.pk)
    shift = {"new_context": "project", "entity_id": id, "entity_name": project.name, "entity_type": "project"}
    result = {
        "project": rows.whole(project, kind=PROJECT),
        "project_id": id,
        "counts": {"tasks": len(first_tasks)},
        "message": f"Created the project with {len(first_tasks)} tasks; you are its owner.",
        "context_shift": shift,
    }
    return Outcome(result=result, entity_id=id, entity_name=project.name)
