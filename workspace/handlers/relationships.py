"""The edges between the first rows of a new project, sent as pairs of temp_ids."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from workspace import relations
from workspace.errors import FieldError
from workspace.models import Edge, EdgeKind, Entity
from workspace.services import edges, placement
from workspace.services.access import Named
from workspace.services.placement import Placement, Wish

MOST_WARNINGS = 20

EXAMPLE = '[{"temp_id": "g1", "kind": "goal"}, {"temp_id": "t1", "kind": "task"}]'


@dataclass(frozen=True, slots=True)
class End:
    """One end of a relationship: a row, and its kind."""

    row: Entity
    kind: EdgeKind


@dataclass(slots=True)
class Relationships:
    """The requested links of each row by its id, with all errors and warnings."""

    places: dict[UUID, Placement] = field(default_factory=dict)
    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read(sent: Sequence[Any], rows: Mapping[str, Entity]) -> Relationships:
    """Parse the relationships. If a row is given several parents, the most specific one is kept."""
    if errors := _in_number(sent, rows):
        return Relationships(errors=errors)
    found = Relationships()
    for index, pair in enumerate(sent):
        argument = f"relationships/{index}"
        ends = [_end(each, rows, f"/{argument}/{place}", found.errors) for place, each in _ends(pair)]
        if ends[0] is not None and ends[1] is not None:
            _wish(found, ends[0], ends[1], pair if isinstance(pair, dict) else {}, argument=argument)
    kinds = {row.pk: _kind(row) for row in rows.values()}
    for id, place in found.places.items():
        placement.settle(place, kinds[id], several=False, mend="")
        found.warnings += place.warnings
    if len(found.warnings) > MOST_WARNINGS:
        more = len(found.warnings) - MOST_WARNINGS
        found.warnings[MOST_WARNINGS:] = [f"{more} more relationships were stored differently than sent."]
    return found


def build(found: Relationships, rows: Mapping[str, Entity], *, by: str, at: datetime) -> list[Edge]:
    """Return the unsaved edges. A relationship sent twice, or from both ends, becomes one edge."""
    by_id = {row.pk: row for row in rows.values()}
    made: dict[edges.Ends, Edge] = {}
    for id, place in found.places.items():
        others = [by_id[wish.named.id] for wish in place.wishes]
        for edge in placement.edges_of(place, by_id[id], others, by=by, at=at):
            made.setdefault(edges.ends(edge), edge)
    return list(made.values())


def _in_number(sent: Sequence[Any], rows: Mapping[str, Entity]) -> list[FieldError]:
    if sent and not rows:
        message = "relationships need entities, and none were sent; send entities or leave out relationships."
        return [FieldError(path="/relationships", code="no_entities", message=message)]
    if not sent and len(rows) > 1:
        message = f"Several entities need relationships that connect them, such as {EXAMPLE}."
        return [FieldError(path="/relationships", code="required", message=message)]
    return []


def _ends(pair: Any) -> list[tuple[str, Mapping[str, str]]]:
    """Return both ends with their keys, for the forms [from, to] and {from, to}."""
    if isinstance(pair, dict):
        return [("from", pair["from"]), ("to", pair["to"])]
    return [("0", pair[0]), ("1", pair[1])]


def _end(sent: Mapping[str, str], rows: Mapping[str, Entity], path: str, errors: list[FieldError]) -> End | None:
    row = rows.get(sent["temp_id"])
    if row is None:
        message = "No entity in this call has this temp_id; send one from entities."
        errors.append(FieldError(path=f"{path}/temp_id", code="unknown_temp_id", message=message))
        return None
    kind = _kind(row)
    if sent["kind"] != kind:
        message = f"This entity is a {kind.value}; send {kind.value} as kind."
        errors.append(FieldError(path=f"{path}/kind", code="kind_mismatch", message=message, expected=kind.value))
        return None
    return End(row, kind)


def _wish(found: Relationships, src: End, dst: End, sent: Mapping[str, Any], *, argument: str) -> None:
    """Add a relationship to the links of its row: the child if one end contains the other, else the first end."""
    if src.row.pk == dst.row.pk:
        message = f"{argument} links an entity to itself; name two different ones."
        found.errors.append(FieldError(path=f"/{argument}", code="self_edge", message=message))
        return
    rel, intent = sent.get("rel"), sent.get("intent")
    relation = placement.joined(src.kind, dst.kind, rel=rel, intent=intent)
    if relation is None:
        found.errors.append(placement.neither_holds(src.kind, dst.kind, argument))
        return
    if rel is not None:
        found.warnings += edges.renamed(rel, relation, argument=f"{argument}/rel")
    if relations.is_containment(relation) and not relation.swapped:  # the first contains the second
        src, dst, relation = dst, src, relations.from_other_end(relation)
    named = Named(dst.kind, dst.row.pk, argument)
    wish = Wish(named, relation, sent_rel=rel, is_explicit=bool(rel or intent))
    found.places.setdefault(src.row.pk, Placement()).wishes.append(wish)


def _kind(row: Entity) -> EdgeKind:
    return EdgeKind(str(row._meta.model_name))
