"""Arguments that place a row: which edges they request, before any row is read."""

from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from tests.support.loops import for_each
from workspace import relations
from workspace.entity_types import ENTITY_TYPE_BY_NAME
from workspace.models import EdgeKind
from workspace.relations import ALLOWED_PARENTS
from workspace.services.edges import edge_arguments

ONE, OTHER = str(UUID(int=1)), str(UUID(int=2))
GOAL, MILESTONE = {"kind": "goal", "id": ONE}, {"kind": "milestone", "id": OTHER}


def parse_links(kind: str, **sent: Any) -> edge_arguments.ResolvedLinks:
    return edge_arguments.parse_links(sent, kind=ENTITY_TYPE_BY_NAME[kind])


def format_links(result: edge_arguments.ResolvedLinks) -> list[str]:
    return [wish.relation.sentence for wish in result.links]


@for_each(
    "kind, sent, edges",
    [
        ("task", {}, []),
        ("task", {"plan_id": None, "parents": [], "connections": []}, []),  # null and empty request nothing
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
def test_arguments_become_edges(kind: str, sent: dict[str, Any], edges: list[str]) -> None:
    result = parse_links(kind, **sent)

    assert (format_links(result), result.errors) == (edges, [])


@for_each(
    "sent, edges, primary",
    [
        (
            {"plan_id": ONE, "parent": {"kind": "goal", "id": OTHER}},
            ["plan has_task task", "task supports_goal goal"],
            "plan_id",
        ),
        ({"parents": [GOAL, MILESTONE]}, ["task supports_goal goal", "milestone has_task task"], "parents/1/id"),
        (
            {"parents": [GOAL | {"is_primary": True}, MILESTONE]},
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
def test_one_parent_is_kept_and_others_become_links(sent: dict[str, Any], edges: list[str], primary: str) -> None:
    result = parse_links("task", **sent)

    assert format_links(result) == edges
    assert result.primary is not None
    assert result.primary.named.argument == primary
    [warning] = result.warnings
    assert warning.startswith(f"A task has one parent, here {primary}; stored ")


@for_each(
    "sent, edges, primary",
    [
        # The project gets no edge if there is another parent.
        ({"plan_id": ONE, "parent": {"kind": "project", "id": OTHER}}, ["plan has_task task"], "plan_id"),
        (
            {"parents": [GOAL, MILESTONE], "allow_multi_parent": True},
            ["goal has_task task", "milestone has_task task"],
            "parents/1/id",
        ),
    ],
)
def test_all_parents_are_kept_on_request_and_without_another(
    sent: dict[str, Any], edges: list[str], primary: str
) -> None:
    result = parse_links("task", **sent)

    assert (format_links(result), result.warnings) == (edges, [])
    assert result.primary is not None
    assert result.primary.named.argument == primary


def test_disallowed_parent_kind_is_refused_with_the_allowed_ones() -> None:
    result = parse_links("task", parents=[{"kind": "plan", "id": ONE}, {"kind": "document", "id": OTHER}])

    [error] = result.errors
    assert (error.path, error.code, error.expected) == ("/parents/1/kind", "enum", "plan|milestone|goal|project")
    assert error.message == (
        "parents/1 has a kind that cannot be the parent of a task; send one of plan, milestone, goal, project."
    )


@for_each("kind", EdgeKind.values)
@for_each("parent", EdgeKind.values)
def test_only_allowed_parents_are_accepted(kind: str, parent: str) -> None:
    sent = {"kind": parent, "id": ONE}

    for result in (parse_links(kind, parent=sent), parse_links(kind, connections=[sent | {"intent": "containment"}])):
        assert (not result.errors) is (parent in ALLOWED_PARENTS[EdgeKind(kind)])


def test_word_that_is_not_a_relation_is_stored_with_a_warning() -> None:
    result = parse_links("task", connections=[{"kind": "risk", "id": ONE, "rel": "worries about"}])

    assert format_links(result) == ["task has_risk risk"]
    assert result.warnings == [
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
def test_row_gets_two_parents_only_on_request(kind: str, sent: list[Any], parents: list[Any]) -> None:
    result = parse_links(kind, connections=sent, parents=parents)

    holding = {(wish.named.kind, wish.named.id) for wish in result.links if wish.is_parent}
    assert len({id for _, id in holding}) <= 1
    assert (result.primary is None) is (not holding)
    for wish in result.links:
        assert {wish.relation.src_kind, wish.relation.dst_kind} == {kind, wish.named.kind}
