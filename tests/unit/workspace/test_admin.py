"""The console pages of the workspace."""

from typing import Any

import pytest
from django.contrib.admin.utils import flatten_fieldsets
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.support.loops import for_each
from tests.support.rows.factories import (
    MADE_AT,
    DocumentFactory,
    EdgeFactory,
    EventFactory,
    GoalFactory,
    MilestoneFactory,
    PlanFactory,
    ProjectCalendarFactory,
    ProjectFactory,
    RequirementFactory,
    RiskFactory,
    TaskFactory,
)
from workspace.models import Document, Edge, Profile, Project, Task
from workspace.services.documents import tree

IN_PROJECT = {
    "task": TaskFactory,
    "document": DocumentFactory,
    "goal": GoalFactory,
    "plan": PlanFactory,
    "milestone": MilestoneFactory,
    "risk": RiskFactory,
    "requirement": RequirementFactory,
    "calendarevent": EventFactory,
    "projectcalendar": ProjectCalendarFactory,
}
ENTITIES = {"project": ProjectFactory, **IN_PROJECT}
MODELS = [*ENTITIES, "edge", "membership"]
NO_MEMBERS = {"memberships-TOTAL_FORMS": "0", "memberships-INITIAL_FORMS": "0"}


def page(name: str, *args: object) -> str:
    return reverse(f"admin:workspace_{name}", args=args)


def post(client: Client, url: str, **data: Any) -> Any:
    """Submit a form as a browser does: an empty field is sent as empty text."""
    return client.post(url, {name: "" if value is None else value for name, value in data.items()})


def list_shown_fields(response: Any) -> list[str]:
    """Return the names of the fields on a row's page, in order."""
    return flatten_fieldsets(response.context["adminform"].fieldsets)


def test_query_counts_of_lists_do_not_depend_on_their_lengths(
    admin_client: Client, django_assert_max_num_queries: Any
) -> None:
    for project in ProjectFactory.create_batch(20):
        for make in (*IN_PROJECT.values(), EdgeFactory):
            make(project=project)

    admin_client.get(page("project_changelist"))  # the sidebar reads what this process keeps: cohorts and switches

    for model in MODELS:
        with django_assert_max_num_queries(6):  # session, user, count, rows
            admin_client.get(page(f"{model}_changelist"))


@for_each("model, column", [("document", "content"), ("project", "context")], undone=True)
def test_list_does_not_read_the_longest_text(admin_client: Client, model: str, column: str) -> None:
    ENTITIES[model](**{column: "canary"})

    with CaptureQueriesContext(connection) as queries:
        admin_client.get(page(f"{model}_changelist"))

    assert any(f"workspace_{model}" in query["sql"] for query in queries)
    assert not any(f'"workspace_{model}"."{column}"' in query["sql"] for query in queries)


@for_each("model, make", ENTITIES.items(), undone=True)
def test_delete_action_is_soft_and_can_be_undone(admin_client: Client, model: str, make: Any) -> None:
    row = make()
    url, chosen = page(f"{model}_changelist"), {"_selected_action": [str(row.pk)]}

    deleted = admin_client.post(url, {"action": "delete_softly"} | chosen, follow=True)
    row.refresh_from_db()
    assert row.deleted_at is not None
    assert "1 deleted." in deleted.content.decode()

    admin_client.post(url, {"action": "restore"} | chosen, follow=True)
    row.refresh_from_db()
    assert row.deleted_at is None


def test_saving_sets_fields_and_events_owned_by_services(admin_client: Client) -> None:
    task = TaskFactory(title="Old")
    form = {"project": task.project_id, "title": "New", "type_key": task.type_key, "priority": 3, "props": "{}"}
    form |= {"due_at_0": "2026-03-05", "due_at_1": "17:00", "duration_minutes": 60}

    response = post(admin_client, page("task_change", task.pk), **form, state_key="todo")

    assert response.status_code == 302
    assert [str(event) for event in task.events.all()] == ["Due: New"]
    post(admin_client, page("task_change", task.pk), **form, state_key="done")
    task.refresh_from_db()
    assert (task.title, task.created_by) == ("New", "owner")
    assert task.updated_at == task.completed_at
    assert task.updated_at > MADE_AT


def test_adding_sets_the_creator(admin_client: Client, admin_user: Any) -> None:
    form = {"name": "P", "type_key": "project.personal.garden", "state_key": "planning", "props": "{}"}

    post(admin_client, page("project_add"), **form, **NO_MEMBERS)

    assert Project.objects.get().created_by == admin_user.username


@for_each(
    "wrong, sentence",
    [
        ({"props": "[]"}, "Enter a JSON object"),
        (
            {"start_at_0": "2026-03-02", "start_at_1": "09:00", "due_at_0": "2026-03-01", "due_at_1": "09:00"},
            "due_at must not be before start_at.",
        ),
    ],
    undone=True,
)
def test_invalid_values_are_refused_with_a_message(admin_client: Client, wrong: dict[str, str], sentence: str) -> None:
    task = TaskFactory()
    form = {"project": task.project_id, "title": "New", "type_key": task.type_key, "state_key": "todo"}

    form |= {"priority": 3, "duration_minutes": 60, "props": "{}"}
    response = post(admin_client, page("task_change", task.pk), **(form | wrong))

    assert response.status_code == 200
    assert sentence in response.content.decode()
    assert not Task.objects.filter(title="New").exists()


def test_position_of_a_document_is_read_only_and_its_content_is_saved(admin_client: Client) -> None:
    parent = DocumentFactory(title="Above")
    document = DocumentFactory(project=parent.project, parent=parent, content="# Text")
    url = page("document_change", document.pk)
    form = {"title": "New", "type_key": document.type_key, "state_key": "archived", "props": "{}"}

    opened = admin_client.get(url)
    assert "Above" in opened.content.decode()
    assert "# Text" in opened.content.decode()
    for name in ("parent", "position", "project"):
        assert name in list_shown_fields(opened)
        assert f'name="{name}' not in opened.content.decode()
    place = {"project": ProjectFactory().pk, "parent": document.pk, "position": 7}
    post(admin_client, url, **form, **place, content="# Changed")

    row = Document.objects.get(pk=document.pk)
    assert (row.title, row.content, row.state_key, row.created_by) == ("New", "# Changed", "archived", "owner")
    assert (row.project_id, row.parent_id, row.position) == (parent.project_id, parent.pk, 0)
    assert row.updated_at > MADE_AT


def test_saving_a_document_keeps_a_concurrent_move(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    document = DocumentFactory()
    parent = DocumentFactory(project=document.project)
    form = {"title": "New", "type_key": document.type_key, "state_key": "draft", "props": "{}"}
    hold = tree.lock_tree

    def moved_before(project_id: Any) -> Project:
        Document.objects.filter(pk=document.pk).update(parent=parent, position=0)
        return hold(project_id)

    monkeypatch.setattr(tree, "lock_tree", moved_before)
    post(admin_client, page("document_change", document.pk), **form)

    row = Document.objects.get(pk=document.pk)
    assert (row.title, row.parent_id) == ("New", parent.pk)


def test_document_added_in_the_admin_is_last_at_the_root(admin_client: Client) -> None:
    first = DocumentFactory()
    form = {"title": "New", "type_key": first.type_key, "state_key": "draft", "props": "{}"}

    post(admin_client, page("document_add"), **form, project=first.project_id)

    row = Document.objects.get(title="New")
    assert (row.parent_id, row.position, row.project.tree_version) == (None, 1, 1)


def test_documents_are_deleted_with_descendants_and_restored_to_the_root(admin_client: Client) -> None:
    above = DocumentFactory()
    below = DocumentFactory(project=above.project, parent=above)
    url = page("document_changelist")

    deleted = admin_client.post(url, {"action": "delete_softly", "_selected_action": [above.pk]}, follow=True)
    restored = admin_client.post(url, {"action": "restore", "_selected_action": [below.pk]}, follow=True)

    assert "2 deleted." in deleted.content.decode()
    assert "1 restored. 1 of them at the root" in restored.content.decode()
    row = Document.objects.get(deleted_at=None)
    assert (row.pk, row.parent_id, row.position) == (below.pk, None, 0)


def test_saving_a_project_keeps_its_tree_version(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    project = ProjectFactory()
    form = {"name": "New", "type_key": project.type_key, "state_key": "active", "props": "{}", **NO_MEMBERS}
    hold = tree.lock_tree

    def changed_before(project_id: Any) -> Project:
        Project.objects.update(tree_version=5)
        return hold(project_id)

    monkeypatch.setattr(tree, "lock_tree", changed_before)
    post(admin_client, page("project_change", project.pk), **form)

    row = Project.objects.get()
    assert (row.name, row.tree_version) == ("New", 5)


@for_each("model", ENTITIES, undone=True)
def test_fields_owned_by_services_are_read_only(admin_client: Client, model: str) -> None:
    response = admin_client.get(page(f"{model}_change", ENTITIES[model]().pk))

    for name in ("created_by", "created_at", "updated_at", "deleted_at"):
        assert name in list_shown_fields(response)
        assert f'name="{name}' not in response.content.decode()


def test_edge_is_listed_as_a_sentence_and_cannot_be_changed(admin_client: Client) -> None:
    edge = EdgeFactory()

    for query in ({}, {"q": str(edge.src_id)}):
        listed = admin_client.get(page("edge_changelist"), query).content.decode()
        assert str(edge) in listed
        assert str(edge.pk) in listed
    shown = list_shown_fields(admin_client.get(page("edge_change", edge.pk)))
    assert [field.name for field in Edge._meta.fields] == shown
    assert admin_client.post(page("edge_change", edge.pk), {"rel": "blocks"}).status_code == 403
    assert Edge.objects.get().rel == "depends_on"


def test_fields_of_a_task_date_event_owned_by_the_task_are_read_only(admin_client: Client) -> None:
    task = TaskFactory()
    event = EventFactory(task=task, project=task.project, task_event_kind="due")

    form = admin_client.get(page("calendarevent_change", event.pk)).context["adminform"].form

    assert not {"title", "start_at", "end_at", "project", "recurrence"} & set(form.fields)
    assert {"description", "location", "time_zone"} <= set(form.fields)


@pytest.mark.parametrize("action", ["delete_softly", "restore"])
def test_task_date_event_cannot_be_deleted_or_restored_by_itself(admin_client: Client, action: str) -> None:
    task = TaskFactory()
    deleted_at = MADE_AT if action == "restore" else None
    event = EventFactory(task=task, project=task.project, task_event_kind="due", deleted_at=deleted_at)

    admin_client.post(page("calendarevent_changelist"), {"action": action, "_selected_action": [str(event.pk)]})

    event.refresh_from_db()
    assert event.deleted_at == deleted_at


def test_restoring_a_replaced_row_is_refused_with_a_message(admin_client: Client) -> None:
    gone = ProjectCalendarFactory(deleted_at=MADE_AT)
    ProjectCalendarFactory(project=gone.project)

    chosen = {"action": "restore", "_selected_action": [str(gone.pk)]}
    response = admin_client.post(page("projectcalendar_changelist"), chosen, follow=True)

    gone.refresh_from_db()
    assert "Nothing was restored" in response.content.decode()
    assert gone.deleted_at is not None


@pytest.mark.parametrize("wrong", [{"time_zone": "Mars/Base"}, {"attendees": '{"a": 1}'}, {"subject": "both"}])
def test_invalid_event_is_refused(admin_client: Client, wrong: dict[str, str]) -> None:
    event = EventFactory()
    form = {"project": event.project_id, "title": "New", "time_zone": "UTC", "props": "{}", "attendees": "[]"}
    times = {"start_at_0": "2026-03-02", "start_at_1": "09:00", "end_at_0": "2026-03-02", "end_at_1": "10:00"}

    response = post(admin_client, page("calendarevent_change", event.pk), **(form | times | wrong))
    event.refresh_from_db()
    assert (response.status_code, event.title) == (200, event.title)
    assert event.title != "New"

    post(admin_client, page("calendarevent_change", event.pk), **form, **times)
    event.refresh_from_db()
    assert event.title == "New"


PROFILE = {"subject": "mira", "name": "Mira", "time_zone": "Europe/Berlin", "preferences": "{}"}
HOURS = '{"monday": ["09:00-12:00"]}'


def test_profile_is_added_changed_and_deleted_in_the_admin(admin_client: Client) -> None:
    post(admin_client, page("profile_add"), **PROFILE, working_hours=HOURS)
    profile = Profile.objects.get()
    Profile.objects.update(updated_at=MADE_AT)

    post(admin_client, page("profile_change", profile.pk), **PROFILE | {"name": "Mira B."}, working_hours=HOURS)
    changed = Profile.objects.get()
    listed = admin_client.get(page("profile_changelist"), {"q": "mira"}).content.decode()
    admin_client.post(page("profile_delete", profile.pk), {"post": "yes"})

    assert (profile.subject, profile.working_hours) == ("mira", {"monday": ["09:00-12:00"]})
    assert changed.name == "Mira B."
    assert changed.updated_at > MADE_AT
    assert "Europe/Berlin" in listed
    assert not Profile.objects.exists()
