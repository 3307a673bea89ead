"""Ops that only projects have."""

from dataclasses import replace
from typing import Any

from django.db.models import Q
from django.utils.text import slugify

from workspace.contract import Outcome, Request
from workspace.errors import FieldError, invalid
from workspace.handlers import entities, overviews, reads, relationships, writes
from workspace.kinds import DOCUMENT, PLAN, PROJECT, TASK, Kind
from workspace.models import Edge, Membership, Project, Role
from workspace.models.document import BRAIN_DUMPS, NOTES
from workspace.services import access, changes, pages, roughly, task_events

LONGEST_SLUG = 80

# Rows that onto.project.get can include, by argument: (key in the result, kind, order, filter, maximum number).
PARTS: dict[str, tuple[str, Kind, str, Q, int]] = {
    "include_phases": ("phases", PLAN, "start_date", Q(), 50),
    "include_tasks": ("tasks", TASK, "priority", Q(), 20),
    "include_notes": ("notes", DOCUMENT, "updated", NOTES, 10),
    "include_brain_dumps": ("brain_dumps", DOCUMENT, "updated", BRAIN_DUMPS, 5),
}


def get(request: Request) -> Outcome:
    """Return the complete project, with abbreviated rows of the requested parts. Raises NotFound."""
    outcome = reads.get_row(request, kind=PROJECT)
    if request.args.get("field") is not None:
        return outcome
    project: dict[str, Any] = dict(outcome.result["project"])
    message = outcome.result["message"]
    for argument, (name, kind, order, which, most) in PARTS.items():
        if request.args.get(argument):
            inside = kind.rows().visible_to(request.subject).filter(which, project=project["id"])
            listing = pages.Listing.of(kind, {"sort_by": order})
            project[name], has_more = pages.beginning(inside, listing=listing, limit=most, at=request.at)
            if has_more:
                message += reads.only_first(most, name.replace("_", " "), path=kind.path("list"))
    return replace(outcome, result={"project": project, "message": message})


def create(request: Request) -> Outcome:
    """Create a project with its owner, its first rows and their edges, all or none.

    If the caller sent clarifications, create nothing and return the questions. Raises Invalid with all errors.
    """
    if questions := request.args.get("clarifications"):
        return _asked(questions)
    by, at = request.subject, request.at
    project, errors = _build(request)
    first = entities.build(request.args.get("entities", []), project=project, by=by, at=at)
    related = relationships.read(request.args.get("relationships", []), first.rows)
    overview = overviews.build(request.args.get("context_document"), first, project=project, by=by, at=at)
    if errors := errors + first.errors + related.errors + overview.errors:
        raise invalid(errors)
    made = [*relationships.build(related, first.rows, by=by, at=at), overview.edge]
    project.save(force_insert=True)
    Membership.objects.create(project=project, subject=by, role=Role.OWNER, created_at=at)
    first.save()
    task_events.add(first.of(TASK), by=by, at=at)
    overview.document.save(force_insert=True)
    Edge.objects.bulk_create(made)
    counts = {kind.plural: len(first.of(kind)) + (kind is DOCUMENT) for kind in entities.KINDS.values()}
    created = _created(request, project, counts | {"edges": len(made)})
    return replace(created, warnings=(*first.warnings, *overview.warnings, *related.warnings))


def delete(request: Request) -> Outcome:
    """Mark the project as deleted, which hides everything in it from all ops. Raises NotFound, Forbidden."""
    project = access.deletable_project(subject=request.subject, id=request.args["project_id"])
    message = "Deleted the project; ops no longer find it or anything in it, for any member."
    return writes.deleted(project, kind=PROJECT, at=request.at, message=message)


def _asked(questions: list[dict[str, Any]]) -> Outcome:
    number = "the question" if len(questions) == 1 else f"the {len(questions)} questions"
    message = (
        f"Nothing was created. Ask the user {number} in clarifications, then repeat the whole call with the answers "
        "and without clarifications."
    )
    return Outcome(result={"project_id": None, "counts": {}, "clarifications": questions, "message": message})


def _build(request: Request) -> tuple[Project, list[FieldError]]:
    project = Project(created_by=request.subject, created_at=request.at, updated_at=request.at)
    sent, late = roughly.spelt_out(request.args["project"], kind=PROJECT, pointer="/project")
    slug = slugify(sent["name"].replace("_", " "))[:LONGEST_SLUG].strip("-")
    return project, late + changes.assign(
        project, kind=PROJECT, sent={"slug": slug} | sent, at=request.at, pointer="/project"
    )


def _created(request: Request, project: Project, counts: dict[str, int]) -> Outcome:
    id = str(project.pk)
    row = access.visible_row(PROJECT, subject=request.subject, id=id)  # read again for the counts of its rows
    made = reads.outcome(
        row, kind=PROJECT, at=request.at, message=f"Created the project with {_told(counts)}; you are its owner."
    )
    more = {
        "project_id": id,
        "counts": counts,
        "context_shift": {
            "new_context": "project",
            "entity_id": id,
            "entity_name": project.name,
            "entity_type": "project",
        },
    }
    return replace(made, result=made.result | more)


def _told(counts: dict[str, int]) -> str:
    """Return the counts in words, such as "2 tasks and 1 document"."""
    one = {kind.plural: kind.name for kind in entities.KINDS.values()} | {"edges": "edge"}
    told = [f"{number} {one[many] if number == 1 else many}" for many, number in counts.items() if number]
    return " and ".join(filter(None, [", ".join(told[:-1]), told[-1]]))
