from typing import Any

import pytest

from core.handler_contract import NotFound
from tests.support.loops import for_each
from tests.support.rows.factories import (
    MADE_AT,
    DocumentFactory,
    MembershipFactory,
    ProjectFactory,
    RiskFactory,
    TaskFactory,
)
from tests.support.values.handler_calls import AT, call_handler
from workspace.models import Document, MemberRole, Membership, Plan, Project, Task

PROJECT = {"name": "Launch", "type_key": "project.business.launch"}


def task(temp_id: str, **more: Any) -> dict[str, Any]:
    return {"temp_id": temp_id, "kind": "task", "title": f"Task {temp_id}"} | more


def test_create_stores_the_project_with_its_owner_and_tasks(db: None) -> None:
    outcome = call_handler(
        "create_onto_project",
        subject="s",
        project=PROJECT | {"description": "All of it", "end_at": "2026-04-01T00:00:00Z", "props": {"budget": 5}},
        entities=[task("t1", priority=1, due_at="2026-03-09T00:00:00Z"), task("t2", state_key="done")],
        relationships=[[{"temp_id": temp_id, "kind": "task"} for temp_id in ("t1", "t2")]],
    )

    project = Project.objects.get()
    id = str(project.pk)
    member = Membership.objects.get()
    assert (member.project_id, member.subject, member.role) == (project.pk, "s", MemberRole.OWNER)
    assert outcome.result == {
        "project": {"id": id, "state_key": "planning", **PROJECT, "end_at": "2026-04-01T00:00:00Z"}
        | {"props": {"budget": 5}},
        "project_id": id,
        "counts": {"tasks": 2, "documents": 1, "edges": 2},
        "created": {
            "tasks": [{"id": str(row.pk), "title": row.title} for row in Task.objects.order_by("title")],
            "context_document": {"id": str(Document.objects.get().pk), "title": "Launch: overview"},
        },
        "message": f"Created the project “{PROJECT['name']}” with 2 tasks and an overview document; you are its owner.",
        "context_shift": {"new_context": "project", "entity_id": id, "entity_name": "Launch", "entity_type": "project"},
    }
    assert (outcome.entity_id, outcome.entity_name) == (id, "Launch")
    assert (project.state_key, project.slug) == ("planning", "launch")

    first, second = Task.objects.order_by("title")
    assert (first.title, first.priority, first.state_key, first.created_by) == ("Task t1", 1, "todo", "s")
    assert (second.state_key, second.completed_at, second.updated_at) == ("done", AT, AT)


def test_deleted_project_and_its_rows_are_invisible_to_all_members(db: None) -> None:
    project = ProjectFactory(name="canary")
    TaskFactory(project=project, title="canary")
    TaskFactory(project=project, deleted_at=AT)
    RiskFactory(project=project, title="canary")
    MembershipFactory(project=project, subject="viewer")

    outcome = call_handler("delete_onto_project", project_id=str(project.pk))

    assert outcome.result == {
        "project": {"id": str(project.pk)},
        "message": "Deleted the project “canary”; ops no longer find it or anything in it, for any member. "
        "It contained 1 task, 1 risk. Only an administrator can restore it.",
    }
    assert (outcome.entity_id, outcome.entity_name) == (str(project.pk), "canary")
    assert Project.objects.get().deleted_at == AT
    assert Task.objects.get(title="canary").deleted_at is None  # restoring the project restores its rows
    for subject in ("owner", "viewer"):
        for tool in ("list_onto_projects", "list_onto_tasks", "list_onto_risks", "search_ontology"):
            assert call_handler(tool, subject=subject, query="canary").result["total"] == 0
    with pytest.raises(NotFound):
        call_handler("delete_onto_project", project_id=str(project.pk))


@for_each(
    "sent, slug",
    [
        ({"name": "Launch"}, "launch"),
        ({"name": "  Spring -- Launch_2026! "}, "spring-launch-2026"),
        ({"name": "Café Müller"}, "cafe-muller"),
        ({"name": "日本の計画"}, None),  # no letter is allowed in a slug
        ({"name": "日本 2026"}, "2026"),
        ({"name": "🌱"}, None),
        ({"name": "a" * 79 + " b"}, "a" * 79),  # cut, without a dash at the end
        ({"slug": "mine"}, "mine"),
    ],
    undone=True,
)
def test_slug_is_made_from_the_name_unless_it_was_sent(db: None, sent: dict[str, str], slug: str | None) -> None:
    assert (
        call_handler("create_onto_project", project=PROJECT | sent, fields=["slug"]).result["project"]["slug"] == slug
    )


def test_update_replaces_keeps_or_clears_tags(db: None) -> None:
    project = ProjectFactory(tags=["web"])

    def update(tags: Any) -> Any:
        return call_handler("update_onto_project", project_id=str(project.pk), tags=tags)

    assert update(["shop", "print", "shop"]).result["project"]["tags"] == ["shop", "print"]
    assert update([]).warnings == ("unchanged",)
    assert Project.objects.get().tags == ["shop", "print"]
    assert update(None).result["project"]["tags"] == []
    assert Project.objects.get().tags == []


def get_parts(project: Project, **sent: Any) -> dict[str, Any]:
    row = call_handler("get_onto_project_details", project_id=str(project.pk), **sent).result["project"]
    return {name: row[name] for name in ("phases", "tasks", "notes", "brain_dumps") if name in row}


@for_each(
    "argument, name, most",
    [("include_tasks", "tasks", 20), ("include_notes", "notes", 10), ("include_brain_dumps", "brain_dumps", 5)],
    undone=True,
)
def test_get_includes_parts_of_the_project_on_request(db: None, argument: str, name: str, most: int) -> None:
    project = ProjectFactory()
    TaskFactory.create_batch(21, project=project)
    DocumentFactory.create_batch(11, project=project, type_key="document.note")
    DocumentFactory.create_batch(11, project=project, type_key="document.brain_dump.voice")
    DocumentFactory(project=project)

    parts = get_parts(project, **{argument: True})

    assert parts.keys() == {name}
    assert len(parts[name]) == most
    prefix = {"notes": "document.note", "brain_dumps": "document.brain_dump"}.get(name)
    assert all(row["type_key"].startswith(prefix) for row in parts[name] if prefix)


def test_get_orders_phases_by_date_and_tasks_by_urgency(db: None) -> None:
    project = ProjectFactory()
    for name, start in (("undated", None), ("second", "2026-03-02"), ("first", "2026-03-01")):
        Plan.objects.create(project=project, name=name, start_date=start, plan="p" * 300)
    Plan.objects.create(project=ProjectFactory(), name="elsewhere")
    for priority in (3, 1, 2):
        TaskFactory(project=project, title=str(priority), priority=priority)

    parts = get_parts(project, include_phases=True, include_tasks=True)

    assert [row["name"] for row in parts["phases"]] == ["first", "second", "undated"]
    assert parts["phases"][0]["plan_preview"] == "p" * 200 + "…"
    assert [row["title"] for row in parts["tasks"]] == ["1", "2", "3"]


def test_get_says_which_parts_have_more_rows(db: None) -> None:
    project = ProjectFactory()
    Plan.objects.bulk_create(Plan(project=project, name=str(number)) for number in range(51))
    TaskFactory.create_batch(20, project=project)

    outcome = call_handler(
        "get_onto_project_details",
        project_id=str(project.pk),
        include_phases=True,
        include_tasks=True,
        include_notes=True,
    ).result

    assert [len(outcome["project"][name]) for name in ("phases", "tasks", "notes")] == [50, 20, 0]
    assert outcome["message"] == (
        "The complete project. Only the first 50 phases are included; onto.plan.list returns the others."
    )


def test_project_row_counts_its_contents(db: None) -> None:
    project = ProjectFactory()
    TaskFactory.create_batch(2, project=project)
    TaskFactory(project=project, state_key="done")
    TaskFactory(project=project, state_key="done", deleted_at=MADE_AT)
    Plan.objects.create(project=project, name="Phase")
    DocumentFactory(project=project, type_key="document.note.call")
    DocumentFactory(project=project, type_key="document.brain_dump", deleted_at=MADE_AT)

    [row] = call_handler("list_onto_projects", fields=["*"]).result["projects"]
    [lean] = call_handler("list_onto_projects").result["projects"]
    whole = call_handler("get_onto_project_details", project_id=str(project.pk))

    expected = {
        "task_count": 3,
        "active_task_count": 2,
        "completed_task_count": 1,
        "completion_percentage": 33,
        "has_phases": True,
        "has_notes": True,
        "has_brain_dumps": False,
    }
    columns = whole.result["project"]
    assert {name: row.get(name, False) for name in expected} == {name: columns[name] for name in expected} == expected
    assert (row["role"], row["state_key"]) == ("owner", "planning")
    assert lean.keys() == {"id", "name", "state_key", "role", "task_count", "active_task_count"}
    assert (whole.entity_id, whole.entity_name) == (str(project.pk), project.name)


def test_search_covers_tags_and_filters_by_active_tasks(db: None) -> None:
    busy, idle = ProjectFactory(name="Shop", tags=["web", "spring"]), ProjectFactory(name="Blog", tags=["web"])
    TaskFactory(project=busy)
    TaskFactory(project=idle, state_key="done")

    def names(**args: Any) -> list[str]:
        return sorted(row["name"] for row in call_handler("search_onto_projects", **args).result["projects"])

    assert names(query="WEB") == ["Blog", "Shop"]
    assert names(query="spring") == ["Shop"]
    assert names(query="web", has_active_tasks=True) == ["Shop"]
    assert names(query="web", has_active_tasks=False) == ["Blog"]
    assert names() == ["Blog", "Shop"]  # without a query, it lists
    assert names(has_active_tasks=True) == ["Shop"]


@for_each("done, of, percentage", [(0, 0, 0), (0, 3, 0), (2, 3, 67), (1, 8, 13), (199, 200, 100)])
def test_completion_is_rounded_to_the_nearest_percent(done: int, of: int, percentage: int) -> None:
    project = Project()
    project.task_count, project.completed_task_count = of, done

    assert project.completion_percentage == percentage
