"""Reading a project's document tree: all or part of it, and the path to one document."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models.functions import Left

from workspace.contract import Outcome, Request
from workspace.kinds import DOCUMENT, PROJECT
from workspace.models import Document, Project
from workspace.services import access, excerpts, pages, rows
from workspace.services.forest import Forest

MOST_NODES = 200
MOST_LEVELS = 20  # the JSON is nested twice as deep, and some parsers limit the depth

NODE = ("title", "type_key", "state_key", "position")  # the columns of a document that a node shows


def get(request: Request) -> Outcome:
    """Return the documents of a project, or those below one document, as nested nodes. Raises NotFound."""
    args, id = request.args, request.args["project_id"]
    version = Project.objects.visible_to(request.subject).filter(pk=id).values_list("tree_version", flat=True).first()
    if version is None:
        raise access.not_found(PROJECT)
    forest = Forest.of(UUID(id))  # read after the version, so that a move in between makes the version stale
    top = UUID(args["document_id"]) if "document_id" in args else None
    if top is not None and top not in forest:
        raise access.not_found(DOCUMENT, place="of this project ")
    levels, limit = min(args.get("depth", MOST_LEVELS), MOST_LEVELS), min(args.get("limit", MOST_NODES), MOST_NODES)
    offset = args.get("offset", 0)
    shown = forest.top(top, levels=levels, limit=limit, offset=offset)
    return Outcome(result=_structure(forest, top, shown, version, offset) | _documents(shown, request))


def path(request: Request) -> Outcome:
    """Return the documents from the root down to the given one. Raises NotFound."""
    id = request.args["document_id"]
    project_id = access.project_of(DOCUMENT, subject=request.subject, id=id)
    found = _path(Forest.of(project_id), UUID(id))
    message = "The document is at the root." if len(found) == 1 else "From the root down to the document itself."
    result = {"path": found, "document_id": found[-1]["id"], "project_id": str(project_id), "message": message}
    return Outcome(result=result, entity_id=found[-1]["id"], entity_name=found[-1]["title"])


def _path(forest: Forest, id: UUID) -> list[dict[str, Any]]:
    way = forest.path(id)
    called = dict(Document.objects.filter(pk__in=way).values_list("pk", "title"))
    return [{"id": str(each), "title": called[each]} for each in way]


def _structure(forest: Forest, top: UUID | None, shown: Sequence[UUID], version: int, offset: int) -> dict[str, Any]:
    nodes, children = _nodes(forest, shown), forest.children(top)
    first = [id for id in children if id in nodes]
    total = sum(1 for _ in forest.below(top))
    before = sum(1 + sum(1 for _ in forest.below(id)) for id in children[:offset])
    has_more = before + len(shown) < total
    until = offset + len(first)
    goes_on = {"next_offset": until} if until < len(children) else {}
    more = " Send a node's id as document_id for the documents below it" if has_more else ""
    more += ", or next_offset as offset for the next ones." if goes_on else "." if has_more else ""
    result: dict[str, Any] = {
        "structure": {"version": version, "root": [nodes[id] for id in first]},
        "total": total,
        "has_more": has_more,
        "message": f"{len(shown)} of {total} documents, siblings in order.{more}",
    }
    return result | goes_on


def _nodes(forest: Forest, shown: Sequence[UUID]) -> dict[UUID, dict[str, Any]]:
    """Return a node for each shown document by id; a node contains its shown children."""
    nodes: dict[UUID, dict[str, Any]] = {}
    said = {row["pk"]: row for row in Document.objects.filter(pk__in=shown).values("pk", *NODE)}
    for id in reversed(shown):
        node = {"id": str(id)} | {name: said[id][name] for name in NODE}
        children = forest.children(id)
        below = [nodes[child] for child in children if child in nodes]
        node |= {"has_children": bool(children)} | ({"child_count": len(children)} if children else {})
        nodes[id] = node | ({"children": below} if below else {})
    return nodes


def _documents(shown: Sequence[UUID], request: Request) -> dict[str, Any]:
    """Return the list rows of the shown documents by id if requested, with their content if that is requested."""
    with_content = request.args.get("include_content", False)
    if not (with_content or request.args.get("include_documents")):
        return {}
    found = DOCUMENT.rows().filter(pk__in=shown)
    read = pages.first(found, listing=pages.Listing.of(DOCUMENT), limit=len(shown))
    listed = {row.pk: rows.abbreviated(row, kind=DOCUMENT, at=request.at) for row in read}
    if with_content:
        texts = found.values_list("pk", Left("content", excerpts.DEFAULT_CHARS))
        _add_content(listed, dict(texts), order=shown)
    return {"documents": {str(id): listed[id] for id in shown if id in listed}}


def _add_content(listed: Mapping[UUID, dict[str, Any]], texts: Mapping[UUID, str], *, order: Sequence[UUID]) -> None:
    """Replace the previews with content, in order, until the character budget for all documents is used up."""
    left = excerpts.DEFAULT_CHARS
    for id in order:
        row, content = listed.get(id, {}), texts.get(id, "")[:left]
        left -= len(content)
        row.pop("content_preview", None)
        row["content"] = content
        if len(content) < row.get("content_length", 0):
            row["truncated"] = {"content": excerpts.cut_off(len(content), row["content_length"])}
