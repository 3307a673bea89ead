"""Ops on edges: link two rows, remove a link."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db.models import Q

from core.handler_contract import ArgumentError, InvalidArgs, NotFound, OpOutcome, OpRequest, build_invalid_args
from workspace import relations
from workspace.entity_types import ENTITY_TYPE_BY_NAME
from workspace.models import Edge, EdgeKind
from workspace.relations import Relation
from workspace.services import access
from workspace.services.access import NamedRow
from workspace.services.edges import edges
from workspace.services.entities.serialization import quote_name
from workspace.services.search import row_finder, title_lookup
from workspace.services.search.title_lookup import TitledRow

ENDS = ("src", "dst")
MAX_LINKS = 10  # between two rows, that an error lists
UNKNOWN_ORDER = (
    "rel is not a relation between rows of one kind; send depends_on if src waits for dst, blocks if dst waits for "
    "src,"
    "contains, or references."
)
CIRCLE = "These rows now wait for each other in a circle; remove one of the links with onto.edge.unlink."


def link_rows(request: OpRequest) -> OpOutcome:
    """Link two rows of one project. Returns the existing edge if they are already linked that way.

    Raises NotFound, Forbidden, InvalidArgs.
    """
    args = request.args
    ends, title_warnings = _parse_ends(request)
    if ends[0].id == ends[1].id:
        raise _build_argument_error(
            "dst_id", "self_edge", "src and dst are the same row; send another row's id as dst_id."
        )
    try:
        src, dst = access.lock_named_rows(ends, subject=request.subject)
    except NotFound:
        if errors := row_finder.find_wrong_kinds(ends, subject=request.subject):
            raise build_invalid_args(errors) from None
        raise
    if (
        relations.normalise_name(args["rel"]) in relations.SUBTASK_WORDS
        and ends[0].kind == ends[1].kind == EdgeKind.TASK
    ):
        message = "rel: a subtask is not linked by an edge; send parent_task_id with onto.task.update."
        raise _build_argument_error("rel", "subtask", message)
    relation = relations.resolve_relation(EdgeKind(ends[0].kind), args["rel"], EdgeKind(ends[1].kind))
    if relation.is_guess and relation.src_kind == relation.dst_kind:
        raise _build_argument_error("rel", "unknown_relation", UNKNOWN_ORDER)
    props = args.get("props", {}) | ({edges.ORIGINAL_REL: args["rel"]} if relation.is_guess else {})
    if edges.get_project_id(src) != edges.get_project_id(dst):
        message = "dst_id is in another project; an edge links two rows of one project."
        raise _build_argument_error("dst_id", "other_project", message)
    edge = edges.build_edge(relation, src, dst, by=request.subject, at=request.at, props=props)
    source, destination = (dst, src) if relation.swapped else (src, dst)
    sentence = f"{quote_name(str(source))} {relation.rel} {quote_name(str(destination))}"
    stored, is_new = edges.link_edge(edge)
    outcome = _build_link_outcome(request, relation, stored, is_new, sentence=sentence)
    circle_warnings = (CIRCLE,) if is_new and edges.has_circle(stored, subject=request.subject) else ()
    return replace(outcome, warnings=(*title_warnings, *outcome.warnings, *circle_warnings))


def unlink_edge(request: OpRequest) -> OpOutcome:
    """Mark an edge as deleted, by its id or the ids of its two rows. Raises NotFound, Forbidden, InvalidArgs."""
    edge = _find_edge(request)
    access.get_changeable_project(subject=request.subject, id=str(edge.project_id))
    if not edges.delete_edges(Edge.objects.filter(pk=edge.pk), at=request.at):  # a concurrent call removed it first
        raise edges.build_not_found()
    id = str(edge.pk)
    result = {"edge": {"id": id}, "deleted": 1, "message": f"Removed the link {edge}; both rows stay."}
    return OpOutcome(result=result, entity_id=id, entity_name=str(edge))


def _find_edge(request: OpRequest) -> Edge:
    """Return the edge with this id, or else the one link between two rows, in whichever direction it is."""
    args, queryset = request.args, edges.filter_visible(request.subject)
    ids = [args[f"{end}_id"] for end in ENDS if f"{end}_id" in args]
    if "edge_id" in args:
        queryset = queryset.filter(pk=args["edge_id"])
    elif len(ids) < len(ENDS):
        raise _build_argument_error("edge_id", "required", "Send edge_id, or src_id and dst_id of the two linked rows.")
    for id in ids:
        queryset = queryset.filter(Q(src_id=id) | Q(dst_id=id))
    found = list(queryset.order_by("created_at", "rel", "pk")[: MAX_LINKS + 1])
    if not found:
        raise edges.build_not_found()
    if len(found) > 1:
        choices = [{"edge_id": str(edge.pk), "rel": edge.rel} for edge in found[:MAX_LINKS]]
        message = "These rows have several links; send the edge_id of one."
        raise build_invalid_args([ArgumentError(path="/edge_id", code="several", message=message, expected=choices)])
    return found[0]


def _parse_ends(request: OpRequest) -> tuple[list[NamedRow], tuple[str, ...]]:
    """Return the rows at both ends, and a warning for each title that was ignored because the id was sent.

    One end may be named by its title, which is looked up in the project of the other end. Raises NotFound, InvalidArgs.
    """
    args = request.args
    by_id = [end for end in ENDS if f"{end}_id" in args]
    if errors := [_build_missing_id_error(end) for end in ENDS if end not in by_id and f"{end}_title" not in args]:
        raise build_invalid_args(errors)
    if not by_id:
        raise build_invalid_args(_find_both_titles(request))
    warnings = tuple(f"Ignored {end}_title: {end}_id was also sent." for end in by_id if f"{end}_title" in args)
    ids = {end: UUID(args[f"{end}_id"]) for end in by_id}
    for end in ENDS:
        if end not in ids:
            ids[end] = _find_by_title(request, end, other_end=by_id[0])
    return [NamedRow(args[f"{end}_kind"], ids[end], f"{end}_id") for end in ENDS], warnings


def _find_both_titles(request: OpRequest) -> list[ArgumentError]:
    """Return an error for each title: without an id, no project says where they are. A title that is unique has its id.

    Otherwise, up to three rows with the title, or with similar ones.
    """
    errors = []
    for end in ENDS:
        kind, title = request.args[f"{end}_kind"], request.args[f"{end}_title"]
        rows, is_exact = row_finder.find_rows(kind, title, request.subject, "")
        is_certain = len(rows) == 1 and (is_exact or rows[0].has_words)
        errors.append(
            ArgumentError(
                path=f"/{end}_title",
                code="title" if is_certain else "ambiguous_title" if rows else "no_such_title",
                message=f"Both ends are titles; send the id of one of them, such as {end}_id."
                if rows
                else f"No {kind} has this title; find it with {ENTITY_TYPE_BY_NAME[kind].get_op_path('search')}.",
                expected=[{"id": row.id, "title": row.title, "project": row.place} for row in rows] or None,
                send={f"{end}_id": rows[0].id} if is_certain else None,
            )
        )
    return errors


def _find_by_title(request: OpRequest, end: str, *, other_end: str) -> UUID:
    """Return the id of the row that one end names by title, looked up in the project of the other end."""
    args, other, subject = request.args, f"{other_end}_id", request.subject
    kind = ENTITY_TYPE_BY_NAME[args[f"{other_end}_kind"]]
    project_id = access.get_project_id(kind, subject=subject, id=args[other], argument=other)
    lookup = TitledRow(args[f"{end}_kind"], args[f"{end}_title"], f"{end}_title", f"{end}_id")
    [id_or_error] = title_lookup.find_ids([lookup], subject=subject, project_id=project_id)
    if isinstance(id_or_error, ArgumentError):
        raise build_invalid_args([id_or_error])
    return id_or_error


def _build_missing_id_error(end: str) -> ArgumentError:
    message = f"{end}_id is required: uuid. If you do not know it, send the row's title as {end}_title."
    return ArgumentError(path=f"/{end}_id", code="required", message=message, expected="uuid, required")


def _build_link_outcome(
    request: OpRequest, relation: Relation, edge: Edge, is_new: bool, *, sentence: str
) -> OpOutcome:
    message = f"Linked: {sentence}." if is_new else f"Nothing changed; already linked: {sentence}."
    result: dict[str, Any] = {"edge": edges.serialize_edge(edge), "created": int(is_new), "message": message}
    warnings = edges.build_rename_warnings(request.args["rel"], relation, is_new=is_new)
    if not is_new and any(edge.props.get(name) != value for name, value in request.args.get("props", {}).items()):
        warnings += ("The link already existed with other props; yours were not stored.",)
    return OpOutcome(result=result, warnings=warnings, entity_id=str(edge.pk), entity_name=relation.sentence)


def _build_argument_error(argument: str, code: str, message: str) -> InvalidArgs:
    return build_invalid_args([ArgumentError(path=f"/{argument}", code=code, message=message)])
