"""Where documents are put in the tree of their project: the parent that a call names, and moving one."""

from collections.abc import Mapping
from typing import Any, cast
from uuid import UUID

from workspace.contract import Outcome, Request
from workspace.errors import Conflict, FieldError, Invalid, invalid
from workspace.handlers.writes import UNCHANGED
from workspace.kinds import DOCUMENT
from workspace.models import Document, Project
from workspace.services import access, titles, tree
from workspace.services.forest import Forest
from workspace.services.titles import Titled


def move(request: Request) -> Outcome:
    """Put a document, with all under it, elsewhere in its project's tree.

    Raises NotFound and Forbidden for the document, NotFound for its new parent, Conflict where the tree is not of the
    version that the caller expects, Invalid.
    """
    document, project = held(request)
    _check_project(request.args, project)
    _check_version(request.args, project)
    parent_id, warnings = parent(request, project, id_argument="new_parent_id", title_argument="new_parent_title")
    forest = Forest.of(project.pk)
    if parent_id is not None and document.pk in forest.path(parent_id):
        raise _circle(request.args)
    position = request.args.get("new_position", 0)
    is_change = tree.move(document, project, parent_id=parent_id, position=position, at=request.at)
    return Outcome(
        result=_moved(document, project, forest, is_change=is_change),
        warnings=warnings if is_change else (*warnings, UNCHANGED),
        entity_id=str(document.pk),
        entity_name=document.title,
    )


def held(request: Request) -> tuple[Document, Project]:
    """Return the document that a call is to place or take away and its project, both as they stay while it runs.

    Raises NotFound, Forbidden.
    """
    id, subject = request.args["document_id"], request.subject
    project = tree.hold(access.project_of(DOCUMENT, subject=subject, id=id))
    return cast("Document", access.unlocked_row(DOCUMENT, subject=subject, id=id)), project


def parent(
    request: Request, project: Project, *, id_argument: str, title_argument: str
) -> tuple[UUID | None, tuple[str, ...]]:
    """Return the parent that a call names by its id or its title, None for none, and a sentence where it names both.

    The caller holds the project, so that the parent is still there when something is put under it. Raises NotFound,
    Invalid.
    """
    id, title = request.args.get(id_argument), request.args.get(title_argument)
    if id is not None:
        if not tree.holds(project, id):
            raise access.not_found(DOCUMENT, argument=id_argument, place="of this project ")
        return UUID(id), () if title is None else (f"Ignored {title_argument}, for {id_argument} was sent too.",)
    if title is None:
        return None, ()
    named = Titled(DOCUMENT.name, title, title_argument, id_argument)
    [found] = titles.ids([named], subject=request.subject, project_id=project.pk)
    if isinstance(found, FieldError):
        raise invalid([found])
    return found, ()


def _check_project(args: Mapping[str, Any], project: Project) -> None:
    if "project_id" in args and UUID(args["project_id"]) != project.pk:
        message = f"project_id is not the document's project, which a document never leaves; send {project.pk}."
        raise invalid([FieldError(path="/project_id", code="other_project", message=message)])


def _check_version(args: Mapping[str, Any], project: Project) -> None:
    if "expected_version" in args and args["expected_version"] != project.tree_version:
        message = (
            f"The tree is not of expected_version any more but of version {project.tree_version}; read it with "
            "onto.document.tree.get and decide again."
        )
        raise Conflict(message, reason="stale_version")


def _circle(args: Mapping[str, Any]) -> Invalid:
    name = "new_parent_id" if args.get("new_parent_id") is not None else "new_parent_title"
    message = f"{name} names the document itself or one below it; send another, or null for the root."
    return invalid([FieldError(path=f"/{name}", code="circle", message=message)])


def _moved(document: Document, project: Project, forest: Forest, *, is_change: bool) -> dict[str, Any]:
    """Return what a move answers; the forest is as it was before."""
    number = sum(1 for _ in forest.below(document.pk))
    siblings = {*forest.children(document.parent_id), document.pk}
    with_them = f" with {number} below it" if number else ""
    where = "at the root" if document.parent_id is None else "under its parent"
    place = f"position {document.position} of {len(siblings)} {where}"
    return {
        "document": {
            "id": str(document.pk),
            "title": document.title,
            "parent_id": document.parent_id and str(document.parent_id),
            "position": document.position,
        },
        "structure": {"version": project.tree_version},
        "message": f"Moved the document{with_them} to {place}." if is_change else f"Nothing changed: it is at {place}.",
    }
