"""The links of a row: its edges, or the rows at their other ends."""

from typing import Any
from uuid import UUID

from workspace.contract import OpOutcome, OpRequest
from workspace.entity_types import ENTITY_TYPE_BY_NAME, EntityType
from workspace.errors import NotFound, build_invalid_args
from workspace.services.access import access
from workspace.services.access.access import NamedRow
from workspace.services.edges import edges, linked_rows
from workspace.services.search import ranking, row_finder

MAX_EDGES = 50  # edges per direction

NO_LINKS = "Nothing is linked to this {kind}; use onto.edge.link to link two rows."


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
        "message": _build_message(
            kind, kind_filter, row_count=row_count, counts={other.name: count for other, _, count in non_empty_links}
        ),
    }
    return OpOutcome(result=result, entity_id=str(id), entity_name=getattr(row, kind.label))


def _build_message(kind: EntityType, kind_filter: str, *, row_count: int, counts: dict[str, int]) -> str:
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
