"""Ops on edges: link two rows, remove a link."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from workspace.contract import Outcome, Request
from workspace.errors import FieldError, Invalid, invalid
from workspace.kinds import KINDS
from workspace.models import Edge, EdgeKind
from workspace.relations import Relation, normalise
from workspace.services import access, edges, titles
from workspace.services.access import Named
from workspace.services.titles import Titled

ENDS = ("src", "dst")


def link(request: Request) -> Outcome:
    """Link two rows of one project. Returns the existing edge if they are already linked that way.

    Raises NotFound, Forbidden, Invalid.
    """
    args = request.args
    ends, unread = _ends(request)
    if ends[0].id == ends[1].id:
        raise _refused("dst_id", "self_edge", "src and dst are the same row; send another row's id as dst_id.")
    src, dst = access.named_rows(ends, subject=request.subject)
    relation = normalise(EdgeKind(ends[0].kind), args["rel"], EdgeKind(ends[1].kind))
    props = args.get("props", {}) | ({edges.ORIGINAL: args["rel"]} if relation.is_guess else {})
    if edges.project_id(src) != edges.project_id(dst):
        message = "dst_id is in another project; an edge links two rows of one project."
        raise _refused("dst_id", "other_project", message)
    edge = edges.build(relation, src, dst, by=request.subject, at=request.at, props=props)
    made = _linked(request, relation, *edges.link(edge))
    return replace(made, warnings=(*unread, *made.warnings))


def unlink(request: Request) -> Outcome:
    """Mark an edge as deleted. Raises NotFound, Forbidden."""
    edge = edges.visible(request.subject).filter(pk=request.args["edge_id"]).first()
    if edge is None:
        raise edges.not_found()
    access.changeable_project(subject=request.subject, id=str(edge.project_id))
    if not edges.unlink(Edge.objects.filter(pk=edge.pk), at=request.at):  # a concurrent call removed it first
        raise edges.not_found()
    id = str(edge.pk)
    result = {"edge": {"id": id}, "deleted": 1, "message": f"Removed the link {edge}; both rows stay."}
    return Outcome(result=result, entity_id=id, entity_name=str(edge))


def _ends(request: Request) -> tuple[list[Named], tuple[str, ...]]:
    """Return the rows at both ends, and a warning for each title that was ignored because the id was sent.

    One end may be named by its title, which is looked up in the project of the other end. Raises NotFound, Invalid.
    """
    args = request.args
    by_id = [end for end in ENDS if f"{end}_id" in args]
    if errors := [_nameless(end) for end in ENDS if end not in by_id and f"{end}_title" not in args]:
        raise invalid(errors)
    if not by_id:
        message = "Send src_id or dst_id: only one end can be named by title, and that is found in the other's project."
        raise _refused("src_id", "required", message)
    unread = tuple(f"Ignored {end}_title: {end}_id was sent too." for end in by_id if f"{end}_title" in args)
    ids = {end: UUID(args[f"{end}_id"]) for end in by_id}
    for end in ENDS:
        if end not in ids:
            ids[end] = _by_title(request, end, beside=by_id[0])
    return [Named(args[f"{end}_kind"], ids[end], f"{end}_id") for end in ENDS], unread


def _by_title(request: Request, end: str, *, beside: str) -> UUID:
    """Return the id of the row that one end names by title, looked up in the project of the other end."""
    args, other, subject = request.args, f"{beside}_id", request.subject
    kind = KINDS[args[f"{beside}_kind"]]
    project_id = access.project_of(kind, subject=subject, id=args[other], argument=other)
    named = Titled(args[f"{end}_kind"], args[f"{end}_title"], f"{end}_title", f"{end}_id")
    [found] = titles.ids([named], subject=subject, project_id=project_id)
    if isinstance(found, FieldError):
        raise invalid([found])
    return found


def _nameless(end: str) -> FieldError:
    message = f"{end}_id is required: uuid. If you do not know it, send the row's title as {end}_title."
    return FieldError(path=f"/{end}_id", code="required", message=message, expected="uuid, required")


def _linked(request: Request, relation: Relation, edge: Edge, is_new: bool) -> Outcome:
    told = f"Linked: {relation.told}." if is_new else f"Nothing changed; already linked: {relation.told}."
    result: dict[str, Any] = {"edge": edges.told(edge), "created": int(is_new), "message": told}
    warnings = edges.renamed(request.args["rel"], relation, is_new=is_new)
    if not is_new and any(edge.props.get(name) != value for name, value in request.args.get("props", {}).items()):
        warnings += ("The link already existed with other props; yours were not stored.",)
    return Outcome(result=result, warnings=warnings, entity_id=str(edge.pk), entity_name=relation.told)


def _refused(argument: str, code: str, message: str) -> Invalid:
    return invalid([FieldError(path=f"/{argument}", code=code, message=message)])
