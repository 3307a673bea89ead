"""The changes that a reorganize call plans, without a database."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID, uuid5

from hypothesis import given
from hypothesis import strategies as st

from tests.support.loops import for_each
from tests.support.rows.factories import MADE_AT
from workspace import relations
from workspace.entity_types import ENTITY_TYPE_BY_NAME
from workspace.models import Edge, EdgeKind, Entity, Project
from workspace.relations import ALLOWED_PARENTS, PARENT_RELATIONS, Rel
from workspace.services.edges import edges, graph_reorganize
from workspace.services.edges.edges import IS_PRIMARY

PROJECT = Project(id=UUID(int=1), name="Launch")

# One row of each kind, named by its first letter (q: a requirement), and a second one of some kinds.
NAMES = {
    "g": "goal",
    "m": "milestone",
    "p": "plan",
    "t": "task",
    "r": "risk",
    "q": "requirement",
    "d": "document",
    "g2": "goal",
    "m2": "milestone",
    "p2": "plan",
    "t2": "task",
}
ROWS: dict[str, Any] = {
    name: ENTITY_TYPE_BY_NAME[kind].model(id=uuid5(PROJECT.pk, name), project=PROJECT)  # type: ignore[misc]
    for name, kind in NAMES.items()
} | {"project": PROJECT}
BY_ID = {row.pk: name for name, row in ROWS.items()}
KIND = NAMES | {"project": "project"}

BOTH = {"allow_multi_parent": True}


def edge(src: str, rel: str, dst: str, **props: Any) -> Edge:
    return Edge(
        project=PROJECT,
        src_kind=KIND[src],
        src_id=ROWS[src].pk,
        rel=rel,
        dst_kind=KIND[dst],
        dst_id=ROWS[dst].pk,
        props=props,
    )


def to(name: str, **more: Any) -> dict[str, Any]:
    return {"kind": KIND[name], "id": str(ROWS[name].pk)} | more


def node(name: str, *connections: dict[str, Any], **more: Any) -> dict[str, Any]:
    return to(name) | {"connections": list(connections)} | more


def plan(*nodes: dict[str, Any], there: list[Edge] | None = None, **options: Any) -> graph_reorganize.GraphPlan:
    request = graph_reorganize.parse_request(nodes, options, project_id=PROJECT.pk)
    assert request.errors == []
    rows: dict[UUID, Entity] = {row.pk: row for row in ROWS.values()}
    return graph_reorganize.plan_changes(request, rows, there or [], by="s", at=MADE_AT)


def format_edges(edge_rows: list[Edge]) -> list[str]:
    return sorted(f"{BY_ID[edge.src_id]} {edge.rel} {BY_ID[edge.dst_id]}" for edge in edge_rows)


def format_changes(changes: graph_reorganize.GraphPlan) -> tuple[list[str], list[str]]:
    return format_edges(changes.created), format_edges(changes.deleted)


@for_each("there, sent, created, deleted", [
        # A parent is added, changed, removed.
        ([], node("t", to("p")), ["p has_task t"], []),
        ([edge("p", "has_task", "t")], node("t", to("p2")), ["p2 has_task t"], ["p has_task t"]),
        ([edge("p", "has_task", "t")], node("t", to("p")), [], []),
        ([edge("p", "has_task", "t")], node("t"), [], ["p has_task t"]),
        ([edge("p", "has_task", "t")], node("t", mode="merge"), [], []),
        # Every row is in its project anyway: no edge to the project is created or deleted for that.
        ([edge("project", "has_task", "t")], node("t"), [], []),
        ([edge("project", "has_task", "t")], node("t", to("p")), ["p has_task t"], ["project has_task t"]),
        ([edge("project", "has_task", "t")], node("t", to("p"), mode="merge"), ["p has_task t"], []),
        ([], node("g", to("project")), ["project has_goal g"], []),
        # The most specific parent is kept, the others become links.
        ([], node("t", to("g"), to("p"), to("m")), ["p has_task t", "t supports_goal g", "t targets_milestone m"], []),
        ([], node("t", to("g"), to("p"), allow_multi_parent=True), ["g has_task t", "p has_task t"], []),
        # Merging adds no second parent.
        ([edge("p", "has_task", "t")], node("t", to("p2"), mode="merge"), ["t references p2"], []),
        ([edge("p", "has_task", "t")], node("t", to("p2"), mode="merge", **BOTH), ["p2 has_task t"], []),
        # From either end: a plan becomes the parent of its task, unless another plan is.
        ([], node("p", to("t")), ["p has_task t"], []),
        ([edge("p2", "has_task", "t")], node("p", to("t")), ["t references p"], []),
        ([edge("p2", "has_task", "t")], node("p", to("t", rel="has_task"), **BOTH), ["p has_task t"], []),
        # Edges of other rows are kept.
        ([edge("p", "has_task", "t2"), edge("t2", "depends_on", "t")], node("t", to("p")), ["p has_task t"], []),
    ])  # fmt: skip
def test_plan_places_a_node(there: list[Edge], sent: dict[str, Any], created: list[str], deleted: list[str]) -> None:
    assert format_changes(plan(sent, there=there)) == (created, deleted)


LINKED = [
    edge("t", "supports_goal", "g"),
    edge("t", "depends_on", "t2"),
    edge("d", "references", "t"),
    edge("t", "mitigates", "r"),  # requested explicitly, so no suggestion of the kinds replaces it
    edge("t", "task_has_document", "d"),
    edge("t2", "depends_on", "t"),  # of the other task
]
SUGGESTED = ["d references t", "t depends_on t2", "t supports_goal g"]


@for_each(
    "mode, connections, created, deleted",
    [
        (None, [], [], []),  # no link is named, so none changes
        (None, [to("g2", intent="semantic")], ["t supports_goal g2"], SUGGESTED),
        ("replace_auto", [], [], SUGGESTED),
        ("replace_auto", [to("g", intent="semantic"), to("t2")], [], ["d references t"]),
        ("merge", [to("g2", intent="semantic")], ["t supports_goal g2"], []),
        ("merge", [to("g", intent="semantic")], [], []),
        ("preserve", [to("g2", intent="semantic")], [], []),
    ],
)
def test_links_change_according_to_the_mode(
    mode: str | None, connections: list[Any], created: list[str], deleted: list[str]
) -> None:
    options = {"semantic_mode": mode} if mode else {}

    assert format_changes(plan(node("t", *connections, **options), there=LINKED)) == (created, deleted)
    expected = (created, deleted)
    assert format_changes(plan(node("t", *connections), there=LINKED, **options)) == expected


def test_replaced_parent_does_not_remove_links() -> None:
    changes = plan(node("t", to("p"), to("g2")), there=LINKED)

    assert format_changes(changes) == (["p has_task t", "t supports_goal g2"], [])


def test_node_overrides_the_options() -> None:
    there = [edge("p", "has_task", "t"), edge("p", "has_task", "t2")]

    changes = plan(node("t", to("p2"), mode="replace"), node("t2", to("p2")), there=there, mode="merge")

    assert format_changes(changes) == (["p2 has_task t", "t2 references p2"], ["p has_task t"])


def test_edge_that_one_node_drops_and_another_names_is_kept() -> None:
    there = [edge("t", "depends_on", "t2")]
    back = to("t", rel="depends_on")

    changes = plan(node("t", semantic_mode="replace_auto"), node("t2", to("t", rel="builds_on")), there=there)

    assert format_changes(changes) == (["t2 depends_on t"], ["t depends_on t2"])
    assert format_changes(plan(node("t2", back), node("t", to("t2")), there=there)) == (["t2 depends_on t"], [])


def test_nested_listed_rows_move_together() -> None:
    there = [edge("p", "has_task", "t"), edge("g", "has_plan", "p")]

    changes = plan(node("p", to("t2"), to("m")), node("t2"), node("t", to("p2")), node("m", to("g")), there=there)

    assert format_changes(changes) == (
        ["g has_milestone m", "m has_plan p", "p has_task t2", "p2 has_task t"],
        ["g has_plan p", "p has_task t"],
    )


def test_one_parent_is_primary() -> None:
    there = [edge("g", "has_task", "t", is_primary=True, note="kept"), edge("m", "has_task", "t")]

    changes = plan(node("t", to("g"), to("m"), to("p"), allow_multi_parent=True), there=there)

    assert format_edges(changes.created) == ["p has_task t"]
    assert changes.created[0].props == {IS_PRIMARY: True}
    assert [(BY_ID[each.src_id], each.props) for each in changes.updated] == [("g", {"note": "kept"})]
    assert there[0].props == {"is_primary": True, "note": "kept"}  # planning changes nothing


def test_a_kept_parent_becomes_the_primary() -> None:
    there = [edge("p", "has_task", "t"), edge("g", "has_task", "t", is_primary=True)]

    changes = plan(node("t", to("p")), there=there)

    assert format_changes(changes) == ([], ["g has_task t"])
    assert [(BY_ID[each.src_id], each.props) for each in changes.updated] == [("p", {"is_primary": True})]


def test_merge_keeps_the_existing_primary() -> None:
    there = [edge("g", "has_task", "t", is_primary=True)]

    changes = plan(node("t", to("p"), mode="merge", allow_multi_parent=True), there=there)

    assert (changes.created[0].props, changes.updated) == ({}, [])
    again = plan(node("t", to("p"), mode="merge", allow_multi_parent=True), there=[*there, *changes.created])
    assert again.is_empty


def test_unknown_relation_is_stored_with_a_warning() -> None:
    changes = plan(node("t", to("r", rel="worries about", intent="semantic")))

    assert format_edges(changes.created) == ["t has_risk r"]
    assert changes.warnings[0].startswith(
        "nodes/0/connections/0/rel is not a relation between these kinds; stored as task has_risk"
    )


@for_each("there, sent, warning", [
        (
            [],
            node("t", to("p"), to("g", intent="containment")),
            "A task has one parent, here nodes/0/connections/0/id; stored nodes/0/connections/1/id as task "
            "supports_goal goal. Send allow_multi_parent: true to keep all parents.",
        ),
        (
            [edge("p", "has_task", "t")],
            node("t", to("p2"), mode="merge"),
            "The task already has a parent; stored nodes/0/connections/0/id as task references plan. Send mode "
            "replace to move it, or allow_multi_parent: true to keep both.",
        ),
        (
            [edge("p", "has_task", "t")],
            node("p2", to("t")),
            "The task already has a parent; stored nodes/0/connections/0/id as task references plan. List it among "
            "nodes to move it, or allow_multi_parent: true to keep both.",
        ),
        (
            [],
            node("t", to("g", intent="semantic"), semantic_mode="preserve"),
            "Left out nodes/0/connections/0/id: semantic_mode preserve adds no links.",
        ),
    ])  # fmt: skip
def test_plan_warns_about_other_changes_than_requested(there: list[Edge], sent: dict[str, Any], warning: str) -> None:
    assert plan(sent, there=there).warnings == [warning]


@for_each(
    "nodes, wrong",
    [
        ([node("t"), node("p"), node("t", to("p"))], [("/nodes/2/id", "duplicate")]),
        ([node("t", to("t"))], [("/nodes/0/connections/0/id", "self_edge")]),
        ([node("t", {"kind": "project", "id": str(ROWS["g"].pk)})], [("/nodes/0/connections/0/id", "other_project")]),
        (
            [node("t", to("t2", intent="containment"), to("d", intent="containment"))],
            [("/nodes/0/connections/0/intent", "no_parent"), ("/nodes/0/connections/1/intent", "no_parent")],
        ),
    ],
)
def test_invalid_connections_are_reported_at_their_pointers(nodes: list[Any], wrong: list[Any]) -> None:
    request = graph_reorganize.parse_request(nodes, {}, project_id=PROJECT.pk)

    assert [(error.path, error.code) for error in request.errors] == wrong


@for_each(
    "there, sent, refused",
    [
        ([], node("t"), True),
        ([edge("project", "has_task", "t")], node("t"), True),
        ([edge("p", "has_task", "t")], node("t"), True),
        ([edge("p", "has_task", "t")], node("t", mode="merge"), False),
        ([], node("t", to("p")), False),
        ([], node("t", to("project")), False),
    ],
)
def test_node_without_a_parent_is_refused_when_fallback_is_off(
    there: list[Edge], sent: dict[str, Any], refused: bool
) -> None:
    changes = plan(sent, there=there, allow_project_fallback=False)

    assert [(error.path, error.code) for error in changes.errors] == ([("/nodes/0", "no_parent")] if refused else [])
    assert plan(sent, there=there).errors == []


def test_plan_hash_depends_only_on_the_changes() -> None:
    there = [edge("p", "has_task", "t"), edge("p2", "has_task", "t2")]
    first, again = (plan(node("t", to("p2")), there=there) for _ in range(2))

    assert first.hash == again.hash
    assert first.hash == plan(node("t", to("p2")), there=there[:1]).hash  # an unrelated edge changed
    assert len({first.hash, plan(node("t", to("p"))).hash, plan(node("t", to("p2"))).hash, plan(node("t")).hash}) == 4


names = st.sampled_from([*NAMES, "project"])
listed = st.sampled_from([name for name, kind in NAMES.items() if kind != "document"])
connection_options: list[dict[str, Any]] = [
    {},
    *({"intent": intent} for intent in ("semantic", "containment")),
    *({"rel": rel} for rel in [*Rel, "part_of", "else"]),
]
connections = st.lists(
    st.builds(lambda name, more: to(name, **more), names, st.sampled_from(connection_options)), max_size=5
)
settings_of_a_node = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from(graph_reorganize.ParentMode),
        "semantic_mode": st.sampled_from(graph_reorganize.SemanticMode),
        "allow_multi_parent": st.booleans(),
        "allow_project_fallback": st.booleans(),
    },
)
nodes = st.lists(
    st.builds(lambda name, linked, more: node(name, *linked, **more), listed, connections, settings_of_a_node),
    min_size=1,
    max_size=4,
    unique_by=lambda each: each["id"],
)
graphs = st.lists(st.tuples(names, st.sampled_from(Rel), names, st.booleans()), max_size=12).map(
    lambda ends: keep_one_primary_each(
        {
            edges.get_identity(each): each
            for src, rel, dst, is_primary in ends
            if (EdgeKind(KIND[src]), EdgeKind(KIND[dst])) in relations.KINDS_BY_RELATION[rel] and src != dst
            for each in [
                edge(src, rel, dst, **({IS_PRIMARY: True} if is_primary and rel in PARENT_RELATIONS.values() else {}))
            ]
        }.values()
    )
)


def keep_one_primary_each(candidates: Iterable[Edge]) -> list[Edge]:
    """Mark at most one parent of each row as primary, as every op that creates edges does."""
    marked: set[UUID] = set()
    there = list(candidates)
    for each in there:
        if each.dst_id in marked:
            each.props = {}
        elif each.props:
            marked.add(each.dst_id)
    return there


@given(nodes, graphs)
def test_any_plan_can_be_applied_and_a_second_one_is_empty(sent: list[Any], there: list[Edge]) -> None:
    request = graph_reorganize.parse_request(sent, {}, project_id=PROJECT.pk)
    if request.errors:
        return
    rows: dict[UUID, Entity] = {row.pk: row for row in ROWS.values()}

    changes = graph_reorganize.plan_changes(request, rows, there, by="s", at=MADE_AT)

    before = {edges.get_identity(each) for each in there}
    created = {edges.get_identity(each) for each in changes.created}
    deleted = {edges.get_identity(each) for each in changes.deleted}
    assert len(created) == len(changes.created)
    assert not created & before
    assert deleted <= before
    assert {edges.get_identity(each) for each in changes.updated} <= before - deleted
    for each in changes.created:
        assert (EdgeKind(each.src_kind), EdgeKind(each.dst_kind)) in relations.KINDS_BY_RELATION[Rel(each.rel)]
    # Only suggestions and parents of listed rows are removed.
    ids = {UUID(each["id"]) for each in sent}
    for each in changes.deleted:
        assert each.dst_id in ids or each.src_id in ids
        assert each.rel in graph_reorganize.DEFAULT_RELATIONS or each.rel == PARENT_RELATIONS[EdgeKind(each.dst_kind)]

    props = {edges.get_identity(each): each for each in changes.updated}
    then = [
        props.get(edges.get_identity(each), each) for each in there if edges.get_identity(each) not in deleted
    ] + changes.created
    for name, kind in NAMES.items():
        held = [
            each for each in then if each.dst_id == ROWS[name].pk and each.rel == PARENT_RELATIONS.get(EdgeKind(kind))
        ]
        assert all(EdgeKind(each.src_kind) in ALLOWED_PARENTS[EdgeKind(kind)] for each in held)
        assert sum(bool(each.props.get(IS_PRIMARY)) for each in held) <= 1
    again = graph_reorganize.plan_changes(request, rows, then, by="s", at=MADE_AT)
    assert again.is_empty
