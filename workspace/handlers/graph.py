"""A project as a graph: reading it, and hanging its rows otherwise."""

from typing import Any

from workspace.contract import Outcome, Request
from workspace.errors import invalid
from workspace.handlers import writes
from workspace.kinds import PROJECT
from workspace.models import Edge, Project
from workspace.services import access, edges, graph, placement, rewiring
from workspace.services.rewiring import Plan

MOST_CHANGES = 200  # of a sort that an answer lists


def get(request: Request) -> Outcome:
    """Answer the rows of a project in brief and the edges between them. Raises NotFound."""
    args = request.args
    project = access.visible_row(PROJECT, subject=request.subject, id=args["project_id"])
    found = graph.read(
        project.pk,
        subject=request.subject,
        kinds=args.get("kinds") or (),
        done_too=bool(args.get("include_done")),
        limit=min(args.get("limit", graph.MOST_NODES), graph.MOST_NODES),
    )
    counts = {"nodes": found.node_count, "edges": found.edge_count}
    has_more = found.node_count > len(found.nodes) or found.edge_count > len(found.edges)
    shown = f"{len(found.nodes)} of {found.node_count} nodes and {len(found.edges)} of {found.edge_count} edges."
    more = " Send kinds to see fewer kinds whole." if has_more else ""
    result = _project(project) | {
        "nodes": found.nodes,
        "edges": found.edges,
        "counts": counts,
        "has_more": has_more,
        "message": f"{shown}{more} A row that nothing holds lies directly in the project.",
    }
    return Outcome(result=result, entity_id=str(project.pk), entity_name=str(project))


def reorganize(request: Request) -> Outcome:
    """Hang rows of a project otherwise, all or none; with options.dry_run only tell what that would change.

    Raises NotFound and Forbidden for the project and all that is named, Invalid, and Conflict where the plan is not
    that of the hash which was sent.
    """
    args, options = request.args, request.args.get("options") or {}
    project = access.changeable_project(subject=request.subject, id=args["project_id"])
    titled = placement.by_title(rewiring.connections(args["nodes"]), project_id=project.pk, subject=request.subject)
    if titled.errors:
        raise invalid(titled.errors)
    asked = rewiring.read(args["nodes"], options, project_id=project.pk, named=titled)
    if asked.errors:
        raise invalid(asked.errors)
    rows = access.named_rows(asked.named, subject=request.subject, project_id=project.pk)
    by_id = {row.pk: row for row in rows}
    plan = rewiring.plan(
        asked,
        by_id,
        rewiring.around(asked.nodes, subject=request.subject),
        by=request.subject,
        at=request.at,
    )
    if plan.errors:
        raise invalid(plan.errors)
    if options.get("plan_hash") not in (None, plan.hash):
        raise rewiring.stale()
    if not options.get("dry_run"):
        rewiring.apply(plan, at=request.at)
    return _answer(project, plan, node_count=len(args["nodes"]), is_rehearsal=bool(options.get("dry_run")))


def _answer(project: Project, plan: Plan, *, node_count: int, is_rehearsal: bool) -> Outcome:
    changes = {"created": plan.created, "deleted": plan.deleted, "updated": plan.updated}
    counts = {name: len(found) for name, found in changes.items()}
    listed = {
        name: [_told(edge, has_id=not (is_rehearsal and name == "created")) for edge in found[:MOST_CHANGES]]
        for name, found in changes.items()
    }
    result = _project(project) | {
        **({"dry_run": True} if is_rehearsal else {}),  # false could be a lie: who runs us may undo what was done
        "node_count": node_count,
        "counts": counts,
        "changes": listed,
        "plan_hash": plan.hash,
        "message": _message(plan, counts, is_rehearsal),
    }
    warnings = (*plan.warnings, *((writes.UNCHANGED,) if plan.is_empty else ()))
    return Outcome(result=result, warnings=warnings, entity_id=str(project.pk), entity_name=str(project))


def _message(plan: Plan, counts: dict[str, int], is_rehearsal: bool) -> str:
    if plan.is_empty:
        return "Nothing to change: all of it hangs so already."
    told = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
    cut = f" The first {MOST_CHANGES} of a sort are listed." if max(counts.values()) > MOST_CHANGES else ""
    if is_rehearsal:
        return f"Would change edges: {told}.{cut} Nothing was; send plan_hash in options instead of dry_run to do it."
    return f"Changed edges: {told}.{cut}"


def _told(edge: Edge, *, has_id: bool) -> dict[str, Any]:
    hidden = {"created_at"} if has_id else {"created_at", "id"}
    return {name: value for name, value in edges.told(edge).items() if name not in hidden}


def _project(project: Any) -> dict[str, Any]:
    return {"project": {"id": str(project.pk), "name": project.name}}
