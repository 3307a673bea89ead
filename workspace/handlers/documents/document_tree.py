"""The tree of documents: read it, and move documents in it."""

from collections.abc import Mapping, Sequence
from typing import Any, cast
from uuid import UUID

from django.db.models.functions import Left

from core.handler_contract import ArgumentError, InvalidArgs, OpOutcome, OpRequest, StateConflict, build_invalid_args
from workspace.entity_types import DOCUMENT, PROJECT
from workspace.handlers.generic.generic_writes import UNCHANGED
from workspace.models import Document, Project
from workspace.services import access
from workspace.services.documents import outline, tree
from workspace.services.documents.tree import DocumentForest
from workspace.services.entities import pagination, serialization
from workspace.services.search import title_lookup
from workspace.services.search.title_lookup import TitledRow

MAX_NODES = 200
MAX_LEVELS = 20  # the JSON is nested twice as deep, and some parsers limit the depth
NODE_COLUMNS = ("title", "type_key", "state_key", "position")  # the columns of a document that a node shows


def get_tree(request: OpRequest) -> OpOutcome:
    """Return the documents of a project, or those below one document, as nested nodes. Raises NotFound."""
    args, id = request.args, request.args["project_id"]
    version = Project.objects.visible_to(request.subject).filter(pk=id).values_list("tree_version", flat=True).first()
    if version is None:
        raise access.build_not_found(PROJECT)
    forest = DocumentForest.load(UUID(id))  # read after the version, so that a move in between makes the version stale
    parent_id = UUID(args["document_id"]) if "document_id" in args else None
    if parent_id is not None and parent_id not in forest:
        raise access.build_not_found(DOCUMENT, place="of this project ")
    levels, limit = min(args.get("depth", MAX_LEVELS), MAX_LEVELS), min(args.get("limit", MAX_NODES), MAX_NODES)
    offset = args.get("offset", 0)
    node_ids = forest.list_descendants(parent_id, levels=levels, limit=limit, offset=offset)
    return OpOutcome(
        result=_build_structure(forest, parent_id, node_ids, version, offset) | _list_documents(node_ids, request)
    )


def get_path(request: OpRequest) -> OpOutcome:
    """Return the documents from the root down to the given one. Raises NotFound."""
    id = request.args["document_id"]
    project_id = access.get_project_id(DOCUMENT, subject=request.subject, id=id)
    nodes = _describe_path(DocumentForest.load(project_id), UUID(id))
    message = "The document is at the root." if len(nodes) == 1 else "From the root down to the document itself."
    result = {"path": nodes, "document_id": nodes[-1]["id"], "project_id": str(project_id), "message": message}
    return OpOutcome(result=result, entity_id=nodes[-1]["id"], entity_name=nodes[-1]["title"])


def _describe_path(forest: DocumentForest, id: UUID) -> list[dict[str, Any]]:
    path_ids = forest.get_path(id)
    titles = dict(Document.objects.filter(pk__in=path_ids).values_list("pk", "title"))
    return [{"id": str(each), "title": titles[each]} for each in path_ids]


def _build_structure(
    forest: DocumentForest, parent_id: UUID | None, node_ids: Sequence[UUID], version: int, offset: int
) -> dict[str, Any]:
    nodes, children = _build_nodes(forest, node_ids), forest.get_children(parent_id)
    root_ids = [id for id in children if id in nodes]
    total = sum(1 for _ in forest.iter_descendants(parent_id))
    skipped_count = sum(1 + sum(1 for _ in forest.iter_descendants(id)) for id in children[:offset])
    has_more = skipped_count + len(node_ids) < total
    next_offset = offset + len(root_ids)
    next_page = {"next_offset": next_offset} if next_offset < len(children) else {}
    hint = " Send a node's id as document_id for the documents below it" if has_more else ""
    hint += ", or next_offset as offset for the next ones." if next_page else "." if has_more else ""
    result: dict[str, Any] = {
        "structure": {"version": version, "root": [nodes[id] for id in root_ids]},
        "total": total,
        "has_more": has_more,
        "message": f"{len(node_ids)} of {total} documents, siblings in order.{hint}",
    }
    return result | next_page


def _build_nodes(forest: DocumentForest, node_ids: Sequence[UUID]) -> dict[UUID, dict[str, Any]]:
    """Return a node for each shown document by id; a node contains its shown children."""
    nodes: dict[UUID, dict[str, Any]] = {}
    columns_by_id = {row["pk"]: row for row in Document.objects.filter(pk__in=node_ids).values("pk", *NODE_COLUMNS)}
    for id in reversed(node_ids):
        node = {"id": str(id)} | {name: columns_by_id[id][name] for name in NODE_COLUMNS}
        children = forest.get_children(id)
        child_nodes = [nodes[child] for child in children if child in nodes]
        node |= {"has_children": bool(children)} | ({"child_count": len(children)} if children else {})
        nodes[id] = node | ({"children": child_nodes} if child_nodes else {})
    return nodes


def _list_documents(node_ids: Sequence[UUID], request: OpRequest) -> dict[str, Any]:
    """Return the list rows of the shown documents by id if requested, with their content if that is requested."""
    with_content = request.args.get("include_content", False)
    if not (with_content or request.args.get("include_documents")):
        return {}
    queryset = DOCUMENT.get_rows().filter(pk__in=node_ids)
    document_rows = pagination.list_first(queryset, listing=pagination.Listing.from_args(DOCUMENT), limit=len(node_ids))
    rows_by_id = {row.pk: serialization.serialize_list_row(row, kind=DOCUMENT, at=request.at) for row in document_rows}
    documents_by_id = {id: serialization.leave_out(row, serialization.PROJECT_FIELDS) for id, row in rows_by_id.items()}
    if with_content:
        texts = queryset.values_list("pk", Left("content", outline.DEFAULT_CHARS))
        _add_content(documents_by_id, dict(texts), order=node_ids)
    return {"documents": {str(id): documents_by_id[id] for id in node_ids if id in documents_by_id}}


def _add_content(
    documents_by_id: Mapping[UUID, dict[str, Any]], texts: Mapping[UUID, str], *, order: Sequence[UUID]
) -> None:
    """Replace the previews with content, in order, until the character budget for all documents is used up."""
    remaining = outline.DEFAULT_CHARS
    for id in order:
        row, content = documents_by_id.get(id, {}), texts.get(id, "")[:remaining]
        remaining -= len(content)
        row.pop("content_preview", None)
        row["content"] = content
        if len(content) < row.get("content_length", 0):
            row["truncated"] = {"content": outline.build_truncated_entry(len(content), row["content_length"])}


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

    The caller must hold the lock on the project's tree, so that the parent cannot be deleted at the same time. Raises
    NotFound, InvalidArgs.
    """
    id, title = request.args.get(id_argument), request.args.get(title_argument)
    if id is not None:
        if not tree.has_document(project, id):
            raise access.build_not_found(DOCUMENT, argument=id_argument, place="of this project ")
        return UUID(id), () if title is None else (f"Ignored {title_argument}: {id_argument} was also sent.",)
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
