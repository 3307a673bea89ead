"""Reading and reorganizing a project as a graph of rows and edges."""

from typing import Any

from workspace.contract import OpOutcome, OpRequest
from workspace.entity_types import PROJECT
from workspace.errors import build_invalid_args
from workspace.handlers.generic import generic_writes
from workspace.models import Edge, Project
from workspace.services.access import access
from workspace.services.edges import edge_arguments, edges, graph, graph_reorganize
from workspace.services.edges.graph_reorganize import GraphPlan

MAX_LISTED_CHANGES = 200  # created, deleted or updated edges that the result lists, each


def get_graph(request: OpRequest) -> OpOutcome:
    """Return a summary of each row of a project, and the edges between them. Raises NotFound."""
    args = request.args
    project = access.get_visible_row(PROJECT, subject=request.subject, id=args["project_id"])
    project_graph = graph.load_graph(
        project.pk,
        subject=request.subject,
        kinds=args.get("kinds") or (),
        include_done=bool(args.get("include_done")),
        limit=min(args.get("limit", graph.MAX_NODES), graph.MAX_NODES),
    )
    counts = {"nodes": project_graph.node_count, "edges": project_graph.edge_count}
    has_more = project_graph.node_count > len(project_graph.nodes) or project_graph.edge_count > len(
        project_graph.edges
    )
    nodes = f"{len(project_graph.nodes)} of {project_graph.node_count} nodes"
    summary = f"{nodes} and {len(project_graph.edges)} of {project_graph.edge_count} edges."
    hint = " Send kinds to list fewer kinds completely." if has_more else ""
    left_out = "" if args.get("include_done") else " Done tasks are left out; include_done adds them."
    result = _serialize_project(project) | {
        "nodes": project_graph.nodes,
        "edges": project_graph.edges,
        "counts": counts,
        "has_more": has_more,
        "message": f"{summary}{hint}{left_out} A row without a parent is directly in the project.",
    }
    return OpOutcome(result=result, entity_id=str(project.pk), entity_name=str(project))


def reorganize_graph(request: OpRequest) -> OpOutcome:
    """Change the parents and links of rows, all or none; with options.dry_run, only return what would change.

    Raises NotFound and Forbidden for the project and all named rows, InvalidArgs, and StateConflict if the plan does
    not match the sent plan_hash.
    """
    args, options = request.args, request.args.get("options") or {}
    project = access.get_changeable_project(subject=request.subject, id=args["project_id"])
    rows_by_title = edge_arguments.find_by_title(
        graph_reorganize.iter_connections(args["nodes"]), project_id=project.pk, subject=request.subject
    )
    if rows_by_title.errors:
        raise build_invalid_args(rows_by_title.errors)
    reorganization = graph_reorganize.parse_request(
        args["nodes"], options, project_id=project.pk, matches=rows_by_title
    )
    if reorganization.errors:
        raise build_invalid_args(reorganization.errors)
    rows = access.lock_named_rows(reorganization.named, subject=request.subject, project_id=project.pk)
    by_id = {row.pk: row for row in rows}
    plan = graph_reorganize.plan_changes(
        reorganization,
        by_id,
        graph_reorganize.list_visible_edges(reorganization.nodes, subject=request.subject),
        by=request.subject,
        at=request.at,
    )
    if plan.errors:
        raise build_invalid_args(plan.errors)
    if options.get("plan_hash") not in (None, plan.hash):
        raise graph_reorganize.build_stale_plan_error()
    if not options.get("dry_run"):
        graph_reorganize.apply_plan(plan, at=request.at)
    return _build_outcome(project, plan, node_count=len(args["nodes"]), is_dry_run=bool(options.get("dry_run")))


def _build_outcome(project: Project, plan: GraphPlan, *, node_count: int, is_dry_run: bool) -> OpOutcome:
    changes = {"created": plan.created, "deleted": plan.deleted, "updated": plan.updated}
    counts = {name: len(found) for name, found in changes.items()}
    edges_by_change = {
        name: [
            _serialize_edge(edge, has_id=not (is_dry_run and name == "created")) for edge in found[:MAX_LISTED_CHANGES]
        ]
        for name, found in changes.items()
    }
    result = _serialize_project(project) | {
        **({"dry_run": True} if is_dry_run else {}),  # never false: the gateway may roll the write back (a dry run)
        "node_count": node_count,
        "counts": counts,
        "changes": edges_by_change,
        "plan_hash": plan.hash,
        "message": _build_message(plan, counts, is_dry_run),
    }
    warnings = (*plan.warnings, *((generic_writes.UNCHANGED,) if plan.is_empty else ()))
    return OpOutcome(
        result=result,
        warnings=warnings,
        entity_id=str(project.pk),
        entity_name=str(project),
        changed_ids=() if is_dry_run else None,
    )


def _build_message(plan: GraphPlan, counts: dict[str, int], is_dry_run: bool) -> str:
    if plan.is_empty:
        return "Nothing changed: the rows are already organized this way."
    summary = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
    cut_note = f" At most {MAX_LISTED_CHANGES} of each are listed." if max(counts.values()) > MAX_LISTED_CHANGES else ""
    if is_dry_run:
        return f"Would change edges: {summary}.{cut_note} To apply it, send plan_hash in options instead of dry_run."
    return f"Changed edges: {summary}.{cut_note}"


def _serialize_edge(edge: Edge, *, has_id: bool) -> dict[str, Any]:
    hidden = {"created_at"} if has_id else {"created_at", "id"}
    return {name: value for name, value in edges.serialize_edge(edge).items() if name not in hidden}


def _serialize_project(project: Any) -> dict[str, Any]:
    return {"project": {"id": str(project.pk), "name": project.name}}
