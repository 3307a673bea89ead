"""Relations: closed tables, and one normal form of an edge from either end."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.loops import for_each
from workspace import relations
from workspace.entity_types import ENTITY_TYPE_BY_NAME
from workspace.models import EdgeKind
from workspace.relations import (
    ALLOWED_PARENTS,
    KINDS_BY_RELATION,
    PARENT_RELATIONS,
    RELATION_ALIASES,
    Rel,
    Relation,
    resolve_relation,
)

kinds = st.sampled_from(EdgeKind)
known = st.sampled_from([*Rel, *RELATION_ALIASES])
names = known | st.text(max_size=60) | known.map(lambda name: name.replace("_", " ").title())


def test_only_entities_can_be_linked() -> None:
    assert set(EdgeKind.values) == set(ENTITY_TYPE_BY_NAME)


def test_tables_have_a_line_for_every_member() -> None:
    assert set(KINDS_BY_RELATION) == set(Rel)
    assert set(ALLOWED_PARENTS) == set(EdgeKind)
    assert set(PARENT_RELATIONS) == {kind for kind, parents in ALLOWED_PARENTS.items() if parents}


@for_each(
    "child, parents",
    [
        ("project", []),
        ("document", []),  # documents have a tree
        ("goal", ["project"]),
        ("milestone", ["goal"]),
        ("plan", ["milestone", "goal", "project"]),
        ("task", ["plan", "milestone", "goal", "project"]),
        ("risk", ["task", "plan", "milestone", "goal", "project"]),
        ("requirement", ["milestone", "goal", "project"]),
    ],
)
def test_allowed_parents_are_ordered_most_specific_first(child: str, parents: list[str]) -> None:
    assert list(ALLOWED_PARENTS[EdgeKind(child)]) == parents
    for parent in EdgeKind:
        held = relations.get_parent_relation(EdgeKind(child), parent)
        assert (held is not None) is (parent in parents)
        assert held is None or (relations.is_containment(held) and held.src_kind is parent and held.swapped)


def test_parent_relations_have_no_circle() -> None:
    def collect_ancestors(kind: EdgeKind) -> set[EdgeKind]:
        return set(ALLOWED_PARENTS[kind]).union(*(collect_ancestors(parent) for parent in ALLOWED_PARENTS[kind]))

    assert not any(kind in collect_ancestors(kind) for kind in EdgeKind)


def resolve(sent: str) -> Relation:
    src, rel, dst = sent.split()
    return resolve_relation(EdgeKind(src), rel, EdgeKind(dst))


@for_each(
    "sent, stored",
    [
        ("task depends_on task", "task depends_on task"),
        ("plan has_task task", "plan has_task task"),
        ("task has_task plan", "plan has_task task"),  # only a plan can have a task
        ("task belongs_to_plan plan", "plan has_task task"),
        ("plan belongs_to_plan task", "plan has_task task"),
        ("task part_of goal", "goal contains task"),
        ("document part_of document", "document contains document"),
        ("goal referenced_by document", "document references goal"),
        ("task blocked_by risk", "risk blocks task"),
        ("risk mitigated_by task", "task mitigates risk"),
        ("risk mitigates task", "task mitigates risk"),
        ("goal achieved_by plan", "plan supports_goal goal"),
        ("task supports goal", "task supports_goal goal"),
        ("goal supports task", "task supports_goal goal"),
        ("document builds_on document", "document depends_on document"),
        ("task Depends-On task", "task depends_on task"),
        ("task Is-Blocked-By plan", "plan blocks task"),
        ("plan precedes milestone", "milestone depends_on plan"),
        ("plan comes_before milestone", "milestone depends_on plan"),
        ("plan prerequisite_of milestone", "milestone depends_on plan"),
        ("plan follows milestone", "plan depends_on milestone"),
        ("plan is_waiting_for milestone", "plan depends_on milestone"),
        ("task relates_to task", "task references task"),
        ("task is_part_of plan", "plan contains task"),
        ("task has_document document", "task task_has_document document"),
        ("document has_document project", "project has_document document"),
        ("task references document", "task references document"),  # both directions are valid, so it is unchanged
    ],
)
def test_known_relation_is_stored_in_the_direction_of_its_kinds(sent: str, stored: str) -> None:
    relation = resolve(sent)

    assert (relation.sentence, relation.is_guess) == (stored, False)


@for_each(
    "sent, stored",
    [
        ("task helps task", "task references task"),  # depends_on would say which of them waits
        ("goal helps task", "task supports_goal goal"),
        ("plan helps goal", "plan supports_goal goal"),
        ("milestone helps plan", "plan targets_milestone milestone"),
        ("task helps milestone", "task targets_milestone milestone"),
        ("task helps plan", "plan has_task task"),
        ("milestone helps goal", "goal has_milestone milestone"),
        ("risk helps task", "task has_risk risk"),
        ("project helps requirement", "project has_requirement requirement"),
        ("goal helps document", "document references goal"),
        ("document helps project", "project has_document document"),
        ("plan helps plan", "plan references plan"),
        ("risk helps requirement", "risk references requirement"),
        ("task supports milestone", "task targets_milestone milestone"),  # not a goal, so the kinds decide
        ("goal has_task plan", "plan supports_goal goal"),
        ("goal mitigates plan", "plan supports_goal goal"),
    ],
)
def test_unknown_relation_is_chosen_by_the_kinds(sent: str, stored: str) -> None:
    relation = resolve(sent)

    assert (relation.sentence, relation.is_guess) == (stored, True)


@given(src=kinds, rel=names, dst=kinds)
def test_normal_form_is_the_same_again_and_from_either_end(src: EdgeKind, rel: str, dst: EdgeKind) -> None:
    once, back = resolve_relation(src, rel, dst), resolve_relation(dst, rel, src)

    assert resolve_relation(once.src_kind, once.rel, once.dst_kind) == Relation(once.src_kind, once.rel, once.dst_kind)
    ends = (once.src_kind, once.dst_kind)
    assert ends in KINDS_BY_RELATION[once.rel]
    assert ends == ((dst, src) if once.swapped else (src, dst))
    assert once.rel is back.rel
    if ends[::-1] not in KINDS_BY_RELATION[once.rel]:  # else both directions are valid
        assert once.sentence == back.sentence


@given(name=st.sampled_from([*RELATION_ALIASES]), src=kinds, dst=kinds)
def test_legacy_relation_maps_to_its_inverse(name: str, src: EdgeKind, dst: EdgeKind) -> None:
    rel, from_other_end = RELATION_ALIASES[name]

    result = resolve_relation(dst, rel, src) if from_other_end else resolve_relation(src, rel, dst)
    relation = resolve_relation(src, name, dst)

    assert relation.rel is result.rel
    assert {(src, dst), (dst, src)} <= KINDS_BY_RELATION[relation.rel] or relation.sentence == result.sentence


@given(src=kinds, dst=kinds)
def test_semantic_relations_have_no_parent(src: EdgeKind, dst: EdgeKind) -> None:
    relation = relations.get_semantic_relation(src, dst)

    assert not relations.is_containment(relation)
    assert (relation.src_kind, relation.dst_kind) in KINDS_BY_RELATION[relation.rel]
