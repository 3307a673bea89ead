"""The documents of a task, linked to it by `task_has_document` edges."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from core.handler_contract import ArgumentError, OpOutcome, OpRequest, build_invalid_args
from workspace.entity_types import DOCUMENT, TASK
from workspace.handlers.documents import documents
from workspace.models import Document, Edge, EdgeKind, Entity, Task
from workspace.relations import Rel, Relation
from workspace.services import access
from workspace.services.access import NamedRow
from workspace.services.edges import edges
from workspace.services.entities import pagination, serialization

MAX_DOCUMENTS = 50  # documents of a task

SCRATCH_ROLE = "scratch"  # the role of the one document that holds working notes
DEFAULT_ROLE = "deliverable"
DEFAULT_TYPE = "document.task.scratch"
MAX_NAME_LENGTH = 280  # characters of the task's title in the document's title

TASK_HAS_DOCUMENT = Relation(EdgeKind.TASK, Rel.TASK_HAS_DOCUMENT, EdgeKind.DOCUMENT)
CONTENT_FIELDS = ("title", "content", "description")  # a new document needs at least one of them
NEW_DOCUMENT_FIELDS = ("title", "description", "content", "type_key", "state_key", "props")  # only for a new document


def list_documents(request: OpRequest) -> OpOutcome:
    """Return the documents of a task in the order they were attached, and its scratch pad. Raises NotFound."""
    id, subject = UUID(request.args["task_id"]), request.subject
    access.require_row(TASK, subject=subject, id=str(id), argument=TASK.id_argument)
    queryset = edges.list_edges(id, edges.OUTGOING, subject=subject).filter(rel=Rel.TASK_HAS_DOCUMENT)
    page = list(queryset[:MAX_DOCUMENTS])
    total = len(page) if len(page) < MAX_DOCUMENTS else queryset.count()
    by_id = _list_documents_by_id([edge.dst_id for edge in page], subject=subject, at=request.at)
    entries = [{"document": by_id[edge.dst_id], "edge": _serialize_edge(edge)} for edge in page if edge.dst_id in by_id]
    result = {
        "documents": entries,
        "scratch_pad": next((each for each in entries if each["edge"]["role"] == SCRATCH_ROLE), None),
        "total": total,
        "has_more": total > len(entries),
        "message": f"{len(entries)} of {total} documents of this task, in the order they were attached. "
        "onto.document.get returns the content.",
    }
    return OpOutcome(result=result)


def create_or_attach_document(request: OpRequest) -> OpOutcome:
    """Attach the named document, or else a new one, to a task. Raises NotFound, Forbidden, InvalidArgs."""
    task = cast("Task", access.lock_changeable_row(TASK, subject=request.subject, id=request.args["task_id"]))
    if request.args.keys().isdisjoint(("document_id", *CONTENT_FIELDS)):
        message = "Send document_id to attach an existing document, or title, content or description for a new one."
        raise build_invalid_args([ArgumentError(path="", code="no_document", message=message)])
    return _attach_document(request, task) if "document_id" in request.args else _create_document(request, task)


def _create_document(request: OpRequest, task: Task) -> OpOutcome:
    fields = {name: request.args[name] for name in NEW_DOCUMENT_FIELDS if name in request.args}
    defaults = {"project_id": str(task.project_id), "title": f"{task.title[:MAX_NAME_LENGTH]} Document"}
    outcome = documents.create_document(replace(request, args={**defaults, "type_key": DEFAULT_TYPE, **fields}))
    document = Document.objects.get(pk=outcome.result["document"]["id"])
    edge, _ = edges.link_edge(_build_edge(request, task, document))
    result = {
        "document": outcome.result["document"],
        "edge": _serialize_edge(edge),
        "message": "Created the document and attached it to the task.",
    }
    return _build_outcome(task, result, outcome.warnings)


def _attach_document(request: OpRequest, task: Task) -> OpOutcome:
    if errors := list(_check_no_new_fields(request.args)):
        raise build_invalid_args(errors)
    reference = NamedRow(DOCUMENT.name, UUID(request.args["document_id"]), DOCUMENT.id_argument)
    [document] = access.lock_named_rows([reference], subject=request.subject, project_id=task.project_id)
    edge, is_new = edges.link_edge(_build_edge(request, task, document))
    changed = is_new or _set_role(edge, request.args.get("role"))
    result = {
        "document": _list_documents_by_id([document.pk], subject=request.subject, at=request.at)[document.pk],
        "edge": _serialize_edge(edge),
        "message": "Attached the document to the task." if is_new else _build_attached_message(changed),
    }
    return _build_outcome(task, result, () if changed else ("unchanged",))


def _build_outcome(task: Task, result: dict[str, Any], warnings: tuple[str, ...]) -> OpOutcome:
    return OpOutcome(result=result, warnings=warnings, entity_id=str(task.pk), entity_name=task.title)


def _build_attached_message(changed: bool) -> str:
    return "Already attached; changed its role." if changed else "Nothing changed: it was already attached."


def _set_role(edge: Edge, role: str | None) -> bool:
    if role is None or edge.props.get("role") == role:
        return False
    edge.props = edge.props | {"role": role}
    edge.save(update_fields=["props"])
    return True


def _check_no_new_fields(args: Mapping[str, Any]) -> Iterator[ArgumentError]:
    for name in NEW_DOCUMENT_FIELDS:
        if name in args:
            message = f"{name} is only for a new document; leave it out, or change this one with onto.document.update."
            yield ArgumentError(path=f"/{name}", code="not_with_document_id", message=message, leave_out=name)


def _build_edge(request: OpRequest, task: Task, document: Entity) -> Edge:
    props = {"role": request.args.get("role", DEFAULT_ROLE)}
    return edges.build_edge(TASK_HAS_DOCUMENT, task, document, by=request.subject, at=request.at, props=props)


def _serialize_edge(edge: Edge) -> dict[str, Any]:
    """Return the fields of an edge that concern its document."""
    fields = edges.serialize_edge(edge)
    return {"id": fields["id"], "role": edge.props.get("role", DEFAULT_ROLE), "created_at": fields["created_at"]}


def _list_documents_by_id(ids: list[UUID], *, subject: str, at: datetime) -> dict[UUID, dict[str, Any]]:
    """Return the visible documents in list form, by id."""
    queryset = DOCUMENT.get_rows().visible_to(subject).filter(pk__in=ids)
    document_rows = pagination.list_first(queryset, listing=pagination.Listing.from_args(DOCUMENT), limit=len(ids))
    return {row.pk: serialization.serialize_list_row(row, kind=DOCUMENT, at=at) for row in document_rows}
