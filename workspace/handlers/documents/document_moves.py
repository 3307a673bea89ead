"""Positions in the document tree: moving a document, and finding the parent that a call names."""

from collections.abc import Mapping
from typing import Any, cast
from uuid import UUID

from workspace.contract import OpOutcome, OpRequest
from workspace.entity_types import DOCUMENT
from workspace.errors import ArgumentError, InvalidArgs, StateConflict, build_invalid_args
from workspace.handlers.generic.generic_writes import UNCHANGED
from workspace.models import Document, Project
from workspace.services.access import access
from workspace.services.documents import tree
from workspace.services.documents.document_forest import DocumentForest
from workspace.services.search import title_lookup
from workspace.services.search.title_lookup import TitledRow


def move_document(request: OpRequest) -> OpOutcome:
    """Move a document and everything below it within its project's tree.

    Raises NotFound and Forbidden for the document, NotFound for its new parent, StateConflict if the tree's version is
    not the one that the caller expects, InvalidArgs.
    """
    document, project = lock_document(request)
    _check_project(request.args, project)
    _check_version(request.args, project)
    parent_id, warnings = find_parent(request, project, id_argument="new_parent_id", title_argument="new_parent_title")
    forest = DocumentForest.load(project.pk)
    if parent_id is not None and document.pk in forest.get_path(parent_id):
        raise _build_cycle_error(request.args)
    position = request.args.get("new_position", 0)
    is_change = tree.move_document(document, project, parent_id=parent_id, position=position, at=request.at)
    return OpOutcome(
        result=_build_move_result(document, project, forest, is_change=is_change),
        warnings=warnings if is_change else (*warnings, UNCHANGED),
        entity_id=str(document.pk),
        entity_name=document.title,
    )


def lock_document(request: OpRequest) -> tuple[Document, Project]:
    """Lock the tree of the document's project; return the document and the project.

    Neither can change until the transaction ends. Raises NotFound, Forbidden.
    """
    id, subject = request.args["document_id"], request.subject
    project = tree.lock_tree(access.get_project_id(DOCUMENT, subject=subject, id=id))
    return cast("Document", access.get_changeable_row(DOCUMENT, subject=subject, id=id)), project


def find_parent(
    request: OpRequest, project: Project, *, id_argument: str, title_argument: str
) -> tuple[UUID | None, tuple[str, ...]]:
    """Return the id of the parent that a call names by id or by title (None for none), and the warnings.

    The caller must hold the lock on the project's tree, so that the parent cannot be deleted meanwhile. Raises
    NotFound, InvalidArgs.
    """
    id, title = request.args.get(id_argument), request.args.get(title_argument)
    if id is not None:
        if not tree.has_document(project, id):
            raise access.build_not_found(DOCUMENT, argument=id_argument, place="of this project ")
        return UUID(id), () if title is None else (f"Ignored {title_argument}: {id_argument} was sent too.",)
    if title is None:
        return None, ()
    lookup = TitledRow(DOCUMENT.name, title, title_argument, id_argument)
    [id_or_error] = title_lookup.find_ids([lookup], subject=request.subject, project_id=project.pk)
    if isinstance(id_or_error, ArgumentError):
        raise build_invalid_args([id_or_error])
    return id_or_error, ()


def _check_project(args: Mapping[str, Any], project: Project) -> None:
    if "project_id" in args and UUID(args["project_id"]) != project.pk:
        message = f"project_id is not the document's project; a document cannot change projects. Send {project.pk}."
        raise build_invalid_args([ArgumentError(path="/project_id", code="other_project", message=message)])


def _check_version(args: Mapping[str, Any], project: Project) -> None:
    if "expected_version" in args and args["expected_version"] != project.tree_version:
        message = (
            f"The tree has changed: it is now version {project.tree_version}, not expected_version. Read it with "
            "onto.document.tree.get and decide again."
        )
        raise StateConflict(message, reason="stale_version")


def _build_cycle_error(args: Mapping[str, Any]) -> InvalidArgs:
    name = "new_parent_id" if args.get("new_parent_id") is not None else "new_parent_title"
    message = f"{name} is the document itself or one below it; send another, or null for the root."
    return build_invalid_args([ArgumentError(path=f"/{name}", code="circle", message=message)])


def _build_move_result(
    document: Document, project: Project, forest: DocumentForest, *, is_change: bool
) -> dict[str, Any]:
    """Return the result of a move. `forest` is the tree as it was before the move."""
    below_count = sum(1 for _ in forest.iter_descendants(document.pk))
    siblings = {*forest.get_children(document.parent_id), document.pk}
    below_note = f" with {below_count} below it" if below_count else ""
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
            f"Moved the document{below_note} to {place}."
            if is_change
            else f"Nothing changed: it is already at {place}."
        ),
    }
