"""What only projects do."""

from workspace.contract import Outcome, Request
from workspace.errors import FieldError, invalid
from workspace.handlers import entities
from workspace.kinds import PROJECT
from workspace.models import Membership, Project, Role, TaskState
from workspace.services import changes, rows


def create(request: Request) -> Outcome:
    """Make a project with its owner and its first rows, all or none. Raises Invalid with all that is wrong."""
    project, errors = _build(request)
    sent = request.args.get("entities", [])
    first = entities.build(sent, project=project, by=request.subject, at=request.at)
    if errors := errors + first.errors:
        raise invalid(errors)
    project.save(force_insert=True)
    Membership.objects.create(project=project, subject=request.subject, role=Role.OWNER, created_at=request.at)
    first.save()
    return _created(project, first)


def _build(request: Request) -> tuple[Project, list[FieldError]]:
    project = Project(created_by=request.subject, created_at=request.at, updated_at=request.at)
    sent = request.args["project"]
    return project, changes.assign(project, kind=PROJECT, sent=sent, at=request.at, pointer="/project")


def _created(project: Project, first: entities.Entities) -> Outcome:
    first_tasks = first.rows["task"]
    project.task_count = len(first_tasks)
    project.done_task_count = sum(task.state_key == TaskState.DONE for task in first_tasks)
    id = str(project.pk)
    shift = {"new_context": "project", "entity_id": id, "entity_name": project.name, "entity_type": "project"}
    result = {
        "project": rows.whole(project, kind=PROJECT),
        "project_id": id,
        "counts": first.counts(),
        "message": f"Created the project with {first.told()}; you are its owner.",
        "context_shift": shift,
    }
    return Outcome(result=result, warnings=tuple(first.warnings), entity_id=id, entity_name=project.name)
