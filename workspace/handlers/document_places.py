"""Positions in the document tree: moving a document, and finding the parent that a call names."""

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
    """Move a document and everything below it within its project's tree.

    Raises NotFound and Forbidden for the document, NotFound for its new parent, Conflict if the tree's version is not
    the one that the caller expects, Invalid.
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
    """Lock the tree of the document's project; return the document and the project.

    Neither can change until the transaction ends. Raises NotFound, Forbidden.
    """
    id, subject = request.args["document_id"], request.subject
    project = tree.hold(access.project_of(DOCUMENT, subject=subject, id=id))
    return cast("Document", access.unlocked_row(DOCUMENT, subject=subject, id=id)), project


def parent(
    request: Request, project: Project, *, id_argument: str, title_argument: str
) -> tuple[UUID | None, tuple[str, ...]]:
    """Return the id of the parent that a call names by id or by title (None for none), and the warnings.

    The caller must hold the lock on the project's tree, so that the parent cannot be deleted meanwhile. Raises
    NotFound, Invalid.
    """
    id, title = request.args.get(id_argument), request.args.get(title_argument)
    if id is not None:
        if not tree.holds(project, id):
            raise access.not_found(DOCUMENT, argument=id_argument, place="of this project ")
        return UUID(id), () if title is None else (f"Ignored {title_argument}: {id_argument} was sent too.",)
    if title is None:
        return None, ()
    named = Titled(DOCUMENT.name, title, title_argument, id_argument)
    [found] = titles.ids([named], subject=request.subject, project_id=project.pk)
    if isinstance(found, FieldError):
        raise invalid([found])
    return found, ()


def _check_project(args: Mapping[str, Any], project: Project) -> None:
    if "project_id" in args and UUID(args["project_id"]) != project.pk:
        message = f"project_id is not the document's project; a document cannot change projects. Send {project.pk}."
        raise invalid([FieldError(path="/project_id", code="other_project", message=message)])


def _check_version(args: Mapping[str, Any], project: Project) -> None:
    if "expected_version" in args and args["expected_version"] != project.tree_version:
        message = (
            f"The tree has changed: it is now version {project.tree_version}, not expected_version. Read it with "
            "onto.document.tree.get and decide again."
        )
        raise Conflict(message, reason="stale_version")


def _circle(args: Mapping[str, Any]) -> Invalid:
    name = "new_parent_id" if args.get("new_parent_id") is not None else "new_parent_title"
    message = f"{name} is the document itself or one below it; send another, or null for the root."
    return invalid([FieldError(path=f"/{name}", code="circle", message=message)])


def _moved(document: Document, project: Project, forest: Forest, *, is_change: bool) -> dict[str, Any]:
    """Return the result of a move. `forest` is the tree as it was before the move."""
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
        "message": (
            f"Moved the document{with_them} to {place}." if is_change else f"Nothing changed: it is already at {place}."
        ),
    }
