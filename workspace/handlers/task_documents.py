"""The documents of a task, linked to it by `task_has_document` edges."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from workspace.contract import Outcome, Request
from workspace.errors import FieldError, invalid
from workspace.handlers import documents
from workspace.kinds import DOCUMENT, TASK
from workspace.models import Document, Edge, EdgeKind, Entity, Task
from workspace.relations import Rel, Relation
from workspace.services import access, edges, pages, rows
from workspace.services.access import Named

MOST = 50  # documents of a task

SCRATCH = "scratch"  # the role of the one document that holds working notes
DEFAULT_ROLE = "deliverable"
DEFAULT_TYPE = "document.task.scratch"
LONGEST_NAME = 280  # characters of the task's title in the document's title

JOINED = Relation(EdgeKind.TASK, Rel.TASK_HAS_DOCUMENT, EdgeKind.DOCUMENT)
SAYING = ("title", "content", "description")  # a new document needs at least one of them
NEW_ONLY = ("title", "description", "content", "type_key", "state_key", "props")  # only for a new document


def list_documents(request: Request) -> Outcome:
    """Return the documents of a task in the order they were attached, and its scratch pad. Raises NotFound."""
    id, subject = UUID(request.args["task_id"]), request.subject
    access.require_row(TASK, subject=subject, id=str(id), argument=TASK.id_argument)
    found = edges.around(id, edges.OUTGOING, subject=subject).filter(rel=Rel.TASK_HAS_DOCUMENT)
    shown = list(found[:MOST])
    total = len(shown) if len(shown) < MOST else found.count()
    by_id = _abbreviated([edge.dst_id for edge in shown], subject=subject, at=request.at)
    listed = [{"document": by_id[edge.dst_id], "edge": _told(edge)} for edge in shown if edge.dst_id in by_id]
    result = {
        "documents": listed,
        "scratch_pad": next((each for each in listed if each["edge"]["role"] == SCRATCH), None),
        "total": total,
        "has_more": total > len(listed),
        "message": f"{len(listed)} of {total} documents of this task, in the order they were attached. "
        "onto.document.get returns the content.",
    }
    return Outcome(result=result)


def create_or_attach(request: Request) -> Outcome:
    """Attach the named document, or else a new one, to a task. Raises NotFound, Forbidden, Invalid."""
    task = cast("Task", access.changeable_row(TASK, subject=request.subject, id=request.args["task_id"]))
    if request.args.keys().isdisjoint(("document_id", *SAYING)):
        message = "Send document_id to attach an existing document, or title, content or description for a new one."
        raise invalid([FieldError(path="", code="no_document", message=message)])
    return _attach(request, task) if "document_id" in request.args else _create(request, task)


def _create(request: Request, task: Task) -> Outcome:
    given = {name: request.args[name] for name in NEW_ONLY if name in request.args}
    named = {"project_id": str(task.project_id), "title": f"{task.title[:LONGEST_NAME]} Document"}
    made = documents.create(replace(request, args={**named, "type_key": DEFAULT_TYPE, **given}))
    document = Document.objects.get(pk=made.result["document"]["id"])
    edge, _ = edges.link(_edge(request, task, document))
    result = {
        "document": made.result["document"],
        "edge": _told(edge),
        "message": "Created the document and attached it to the task.",
    }
    return _answer(task, result, made.warnings)


def _attach(request: Request, task: Task) -> Outcome:
    if errors := list(_out_of_place(request.args)):
        raise invalid(errors)
    named = Named(DOCUMENT.name, UUID(request.args["document_id"]), DOCUMENT.id_argument)
    [document] = access.named_rows([named], subject=request.subject, project_id=task.project_id)
    edge, is_new = edges.link(_edge(request, task, document))
    changed = is_new or _set_role(edge, request.args.get("role"))
    result = {
        "document": _abbreviated([document.pk], subject=request.subject, at=request.at)[document.pk],
        "edge": _told(edge),
        "message": "Attached the document to the task." if is_new else _already(changed),
    }
    return _answer(task, result, () if changed else ("unchanged",))


def _answer(task: Task, result: dict[str, Any], warnings: tuple[str, ...]) -> Outcome:
    return Outcome(result=result, warnings=warnings, entity_id=str(task.pk), entity_name=task.title)


def _already(changed: bool) -> str:
    return "Already attached; changed its role." if changed else "Nothing changed: it was already attached."


def _set_role(edge: Edge, role: str | None) -> bool:
    if role is None or edge.props.get("role") == role:
        return False
    edge.props = edge.props | {"role": role}
    edge.save(update_fields=["props"])
    return True


def _out_of_place(args: Mapping[str, Any]) -> Iterator[FieldError]:
    for name in NEW_ONLY:
        if name in args:
            message = f"{name} is only for a new document; leave it out, or change this one with onto.document.update."
            yield FieldError(path=f"/{name}", code="not_with_document_id", message=message)


def _edge(request: Request, task: Task, document: Entity) -> Edge:
    props = {"role": request.args.get("role", DEFAULT_ROLE)}
    return edges.build(JOINED, task, document, by=request.subject, at=request.at, props=props)


def _told(edge: Edge) -> dict[str, Any]:
    """Return the fields of an edge that concern its document."""
    told = edges.told(edge)
    return {"id": told["id"], "role": edge.props.get("role", DEFAULT_ROLE), "created_at": told["created_at"]}


def _abbreviated(ids: list[UUID], *, subject: str, at: datetime) -> dict[UUID, dict[str, Any]]:
    """Return the visible documents in list form, by id."""
    found = DOCUMENT.rows().visible_to(subject).filter(pk__in=ids)
    listed = pages.first(found, listing=pages.Listing.of(DOCUMENT), limit=len(ids))
    return {row.pk: rows.abbreviated(row, kind=DOCUMENT, at=at) for row in listed}
