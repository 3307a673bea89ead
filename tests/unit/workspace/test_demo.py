from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command

from core.handler_contract import Forbidden, NotFound
from tests.support.rows import document_forest
from tests.support.values.handler_calls import call_handler
from workspace import demo, relations
from workspace.demo import edges as demo_edges
from workspace.entity_types import ENTITY_TYPE_BY_NAME
from workspace.models import (
    CalendarEvent,
    Document,
    DocumentState,
    Edge,
    EdgeKind,
    GoalState,
    MemberRole,
    Membership,
    MilestoneState,
    PlanState,
    Profile,
    Project,
    ProjectCalendar,
    ProjectState,
    Recurrence,
    RiskImpact,
    RiskState,
    Task,
    TaskState,
)
from workspace.relations import Rel, Relation
from workspace.services.calendar import task_events

AT = datetime(2026, 3, 2, 23, 59, 59, 123_456, tzinfo=UTC)


@pytest.fixture
def loaded(db: None) -> dict[str, int]:
    return demo.load(at=AT)


ADDED = {
    "projects": 6,
    "memberships": 8,
    "profiles": 2,
    "tasks": 60,
    "documents": 16,
    "goals": 7,
    "plans": 8,
    "milestones": 9,
    "risks": 8,
    "requirements": 8,
    "events": 12,
    "calendars": 1,
    "edges": 50,
}
MODELS = (
    *(kind.model for kind in ENTITY_TYPE_BY_NAME.values()),
    Membership,
    Profile,
    CalendarEvent,
    ProjectCalendar,
    Edge,
)


def rows() -> list[Any]:
    return [list(model._default_manager.order_by("pk").values()) for model in MODELS]


def test_load_adds_projects_and_their_contents(loaded: dict[str, int]) -> None:
    assert loaded == ADDED
    assert CalendarEvent.objects.filter(task_event_kind="").count() == ADDED["events"]  # plus the events of task dates
    counts = {model: len(each) for model, each in zip(MODELS, rows(), strict=True) if model is not CalendarEvent}
    assert sorted(counts.values()) == sorted(number for name, number in ADDED.items() if name != "events")


def test_second_load_changes_nothing(loaded: dict[str, int]) -> None:
    before = rows()

    assert demo.load(at=AT + timedelta(days=30)) == dict.fromkeys(loaded, 0)

    assert rows() == before


def test_second_load_keeps_changes_by_people(loaded: dict[str, int]) -> None:
    Project.objects.filter(pk=demo.DEMO_OTHER_PROJECT_ID).update(deleted_at=AT, name="Mine now")
    Membership.objects.filter(subject=demo.DEMO_COLLEAGUE).update(deleted_at=AT, role=MemberRole.EDITOR)
    call_handler(
        "update_onto_task", subject=demo.DEMO_SUBJECT, task_id=demo.DEMO_TASK_ID, title="Mine too", due_at=None
    )
    call_handler("delete_onto_task", subject=demo.DEMO_SUBJECT, task_id=demo.DEMO_TASK_TO_DELETE_ID)
    call_handler("update_onto_document", subject=demo.DEMO_SUBJECT, document_id=demo.DEMO_DOCUMENT_ID, content="Mine")
    call_handler("delete_onto_document", subject=demo.DEMO_SUBJECT, document_id=demo.DEMO_DOCUMENT_TO_DELETE_ID)
    before = rows()

    demo.load(at=AT + timedelta(days=1))

    assert rows() == before


def test_load_adds_only_missing_rows(loaded: dict[str, int]) -> None:
    Task.objects.filter(pk=demo.DEMO_TASK_ID).delete()  # as if a later release had added it
    Document.objects.all().delete()

    assert demo.load(at=AT) == dict.fromkeys(ADDED, 0) | {"tasks": 1, "documents": ADDED["documents"]}


def test_demo_subject_owns_the_newest_project(loaded: dict[str, int]) -> None:
    for order in ("-updated_at", "-created_at"):
        newest = Project.objects.order_by(order)[0]
        assert newest.pk == UUID(demo.DEMO_PROJECT_ID)

    assert Membership.objects.get(project=newest, role=MemberRole.OWNER).subject == demo.DEMO_SUBJECT


def test_demo_subject_is_in_a_time_zone_with_clock_changes(loaded: dict[str, int]) -> None:
    result = call_handler("get_user_profile", subject=demo.DEMO_SUBJECT).result

    assert result["profile"]["time_zone"] == "Europe/Berlin"
    assert result["message"].startswith("The user's profile.")


def test_load_keeps_an_existing_profile_of_the_demo_subject(db: None) -> None:
    Profile.objects.create(subject=demo.DEMO_SUBJECT, time_zone="Asia/Tokyo")

    demo.load(at=AT)

    assert Profile.objects.get(subject=demo.DEMO_SUBJECT).time_zone == "Asia/Tokyo"


def test_demo_tasks_are_in_the_demo_project(loaded: dict[str, int]) -> None:
    for id in (demo.DEMO_TASK_ID, demo.DEMO_TASK_TO_DELETE_ID):
        row = call_handler("get_onto_task_details", subject=demo.DEMO_SUBJECT, task_id=id).result["task"]
        assert row["project_id"] == demo.DEMO_PROJECT_ID


def test_demo_documents_are_in_the_demo_project(loaded: dict[str, int]) -> None:
    for id in (demo.DEMO_DOCUMENT_ID, demo.DEMO_DOCUMENT_TO_DELETE_ID):
        row = call_handler("get_onto_document_details", subject=demo.DEMO_SUBJECT, document_id=id).result["document"]
        assert row["project_id"] == demo.DEMO_PROJECT_ID


def test_demo_ids_match_the_examples_of_the_catalog() -> None:
    assert demo.DEMO_PROJECT_ID == "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01"
    assert demo.DEMO_TASK_ID == "7e3b9f20-1c4d-4a8b-8e55-2d90c6fa3b01"
    assert demo.DEMO_TASK_TO_DELETE_ID == "7e3b9f20-1c4d-4a8b-8e55-2d90c6fa3b02"
    assert demo.DEMO_DOCUMENT_ID == "c4a1d2e3-90ab-4cde-8f01-3b5d7e9f1a01"
    assert demo.DEMO_DOCUMENT_TO_DELETE_ID == "c4a1d2e3-90ab-4cde-8f01-3b5d7e9f1a02"
    assert demo.DEMO_PROJECT_TO_DELETE_ID == "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a09"


@pytest.mark.parametrize(
    ("kind", "id"),
    [
        ("goal", "5a1c7e80-2b3d-4f60-8a91-c0de1a7b4c"),
        ("plan", "6b2d8f91-3c4e-4a71-9ba2-d1ef2b8c5d"),
        ("milestone", "7c3e9fa2-4d5f-4b82-8cb3-e2f03c9d6e"),
        ("risk", "8d4fa0b3-5e6a-4c93-9dc4-f3a14dae7f"),
        ("requirement", "9e5ab1c4-6f7b-4da4-8ed5-a4b25ebf8a"),
    ],
)
def test_rows_one_and_two_of_each_kind_are_in_the_newest_project(loaded: dict[str, int], kind: str, id: str) -> None:
    model: Any = ENTITY_TYPE_BY_NAME[kind].model

    assert model.objects.filter(pk__in=[f"{id}01", f"{id}02"], project=demo.DEMO_PROJECT_ID).count() == 2


@pytest.mark.parametrize("number", [1, 2])
def test_edges_one_and_two_are_in_the_newest_project(loaded: dict[str, int], number: int) -> None:
    edge = Edge.objects.get(pk=f"af6bc2d5-7a8c-4eb5-9fe6-b5c36fca9b{number:02}")

    assert str(edge.project_id) == demo.DEMO_PROJECT_ID


@pytest.mark.parametrize("kind", demo.IN_PROJECTS)
def test_demo_numbers_are_unique(kind: str) -> None:
    numbers = [row.number for rows in demo.IN_PROJECTS[kind].values() for row in rows]

    assert len(numbers) == len(set(numbers))


def test_demo_edge_numbers_are_unique() -> None:
    numbers = [edge[0] for edges in demo_edges.ROWS.values() for edge in edges]

    assert len(numbers) == len(set(numbers))


def test_demo_edges_are_stored_as_the_link_op_stores_them(loaded: dict[str, int]) -> None:
    for edge in Edge.objects.all():
        src_kind, dst_kind = EdgeKind(edge.src_kind), EdgeKind(edge.dst_kind)
        assert relations.resolve_relation(src_kind, edge.rel, dst_kind) == Relation(src_kind, Rel(edge.rel), dst_kind)


def test_demo_edges_link_rows_of_their_own_project(loaded: dict[str, int]) -> None:
    for edge in Edge.objects.all():
        for kind, id in ((edge.src_kind, edge.src_id), (edge.dst_kind, edge.dst_id)):
            row: Any = ENTITY_TYPE_BY_NAME[kind].model._default_manager.get(pk=id)
            assert (row.pk if kind == "project" else row.project_id) == edge.project_id, edge


def test_demo_subtasks_are_in_the_project_of_their_task(loaded: dict[str, int]) -> None:
    subtasks = Task.objects.exclude(parent_task=None).select_related("parent_task")

    assert {task.project_id == task.parent_task.project_id for task in subtasks if task.parent_task} == {True}


def test_demo_documents_form_trees(loaded: dict[str, int]) -> None:
    website = document_forest.read_dense_titles(Project.objects.get(pk=demo.DEMO_PROJECT_ID))

    assert list(website) == ["Tone guide", "Launch day runbook", "Decisions of the weekly round"]
    assert website["Tone guide"] == {
        "Pricing page, wording for legal": {},
        "What visitors ask first": {"Words that search engines know us by": {}},
    }
    for project in Project.objects.all():
        document_forest.read_dense_titles(project)


def test_second_load_adds_missing_documents_next_to_those_by_people(loaded: dict[str, int]) -> None:
    project = Project.objects.get(pk=demo.DEMO_PROJECT_ID)
    Document.objects.filter(title__in=["Words that search engines know us by", "Hosting comparison"]).delete()
    visitors = Document.objects.get(title="What visitors ask first")  # the parent of the first document
    call_handler("delete_onto_document", subject=demo.DEMO_SUBJECT, document_id=str(visitors.pk))
    mine = {"project_id": str(project.pk), "title": "Mine", "parent_title": "Launch day runbook"}
    call_handler("create_onto_document", subject=demo.DEMO_SUBJECT, **mine)

    assert demo.load(at=AT)["documents"] == 2

    tree = document_forest.read_dense_titles(project)
    assert list(tree["Launch day runbook"]) == ["Mine", "Hosting comparison"]
    assert list(tree)[-1] == "Words that search engines know us by"


def test_demo_has_every_state_and_priority_and_overdue_tasks(loaded: dict[str, int]) -> None:
    tasks = Task.objects.all()

    assert {task.state_key for task in tasks} == set(TaskState.values)
    assert {task.priority for task in tasks} == {1, 2, 3, 4, 5}
    assert tasks.filter(due_at__lt=AT).exclude(state_key=TaskState.DONE).exists()
    assert tasks.filter(due_at=None).exists()


@pytest.mark.parametrize(
    ("kind", "column", "values"),
    [
        ("project", "state_key", ProjectState),
        ("goal", "state_key", GoalState),
        ("plan", "state_key", PlanState),
        ("milestone", "state_key", MilestoneState),
        ("risk", "state_key", RiskState),
        ("risk", "impact", RiskImpact),
    ],
)
def test_demo_has_every_value_of_a_closed_set(loaded: dict[str, int], kind: str, column: str, values: Any) -> None:
    stored = ENTITY_TYPE_BY_NAME[kind].model._default_manager.values_list(column, flat=True)

    assert set(stored) == set(values.values)


def test_demo_tasks_have_every_recurrence_and_details(loaded: dict[str, int]) -> None:
    assert set(Task.objects.values_list("recurrence", flat=True)) == {"", *Recurrence.values}
    assert Task.objects.exclude(details="").count() >= 5


def test_demo_has_notes_with_a_category_and_brain_dumps_with_a_summary(loaded: dict[str, int]) -> None:
    notes = Document.objects.filter(type_key="document.note")
    dumps = Document.objects.filter(type_key="document.brain_dump")

    assert notes.exists()
    assert dumps.exists()
    assert not notes.filter(category="").exists()
    assert not dumps.filter(ai_summary="").exists()
    assert not dumps.filter(operation_count=None).exists()


def test_demo_has_documents_in_every_state(loaded: dict[str, int]) -> None:
    assert set(Document.objects.values_list("state_key", flat=True)) == set(DocumentState.values)
    assert not Document.objects.filter(content="").exists()


def test_demo_rows_pass_model_validation(loaded: dict[str, int]) -> None:
    for model in MODELS:
        for row in model._default_manager.all():
            row.full_clean()


def test_demo_times_of_past_actions_are_in_the_past(loaded: dict[str, int]) -> None:
    project_times = {project.pk: project.created_at for project in Project.objects.all()}
    for kind in ENTITY_TYPE_BY_NAME.values():
        for row in kind.get_rows():
            assert project_times.get(getattr(row, "project_id", None), row.created_at) <= row.created_at, row
            assert row.created_at <= row.updated_at < AT
            ended = getattr(row, kind.completion_stamp[1]) if kind.completion_stamp else None
            assert ended is None or ended < AT
            assert row.deleted_at is None


def test_demo_tasks_have_events_for_their_dates(loaded: dict[str, int]) -> None:
    before = list(CalendarEvent.objects.order_by("pk").values())

    task_events.sync_events(list(Task.objects.all()), by=demo.DEMO_SUBJECT, at=AT)

    assert list(CalendarEvent.objects.order_by("pk").values()) == before
    assert set(CalendarEvent.objects.values_list("task_event_kind", flat=True)) >= {"", "start", "due"}


def test_demo_events_have_every_recurrence_and_timed_or_whole_days(loaded: dict[str, int]) -> None:
    events = CalendarEvent.objects.filter(task_event_kind="")

    assert set(events.values_list("recurrence", flat=True)) == {"", *Recurrence.values}
    assert events.filter(start_date=None).exists()
    assert events.exclude(start_date=None).exists()
    assert events.exclude(task=None).exists()


def test_demo_calendars_belong_to_the_demo_subject(loaded: dict[str, int]) -> None:
    result = call_handler("list_calendar_events", subject=demo.DEMO_COLLEAGUE, at=AT, calendar_id="primary").result

    assert [row["title"] for row in result["events"]] == ["Parents' evening"]
    assert str(ProjectCalendar.objects.get().project_id) == demo.DEMO_PROJECT_ID


def test_colleague_sees_the_shared_project_without_changing_it(loaded: dict[str, int]) -> None:
    as_colleague = {"subject": demo.DEMO_COLLEAGUE}

    assert call_handler("list_onto_projects", **as_colleague).result["total"] == 2
    with pytest.raises(Forbidden):
        call_handler("update_onto_project", **as_colleague, project_id=demo.DEMO_PROJECT_ID, name="Ours")
    with pytest.raises(NotFound):
        call_handler("get_onto_project_details", **as_colleague, project_id=demo.DEMO_OTHER_PROJECT_ID)


def test_demo_subject_can_change_the_project_that_the_colleague_shares(loaded: dict[str, int]) -> None:
    shared = Project.objects.exclude(created_by=demo.DEMO_SUBJECT).get()
    as_editor = {"subject": demo.DEMO_SUBJECT, "project_id": str(shared.pk)}

    listed = call_handler("list_onto_projects", subject=demo.DEMO_SUBJECT).result["projects"]

    assert str(shared.pk) in {project["id"] for project in listed}
    assert call_handler("update_onto_project", **as_editor, name="Ours").result["project"]["name"] == "Ours"


@pytest.mark.parametrize(
    ("tool", "args"),
    [  # the queries of the catalog's examples
        ("search_onto_projects", {"query": "launch"}),
        ("list_calendar_events", {}),
        ("list_calendar_events", {"query": "launch", "project_id": demo.DEMO_PROJECT_ID}),
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
def test_demo_rows_match_the_queries_of_the_examples(loaded: dict[str, int], tool: str, args: dict[str, str]) -> None:
    assert call_handler(tool, subject=demo.DEMO_SUBJECT, **args).result["total"] > 0


def test_command_reports_what_it_did(db: None) -> None:
    first, second = StringIO(), StringIO()

    call_command("load_demo", stdout=first)
    call_command("load_demo", stdout=second)

    added = ", ".join(f"{number} {name}" for name, number in ADDED.items()).replace("1 calendars", "1 calendar")
    assert first.getvalue().startswith(f"Added to the demo workspace of demo-user: {added}.\n")
    assert second.getvalue() == "The demo workspace exists; nothing was changed.\n"
