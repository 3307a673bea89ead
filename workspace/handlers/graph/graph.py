"""Read and reorganise the graph of linked rows, and list links."""

from typing import Any
from uuid import UUID

from core.handler_contract import NotFound, OpOutcome, OpRequest, build_invalid_args
from workspace.entity_types import ENTITY_TYPE_BY_NAME, PROJECT, EntityType
from workspace.handlers.generic import generic_writes
from workspace.models import Edge, Project
from workspace.services import access
from workspace.services.access import NamedRow
from workspace.services.edges import edge_arguments, edges, graph, graph_reorganize, linked_rows
from workspace.services.edges.graph_reorganize import GraphPlan
from workspace.services.search import ranking, row_finder

MAX_LISTED_CHANGES = 200  # created, deleted or updated edges that the result lists, each
MAX_EDGES = 50  # edges per direction
NO_LINKS = "Nothing is linked to this {kind}; use onto.edge.link to link two rows."


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


def get_relationships(request: OpRequest) -> OpOutcome:
    """Return the edges of a row of any kind, oldest first in each direction. Raises NotFound."""
    id, direction_filter = UUID(request.args["entity_id"]), request.args.get("direction", "both")
    kind, name = _find_row(id, subject=request.subject)
    serialized_edges: list[dict[str, Any]] = []
    total = 0
    for direction in (edges.OUTGOING, edges.INCOMING):
        if direction_filter in (direction, "both"):
            queryset = edges.list_edges(id, direction, subject=request.subject)
            rows = list(queryset[: MAX_EDGES + 1])
            total += len(rows) if len(rows) <= MAX_EDGES else queryset.count()
            serialized_edges += [edges.serialize_edge(edge) | {"direction": direction} for edge in rows[:MAX_EDGES]]
    message = (
        f"{len(serialized_edges)} of {total} edges of this {kind.name}. onto.entity.links.get returns the linked rows."
    )
    result = {
        "relationships": serialized_edges,
        "total": total,
        "has_more": total > len(serialized_edges),
        "message": message if total else NO_LINKS.format(kind=kind.name),
    }
    return OpOutcome(result=result, entity_id=str(id), entity_name=name, entity=kind.name)


def get_linked_rows(request: OpRequest) -> OpOutcome:
    """Return the rows that a row is linked to, grouped by kind with counts. Raises NotFound."""
    kind, id, subject = (
        ENTITY_TYPE_BY_NAME[request.args["entity_kind"]],
        UUID(request.args["entity_id"]),
        request.subject,
    )
    try:
        row = access.get_visible_row(kind, subject=subject, id=str(id), argument="entity_id")
    except NotFound:
        if errors := row_finder.find_wrong_kinds([NamedRow(kind.name, id, "entity_id")], subject=subject):
            raise build_invalid_args(errors) from None
        raise
    kind_filter = request.args.get("filter_kind", "all")
    links_by_kind = [
        (other, *linked_rows.list_linked_rows(id, kind=other, subject=subject))
        for other in linked_rows.list_linked_kinds(id)
        if kind_filter in (other.name, "all")
    ]
    non_empty_links = [(other, rows, count) for other, rows, count in links_by_kind if count]
    row_count, total = sum(len(rows) for _, rows, _ in non_empty_links), sum(count for _, _, count in non_empty_links)
    result = {
        "linked_entities": {other.plural: rows for other, rows, _ in non_empty_links},
        "counts": {other.plural: count for other, _, count in non_empty_links},
        "total": total,
        "has_more": total > row_count,
        "message": _build_links_message(
            kind, kind_filter, row_count=row_count, counts={other.name: count for other, _, count in non_empty_links}
        ),
    }
    return OpOutcome(result=result, entity_id=str(id), entity_name=getattr(row, kind.label))


def _build_links_message(kind: EntityType, kind_filter: str, *, row_count: int, counts: dict[str, int]) -> str:
    if not counts:
        return (
            NO_LINKS.format(kind=kind.name)
            if kind_filter == "all"
            else f"No {kind_filter} is linked to this {kind.name}."
        )
    by_kind = ", ".join(
        f"{count} {name if count == 1 else ENTITY_TYPE_BY_NAME[name].plural}" for name, count in counts.items()
    )
    ops = ", ".join(ENTITY_TYPE_BY_NAME[name].get_op_path("get") for name in counts)
    return f"{row_count} of {sum(counts.values())} links of this {kind.name}: {by_kind}. Complete rows: {ops}."


def _find_row(id: UUID, *, subject: str) -> tuple[EntityType, str]:
    """Return the kind and the name of a row that the subject can see. Raises NotFound."""
    querysets = [
        ranking.query_visible_rows(kind, subject=subject, project_id=None).filter(pk=id)
        for kind in ENTITY_TYPE_BY_NAME.values()
    ]
    row = ranking.union_all([place.values(*ranking.HIT_COLUMNS) for place in querysets]).first()
    if row is None:
        raise NotFound("No row that you can see has this entity_id; find its id with onto.search.")
    return ENTITY_TYPE_BY_NAME[row["found_kind"]], row["found_title"]
