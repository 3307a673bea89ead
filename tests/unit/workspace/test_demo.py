from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from tests.support.loops import for_each
from tests.support.rows import document_forest
from tests.support.values.handler_calls import call_handler
from workspace import demo, relations
from workspace.entity_types import ENTITY_TYPE_BY_NAME
from workspace.models import (
    CalendarEvent,
    Document,
    Edge,
    EdgeKind,
    MemberRole,
    Membership,
    Profile,
    Project,
    ProjectCalendar,
    Task,
)
from workspace.relations import Rel, Relation
from workspace.services.calendar import task_events

AT = datetime(2026, 3, 2, 23, 59, 59, 123_456, tzinfo=UTC)


@pytest.fixture
def loaded(db: None) -> dict[str, int]:
    return demo.load(at=AT)


ADDED = {
    "projects": 6, "memberships": 8, "profiles": 2, "tasks": 60, "documents": 16, "goals": 7, "plans": 8,
    "milestones": 9, "risks": 8, "requirements": 8, "events": 12, "calendars": 1, "edges": 50,
}  # fmt: skip
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


def test_second_load_changes_nothing_and_adds_only_missing_rows(loaded: dict[str, int]) -> None:
    before = rows()

    assert demo.load(at=AT + timedelta(days=30)) == dict.fromkeys(loaded, 0)
    assert rows() == before

    Task.objects.filter(pk=demo.DEMO_TASK_ID).delete()  # as if a later release had added it
    Document.objects.all().delete()
    assert demo.load(at=AT) == dict.fromkeys(ADDED, 0) | {"tasks": 1, "documents": ADDED["documents"]}


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


def test_load_keeps_an_existing_profile_of_the_demo_subject(db: None) -> None:
    Profile.objects.create(subject=demo.DEMO_SUBJECT, time_zone="Asia/Tokyo")

    demo.load(at=AT)

    assert Profile.objects.get(subject=demo.DEMO_SUBJECT).time_zone == "Asia/Tokyo"


def test_demo_edges_are_as_the_link_op_stores_them_in_one_project(loaded: dict[str, int]) -> None:
    for edge in Edge.objects.all():
        src_kind, dst_kind = EdgeKind(edge.src_kind), EdgeKind(edge.dst_kind)
        assert relations.resolve_relation(src_kind, edge.rel, dst_kind) == Relation(src_kind, Rel(edge.rel), dst_kind)
        for kind, id in ((edge.src_kind, edge.src_id), (edge.dst_kind, edge.dst_id)):
            row: Any = ENTITY_TYPE_BY_NAME[kind].model._default_manager.get(pk=id)
            assert (row.pk if kind == "project" else row.project_id) == edge.project_id, edge


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


def test_demo_rows_are_valid_and_past_actions_are_in_the_past(loaded: dict[str, int]) -> None:
    project_times = {project.pk: project.created_at for project in Project.objects.all()}
    for kind in ENTITY_TYPE_BY_NAME.values():
        for row in kind.get_rows():
            assert project_times.get(getattr(row, "project_id", None), row.created_at) <= row.created_at, row
            assert row.created_at <= row.updated_at < AT
            ended = getattr(row, kind.completion_stamp[1]) if kind.completion_stamp else None
            assert ended is None or ended < AT
            assert row.deleted_at is None
    for model in MODELS:
        for each in model._default_manager.all():
            each.full_clean()


def test_demo_tasks_have_events_for_their_dates(loaded: dict[str, int]) -> None:
    before = list(CalendarEvent.objects.order_by("pk").values())

    task_events.sync_events(list(Task.objects.all()), by=demo.DEMO_SUBJECT, at=AT)

    assert list(CalendarEvent.objects.order_by("pk").values()) == before
    assert set(CalendarEvent.objects.values_list("task_event_kind", flat=True)) >= {"", "start", "due"}


@for_each(
    "tool, args",
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
    undone=True,
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
