from typing import Any

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from tests.unit.workspace.calls import AT, call
from workspace.errors import Invalid
from workspace.models import Document, Membership, Project, Role, Task

NOW = "2026-03-02T12:30:00Z"  # calls.AT
PROJECT = {"name": "Launch", "type_key": "project.business.launch"}


def task(temp_id: str, **more: Any) -> dict[str, Any]:
    return {"temp_id": temp_id, "kind": "task", "title": f"Task {temp_id}"} | more


def test_create_makes_the_project_its_owner_and_its_tasks(db: None) -> None:
    outcome = call(
        "create_onto_project",
        subject="s",
        project=PROJECT | {"description": "All of it", "end_at": "2026-04-01T00:00:00Z", "props": {"budget": 5}},
        entities=[task("t1", priority=1, due_at="2026-03-09T00:00:00Z"), task("t2", state_key="done")],
    )

    project = Project.objects.get()
    id = str(project.pk)
    member = Membership.objects.get()
    assert (member.project_id, member.subject, member.role) == (project.pk, "s", Role.OWNER)
    assert outcome.result == {
        "project": call("get_onto_project_details", subject="s", project_id=id).result["project"],
        "project_id": id,
        "counts": {"tasks": 2, "documents": 0},
        "message": "Created the project with 2 tasks and 0 documents; you are its owner.",
        "context_shift": {
            "new_context": "project",
            "entity_id": id,
            "entity_name": "Launch",
            "entity_type": "project",
        },
    }
    assert (outcome.entity_id, outcome.entity_name) == (id, "Launch")
    assert (outcome.result["project"]["task_count"], outcome.result["project"]["done_task_count"]) == (2, 1)
    assert outcome.result["project"]["state_key"] == "planning"

    first, second = Task.objects.order_by("title")
    assert (first.title, first.priority, first.state_key, first.created_by) == ("Task t1", 1, "todo", "s")
    assert (second.state_key, second.completed_at, second.updated_at) == ("done", AT, AT)


def document(temp_id: str, **more: Any) -> dict[str, Any]:
    return {"temp_id": temp_id, "kind": "document", "title": f"Document {temp_id}"} | more


def test_create_makes_documents_beside_tasks(db: None) -> None:
    outcome = call(
        "create_onto_project",
        project=PROJECT,
        entities=[
            document("d1", content="# A\\n\\nB", state_key="ready", type_key="document.brief", props={"a": 1}),
            task("t1"),
            document("d2", title=" "),
        ],
    )

    assert outcome.result["counts"] == {"tasks": 1, "documents": 2}
    assert outcome.result["message"] == "Created the project with 1 task and 2 documents; you are its owner."
    assert outcome.warnings == (
        r"entities/0: Read \n in content as line breaks, for it had no other.",
        "entities/2: The title was blank, so the document is called Untitled Document.",
    )
    first, second = Document.objects.order_by("title")
    assert (first.title, first.content, first.state_key, first.created_by) == (
        "Document d1",
        "# A\n\nB",
        "ready",
        "owner",
    )
    assert (first.type_key, first.props, first.created_at) == ("document.brief", {"a": 1}, AT)
    assert (second.title, second.state_key, second.type_key) == ("Untitled Document", "draft", "document.default")


@pytest.mark.parametrize(
    ("entity", "wrong"),
    [
        (document("1", priority=1), [("priority", "unknown_argument")]),
        (document("1", start_at=NOW, due_at=NOW), [("due_at", "unknown_argument"), ("start_at", "unknown_argument")]),
        (task("1", content="text"), [("content", "unknown_argument")]),
        (document("1", state_key="done"), [("state_key", "enum")]),
        (task("1", state_key="published"), [("state_key", "enum")]),
        (document("1", type_key="task.execute"), [("type_key", "pattern")]),
        (task("1", type_key="document.default"), [("type_key", "pattern")]),
    ],
)
def test_what_only_the_other_kind_has_is_refused(db: None, entity: dict[str, Any], wrong: list[Any]) -> None:
    with pytest.raises(Invalid) as refused:
        call("create_onto_project", project=PROJECT, entities=[entity])

    errors = sorted(refused.value.field_errors, key=lambda error: error.path)
    assert [(error.path, error.code) for error in errors] == [(f"/entities/0/{name}", code) for name, code in wrong]
    assert not Project.objects.exists()


@pytest.mark.parametrize("entities", [{}, {"entities": []}])
def test_create_needs_no_tasks(db: None, entities: dict[str, Any]) -> None:
    result = call("create_onto_project", project=PROJECT, **entities).result

    assert result["counts"] == {"tasks": 0, "documents": 0}
    assert (result["project"]["created_at"], result["project"]["description"]) == (NOW, None)


def test_create_tells_all_that_is_wrong_and_makes_nothing(db: None) -> None:
    with pytest.raises(Invalid) as refused:
        call(
            "create_onto_project",
            project=PROJECT | {"start_at": "2026-04-02T00:00:00Z", "end_at": "2026-04-01T00:00:00Z"},
            entities=[
                task("t1"),
                task("t1", title=" "),  # a repeated temp_id, and a blank title
                task("t2", due_at="0000-01-01T00:00:00Z"),
                task("t1"),
            ],
        )

    assert [(error.path, error.code) for error in refused.value.field_errors] == [
        ("/project/end_at", "out_of_order"),
        ("/entities/1/temp_id", "duplicate"),
        ("/entities/3/temp_id", "duplicate"),
        ("/entities/1/title", "blank"),
        ("/entities/2/due_at", "impossible_time"),
    ]
    assert not Project.objects.exists()
    assert not Membership.objects.exists()


def test_create_costs_a_query_for_the_documents_too(
    db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(4):  # project, membership, tasks, documents
        call("create_onto_project", project=PROJECT, entities=[task("t"), *(document(str(n)) for n in range(50))])


@pytest.mark.parametrize(("tasks", "queries"), [(1, 3), (60, 3), (100, 4)])  # SQLite takes 999 values a statement
def test_create_costs_a_query_for_all_tasks_together(
    db: None, tasks: int, queries: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(queries):  # project, membership, tasks
        call("create_onto_project", project=PROJECT, entities=[task(str(n)) for n in range(tasks)])


def test_created_completed_project_is_stamped(db: None) -> None:
    result = call("create_onto_project", project=PROJECT | {"state_key": "completed"}).result

    assert result["project"]["completed_at"] == NOW
