"""The relations between rows: their names, the kinds that they join, and their direction.

Pure tables and functions. A relation reads as a sentence such as `task depends_on task`: source, relation, destination.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product

from workspace.models import EdgeKind

DOCUMENT, GOAL, MILESTONE, PLAN = EdgeKind.DOCUMENT, EdgeKind.GOAL, EdgeKind.MILESTONE, EdgeKind.PLAN
PROJECT, REQUIREMENT, RISK, TASK = EdgeKind.PROJECT, EdgeKind.REQUIREMENT, EdgeKind.RISK, EdgeKind.TASK

Pair = tuple[EdgeKind, EdgeKind]  # the kinds of a source and of its destination


class Rel(StrEnum):
    """All relations. KINDS_BY_RELATION lists the kinds that each one joins."""

    HAS_GOAL = "has_goal"
    HAS_MILESTONE = "has_milestone"
    HAS_PLAN = "has_plan"
    HAS_TASK = "has_task"
    HAS_RISK = "has_risk"
    HAS_REQUIREMENT = "has_requirement"
    HAS_DOCUMENT = "has_document"
    TASK_HAS_DOCUMENT = "task_has_document"
    CONTAINS = "contains"
    SUPPORTS_GOAL = "supports_goal"
    TARGETS_MILESTONE = "targets_milestone"
    MITIGATES = "mitigates"
    DEPENDS_ON = "depends_on"
    BLOCKS = "blocks"
    REFERENCES = "references"


# The allowed parents of each kind, the most specific first. A row without a parent belongs directly to its project:
# project_id says so, and no edge repeats it. Documents have their own tree.
PARENTS: dict[EdgeKind, tuple[EdgeKind, ...]] = {
    PROJECT: (),
    DOCUMENT: (),
    GOAL: (PROJECT,),
    MILESTONE: (GOAL,),
    PLAN: (MILESTONE, GOAL, PROJECT),
    TASK: (PLAN, MILESTONE, GOAL, PROJECT),
    RISK: (TASK, PLAN, MILESTONE, GOAL, PROJECT),
    REQUIREMENT: (MILESTONE, GOAL, PROJECT),
}

# The relation from a parent to a child of each kind.
HOLDS: dict[EdgeKind, Rel] = {
    GOAL: Rel.HAS_GOAL,
    MILESTONE: Rel.HAS_MILESTONE,
    PLAN: Rel.HAS_PLAN,
    TASK: Rel.HAS_TASK,
    RISK: Rel.HAS_RISK,
    REQUIREMENT: Rel.HAS_REQUIREMENT,
}


def _pairs(sources: Iterable[EdgeKind], destinations: Iterable[EdgeKind]) -> frozenset[Pair]:
    return frozenset(product(sources, destinations))


_ANY = tuple(EdgeKind)
_PARTS = tuple(kind for kind in EdgeKind if kind is not PROJECT)
_HELD = {HOLDS[child]: _pairs(PARENTS[child], [child]) for child in HOLDS}

JOINS: dict[Rel, frozenset[Pair]] = {
    **_HELD,
    Rel.HAS_DOCUMENT: _pairs([PROJECT], [DOCUMENT]),
    Rel.TASK_HAS_DOCUMENT: _pairs([TASK], [DOCUMENT]),
    Rel.CONTAINS: frozenset().union(*_HELD.values(), ((kind, kind) for kind in _PARTS)),
    Rel.SUPPORTS_GOAL: _pairs([TASK, PLAN, MILESTONE, REQUIREMENT, DOCUMENT], [GOAL]),
    Rel.TARGETS_MILESTONE: _pairs([TASK, PLAN, REQUIREMENT, DOCUMENT], [MILESTONE]),
    Rel.MITIGATES: _pairs([TASK, PLAN, MILESTONE, GOAL, REQUIREMENT, DOCUMENT], [RISK]),
    Rel.DEPENDS_ON: _pairs(_PARTS, _PARTS),
    Rel.BLOCKS: _pairs(_PARTS, _PARTS),
    Rel.REFERENCES: _pairs(_ANY, _ANY),
}

# The default relation between two kinds, used when the caller names none. Later lines override earlier ones for the
# same two kinds. Pairs without a line default to REFERENCES.
_LIKELY: dict[Pair, Rel] = {
    **{pair: rel for rel, pairs in _HELD.items() for pair in pairs},
    **{(DOCUMENT, kind): Rel.REFERENCES for kind in _PARTS},
    (PROJECT, DOCUMENT): Rel.HAS_DOCUMENT,
    (TASK, TASK): Rel.DEPENDS_ON,
    (TASK, GOAL): Rel.SUPPORTS_GOAL,
    (PLAN, GOAL): Rel.SUPPORTS_GOAL,
    (TASK, MILESTONE): Rel.TARGETS_MILESTONE,
    (PLAN, MILESTONE): Rel.TARGETS_MILESTONE,
}
BY_KINDS: dict[frozenset[EdgeKind], tuple[Pair, Rel]] = {frozenset(pair): (pair, rel) for pair, rel in _LIKELY.items()}

# Aliases: the relation that each name means, and whether the name reads from destination to source.
OLD_NAMES: dict[str, tuple[Rel, bool]] = {
    "belongs_to_plan": (Rel.HAS_TASK, True),
    "part_of": (Rel.CONTAINS, True),
    "referenced_by": (Rel.REFERENCES, True),
    "blocked_by": (Rel.BLOCKS, True),
    "mitigated_by": (Rel.MITIGATES, True),
    "achieved_by": (Rel.SUPPORTS_GOAL, True),
    "supports": (Rel.SUPPORTS_GOAL, False),
    "builds_on": (Rel.DEPENDS_ON, False),
}


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation as it is stored.

    `swapped`: source and destination are reversed compared with what the caller sent. `is_guess`: the name sent is not
    a relation between these kinds, so the relation was chosen by kind.
    """

    src_kind: EdgeKind
    rel: Rel
    dst_kind: EdgeKind
    swapped: bool = False
    is_guess: bool = False

    @property
    def told(self) -> str:
        """The relation as a sentence, such as task depends_on task."""
        return f"{self.src_kind.value} {self.rel} {self.dst_kind.value}"


def normalise(src_kind: EdgeKind, rel: str, dst_kind: EdgeKind) -> Relation:
    """Return the relation that a name means between two kinds, in the direction in which it is stored.

    Idempotent. The ends are swapped if the name reads from destination to source, or if the relation joins these kinds
    only in the other direction. So the same edge results whichever end the caller starts from.
    """
    named, from_other_end = _named(rel)
    if named is Rel.HAS_DOCUMENT and {src_kind, dst_kind} == {TASK, DOCUMENT}:
        named = Rel.TASK_HAS_DOCUMENT
    if named is not None:
        ends = (dst_kind, src_kind) if from_other_end else (src_kind, dst_kind)
        if ends in JOINS[named]:
            return Relation(ends[0], named, ends[1], swapped=from_other_end)
        if ends[::-1] in JOINS[named]:
            return Relation(ends[1], named, ends[0], swapped=not from_other_end)
    return _likely(src_kind, dst_kind)


def semantic(src_kind: EdgeKind, dst_kind: EdgeKind) -> Relation:
    """Return the default relation between two kinds that is not a parent-child relation."""
    found = _likely(src_kind, dst_kind)
    return normalise(src_kind, Rel.REFERENCES, dst_kind) if is_containment(found) else found


def containment(child: EdgeKind, parent: EdgeKind) -> Relation | None:
    """Return the parent-child relation as seen from the child, or None if this parent is not allowed."""
    return Relation(parent, HOLDS[child], child, swapped=True) if parent in PARENTS[child] else None


def holding(src_kind: EdgeKind, dst_kind: EdgeKind) -> Relation | None:
    """Return the parent-child relation between two kinds in either direction, or None if neither can be the parent."""
    held = Relation(src_kind, HOLDS[dst_kind], dst_kind) if src_kind in PARENTS[dst_kind] else None
    return held or containment(src_kind, dst_kind)


def from_other_end(relation: Relation) -> Relation:
    """Return the same relation as seen from the other row."""
    return replace(relation, swapped=not relation.swapped)


def is_containment(relation: Relation) -> bool:
    """Whether the source is the parent of the destination."""
    return HOLDS.get(relation.dst_kind) is relation.rel


def spelt(rel: str) -> str:
    """Return a relation name in snake_case: Depends-On becomes depends_on."""
    return re.sub(r"[\s\-]+", "_", rel.strip().casefold())


def _named(rel: str) -> tuple[Rel | None, bool]:
    name = spelt(rel)
    if name in OLD_NAMES:
        return OLD_NAMES[name]
    return (Rel(name) if name in set(Rel) else None), False


def _likely(src_kind: EdgeKind, dst_kind: EdgeKind) -> Relation:
    ends = (src_kind, dst_kind)
    likely, rel = BY_KINDS.get(frozenset(ends), (ends, Rel.REFERENCES))
    return Relation(likely[0], rel, likely[1], swapped=likely != ends, is_guess=True)
