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

_SEPARATORS = re.compile(r"[\s\-]+")

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
ALLOWED_PARENTS: dict[EdgeKind, tuple[EdgeKind, ...]] = {
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
PARENT_RELATIONS: dict[EdgeKind, Rel] = {
    GOAL: Rel.HAS_GOAL,
    MILESTONE: Rel.HAS_MILESTONE,
    PLAN: Rel.HAS_PLAN,
    TASK: Rel.HAS_TASK,
    RISK: Rel.HAS_RISK,
    REQUIREMENT: Rel.HAS_REQUIREMENT,
}


def _build_pairs(sources: Iterable[EdgeKind], destinations: Iterable[EdgeKind]) -> frozenset[Pair]:
    return frozenset(product(sources, destinations))


_ALL_KINDS = tuple(EdgeKind)
_KINDS_IN_PROJECT = tuple(kind for kind in EdgeKind if kind is not PROJECT)
_PARENT_PAIRS = {PARENT_RELATIONS[child]: _build_pairs(ALLOWED_PARENTS[child], [child]) for child in PARENT_RELATIONS}

KINDS_BY_RELATION: dict[Rel, frozenset[Pair]] = {
    **_PARENT_PAIRS,
    Rel.HAS_DOCUMENT: _build_pairs([PROJECT], [DOCUMENT]),
    Rel.TASK_HAS_DOCUMENT: _build_pairs([TASK], [DOCUMENT]),
    Rel.CONTAINS: frozenset().union(*_PARENT_PAIRS.values(), ((kind, kind) for kind in _KINDS_IN_PROJECT)),
    Rel.SUPPORTS_GOAL: _build_pairs([TASK, PLAN, MILESTONE, REQUIREMENT, DOCUMENT], [GOAL]),
    Rel.TARGETS_MILESTONE: _build_pairs([TASK, PLAN, REQUIREMENT, DOCUMENT], [MILESTONE]),
    Rel.MITIGATES: _build_pairs([TASK, PLAN, MILESTONE, GOAL, REQUIREMENT, DOCUMENT], [RISK]),
    Rel.DEPENDS_ON: _build_pairs(_KINDS_IN_PROJECT, _KINDS_IN_PROJECT),
    Rel.BLOCKS: _build_pairs(_KINDS_IN_PROJECT, _KINDS_IN_PROJECT),
    Rel.REFERENCES: _build_pairs(_ALL_KINDS, _ALL_KINDS),
}

# The default relation between two kinds, used when the caller names none. Later lines override earlier ones for the
# same two kinds. Pairs without a line default to REFERENCES.
_DEFAULT_RELATIONS: dict[Pair, Rel] = {
    **{pair: rel for rel, pairs in _PARENT_PAIRS.items() for pair in pairs},
    **{(DOCUMENT, kind): Rel.REFERENCES for kind in _KINDS_IN_PROJECT},
    (PROJECT, DOCUMENT): Rel.HAS_DOCUMENT,
    (TASK, TASK): Rel.DEPENDS_ON,
    (TASK, GOAL): Rel.SUPPORTS_GOAL,
    (PLAN, GOAL): Rel.SUPPORTS_GOAL,
    (TASK, MILESTONE): Rel.TARGETS_MILESTONE,
    (PLAN, MILESTONE): Rel.TARGETS_MILESTONE,
}
DEFAULTS_BY_KINDS: dict[frozenset[EdgeKind], tuple[Pair, Rel]] = {
    frozenset(pair): (pair, rel) for pair, rel in _DEFAULT_RELATIONS.items()
}

# Other words for a relation that read from source to destination, and those that read from destination to source.
_SAME_WAY: dict[Rel, tuple[str, ...]] = {
    Rel.CONTAINS: ("includes", "parent_of", "has_part", "has_child"),
    Rel.SUPPORTS_GOAL: ("supports", "contributes_to"),
    Rel.TARGETS_MILESTONE: ("targets",),
    Rel.DEPENDS_ON: tuple(
        """
    builds_on requires needs dependent_on has_prerequisite follows after comes_after starts_after preceded_by
    successor_of waits_for waits_on waiting_for waiting_on
""".split()
    ),
    Rel.BLOCKS: ("blocking", "prevents"),
    Rel.REFERENCES: ("refers_to", "mentions", "cites", "relates_to", "related_to", "related", "see_also"),
}
_OTHER_WAY: dict[Rel, tuple[str, ...]] = {
    Rel.HAS_TASK: ("belongs_to_plan",),
    Rel.CONTAINS: ("part_of", "child_of", "belongs_to", "contained_in", "included_in"),
    Rel.SUPPORTS_GOAL: ("achieved_by", "supported_by"),
    Rel.MITIGATES: ("mitigated_by",),
    Rel.DEPENDS_ON: tuple(
        """
    precedes before comes_before predecessor_of followed_by enables prerequisite_of prerequisite_for required_by
    required_for needed_by needed_for dependency_of depended_on_by
""".split()
    ),
    Rel.BLOCKS: ("blocked_by", "blocked_on"),
    Rel.REFERENCES: ("referenced_by", "mentioned_by", "cited_by"),
}
# The relation that each other word means, and whether the word reads from destination to source.
RELATION_ALIASES: dict[str, tuple[Rel, bool]] = {
    **{word: (rel, False) for rel, words in _SAME_WAY.items() for word in words},
    **{word: (rel, True) for rel, words in _OTHER_WAY.items() for word in words},
}
# Words for a task inside a task, which no edge says.
SUBTASK_WORDS = frozenset({"subtask_of", "sub_task_of", "has_subtask", "has_sub_task", "subtask", "parent_task"})


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
    def sentence(self) -> str:
        """The relation as a sentence, such as task depends_on task."""
        return f"{self.src_kind.value} {self.rel} {self.dst_kind.value}"


def resolve_relation(src_kind: EdgeKind, rel: str, dst_kind: EdgeKind) -> Relation:
    """Return the relation that a name means between two kinds, in the direction in which it is stored.

    Idempotent. The ends are swapped if the name reads from destination to source, or if the relation joins these kinds
    only in the other direction. So the same edge results whichever end the caller starts from.
    """
    name, from_other_end = _parse_name(rel)
    if name is Rel.HAS_DOCUMENT and {src_kind, dst_kind} == {TASK, DOCUMENT}:
        name = Rel.TASK_HAS_DOCUMENT
    if name is not None:
        ends = (dst_kind, src_kind) if from_other_end else (src_kind, dst_kind)
        if ends in KINDS_BY_RELATION[name]:
            return Relation(ends[0], name, ends[1], swapped=from_other_end)
        if ends[::-1] in KINDS_BY_RELATION[name]:
            return Relation(ends[1], name, ends[0], swapped=not from_other_end)
    if src_kind is dst_kind:  # an unknown word can mean either order, so the guess says none
        return Relation(src_kind, Rel.REFERENCES, dst_kind, is_guess=True)
    return _get_default_relation(src_kind, dst_kind)


def get_semantic_relation(src_kind: EdgeKind, dst_kind: EdgeKind) -> Relation:
    """Return the default relation between two kinds that is not a parent-child relation."""
    relation = _get_default_relation(src_kind, dst_kind)
    return resolve_relation(src_kind, Rel.REFERENCES, dst_kind) if is_containment(relation) else relation


def get_parent_relation(child: EdgeKind, parent: EdgeKind) -> Relation | None:
    """Return the parent-child relation as seen from the child, or None if this parent is not allowed."""
    return Relation(parent, PARENT_RELATIONS[child], child, swapped=True) if parent in ALLOWED_PARENTS[child] else None


def find_parent_relation(src_kind: EdgeKind, dst_kind: EdgeKind) -> Relation | None:
    """Return the parent-child relation between two kinds in either direction, or None if neither can be the parent."""
    relation = (
        Relation(src_kind, PARENT_RELATIONS[dst_kind], dst_kind) if src_kind in ALLOWED_PARENTS[dst_kind] else None
    )
    return relation or get_parent_relation(src_kind, dst_kind)


def view_from_other_end(relation: Relation) -> Relation:
    """Return the same relation as seen from the other row."""
    return replace(relation, swapped=not relation.swapped)


def is_containment(relation: Relation) -> bool:
    """Whether the source is the parent of the destination."""
    return PARENT_RELATIONS.get(relation.dst_kind) is relation.rel


def normalise_name(rel: str) -> str:
    """Return a relation name in snake_case and without a leading "is": Is-Blocked-By becomes blocked_by."""
    return _SEPARATORS.sub("_", rel.strip().casefold()).removeprefix("is_")


def _parse_name(rel: str) -> tuple[Rel | None, bool]:
    name = normalise_name(rel)
    if name in RELATION_ALIASES:
        return RELATION_ALIASES[name]
    return (Rel(name) if name in set(Rel) else None), False


def _get_default_relation(src_kind: EdgeKind, dst_kind: EdgeKind) -> Relation:
    ends = (src_kind, dst_kind)
    default_ends, rel = DEFAULTS_BY_KINDS.get(frozenset(ends), (ends, Rel.REFERENCES))
    return Relation(default_ends[0], rel, default_ends[1], swapped=default_ends != ends, is_guess=True)
