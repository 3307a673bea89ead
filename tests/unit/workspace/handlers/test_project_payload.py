"""onto.project.create with all arguments: entities of every kind, relationships, clarifications, an overview."""

from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import DjangoAssertNumQueries

from core.handler_contract import ArgumentError, InvalidArgs, OpOutcome
from tests.support.loops import for_each
from tests.support.rows import project_graph
from tests.support.values.handler_calls import call_handler
from workspace import relations
from workspace.entity_types import ENTITY_TYPE_BY_NAME
from workspace.handlers.projects import new_entities, new_relationships
from workspace.models import (
    Document,
    Edge,
    EdgeKind,
    Goal,
    Membership,
    Milestone,
    Plan,
    Project,
    Requirement,
    Risk,
    Task,
)
from workspace.relations import ALLOWED_PARENTS, PARENT_RELATIONS
from workspace.services.edges.edges import IS_PRIMARY, ORIGINAL_REL
from workspace.services.time.partial_dates import PartialDates

PROJECT = {"name": "Launch", "type_key": "project.business.launch"}
LABELS = {name: kind.label for name, kind in new_entities.ENTITY_KINDS.items()}


def entity(temp_id: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"temp_id": temp_id, "kind": kind, LABELS[kind]: f"{kind} {temp_id}"} | fields


def end(temp_id: str, kind: str) -> dict[str, str]:
    return {"temp_id": temp_id, "kind": kind}


# One entity of each kind, named by its first letter; two tasks.
ONE_OF_EACH = [
    entity("g", "goal"),
    entity("m", "milestone"),
    entity("p", "plan"),
    entity("t", "task"),
    entity("t2", "task"),
    entity("d", "document"),
    entity("r", "risk"),
    entity("q", "requirement"),
]
KIND_OF = {each["temp_id"]: each["kind"] for each in ONE_OF_EACH}


def pair(src: str, dst: str, **more: Any) -> Any:
    ends = [end(temp_id, KIND_OF[temp_id]) for temp_id in (src, dst)]
    return {"from": ends[0], "to": ends[1]} | more if more else ends


def create(first: list[dict[str, Any]], related: list[Any] | None = None, **more: Any) -> OpOutcome:
    return call_handler("create_onto_project", project=PROJECT, entities=first, relationships=related or [], **more)


def create_with_errors(
    first: list[dict[str, Any]], related: list[Any] | None = None, **more: Any
) -> list[ArgumentError]:
    with pytest.raises(InvalidArgs) as refused:
        create(first, related, **more)
    for model in (Project, Membership, Edge, *(kind.model for kind in ENTITY_TYPE_BY_NAME.values())):
        assert not model._default_manager.exists()
    return refused.value.field_errors


def get_error_codes(errors: list[ArgumentError]) -> list[tuple[str, str]]:
    return [(error.path, error.code) for error in errors]


def sentences() -> list[str]:
    return [sentence for sentence in project_graph.list_edges() if sentence != "project has_document document"]


def test_create_stores_every_kind_with_its_fields(db: None) -> None:
    outcome = create(
        [
            entity("g", "goal", target_date="2026-05", measurement_criteria="100", state_key="active", priority=2),
            entity("m", "milestone", due_at="May 2026", state_key="pending"),
            entity("p", "plan", plan="1. Do", start_date="2026-04-06", end_date="2026-04", type_key="plan.phase.beta"),
            entity("t", "task", start_at="2026-04-06", due_at="2026-04-10", recurrence="weekly", priority=1),
            entity("d", "document", content="# A\n\nB", type_key="document.note"),
            entity("r", "risk", impact="high", probability=0.25, content="Ask early"),
            entity("q", "requirement", priority=1, props={"source": "law"}),
        ],
        [pair("g", letter) for letter in "mptrqd"],
    )

    assert outcome.warnings == ()
    assert outcome.result["counts"] == {
        "goals": 1,
        "milestones": 1,
        "plans": 1,
        "tasks": 1,
        "documents": 2,
        "risks": 1,
        "requirements": 1,
        "edges": 7,
    }
    goal, milestone, plan, task = (model.objects.get() for model in (Goal, Milestone, Plan, Task))
    expected = ("2026-05-31", "100", "active", 2)
    assert (str(goal.target_date), goal.measurement_criteria, goal.state_key, goal.priority) == expected
    assert milestone.due_at.isoformat() == "2026-05-31T23:59:59+00:00"
    assert (str(plan.start_date), str(plan.end_date), plan.type_key) == ("2026-04-06", "2026-04-30", "plan.phase.beta")
    assert (task.start_at.isoformat(), task.due_at.isoformat(), task.recurrence) == (
        "2026-04-06T00:00:00+00:00",
        "2026-04-10T23:59:59+00:00",
        "weekly",
    )
    assert (Risk.objects.get().impact, Risk.objects.get().probability) == ("high", 0.25)
    assert (Requirement.objects.get().text, Requirement.objects.get().props) == ("requirement q", {"source": "law"})
    assert Document.objects.get(type_key="document.note").content == "# A\n\nB"


@for_each(
    "related, edges",
    [
        # In either order, the end that may be the parent becomes the parent.
        ([("p", "t"), ("m", "p"), ("g", "m")], ["goal has_milestone milestone", "milestone has_plan plan"]),
        ([("t", "p"), ("p", "m"), ("m", "g")], ["goal has_milestone milestone", "milestone has_plan plan"]),
        # Of several parents, the most specific is kept, and the others become their most likely links.
        ([("g", "t"), ("p", "t"), ("m", "t")], ["task supports_goal goal", "task targets_milestone milestone"]),
        ([("t", "g"), ("t", "p"), ("g", "p")], ["goal has_plan plan", "task supports_goal goal"]),
        # Rows without a parent relation are linked as their kinds suggest.
        ([("p", "t"), ("t2", "t"), ("t", "d")], ["document references task", "task depends_on task"]),
    ],
    undone=True,
)
def test_pairs_place_rows_under_their_parents(db: None, related: list[tuple[str, str]], edges: list[str]) -> None:
    outcome = create(ONE_OF_EACH, [pair(*each) for each in related])

    assert sentences() == sorted([*edges, "plan has_task task"])
    assert len(outcome.warnings) == edges.count("task depends_on task")  # which of two tasks waits is a guess
    for held in Edge.objects.filter(rel__in=PARENT_RELATIONS.values()):
        assert held.props == {IS_PRIMARY: True}
    assert {edge.project_id for edge in Edge.objects.all()} == {Project.objects.get().pk}


def test_objects_define_relations_between_rows(db: None) -> None:
    outcome = create(
        ONE_OF_EACH,
        [
            pair("t", "r", rel="mitigates"),
            pair("t2", "t", rel="blocked_by"),
            pair("g", "t", intent="semantic"),
            pair("t2", "p", intent="containment"),
            pair("t", "q", rel="worries about"),
        ],
    )

    assert sentences() == [
        "plan has_task task",
        "task blocks task",
        "task mitigates risk",
        "task references requirement",
        "task supports_goal goal",
    ]
    assert Edge.objects.get(rel="references").props == {ORIGINAL_REL: "worries about"}
    assert outcome.warnings == (
        "Read relationships/1/rel as task blocks task.",
        "relationships/4/rel is not a relation between these kinds; stored as task references requirement, with the "
        "original in original_rel.",
    )


def test_create_warns_about_a_requested_parent_that_it_did_not_keep(db: None) -> None:
    outcome = create(ONE_OF_EACH, [pair("g", "t", rel="has_task"), pair("p", "t", intent="containment")])

    assert sentences() == ["plan has_task task", "task supports_goal goal"]
    assert outcome.warnings == (
        "A task has one parent, here relationships/1; stored relationships/0 as task supports_goal goal.",
    )


def test_repeated_or_reversed_relationships_create_one_edge(db: None) -> None:
    result = create(ONE_OF_EACH, [pair("p", "t"), pair("t", "p"), pair("p", "t", rel="has_task")]).result

    assert sentences() == ["plan has_task task"]
    assert result["counts"]["edges"] == 2  # and the edge of the overview


def test_warnings_are_limited(db: None) -> None:
    tasks = [entity(str(number), "task") for number in range(30)]
    related = [{"from": end("0", "task"), "to": end(str(number), "task"), "rel": "enables"} for number in range(1, 30)]

    warnings = create(tasks, related).warnings

    assert len(warnings) == 21
    assert warnings[-1] == "9 more relationships were stored differently than sent."


@for_each("first, related, wrong", [
        ([], [pair("p", "t")], [("/relationships", "no_entities")]),
        (ONE_OF_EACH, [], [("/relationships", "required")]),
        (ONE_OF_EACH, [pair("t", "t")], [("/relationships/0", "self_edge")]),
        (ONE_OF_EACH, [pair("t", "t2", intent="containment")], [("/relationships/0/intent", "no_parent")]),
        (ONE_OF_EACH, [pair("d", "t", intent="containment")], [("/relationships/0/intent", "no_parent")]),
        (
            ONE_OF_EACH,
            [[end("p", "plan"), end("x", "task")], {"from": end("y", "task"), "to": end("z", "task"), "rel": "blocks"}],
            [
                ("/relationships/0/1/temp_id", "unknown_temp_id"),
                ("/relationships/1/from/temp_id", "unknown_temp_id"),
                ("/relationships/1/to/temp_id", "unknown_temp_id"),
            ],
        ),
        (ONE_OF_EACH, [[end("p", "task"), end("t", "plan")]], [
            ("/relationships/0/0/kind", "kind_mismatch"),
            ("/relationships/0/1/kind", "kind_mismatch"),
        ]),
    ], undone=True)  # fmt: skip
def test_invalid_relationships_are_refused_at_their_pointers(
    db: None, first: list[Any], related: list[Any], wrong: list[Any]
) -> None:
    assert get_error_codes(create_with_errors(first, related)) == wrong


def test_missing_relationships_are_proposed_if_each_entity_has_one_possible_parent(db: None) -> None:
    [error] = create_with_errors(ONE_OF_EACH)

    assert error.send == {
        "relationships": [
            [end("g", "goal"), end("m", "milestone")],
            [end("m", "milestone"), end("p", "plan")],
            [end("p", "plan"), end("t", "task")],
            [end("p", "plan"), end("t2", "task")],
            [end("p", "plan"), end("r", "risk")],
            [end("m", "milestone"), end("q", "requirement")],
        ]
    }
    [error] = create_with_errors([entity("g", "goal"), entity("h", "goal"), entity("t", "task")])
    assert error.send is None


def test_entities_that_cannot_belong_to_each_other_need_no_relationships(db: None) -> None:
    result = create([entity("t", "task"), entity("t2", "task"), entity("d", "document"), entity("r", "risk")]).result

    assert result["counts"]["tasks"] == 2
    assert sentences() == []


def test_guessed_order_of_tasks_is_told_with_their_titles(db: None) -> None:
    warnings = create(ONE_OF_EACH, [pair("t", "t2"), pair("p", "t")]).warnings

    assert warnings == (
        "No rel was sent, so “task t” depends_on “task t2”. If the first does not wait for the second, send rel.",
    )
    assert create(ONE_OF_EACH, [pair("t", "t2", rel="depends_on")]).warnings == ()


@for_each("sent, wrong", [
        ({"temp_id": "g", "kind": "goal"}, [("name", "required")]),
        ({"temp_id": "q", "kind": "requirement"}, [("text", "required")]),
        (entity("g", "goal", name=" "), [("name", "blank")]),
        (entity("g", "goal", due_at="2026"), [("due_at", "unknown_argument")]),
        (entity("q", "requirement", state_key="done"), [("state_key", "unknown_argument")]),
        (entity("q", "requirement", description="d"), [("description", "unknown_argument")]),
        (entity("t", "task", name="N"), [("name", "unknown_argument")]),
        (entity("t", "task", impact="high"), [("impact", "unknown_argument")]),
        (entity("t", "task", state_key="mitigated"), [("state_key", "enum")]),
        (entity("m", "milestone", type_key="task.execute"), [("type_key", "pattern")]),
        (entity("t", "task", type_key="task.sing"), [("type_key", "pattern")]),
        (entity("p", "plan", name="x" * 201), [("name", "maxLength")]),
        (entity("r", "risk", content="x" * 20_001), [("content", "maxLength")]),
        (entity("t", "task", due_at="soon"), [("due_at", "impossible_time")]),
        (entity("t", "task", start_at="2026-02-30"), [("start_at", "impossible_time")]),
        (entity("p", "plan", start_date="2026-05", end_date="2026-04"), [("end_date", "out_of_order")]),
    ], undone=True)  # fmt: skip
def test_entity_with_fields_of_another_kind_is_refused(db: None, sent: dict[str, Any], wrong: list[Any]) -> None:
    assert get_error_codes(create_with_errors([sent])) == [(f"/entities/0/{name}", code) for name, code in wrong]


@for_each("sent, stored, warnings", [
        ({"kind": "goal", "title": "A"}, {"name": "A"}, ["Read title as name."]),
        (
            {"kind": "document", "title": "A", "body_markdown": "# B"},
            {"title": "A", "content": "# B"},
            ["Read body_markdown as content."],
        ),
        ({"kind": "task", "name": "A"}, {"title": "A"}, ["Read name as title."]),
        ({"kind": "requirement", "title": "A"}, {"text": "A"}, ["Read title as text."]),
        ({"kind": "task", "title": "A", "state_key": "completed"}, {"state_key": "done"}, ["Read state_key as done."]),
        ({"kind": "goal", "name": "A", "state_key": "todo"}, {"state_key": "draft"}, ["Read state_key as draft."]),
        ({"kind": "document"}, {"title": "Untitled Document"}, [
            "No title was sent, so the document was named Untitled Document."
        ]),
    ], undone=True)  # fmt: skip
def test_create_warns_about_values_it_interpreted(
    db: None, sent: dict[str, Any], stored: dict[str, Any], warnings: list[str]
) -> None:
    outcome = create([{"temp_id": "x"} | sent])

    row: Any = (
        ENTITY_TYPE_BY_NAME[sent["kind"]]
        .model._default_manager.order_by("pk")
        .exclude(type_key="document.context.project")[0]
    )
    assert {name: getattr(row, name) for name in stored} == stored
    assert list(outcome.warnings) == [f"entities/0: {warning}" for warning in warnings]


def test_all_errors_are_reported_together(db: None) -> None:
    with pytest.raises(InvalidArgs) as refused:
        call_handler(
            "create_onto_project",
            project=PROJECT | {"start_at": "one day"},
            entities=[entity("t", "task", due_at="soon"), entity("t", "task"), entity("g", "goal", impact="low")],
            relationships=[[end("t", "task"), end("x", "goal")], [end("t", "plan"), end("g", "goal")]],
            context_document={"title": " ", "content": "x", "type_key": "document.x.y", "state_key": "ended"},
        )

    assert get_error_codes(refused.value.field_errors) == [
        ("/project/start_at", "impossible_time"),
        ("/entities/0/due_at", "impossible_time"),
        ("/entities/1/temp_id", "duplicate"),
        ("/entities/2/impact", "unknown_argument"),
        ("/relationships/0/1/temp_id", "unknown_temp_id"),
        ("/relationships/1/0/kind", "kind_mismatch"),
        ("/context_document/state_key", "enum"),
    ]
    assert not Project.objects.exists()


def test_clarifications_create_nothing_and_are_returned(db: None) -> None:
    questions = [{"key": "budget", "question": "How much may it cost?", "required": True}]

    outcome = create([entity("t", "task")], clarifications=questions)

    assert outcome.result == {
        "project_id": None,
        "counts": {},
        "clarifications": questions,
        "message": "Nothing was created. Ask the user the question in clarifications, then repeat the whole call with "
        "the answers and without clarifications.",
    }
    assert outcome.entity_id is None
    assert not Project.objects.exists()
    assert create([], clarifications=[]).result["counts"]["documents"] == 1


def test_overview_is_composed_from_the_payload(db: None) -> None:
    call_handler(
        "create_onto_project",
        project=PROJECT | {"executive_summary": "In short.", "description": "At length.", "context": "## Who\n\nInes"},
        entities=[
            entity("g", "goal", name="A hundred\nsign-ups", target_date="2026-05"),
            entity("p", "plan"),
            entity("t", "task", due_at="2026-04-10"),
        ],
        relationships=[pair("g", "p"), pair("p", "t")],
    )

    overview = Document.objects.get()
    expected = ("Launch: overview", "document.context.project", "draft")
    assert (overview.title, overview.type_key, overview.state_key) == expected
    assert overview.content == (
        "In short.\n\nAt length.\n\n## Who\n\nInes\n\n## Goals\n\n- A hundred sign-ups (by 2026-05-31)\n\n"
        "## Plans\n\n- plan p\n\n## Tasks\n\n- task t (by 2026-04-10)\n"
    )
    edge = Edge.objects.get(rel="has_document")
    assert (edge.src_id, edge.dst_id) == (Project.objects.get().pk, overview.pk)


@for_each("name", ["Launch", "x" * 200], undone=True)
def test_project_without_entities_has_an_overview_or_the_sent_one(db: None, name: str) -> None:
    sent = {"title": "Brief", "content": r"# A\n\nB", "state_key": "ready", "props": {"a": 1}}

    call_handler("create_onto_project", project=PROJECT | {"name": name})
    assert Document.objects.get().content == "Nothing more is known about this project yet.\n"
    Document.objects.all().delete()
    create([], context_document=sent)

    overview = Document.objects.get()
    assert (overview.title, overview.content, overview.state_key) == ("Brief", "# A\n\nB", "ready")
    assert (overview.type_key, overview.props) == ("document.context.project", {"a": 1})


def test_overview_of_the_longest_texts_can_be_stored(db: None) -> None:
    texts = {"executive_summary": "x" * 5_000, "description": "x" * 20_000, "context": "x" * 100_000}
    tasks = [entity(str(number), "requirement", text="x" * 1_000) for number in range(200)]
    related = [[end("0", "requirement"), end(str(number), "requirement")] for number in range(1, 200)]

    call_handler("create_onto_project", project=PROJECT | texts, entities=tasks, relationships=related)

    assert len(Document.objects.get().content) == 200_000


def test_create_query_count_depends_on_kinds_and_not_on_rows(
    db: None, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    first = [entity(f"{kind}{number}", kind) for kind in LABELS for number in range(28)]
    related = [[end(f"task{number}", "task"), end(f"plan{number}", "plan")] for number in range(28)]

    # The project, its membership, seven kinds, the overview, positions of both documents, edges, the project again.
    with django_assert_max_num_queries(16):
        create(first, related)


pairs = st.lists(
    st.tuples(st.sampled_from([*KIND_OF]), st.sampled_from([*KIND_OF])).flatmap(
        lambda ends: st.one_of(
            st.just(pair(*ends)),
            st.sampled_from([*relations.Rel, *relations.RELATION_ALIASES, "else"]).map(
                lambda rel: pair(*ends, rel=rel)
            ),
            st.sampled_from(["containment", "semantic"]).map(lambda intent: pair(*ends, intent=intent)),
        )
    ),
    max_size=12,
)


@given(pairs)
def test_any_relationships_give_one_parent_per_row_and_valid_edges(related: list[Any]) -> None:
    project = Project(**PROJECT)
    dates = PartialDates(ZoneInfo("UTC"))
    first = new_entities.build_entities(ONE_OF_EACH, project=project, by="s", at=project_graph.MADE_AT, dates=dates)

    relationships = new_relationships.parse_relationships(related, first.rows)
    edges = new_relationships.build_edges(relationships, first.rows, by="s", at=project_graph.MADE_AT)

    parents = [edge.dst_id for edge in edges if edge.rel == PARENT_RELATIONS.get(EdgeKind(edge.dst_kind))]
    assert len(parents) == len(set(parents))
    kinds = {row.pk: str(row._meta.model_name) for row in first.rows.values()}
    for edge in edges:
        assert (kinds[edge.src_id], kinds[edge.dst_id]) == (edge.src_kind, edge.dst_kind)
        assert (edge.src_kind, edge.dst_kind) in relations.KINDS_BY_RELATION[relations.Rel(edge.rel)]
        if edge.props.get(IS_PRIMARY):
            assert EdgeKind(edge.src_kind) in ALLOWED_PARENTS[EdgeKind(edge.dst_kind)]
    assert len({(edge.src_id, edge.rel, edge.dst_id) for edge in edges}) == len(edges)
