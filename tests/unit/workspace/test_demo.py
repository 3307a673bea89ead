from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command

from tests.unit.workspace.calls import call
from workspace import demo, demo_documents, demo_tasks
from workspace.errors import Forbidden, NotFound
from workspace.models import Document, DocumentState, Membership, Project, Role, Task, TaskState

AT = datetime(2026, 3, 2, 23, 59, 59, 123_456, tzinfo=UTC)


@pytest.fixture
def loaded(db: None) -> dict[str, int]:
    return demo.load(at=AT)


def rows() -> list[Any]:
    return [list(model.objects.order_by("pk").values()) for model in (Project, Membership, Task, Document)]


def test_load_adds_two_projects_a_shared_one_with_tasks_and_documents(loaded: dict[str, int]) -> None:
    assert loaded == {"projects": 2, "memberships": 3, "tasks": 20, "documents": 6}
    assert [len(rows) for rows in rows()] == [2, 3, 20, 6]


def test_load_again_changes_nothing(loaded: dict[str, int]) -> None:
    before = rows()

    assert demo.load(at=AT + timedelta(days=30)) == dict.fromkeys(loaded, 0)

    assert rows() == before


def test_load_again_leaves_alone_what_people_did(loaded: dict[str, int]) -> None:
    Project.objects.filter(pk=demo.DEMO_OTHER_PROJECT_ID).update(deleted_at=AT, name="Mine now")
    Membership.objects.filter(subject=demo.DEMO_COLLEAGUE).update(deleted_at=AT, role=Role.EDITOR)
    call("update_onto_task", subject=demo.DEMO_SUBJECT, task_id=demo.DEMO_TASK_ID, title="Mine too", due_at=None)
    call("delete_onto_task", subject=demo.DEMO_SUBJECT, task_id=demo.DEMO_TASK_TO_DELETE_ID)
    call("update_onto_document", subject=demo.DEMO_SUBJECT, document_id=demo.DEMO_DOCUMENT_ID, content="Mine")
    call("delete_onto_document", subject=demo.DEMO_SUBJECT, document_id=demo.DEMO_DOCUMENT_TO_DELETE_ID)
    before = rows()

    demo.load(at=AT + timedelta(days=1))

    assert rows() == before


def test_load_adds_only_what_is_missing(loaded: dict[str, int]) -> None:
    Task.objects.filter(pk=demo.DEMO_TASK_ID).delete()  # as if a later release had brought it
    Document.objects.all().delete()

    assert demo.load(at=AT) == {"projects": 0, "memberships": 0, "tasks": 1, "documents": 6}


def test_demo_subject_owns_the_newest_project(loaded: dict[str, int]) -> None:
    for order in ("-updated_at", "-created_at"):
        newest = Project.objects.order_by(order)[0]
        assert newest.pk == UUID(demo.DEMO_PROJECT_ID)

    assert Membership.objects.get(project=newest, role=Role.OWNER).subject == demo.DEMO_SUBJECT


def test_demo_tasks_are_in_the_demo_project(loaded: dict[str, int]) -> None:
    for id in (demo.DEMO_TASK_ID, demo.DEMO_TASK_TO_DELETE_ID):
        row = call("get_onto_task_details", subject=demo.DEMO_SUBJECT, task_id=id).result["task"]
        assert row["project_id"] == demo.DEMO_PROJECT_ID


def test_demo_documents_are_in_the_demo_project(loaded: dict[str, int]) -> None:
    for id in (demo.DEMO_DOCUMENT_ID, demo.DEMO_DOCUMENT_TO_DELETE_ID):
        row = call("get_onto_document_details", subject=demo.DEMO_SUBJECT, document_id=id).result["document"]
        assert row["project_id"] == demo.DEMO_PROJECT_ID


def test_demo_ids_are_those_of_the_catalogs_examples() -> None:
    assert demo.DEMO_PROJECT_ID == "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01"
    assert demo.DEMO_TASK_ID == "7e3b9f20-1c4d-4a8b-8e55-2d90c6fa3b01"
    assert demo.DEMO_TASK_TO_DELETE_ID == "7e3b9f20-1c4d-4a8b-8e55-2d90c6fa3b02"
    assert demo.DEMO_DOCUMENT_ID == "c4a1d2e3-90ab-4cde-8f01-3b5d7e9f1a01"
    assert demo.DEMO_DOCUMENT_TO_DELETE_ID == "c4a1d2e3-90ab-4cde-8f01-3b5d7e9f1a02"


@pytest.mark.parametrize("shipped", [demo_tasks, demo_documents], ids=["tasks", "documents"])
def test_demo_numbers_are_given_once(shipped: Any) -> None:
    numbers = [row.number for row in (*shipped.WEBSITE, *shipped.KITCHEN)]

    assert len(numbers) == len(set(numbers))


def test_demo_has_every_state_and_priority_and_what_is_overdue(loaded: dict[str, int]) -> None:
    tasks = Task.objects.all()

    assert {task.state_key for task in tasks} == set(TaskState.values)
    assert {task.priority for task in tasks} == {1, 2, 3, 4, 5}
    assert tasks.filter(due_at__lt=AT).exclude(state_key=TaskState.DONE).exists()
    assert tasks.filter(due_at=None).exists()


def test_demo_has_documents_in_every_state(loaded: dict[str, int]) -> None:
    assert set(Document.objects.values_list("state_key", flat=True)) == set(DocumentState.values)
    assert not Document.objects.filter(content="").exists()


def test_demo_rows_pass_the_models_own_checks(loaded: dict[str, int]) -> None:
    for model in (Project, Membership, Task, Document):
        for row in model.objects.all():
            row.full_clean()


def test_demo_times_are_past_where_they_tell_what_happened(loaded: dict[str, int]) -> None:
    for row in (*Project.objects.all(), *Task.objects.all(), *Document.objects.all()):
        assert row.created_at <= row.updated_at < AT
        assert getattr(row, "completed_at", None) is None or row.completed_at < AT
        assert row.deleted_at is None


def test_colleague_sees_the_shared_project_without_changing_it(loaded: dict[str, int]) -> None:
    as_colleague = {"subject": demo.DEMO_COLLEAGUE}

    assert call("list_onto_projects", **as_colleague).result["total"] == 1
    with pytest.raises(Forbidden):
        call("update_onto_project", **as_colleague, project_id=demo.DEMO_PROJECT_ID, name="Ours")
    with pytest.raises(NotFound):
        call("get_onto_project_details", **as_colleague, project_id=demo.DEMO_OTHER_PROJECT_ID)


@pytest.mark.parametrize(
    ("tool", "args"),
    [  # what the catalog's examples look for
        ("search_onto_projects", {"query": "launch"}),
        ("search_onto_projects", {"query": "website", "state_key": "active"}),
        ("search_onto_tasks", {"query": "review"}),
        ("search_onto_tasks", {"query": "draft", "project_id": demo.DEMO_PROJECT_ID, "state_key": "in_progress"}),
        ("list_onto_tasks", {"project_id": demo.DEMO_PROJECT_ID, "state_key": "todo"}),
        ("list_onto_documents", {"project_id": demo.DEMO_PROJECT_ID, "state_key": "published"}),
        ("search_onto_documents", {"query": "guide"}),
        ("search_onto_documents", {"query": "launch day", "project_id": demo.DEMO_PROJECT_ID}),
        ("search_ontology", {"query": "pricing"}),
        ("search_ontology", {"query": "DNS address", "types": ["document"], "project_id": demo.DEMO_PROJECT_ID}),
    ],
)
def test_demo_has_something_to_find(loaded: dict[str, int], tool: str, args: dict[str, str]) -> None:
    assert call(tool, subject=demo.DEMO_SUBJECT, **args).result["total"] > 0


def test_command_says_what_it_did(db: None) -> None:
    first, second = StringIO(), StringIO()

    call_command("load_demo", stdout=first)
    call_command("load_demo", stdout=second)

    added = "2 projects, 3 memberships, 20 tasks, 6 documents"
    assert first.getvalue() == f"Added to the demo workspace of demo-user: {added}.\n"
    assert second.getvalue() == "The demo workspace is there already; nothing was changed.\n"
