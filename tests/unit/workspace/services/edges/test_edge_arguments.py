"""Where arguments place a row: which edges are asked for, before any row is looked for."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspace import relations
from workspace.entity_types import ENTITY_TYPE_BY_NAME
from workspace.models import EdgeKind
from workspace.relations import ALLOWED_PARENTS
from workspace.services.edges import edge_arguments

ONE, OTHER = str(UUID(int=1)), str(UUID(int=2))


def place(kind: str, **sent: Any) -> edge_arguments.ResolvedLinks:
    return edge_arguments.parse_links(sent, kind=ENTITY_TYPE_BY_NAME[kind])


def told(found: edge_arguments.ResolvedLinks) -> list[str]:
    return [wish.relation.sentence for wish in found.links]


@pytest.mark.parametrize(
    ("kind", "sent", "edges"),
    [
        ("task", {}, []),
        ("task", {"plan_id": None, "parents": [], "connections": []}, []),  # neither null nor empty is a wish
        ("task", {"plan_id": ONE}, ["plan has_task task"]),
        ("task", {"goal_id": ONE}, ["task supports_goal goal"]),
        ("task", {"supporting_milestone_id": ONE}, ["task targets_milestone milestone"]),
        ("plan", {"goal_id": ONE}, ["goal has_plan plan"]),
        ("plan", {"milestone_id": ONE}, ["milestone has_plan plan"]),
        ("task", {"parent": {"kind": "goal", "id": ONE}}, ["goal has_task task"]),
        ("task", {"parent": {"kind": "project", "id": ONE}}, ["project has_task task"]),
        ("milestone", {"parent": {"kind": "goal", "id": ONE}}, ["goal has_milestone milestone"]),
        ("risk", {"parent": {"kind": "task", "id": ONE}}, ["task has_risk risk"]),
        ("requirement", {"parent": {"kind": "milestone", "id": ONE}}, ["milestone has_requirement requirement"]),
        ("goal", {"parent": {"kind": "project", "id": ONE}}, ["project has_goal goal"]),
        ("task", {"connections": [{"kind": "plan", "id": ONE}]}, ["plan has_task task"]),
        ("task", {"connections": [{"kind": "task", "id": ONE}]}, ["task depends_on task"]),
        ("task", {"connections": [{"kind": "document", "id": ONE}]}, ["document references task"]),
        ("task", {"connections": [{"kind": "goal", "id": ONE, "intent": "semantic"}]}, ["task supports_goal goal"]),
        ("task", {"connections": [{"kind": "plan", "id": ONE, "intent": "semantic"}]}, ["task references plan"]),
        ("task", {"connections": [{"kind": "risk", "id": ONE, "rel": "mitigates"}]}, ["task mitigates risk"]),
        ("task", {"connections": [{"kind": "task", "id": ONE, "rel": "blocked_by"}]}, ["task blocks task"]),
        ("task", {"connections": [{"kind": "goal", "id": ONE, "rel": "has_task"}]}, ["goal has_task task"]),
    ],
)
def test_arguments_are_edges(kind: str, sent: dict[str, Any], edges: list[str]) -> None:
    found = place(kind, **sent)

    assert (told(found), found.errors) == (edges, [])


@pytest.mark.parametrize(
    ("sent", "edges", "primary"),
    [
        (
            {"plan_id": ONE, "parent": {"kind": "goal", "id": OTHER}},
            ["plan has_task task", "task supports_goal goal"],
            "plan_id",
        ),
        (
            {"parents": [{"kind": "goal", "id": ONE}, {"kind": "milestone", "id": OTHER}]},
            ["task supports_goal goal", "milestone has_task task"],
            "parents/1/id",
        ),
        (
            {"parents": [{"kind": "goal", "id": ONE, "is_primary": True}, {"kind": "milestone", "id": OTHER}]},
            ["goal has_task task", "task targets_milestone milestone"],
            "parents/0/id",
        ),
        (
            {"parents": [{"kind": "plan", "id": ONE}, {"kind": "plan", "id": OTHER}]},
            ["plan has_task task", "task references plan"],
            "parents/0/id",
        ),
    ],
)
def test_one_parent_wins_and_the_others_are_linked_otherwise(
    sent: dict[str, Any], edges: list[str], primary: str
) -> None:
    found = place("task", **sent)

    assert told(found) == edges
    assert found.primary is not None
    assert found.primary.named.argument == primary
    [warning] = found.warnings
    assert warning.startswith(f"A task has one parent, here {primary}; stored ")


def test_the_project_needs_no_edge_beside_a_parent() -> None:
    found = place("task", plan_id=ONE, parent={"kind": "project", "id": OTHER})

    assert (told(found), found.warnings) == (["plan has_task task"], [])


def test_several_parents_stay_where_they_are_asked_for() -> None:
    parents = [{"kind": "goal", "id": ONE}, {"kind": "milestone", "id": OTHER}]

    found = place("task", parents=parents, allow_multi_parent=True)

    assert (told(found), found.warnings) == (["goal has_task task", "milestone has_task task"], [])
    assert found.primary is not None
    assert found.primary.named.argument == "parents/1/id"


def test_a_parent_of_a_kind_that_is_not_allowed_is_refused_with_those_that_are() -> None:
    found = place("task", parents=[{"kind": "plan", "id": ONE}, {"kind": "document", "id": OTHER}])

    [error] = found.errors
    assert (error.path, error.code, error.expected) == ("/parents/1/kind", "enum", "plan|milestone|goal|project")
    assert error.message == (
        "parents/1 has a kind that cannot be the parent of a task; send one of plan, milestone, goal, project."
    )


@pytest.mark.parametrize("kind", EdgeKind.values)
@pytest.mark.parametrize("parent", EdgeKind.values)
def test_exactly_the_allowed_parents_are_allowed(kind: str, parent: str) -> None:
    sent = {"kind": parent, "id": ONE}

    for found in (place(kind, parent=sent), place(kind, connections=[sent | {"intent": "containment"}])):
        assert (not found.errors) is (parent in ALLOWED_PARENTS[EdgeKind(kind)])


def test_a_word_that_is_no_relation_is_kept_and_said() -> None:
    found = place("task", connections=[{"kind": "risk", "id": ONE, "rel": "worries about"}])

    assert told(found) == ["task has_risk risk"]
    assert found.warnings == [
        "connections/0/rel is not a relation between these kinds; stored as task has_risk risk, with the original in "
        "original_rel."
    ]


connections = st.lists(
    st.fixed_dictionaries(
        {"kind": st.sampled_from(EdgeKind.values), "id": st.sampled_from([ONE, OTHER])},
        optional={
            "intent": st.sampled_from(["containment", "semantic"]),
            "rel": st.sampled_from([*relations.Rel, *relations.RELATION_ALIASES, "else"]),
            "is_primary": st.booleans(),
        },
    ),
    max_size=6,
)


@given(kind=st.sampled_from(EdgeKind.values), sent=connections, parents=connections)
def test_a_row_never_gets_two_parents_unasked(kind: str, sent: list[Any], parents: list[Any]) -> None:
    found = place(kind, connections=sent, parents=parents)

    holding = {(wish.named.kind, wish.named.id) for wish in found.links if wish.is_parent}
    assert len({id for _, id in holding}) <= 1
    assert (found.primary is None) is (not holding)
    for wish in found.links:
        assert {wish.relation.src_kind, wish.relation.dst_kind} == {kind, wish.named.kind}
