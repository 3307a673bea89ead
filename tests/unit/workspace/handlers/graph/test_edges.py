import uuid
from functools import partial
from typing import Any

import pytest
from django.db import transaction

from core.handler_contract import Forbidden, InvalidArgs, NotFound
from tests.support.concurrency import run_at_once
from tests.support.loops import for_each
from tests.support.rows import project_graph
from tests.support.rows.factories import MembershipFactory, ProjectFactory, TaskFactory
from tests.support.values.handler_calls import AT, call_handler, get_field_error, list_field_errors
from workspace.models import Edge, MemberRole, Project

NOW = "2026-03-02T12:30:00Z"  # calls.AT


def link(src: Any, rel: str, dst: Any, **args: Any) -> Any:
    ends = {"src_kind": src._meta.model_name, "src_id": str(src.pk), "dst_kind": dst._meta.model_name}
    return call_handler("link_onto_entities", **ends, dst_id=str(dst.pk), rel=rel, **args)


def test_link_stores_and_returns_the_edge(project: Project) -> None:
    plan, task = project_graph.create_row("plan", project), project_graph.create_row("task", project)

    outcome = link(plan, "has_task", task, props={"note": "first"})

    edge = Edge.objects.get()
    assert outcome.result == {
        "edge": {
            "id": str(edge.pk),
            "src_kind": "plan",
            "src_id": str(plan.pk),
            "rel": "has_task",
            "dst_kind": "task",
            "dst_id": str(task.pk),
            "props": {"note": "first"},
            "created_at": NOW,
        },
        "created": 1,
        "message": f"Linked: “{plan}” has_task “{task}”.",
    }
    assert (edge.project_id, edge.created_by, edge.created_at, edge.deleted_at) == (project.pk, "owner", AT, None)
    assert (outcome.entity_id, outcome.entity_name) == (str(edge.pk), "plan has_task task")
    assert outcome.warnings == ()


@for_each(
    "sent, stored, warning",
    [
        ("plan/has_task/task", "plan has_task task", None),
        ("task/has_task/plan", "plan has_task task", "Swapped the ends: has_task goes from plan to task."),
        ("task/belongs_to_plan/plan", "plan has_task task", "Read rel as plan has_task task."),
        ("task/Depends on/task", "task depends_on task", "Read rel as task depends_on task."),
        ("task/supports/goal", "task supports_goal goal", "Read rel as task supports_goal goal."),
        (
            "milestone/is a step to/goal",
            "goal has_milestone milestone",
            "rel is not a relation between these kinds; stored as goal has_milestone milestone, with the original in "
            "original_rel.",
        ),
    ],
    undone=True,
)
def test_link_warns_when_it_stores_another_edge_than_sent(
    project: Project, sent: str, stored: str, warning: str | None
) -> None:
    src, rel, dst = sent.split("/")
    one, other = project_graph.create_row(src, project), project_graph.create_row(dst, project)

    outcome = link(one, rel, other)

    edge = Edge.objects.get()
    assert str(edge) == stored
    ends = (one.pk, other.pk) if stored.startswith(src) else (other.pk, one.pk)
    assert (edge.src_id, edge.dst_id) == ends
    assert outcome.warnings == ((warning,) if warning else ())
    assert outcome.result["edge"]["props"] == ({"original_rel": rel} if "original_rel" in (warning or "") else {})


@for_each("rel", ["must be done before", "cannot start before", "finish_to_start", "leads to"], undone=True)
def test_unknown_word_between_tasks_is_refused_because_it_can_mean_either_order(project: Project, rel: str) -> None:
    first, second = TaskFactory(project=project), TaskFactory(project=project)

    error = get_field_error(lambda: link(first, rel, second))

    assert (error.path, error.code) == ("/rel", "unknown_relation")
    assert error.message.startswith(
        "rel is not a relation between rows of one kind; send depends_on if src waits for dst,"
    )


def test_order_words_are_stored_in_their_direction_and_the_message_names_the_rows(project: Project) -> None:
    first, second = (TaskFactory(project=project, title=title) for title in ("Lower the TTL", "Move the site"))

    outcome = link(first, "precedes", second)

    assert (outcome.result["edge"]["src_id"], outcome.result["edge"]["rel"]) == (str(second.pk), "depends_on")
    assert outcome.result["message"] == "Linked: “Move the site” depends_on “Lower the TTL”."


@for_each("rel", ["subtask_of", "Is subtask of", "has_subtask"], undone=True)
def test_subtask_is_not_an_edge(project: Project, rel: str) -> None:
    one, other = TaskFactory(project=project), TaskFactory(project=project)

    with pytest.raises(InvalidArgs, match=r"parent_task_id with onto\.task\.update"):
        link(one, rel, other)

    assert not Edge.objects.exists()


def test_rows_that_wait_for_each_other_are_warned_about(project: Project) -> None:
    first, second, third = (TaskFactory(project=project) for _ in range(3))

    assert link(first, "depends_on", second).warnings == ()
    assert link(second, "depends_on", third).warnings == ()
    assert link(third, "references", first).warnings == ()
    [warning] = link(third, "depends_on", first).warnings
    assert warning.startswith("These rows now wait for each other in a circle")
    second.deleted_at = AT
    second.save()
    Edge.objects.filter(src_id=third.pk).delete()
    assert link(third, "depends_on", first).warnings == ()


def test_second_link_creates_no_edge_and_warns_that_other_props_and_words_are_not_stored(project: Project) -> None:
    plan, task = project_graph.create_row("plan", project), project_graph.create_row("task", project)
    first = link(plan, "has_task", task, props={"a": 1})

    again = link(task, "belongs_to_plan", plan)

    assert again.result["created"] == 0
    assert again.result["edge"] == first.result["edge"]
    assert again.result["message"] == f"Nothing changed; already linked: “{plan}” has_task “{task}”."
    assert again.entity_id == first.entity_id
    assert link(plan, "has_task", task, props={"a": 1}).warnings == ()
    assert len(link(plan, "has_task", task, props={"a": 2}).warnings) == 1
    expected = "rel is not a relation between these kinds; read as plan has_task task."
    assert link(plan, "employs", task).warnings == (expected,)
    assert Edge.objects.get().props == {"a": 1}


def test_link_refuses_a_row_and_itself_and_rows_of_two_projects(project: Project) -> None:
    task, other = project_graph.create_row("task", project), project_graph.create_row("task", ProjectFactory())

    for dst, code in ((task, "self_edge"), (other, "other_project"), (other.project, "other_project")):
        errors = list_field_errors(lambda dst=dst: link(task, "depends_on", dst))
        assert errors == [("/dst_id", code)]
    assert not Edge.objects.exists()


@for_each("end, other", [("src", "dst"), ("dst", "src")], undone=True)
def test_link_finds_one_end_by_title_in_the_project_of_the_other(project: Project, end: str, other: str) -> None:
    task, document = (
        project_graph.create_row("task", project),
        project_graph.create_row("document", project, title="Brief"),
    )
    project_graph.create_row("document", ProjectFactory(), title="Brief")

    ends = {f"{end}_kind": "document", f"{end}_title": " brief", f"{other}_kind": "task", f"{other}_id": str(task.pk)}
    outcome = call_handler("link_onto_entities", **ends, rel="references")

    assert {outcome.result["edge"]["src_id"], outcome.result["edge"]["dst_id"]} == {str(task.pk), str(document.pk)}
    assert Edge.objects.get().project_id == project.pk


def test_link_refuses_ends_without_id_and_title(project: Project) -> None:
    task = {"src_kind": "task", "src_id": str(project_graph.create_row("task", project).pk), "dst_kind": "task"}
    bare = {"src_kind": "task", "dst_kind": "task"}

    for args, paths in ((task, ["/dst_id"]), (bare, ["/src_id", "/dst_id"])):
        errors = list_field_errors(lambda args=args: call_handler("link_onto_entities", **args, rel="references"))
        assert errors == [(path, "required") for path in paths]


def test_link_by_title_reveals_nothing_about_an_invisible_project(project: Project) -> None:
    foreign = project_graph.create_row("task", ProjectFactory(created_by="someone else"))
    project_graph.create_row("goal", foreign.project, name="Secret")

    messages = set()
    for id in (str(foreign.pk), str(uuid.uuid4())):
        for title in ("Secret", "Nothing"):
            ends = {"src_kind": "task", "src_id": id, "dst_kind": "goal", "dst_title": title}
            with pytest.raises(NotFound) as refused:
                call_handler("link_onto_entities", **ends, rel="supports_goal")
            messages.add(refused.value.message)

    assert len(messages) == 1
    assert "this src_id;" in messages.pop()


def test_link_uses_the_id_when_id_and_title_are_sent(project: Project) -> None:
    task, other = project_graph.create_row("task", project), project_graph.create_row("task", project)

    outcome = link(task, "depends_on", other, dst_title="nothing is called so")

    assert outcome.warnings == ("Ignored dst_title: dst_id was also sent.",)
    assert Edge.objects.get().dst_id == other.pk


@for_each("kind", ["task", "project"], undone=True)
def test_link_and_unlink_require_write_permission(project: Project, kind: str) -> None:
    MembershipFactory(project=project, subject="viewer", role=MemberRole.VIEWER)
    row, document = project_graph.create_row(kind, project), project_graph.create_row("document", project)
    edge = project_graph.create_edge(row, "references", document)

    with pytest.raises(Forbidden):
        link(row, "references", document, subject="viewer")
    with pytest.raises(Forbidden):
        call_handler("unlink_onto_edge", subject="viewer", edge_id=str(edge.pk))

    assert Edge.objects.get().deleted_at is None


def test_unlink_is_soft_and_keeps_the_rows(project: Project) -> None:
    plan, task = project_graph.create_row("plan", project), project_graph.create_row("task", project)
    edge = project_graph.create_edge(plan, "has_task", task)

    outcome = call_handler("unlink_onto_edge", edge_id=str(edge.pk))

    assert outcome.result == {
        "edge": {"id": str(edge.pk)},
        "deleted": 1,
        "message": "Removed the link plan has_task task; both rows stay.",
    }
    assert (outcome.entity_id, outcome.entity_name) == (str(edge.pk), "plan has_task task")
    assert Edge.objects.get().deleted_at == AT
    for each in (plan, task):
        each.refresh_from_db()
        assert each.deleted_at is None
    again = link(plan, "has_task", task).result
    assert (again["created"], again["edge"]["id"] == str(edge.pk)) == (1, False)


@pytest.mark.django_db(transaction=True)
def test_concurrent_equal_links_create_one_edge() -> None:
    project = ProjectFactory()
    plan, task = project_graph.create_row("plan", project), project_graph.create_row("task", project)

    def join(number: int) -> Any:
        with transaction.atomic():
            return link(plan, "has_task", task) if number % 2 else link(task, "belongs_to_plan", plan)

    outcomes = run_at_once([partial(join, number) for number in range(4)])

    assert sorted(outcome.result["created"] for outcome in outcomes) == [0, 0, 0, 1]
    assert {outcome.entity_id for outcome in outcomes} == {str(Edge.objects.get().pk)}


def test_link_is_removed_by_its_two_rows(db: None) -> None:
    task = TaskFactory()
    other = TaskFactory(project=task.project)
    ends = {"src_kind": "task", "src_id": str(task.pk), "dst_kind": "task", "dst_id": str(other.pk)}
    ids = {"src_id": str(other.pk), "dst_id": str(task.pk)}
    first = call_handler("link_onto_entities", rel="depends_on", **ends).result["edge"]["id"]
    second = call_handler("link_onto_entities", rel="relates_to", **ends).result["edge"]["id"]

    with pytest.raises(InvalidArgs) as several:
        call_handler("unlink_onto_edge", **ids)
    with pytest.raises(InvalidArgs, match="src_id and dst_id"):
        call_handler("unlink_onto_edge", src_id=str(task.pk))
    with pytest.raises(NotFound):
        call_handler("unlink_onto_edge", edge_id=first, src_id=str(uuid.uuid4()))
    call_handler("unlink_onto_edge", edge_id=second)
    outcome = call_handler("unlink_onto_edge", **ids)

    assert [each["edge_id"] for each in several.value.field_errors[0].expected] == [first, second]
    assert outcome.entity_id == first
