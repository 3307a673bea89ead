"""The edges between the first rows of a new project, sent as pairs of temp_ids."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from core.handler_contract import ArgumentError
from workspace import relations
from workspace.models import Edge, EdgeKind, Entity
from workspace.relations import ALLOWED_PARENTS
from workspace.services.access import NamedRow
from workspace.services.edges import edge_arguments, edges
from workspace.services.edges.edge_arguments import LinkRequest, ResolvedLinks

MAX_WARNINGS = 20

EXAMPLE = '[{"temp_id": "g1", "kind": "goal"}, {"temp_id": "t1", "kind": "task"}]'


@dataclass(frozen=True, slots=True)
class RelationshipEnd:
    """One end of a relationship: a row, and its kind."""

    row: Entity
    kind: EdgeKind


@dataclass(slots=True)
class ParsedRelationships:
    """The requested links of each row by its id, with all errors and warnings."""

    places: dict[UUID, ResolvedLinks] = field(default_factory=dict)
    errors: list[ArgumentError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def parse_relationships(sent: Sequence[Any], rows: Mapping[str, Entity]) -> ParsedRelationships:
    """Parse the relationships. If a row is given several parents, the most specific one is kept."""
    if errors := _check_count(sent, rows):
        return ParsedRelationships(errors=errors)
    parsed = ParsedRelationships()
    for index, pair in enumerate(sent):
        argument = f"relationships/{index}"
        ends = [_resolve_end(each, rows, f"/{argument}/{place}", parsed.errors) for place, each in _split_pair(pair)]
        if ends[0] is not None and ends[1] is not None:
            _add_relationship(parsed, ends[0], ends[1], pair if isinstance(pair, dict) else {}, argument=argument)
    kinds = {row.pk: _get_kind(row) for row in rows.values()}
    for id, place in parsed.places.items():
        edge_arguments.choose_parent(place, kinds[id], allow_multiple=False, keep_hint="")
        parsed.warnings += place.warnings
    if len(parsed.warnings) > MAX_WARNINGS:
        more = len(parsed.warnings) - MAX_WARNINGS
        parsed.warnings[MAX_WARNINGS:] = [f"{more} more relationships were stored differently than sent."]
    parsed.warnings += edges.build_guess_warnings(_list_guessed_orders(parsed, rows))
    return parsed


def build_edges(parsed: ParsedRelationships, rows: Mapping[str, Entity], *, by: str, at: datetime) -> list[Edge]:
    """Return the unsaved edges. A relationship sent twice, or from both ends, becomes one edge."""
    by_id = {row.pk: row for row in rows.values()}
    edges_by_ends: dict[edges.EdgeIdentity, Edge] = {}
    for id, place in parsed.places.items():
        others = [by_id[wish.named.id] for wish in place.links]
        for edge in edge_arguments.build_row_edges(place, by_id[id], others, by=by, at=at):
            edges_by_ends.setdefault(edges.get_identity(edge), edge)
    return list(edges_by_ends.values())


def _check_count(sent: Sequence[Any], rows: Mapping[str, Entity]) -> list[ArgumentError]:
    """Return an error for relationships without entities, and for entities that may belong to each other."""
    if sent and not rows:
        message = "relationships need entities, and none were sent; send entities or leave out relationships."
        return [ArgumentError(path="/relationships", code="no_entities", message=message)]
    parents = {} if sent else {temp_id: _list_possible_parents(row, rows) for temp_id, row in rows.items()}
    if not any(parents.values()):
        return []
    message = f"Say what belongs to what in relationships, such as {EXAMPLE}."
    pairs = [
        [{"temp_id": each, "kind": _get_kind(rows[each]).value} for each in (possible[0], temp_id)]
        for temp_id, possible in parents.items()
        if possible
    ]
    is_clear = all(len(possible) <= 1 for possible in parents.values())
    send = {"relationships": pairs} if is_clear else None
    return [ArgumentError(path="/relationships", code="required", message=message, send=send)]


def _list_possible_parents(row: Entity, rows: Mapping[str, Entity]) -> list[str]:
    """Return the temp_ids of the most specific entities to which a row may belong. A risk of a task is an exception."""
    for kind in ALLOWED_PARENTS[_get_kind(row)]:
        temp_ids = [temp_id for temp_id, other in rows.items() if _get_kind(other) is kind is not EdgeKind.TASK]
        if temp_ids:
            return temp_ids
    return []


def _list_guessed_orders(parsed: ParsedRelationships, rows: Mapping[str, Entity]) -> list[tuple[Entity, Entity]]:
    by_id = {row.pk: row for row in rows.values()}
    return [
        (by_id[id], by_id[link.named.id])
        for id, place in parsed.places.items()
        for link in place.links
        if link.has_guessed_order
    ]


def _split_pair(pair: Any) -> list[tuple[str, Mapping[str, str]]]:
    """Return both ends with their keys, for the forms [from, to] and {from, to}."""
    if isinstance(pair, dict):
        return [("from", pair["from"]), ("to", pair["to"])]
    return [("0", pair[0]), ("1", pair[1])]


def _resolve_end(
    sent: Mapping[str, str], rows: Mapping[str, Entity], path: str, errors: list[ArgumentError]
) -> RelationshipEnd | None:
    row = rows.get(sent["temp_id"])
    if row is None:
        message = "No entity in this call has this temp_id; send one from entities."
        errors.append(ArgumentError(path=f"{path}/temp_id", code="unknown_temp_id", message=message))
        return None
    kind = _get_kind(row)
    if sent["kind"] != kind:
        message = f"This entity is a {kind.value}; send {kind.value} as kind."
        errors.append(ArgumentError(path=f"{path}/kind", code="kind_mismatch", message=message, expected=kind.value))
        return None
    return RelationshipEnd(row, kind)


def _add_relationship(
    parsed: ParsedRelationships, src: RelationshipEnd, dst: RelationshipEnd, sent: Mapping[str, Any], *, argument: str
) -> None:
    """Add a relationship to the links of its row: the child if one end contains the other, else the first end."""
    if src.row.pk == dst.row.pk:
        message = f"{argument} links an entity to itself; name two different ones."
        parsed.errors.append(ArgumentError(path=f"/{argument}", code="self_edge", message=message))
        return
    rel, intent = sent.get("rel"), sent.get("intent")
    relation = edge_arguments.get_relation_between(src.kind, dst.kind, rel=rel, intent=intent)
    if relation is None:
        parsed.errors.append(edge_arguments.build_neither_parent_error(src.kind, dst.kind, argument))
        return
    if rel is not None:
        parsed.warnings += edges.build_rename_warnings(rel, relation, argument=f"{argument}/rel")
    if relations.is_containment(relation) and not relation.swapped:  # the first contains the second
        src, dst, relation = dst, src, relations.view_from_other_end(relation)
    named = NamedRow(dst.kind, dst.row.pk, argument)
    wish = LinkRequest(named, relation, sent_rel=rel, is_explicit=bool(rel or intent))
    parsed.places.setdefault(src.row.pk, ResolvedLinks()).links.append(wish)


def _get_kind(row: Entity) -> EdgeKind:
    return EdgeKind(str(row._meta.model_name))
