"""The edges that the arguments of a call ask for.

Arguments such as `plan_id` and `goal_id` each have a fixed relation (LINK_ARGUMENTS). `parent` and `parents` name
parents of the row; `connections` name any rows to link. Each row is named by its id or title. The most specific allowed
parent becomes the primary parent. A row has one parent unless the call allows several; other named parents are linked
with the default relation of the two kinds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from workspace import relations
from workspace.errors import FieldError
from workspace.kinds import Kind
from workspace.models import Edge, EdgeKind, Entity
from workspace.relations import PARENTS, Rel, Relation
from workspace.services import access, edges, titles
from workspace.services.access import Named
from workspace.services.titles import Titled

CONTAINMENT, SEMANTIC = "containment", "semantic"

SEVERAL = "allow_multi_parent"  # the argument that allows several parents
KEEP_ALL = f" Send {SEVERAL}: true to keep all parents."

# Arguments that name one row: its kind, and the relation to it. None means that it is the parent.
TIES: dict[EdgeKind, dict[str, tuple[EdgeKind, Rel | None]]] = {
    EdgeKind.TASK: {
        "plan_id": (EdgeKind.PLAN, None),
        "goal_id": (EdgeKind.GOAL, Rel.SUPPORTS_GOAL),
        "supporting_milestone_id": (EdgeKind.MILESTONE, Rel.TARGETS_MILESTONE),
    },
    EdgeKind.PLAN: {
        "goal_id": (EdgeKind.GOAL, None),
        "milestone_id": (EdgeKind.MILESTONE, None),
    },
}


@dataclass(frozen=True, slots=True)
class Wish:
    """A requested link: the named row, the relation as seen from the row being linked, and the relation name sent."""

    named: Named
    relation: Relation
    sent_rel: str | None = None
    is_primary: bool = False  # the caller said that this parent is the one
    is_explicit: bool = True  # the caller said what the two are to each other; else their kinds suggested it

    @property
    def is_parent(self) -> bool:
        """Whether the named row becomes the parent."""
        return relations.is_containment(self.relation) and self.relation.swapped


@dataclass(slots=True)
class ByTitle:
    """The ids of rows named by title, keyed by argument, with errors and warnings."""

    ids: dict[str, str] = field(default_factory=dict)
    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Placement:
    """The links to make, the primary parent, the errors, and a warning for each link that was changed."""

    wishes: list[Wish] = field(default_factory=list)
    primary: Wish | None = None
    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def find(sent: Mapping[str, Any], *, kind: Kind, project_id: UUID, subject: str) -> Placement:
    """Return the links that a call requests for a new row of this type, looking up rows named by title.

    Takes one query per kind named by title.
    """
    named = by_title(_items(sent), project_id=project_id, subject=subject)
    if named.errors:
        return Placement(errors=named.errors)
    place = read(sent, kind=kind, ids=named.ids)
    place.warnings += named.warnings
    return place


def by_title(items: Iterable[tuple[str, Mapping[str, Any]]], *, project_id: UUID, subject: str) -> ByTitle:
    """Return the ids of the rows that items name by title. `items` are pairs of path in the args and item.

    Takes one query per kind named by title.
    """
    named, found = [], ByTitle()
    for argument, item in items:
        if "id" not in item and "title" not in item:
            found.errors.append(_nameless(argument))
        elif "id" not in item:
            named.append(Titled(item["kind"], item["title"], f"{argument}/title", f"{argument}/id"))
        elif "title" in item:
            found.warnings.append(f"Ignored {argument}/title: {argument}/id was sent too.")
    for titled, id in zip(named, titles.ids(named, subject=subject, project_id=project_id), strict=True):
        if isinstance(id, FieldError):
            found.errors.append(id)
        else:
            found.ids[titled.argument.removesuffix("/title")] = str(id)
    return found


def read(sent: Mapping[str, Any], *, kind: Kind, ids: Mapping[str, str] | None = None) -> Placement:
    """Return the links that a call requests for a new row of this type. Pure: runs no query.

    `ids` has the ids of rows named by title, keyed by argument.
    """
    child, place = EdgeKind(kind.name), Placement()
    for name, (other, rel) in TIES.get(child, {}).items():
        if sent.get(name) is not None:
            intent = SEMANTIC if rel else CONTAINMENT
            _wish(place, child, {"kind": other, "id": sent[name], "intent": intent}, argument=name, rel=rel)
    for argument, item in _items(sent):
        given = item | {"id": (ids or {}).get(argument) or item["id"]}
        if not argument.startswith("connections"):
            given["intent"] = CONTAINMENT
        _wish(place, child, given, argument=argument, rel=item.get("rel"))
    settle(place, child, several=bool(sent.get(SEVERAL)))
    return place


def joined(src_kind: EdgeKind, dst_kind: EdgeKind, *, rel: str | None, intent: str | None) -> Relation | None:
    """Return the relation between two rows, in either direction.

    The intent "containment" decides first, then the relation name sent, then the kinds. None if containment was
    requested and neither kind can be the parent of the other.
    """
    if intent == CONTAINMENT:
        return relations.holding(src_kind, dst_kind)
    if rel is not None:
        return relations.normalise(src_kind, rel, dst_kind)
    held = None if intent == SEMANTIC else relations.holding(src_kind, dst_kind)
    return held or relations.semantic(src_kind, dst_kind)


def neither_holds(src: EdgeKind, dst: EdgeKind, argument: str) -> FieldError:
    """Return the error for the intent "containment" between kinds that cannot be parent and child."""
    told = {kind: ", ".join(parent.value for parent in PARENTS[kind]) or "nothing" for kind in (src, dst)}
    message = (
        f"{argument}: neither row can be the parent of the other (parents of a {src.value}: {told[src]}; "
        f"of a {dst.value}: {told[dst]}); send intent semantic."
    )
    return FieldError(path=f"/{argument}/intent", code="no_parent", message=message, expected="semantic")


def settle(place: Placement, child: EdgeKind, *, several: bool, mend: str = KEEP_ALL) -> None:
    """Choose the primary parent: the one sent as primary, else the most specific, else the first.

    The other parents get the default relation, unless several parents are allowed. `keep_hint` ends the warning about
    an explicitly requested parent and says how to keep it.
    """
    parents = [wish for wish in place.wishes if wish.is_parent]
    if not parents:
        return
    primary = place.primary = min(parents, key=lambda wish: (not wish.is_primary, _rank(child, wish)))
    if several:
        return
    kept = []
    for wish in place.wishes:
        if not wish.is_parent or wish.named.id == primary.named.id:
            kept.append(wish)
        elif wish.named.kind != EdgeKind.PROJECT:  # every row belongs to its project anyway
            kept.append(demoted(wish, child))
            if wish.is_explicit:
                place.warnings.append(_one_parent(child, primary, kept[-1]) + mend)
    place.wishes = kept


def demoted(wish: Wish, child: EdgeKind) -> Wish:
    """Return the link with the default relation of the two kinds instead of the parent relation."""
    return Wish(wish.named, relations.semantic(child, EdgeKind(wish.named.kind)))


def build(place: Placement, row: Entity, *, project_id: UUID, subject: str, at: datetime) -> list[Edge]:
    """Return the unsaved edges of a new row. Raises NotFound, Forbidden for the rows that the call names.

    All of them must be in the row's project.
    """
    if not place.wishes:
        return []
    others = access.named_rows([wish.named for wish in place.wishes], subject=subject, project_id=project_id)
    return edges_of(place, row, others, by=subject, at=at)


def edges_of(place: Placement, row: Entity, others: Sequence[Entity], *, by: str, at: datetime) -> list[Edge]:
    """Return the unsaved edges from a row to the rows of its links. `other_rows` are those rows, in the same order."""
    found: dict[edges.Ends, Edge] = {}
    for wish, other in zip(place.wishes, others, strict=True):
        edge = edges.build(wish.relation, row, other, by=by, at=at, props=_props(wish, place))
        found.setdefault(edges.ends(edge), edge)  # rows named twice are linked once
    return list(found.values())


def _props(wish: Wish, place: Placement) -> dict[str, Any]:
    """Return the props of a link's edge."""
    props: dict[str, Any] = {edges.PRIMARY: True} if wish is place.primary else {}
    if wish.relation.is_guess and wish.sent_rel is not None:
        props[edges.ORIGINAL] = wish.sent_rel
    return props


def change(
    sent: Mapping[str, Any], row: Any, *, kind: Kind, subject: str, at: datetime
) -> tuple[list[str], list[Edge]]:
    """Update a stored row's fixed links (LINK_ARGUMENTS) to those sent. Null removes a link.

    Returns the arguments that changed something, and the current edges of the arguments sent. The caller must have
    locked the row. Raises NotFound, Forbidden for the rows that the call names.
    """
    child = EdgeKind(kind.name)
    ties = {name: tie for name, tie in TIES.get(child, {}).items() if name in sent}
    named = [Named(other, UUID(sent[name]), name) for name, (other, _) in ties.items() if sent[name] is not None]
    rows = access.named_rows(named, subject=subject, project_id=row.project_id) if named else []
    to = {each.argument: other for each, other in zip(named, rows, strict=True)}
    changed, there = [], []
    for name, (other, rel) in ties.items():
        is_change, edge = _retie(row, _relation(child, other, rel), to.get(name), subject=subject, at=at)
        changed += [name] if is_change else []
        there += [edge] if edge else []
    return changed, there


def told(made: Sequence[Edge]) -> dict[str, Any]:
    """Return {"edges": […]} for a result, or an empty dict without edges."""
    return {"edges": [edges.told(edge) for edge in made]} if made else {}


def _retie(
    row: Any, relation: Relation, other: Entity | None, *, subject: str, at: datetime
) -> tuple[bool, Edge | None]:
    """Keep one edge of the relation, to the other row, or none. Return whether that was a change, and the edge."""
    there = _ties(row, relation)
    if other is None:
        return bool(edges.unlink(there, at=at)), None
    far = "src_id" if relation.swapped else "dst_id"
    gone = edges.unlink(there.exclude(**{far: other.pk}), at=at)
    props = {edges.PRIMARY: True} if relations.is_containment(relation) else {}
    edge, is_new = edges.link(edges.build(relation, row, other, by=subject, at=at, props=props))
    return bool(gone) or is_new, edge


def _ties(row: Any, relation: Relation) -> QuerySet[Edge]:
    near, far_kind = ("dst_id", "src_kind") if relation.swapped else ("src_id", "dst_kind")
    kind = relation.src_kind if relation.swapped else relation.dst_kind
    return Edge.objects.filter(deleted_at=None, rel=relation.rel, **{near: row.pk, far_kind: kind})


def _items(sent: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (path in the args, item) for each item of `parent`, `parents` and `connections`."""
    if sent.get("parent"):
        yield "parent", sent["parent"]
    for name in ("parents", "connections"):
        for index, item in enumerate(sent.get(name) or []):
            yield f"{name}/{index}", item


def _nameless(argument: str) -> FieldError:
    message = f"{argument}/id is required: uuid. If you do not know it, send the row's title as {argument}/title."
    return FieldError(path=f"/{argument}/id", code="required", message=message, expected="uuid, required")


def _wish(place: Placement, child: EdgeKind, sent: dict[str, Any], *, argument: str, rel: str | None = None) -> None:
    other, intent = EdgeKind(sent["kind"]), sent.get("intent")
    if intent == CONTAINMENT and other not in PARENTS[child]:
        place.errors.append(_no_parent(child, argument))
        return
    named = Named(other, UUID(sent["id"]), argument if argument.endswith("_id") else f"{argument}/id")
    relation = relations.containment(child, other) if intent == CONTAINMENT else None
    relation = relation or _relation(child, other, rel, is_semantic=intent == SEMANTIC)
    place.wishes.append(Wish(named, relation, sent_rel=rel, is_primary=bool(sent.get("is_primary"))))
    if rel is not None and argument.startswith("connections"):
        place.warnings += edges.renamed(rel, relation, argument=f"{argument}/rel")


def _relation(child: EdgeKind, other: EdgeKind, rel: str | None, *, is_semantic: bool = False) -> Relation:
    """Return the relation to another row: the one named, else the parent relation, else the default of the kinds."""
    if rel is not None:
        return relations.normalise(child, rel, other)
    return (None if is_semantic else relations.containment(child, other)) or relations.semantic(child, other)


def _no_parent(child: EdgeKind, argument: str) -> FieldError:
    allowed = [parent.value for parent in PARENTS[child]]
    message = f"{argument} has a kind that cannot be the parent of a {child.value}; " + (
        f"send one of {', '.join(allowed)}." if allowed else "leave it out."
    )
    return FieldError(path=f"/{argument}/kind", code="enum", message=message, expected="|".join(allowed) or None)


def _rank(child: EdgeKind, wish: Wish) -> int:
    return PARENTS[child].index(EdgeKind(wish.named.kind))


def _one_parent(child: EdgeKind, primary: Wish, other: Wish) -> str:
    return (
        f"A {child.value} has one parent, here {primary.named.argument}; stored {other.named.argument} as "
        f"{other.relation.told}."
    )
