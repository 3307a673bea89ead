"""The links of a row: its edges, or the rows at their other ends."""

from typing import Any
from uuid import UUID

from workspace.contract import Outcome, Request
from workspace.errors import NotFound
from workspace.kinds import KINDS, Kind
from workspace.services import access, edges, neighbours, ranking

MOST = 50  # edges per direction

NOTHING = "Nothing is linked to this {kind}; use onto.edge.link to link two rows."


def relationships(request: Request) -> Outcome:
    """Return the edges of a row of any kind, oldest first in each direction. Raises NotFound."""
    id, asked = UUID(request.args["entity_id"]), request.args.get("direction", "both")
    kind = _kind_of(id, subject=request.subject)
    told: list[dict[str, Any]] = []
    total = 0
    for direction in (edges.OUTGOING, edges.INCOMING):
        if asked in (direction, "both"):
            found = edges.around(id, direction, subject=request.subject)
            rows = list(found[: MOST + 1])
            total += len(rows) if len(rows) <= MOST else found.count()
            told += [edges.told(edge) | {"direction": direction} for edge in rows[:MOST]]
    message = f"{len(told)} of {total} edges of this {kind.name}. onto.entity.links.get returns the linked rows."
    result = {
        "relationships": told,
        "total": total,
        "has_more": total > len(told),
        "message": message if total else NOTHING.format(kind=kind.name),
    }
    return Outcome(result=result)


def linked(request: Request) -> Outcome:
    """Return the rows that a row is linked to, grouped by kind with counts. Raises NotFound."""
    kind, id, subject = KINDS[request.args["entity_kind"]], UUID(request.args["entity_id"]), request.subject
    access.require_row(kind, subject=subject, id=str(id), argument="entity_id")
    asked = request.args.get("filter_kind", "all")
    read = [
        (other, *neighbours.find(id, kind=other, subject=subject))
        for other in neighbours.kinds(id)
        if asked in (other.name, "all")
    ]
    found = [(other, rows, count) for other, rows, count in read if count]
    shown, total = sum(len(rows) for _, rows, _ in found), sum(count for _, _, count in found)
    result = {
        "linked_entities": {other.plural: rows for other, rows, _ in found},
        "counts": {other.plural: count for other, _, count in found},
        "total": total,
        "has_more": total > shown,
        "message": _told(kind, asked, shown=shown, counts={other.name: count for other, _, count in found}),
    }
    return Outcome(result=result)


def _told(kind: Kind, asked: str, *, shown: int, counts: dict[str, int]) -> str:
    if not counts:
        return NOTHING.format(kind=kind.name) if asked == "all" else f"No {asked} is linked to this {kind.name}."
    by_kind = ", ".join(f"{count} {name if count == 1 else KINDS[name].plural}" for name, count in counts.items())
    ops = ", ".join(KINDS[name].path("get") for name in counts)
    return f"{shown} of {sum(counts.values())} links of this {kind.name}: {by_kind}. Complete rows: {ops}."


def _kind_of(id: UUID, *, subject: str) -> Kind:
    """Return the kind of a row that the subject can see. Raises NotFound."""
    places = [ranking.visible(kind, subject=subject, project_id=None).filter(pk=id) for kind in KINDS.values()]
    row = ranking.together([place.values(*ranking.COLUMNS) for place in places]).first()
    if row is None:
        raise NotFound("No row that you can see has this entity_id; find its id with onto.search.")
    return KINDS[row["found_kind"]]
