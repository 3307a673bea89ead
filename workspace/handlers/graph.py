"""Reading and reorganizing a project as a graph of rows and edges."""

from typing import Any

from workspace.contract import Outcome, Request
from workspace.errors import invalid
from workspace.handlers import writes
from workspace.kinds import PROJECT
from workspace.models import Edge, Project
from workspace.services import access, edges, graph, placement, rewiring
from workspace.services.rewiring import Plan

MOST_CHANGES = 200  # created, deleted or updated edges that the result lists, each


def get(request: Request) -> Outcome:
    """Return a summary of each row of a project, and the edges between them. Raises NotFound."""
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
    more = " Send kinds to list fewer kinds completely." if has_more else ""
    result = _project(project) | {
        "nodes": found.nodes,
        "edges": found.edges,
        "counts": counts,
        "has_more": has_more,
        "message": f"{shown}{more} A row without a parent is directly in the project.",
    }
    return Outcome(result=result, entity_id=str(project.pk), entity_name=str(project))


def reorganize(request: Request) -> Outcome:
    """Change the parents and links of rows, all or none; with options.dry_run, only return what would change.

    Raises NotFound and Forbidden for the project and all named rows, Invalid, and Conflict if the plan does not match
    the sent plan_hash.
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
        **({"dry_run": True} if is_rehearsal else {}),  # never false: the gateway may roll the write back (a dry run)
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
        return "Nothing changed: the rows are already organized this way."
    told = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
    cut = f" At most {MOST_CHANGES} of each are listed." if max(counts.values()) > MOST_CHANGES else ""
    if is_rehearsal:
        return f"Would change edges: {told}.{cut} To apply it, send plan_hash in options instead of dry_run."
    return f"Changed edges: {told}.{cut}"


def _told(edge: Edge, *, has_id: bool) -> dict[str, Any]:
    hidden = {"created_at"} if has_id else {"created_at", "id"}
    return {name: value for name, value in edges.told(edge).items() if name not in hidden}


def _project(project: Any) -> dict[str, Any]:
    return {"project": {"id": str(project.pk), "name": project.name}}
