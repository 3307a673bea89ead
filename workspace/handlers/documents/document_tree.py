"""Reading a project's document tree: all or part of it, and the path to one document."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models.functions import Left

from workspace.contract import OpOutcome, OpRequest
from workspace.entity_types import DOCUMENT, PROJECT
from workspace.models import Document, Project
from workspace.services.access import access
from workspace.services.documents import excerpts
from workspace.services.documents.document_forest import DocumentForest
from workspace.services.entities import pagination, serialization

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
        texts = queryset.values_list("pk", Left("content", excerpts.DEFAULT_CHARS))
        _add_content(documents_by_id, dict(texts), order=node_ids)
    return {"documents": {str(id): documents_by_id[id] for id in node_ids if id in documents_by_id}}


def _add_content(
    documents_by_id: Mapping[UUID, dict[str, Any]], texts: Mapping[UUID, str], *, order: Sequence[UUID]
) -> None:
    """Replace the previews with content, in order, until the character budget for all documents is used up."""
    remaining = excerpts.DEFAULT_CHARS
    for id in order:
        row, content = documents_by_id.get(id, {}), texts.get(id, "")[:remaining]
        remaining -= len(content)
        row.pop("content_preview", None)
        row["content"] = content
        if len(content) < row.get("content_length", 0):
            row["truncated"] = {"content": excerpts.build_truncated_entry(len(content), row["content_length"])}
