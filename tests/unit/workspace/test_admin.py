"""The workspace in the admin, through its pages."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.factories import MADE_AT, DocumentFactory, MembershipFactory, ProjectFactory, TaskFactory
from workspace.models import Document, Membership, Project, Task

MODELS = ["project", "task", "document", "membership"]
NO_MEMBERS = {"memberships-TOTAL_FORMS": "0", "memberships-INITIAL_FORMS": "0"}


def page(name: str, *args: object) -> str:
    return reverse(f"admin:workspace_{name}", args=args)


def one_of_each() -> dict[str, Any]:
    task = TaskFactory()
    document = DocumentFactory(project=task.project, title="Task list")
    member = Membership.objects.get()
    return {"project": task.project_id, "task": task.pk, "document": document.pk, "membership": member.pk}


def post(client: Client, url: str, **data: Any) -> Any:
    """Submit a form as a browser does: an empty field is sent as empty text."""
    return client.post(url, {name: "" if value is None else value for name, value in data.items()})


@pytest.mark.parametrize("model", MODELS)
def test_lists_open_search_and_filter(admin_client: Client, model: str) -> None:
    ids = one_of_each()

    for query in ({}, {"q": "Task"}, {"q": str(ids[model])}, {"q": "%_'"}, {"deleted_at__isempty": "0"}):
        assert admin_client.get(page(f"{model}_changelist"), query).status_code == 200
    assert admin_client.get(page(f"{model}_change", ids[model])).status_code == 200
    assert admin_client.get(page(f"{model}_add")).status_code == 200


@pytest.mark.parametrize("model", MODELS)
def test_list_costs_the_same_however_long(admin_client: Client, model: str, django_assert_max_num_queries: Any) -> None:
    for task in TaskFactory.create_batch(20):
        DocumentFactory(project=task.project)

    with django_assert_max_num_queries(6):  # session, user, count, rows
        admin_client.get(page(f"{model}_changelist"))


def test_list_of_documents_reads_no_content(admin_client: Client) -> None:
    DocumentFactory(content="canary")

    with CaptureQueriesContext(connection) as queries:
        admin_client.get(page("document_changelist"))

    assert any("workspace_document" in query["sql"] for query in queries)
    assert not any('"workspace_document"."content"' in query["sql"] for query in queries)


def test_document_page_shows_and_keeps_the_content(admin_client: Client) -> None:
    document = DocumentFactory(content="# Text")
    url = page("document_change", document.pk)
    form = {"project": document.project_id, "title": "New", "type_key": document.type_key, "props": "{}"}

    assert "# Text" in admin_client.get(url).content.decode()
    post(admin_client, url, **form, state_key="archived", content="# Changed")

    row = Document.objects.get()
    assert (row.title, row.content, row.state_key, row.created_by) == ("New", "# Changed", "archived", "owner")
    assert row.updated_at > MADE_AT


@pytest.mark.parametrize("model", MODELS)
def test_nothing_is_deleted_for_good(admin_client: Client, model: str) -> None:
    ids = one_of_each()

    assert admin_client.post(page(f"{model}_delete", ids[model]), {"post": "yes"}).status_code == 403


@pytest.mark.parametrize(
    ("model", "make"), [("task", TaskFactory), ("project", ProjectFactory), ("document", DocumentFactory)]
)
def test_delete_action_is_soft_and_can_be_taken_back(admin_client: Client, model: str, make: Any) -> None:
    row = make()
    url, chosen = page(f"{model}_changelist"), {"_selected_action": [str(row.pk)]}

    deleted = admin_client.post(url, {"action": "delete_softly"} | chosen, follow=True)
    row.refresh_from_db()
    assert row.deleted_at is not None
    assert "1 deleted." in deleted.content.decode()

    admin_client.post(url, {"action": "restore"} | chosen, follow=True)
    row.refresh_from_db()
    assert row.deleted_at is None


def test_saving_stamps_what_services_own(admin_client: Client) -> None:
    task = TaskFactory(title="Old")
    form = {"project": task.project_id, "title": "New", "type_key": task.type_key, "priority": 3, "props": "{}"}

    answer = post(admin_client, page("task_change", task.pk), **form, state_key="done")

    task.refresh_from_db()
    assert answer.status_code == 302
    assert (task.title, task.created_by) == ("New", "owner")
    assert task.updated_at == task.completed_at
    assert task.updated_at > MADE_AT


def test_adding_names_who_did_it(admin_client: Client, admin_user: Any) -> None:
    form = {"name": "P", "type_key": "project.personal.garden", "state_key": "planning", "props": "{}"}

    post(admin_client, page("project_add"), **form, **NO_MEMBERS)

    assert Project.objects.get().created_by == admin_user.username


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"props": "[]"}, "Send a JSON object"),
        ({"props": "null"}, "Send a JSON object"),
        ({"type_key": "project.personal.garden"}, "Enter a valid value"),
        ({"priority": "6"}, "less than or equal to 5"),
        (
            {"start_at_0": "2026-03-02", "start_at_1": "09:00", "due_at_0": "2026-03-01", "due_at_1": "09:00"},
            "due_at must not be before start_at.",
        ),
    ],
)
def test_wrong_values_are_told_in_a_sentence(admin_client: Client, wrong: dict[str, str], sentence: str) -> None:
    task = TaskFactory()
    form = {"project": task.project_id, "title": "New", "type_key": task.type_key, "state_key": "todo"}

    answer = post(admin_client, page("task_change", task.pk), **(form | {"priority": 3, "props": "{}"} | wrong))

    assert answer.status_code == 200
    assert sentence in answer.content.decode()
    assert not Task.objects.filter(title="New").exists()


def test_project_page_shows_its_members(admin_client: Client) -> None:
    member = MembershipFactory(subject="someone-in-it")

    assert "someone-in-it" in admin_client.get(page("project_change", member.project_id)).content.decode()
