import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from core.handler_contract import NotFound
from tests.support.loops import for_each
from tests.support.rows import project_graph
from tests.support.rows.factories import (
    MADE_AT,
    DocumentFactory,
    EdgeFactory,
    GoalFactory,
    MilestoneFactory,
    PlanFactory,
    ProfileFactory,
    ProjectFactory,
    TaskFactory,
)
from tests.support.values.handler_calls import AT, call_handler, list_field_errors
from workspace.models import Edge, EdgeKind, Goal, Milestone, Project, Task

pytestmark = pytest.mark.both_databases

WHEN = "2026-03-01T09:00:00Z"
PLURALS = ("projects", "tasks", "documents", "goals", "plans", "milestones")


@pytest.fixture
def project(db: None) -> Project:
    project: Project = ProjectFactory(name="Launch", description="d" * 201, end_at=MADE_AT)
    return project


def titles(result: dict[str, Any]) -> list[str]:
    return sorted(row["title"] for row in result["tasks"])


@for_each(
    "filters, expected",
    [
        ({"state_key": "blocked"}, ["2 blocked"]),
        ({"state_key": None}, ["1 todo", "2 blocked", "3 done"]),  # null means no filter
        ({"state_key": ["todo", "done"]}, ["1 todo", "3 done"]),
        ({"state_key": ["blocked"], "priority": [3]}, []),
        ({"priority": [1, 3]}, ["1 todo", "3 done"]),
        ({"priority": 2}, ["2 blocked"]),
        ({"state_key": [], "priority": []}, ["1 todo", "2 blocked", "3 done"]),  # an empty list means no filter
        ({"has_date": True}, ["2 blocked", "3 done"]),
        ({"has_date": False}, ["1 todo"]),
    ],
    undone=True,
)
def test_task_list_filters_by_one_or_several_values(
    project: Project, filters: dict[str, Any], expected: list[str]
) -> None:
    TaskFactory(project=project, title="1 todo", priority=1)
    TaskFactory(project=project, title="2 blocked", priority=2, state_key="blocked", start_at=MADE_AT)
    TaskFactory(project=project, title="3 done", priority=3, state_key="done", due_at=MADE_AT)

    assert titles(call_handler("list_onto_tasks", **filters).result) == expected


@for_each(
    "sort_by, order, order_text",
    [
        (None, "cba", "newest update first"),
        ("updated", "cba", "newest update first"),
        ("priority", "cba", "most urgent first"),
        ("start_at", "bac", "earliest start first, no start last"),
        ("created_at", "abc", "newest first"),
    ],
    undone=True,
)
def test_task_list_sorts(project: Project, sort_by: str | None, order: str, order_text: str) -> None:
    for number, (title, priority, start) in enumerate((("a", 5, 2), ("b", 1, 1), ("c", 1, None))):
        moment = timedelta(hours=number)
        TaskFactory(
            project=project,
            title=title,
            updated_at=MADE_AT + moment,
            created_at=MADE_AT - moment,
            priority=priority,
            start_at=start and MADE_AT + timedelta(days=start),
        )

    result = call_handler("list_onto_tasks", sort_by=sort_by).result

    assert "".join(row["title"] for row in result["tasks"]) == order
    assert result["message"] == f"3 of 3 tasks, {order_text}."


@for_each(
    "filters, expected",
    [
        ({"due_before": "2026-03-09"}, ["late", "done late"]),
        ({"due_before": "2026-03-10"}, ["late", "done late", "soon"]),  # a date is the last day of the range
        ({"completed_after": "2026-03-01"}, ["done late"]),
        ({"completed_after": "2026-03-02"}, []),
        ({"due_after": "2026-03-10"}, ["soon", "later"]),  # from midnight in Berlin
        ({"due_after": "2026-03-09T23:00:01Z"}, ["later"]),
        ({"due_after": "2026-03-01", "due_before": "2026-03-10T00:00:01"}, ["done late", "soon"]),
        ({"overdue": True}, ["late"]),
        ({"overdue": False}, ["done late", "soon", "later", "never"]),
        ({"due_before": None}, ["late", "done late", "soon", "later", "never"]),
    ],
    undone=True,
)
def test_task_list_filters_and_sorts_by_due_date(
    project: Project, filters: dict[str, Any], expected: list[str]
) -> None:
    ProfileFactory(subject="owner", time_zone="Europe/Berlin")
    TaskFactory(project=project, title="late", due_at=datetime(2026, 2, 1, tzinfo=UTC))
    TaskFactory(project=project, title="later", due_at=datetime(2026, 3, 12, tzinfo=UTC))
    TaskFactory(project=project, title="never")
    TaskFactory(project=project, title="soon", due_at=datetime(2026, 3, 9, 23, tzinfo=UTC))
    TaskFactory(project=project, title="done late", due_at=datetime(2026, 3, 1, tzinfo=UTC), state_key="done")

    outcome = call_handler("list_onto_tasks", **filters, sort_by="due_at")

    assert [task["title"] for task in outcome.result["tasks"]] == expected


def make_dependency(task: Task, on: Any, *, kind: str = EdgeKind.TASK, rel: str = "depends_on", **more: Any) -> None:
    Edge.objects.create(
        project=task.project, src_kind="task", src_id=task.pk, rel=rel, dst_kind=kind, dst_id=on.pk, **more
    )


def test_task_rows_show_subtasks_and_dependencies(project: Project) -> None:
    def task(title: str, **more: Any) -> Task:
        new_task: Task = TaskFactory(project=project, title=title, **more)
        return new_task

    gone = task("gone", deleted_at=MADE_AT)
    whole = task("whole")
    task("part", parent_task=whole, recurrence="weekly")
    task("deleted part", parent_task=task("childless"), deleted_at=MADE_AT)
    make_dependency(task("waits"), whole)
    make_dependency(whole, task("blocked"), rel="blocks")
    make_dependency(gone, task("unblocked"), rel="blocks")
    make_dependency(task("waited"), gone)
    make_dependency(task("freed"), whole, deleted_at=MADE_AT)
    make_dependency(task("aims"), Goal.objects.create(project=project, name="G"), kind=EdgeKind.GOAL)
    make_dependency(task("strays"), TaskFactory(title="elsewhere", project__created_by="someone else"))

    rows = call_handler("list_onto_tasks", limit=50).result["tasks"]

    def list_titles_with(hint: str) -> list[str]:
        return sorted(row["title"] for row in rows if row.get(hint))

    assert list_titles_with("has_subtasks") == ["whole"]
    assert list_titles_with("has_dependencies") == ["blocked", "waits"]
    assert list_titles_with("is_recurring") == ["part"]
    assert call_handler("get_onto_task_details", task_id=str(whole.pk)).result["task"]["has_subtasks"] is True


def test_list_of_fifty_tasks_with_all_flags_costs_two_queries(
    project: Project, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    tasks = TaskFactory.create_batch(50, project=project, description="d" * 300, recurrence="daily", due_at=MADE_AT)
    for task, other in itertools.pairwise(tasks):
        make_dependency(task, other)
    Task.objects.exclude(pk=tasks[0].pk).update(parent_task=tasks[0])

    with django_assert_num_queries(2):
        result = call_handler("list_onto_tasks", limit=50, sort_by="priority").result

    assert len(result["tasks"]) == 50
    assert sum(row.get("has_dependencies", False) for row in result["tasks"]) == 49


def test_document_list_filters_by_category_case_insensitively(project: Project) -> None:
    DocumentFactory(project=project, title="Note", type_key="document.note", category="Calls")
    DocumentFactory(project=project, title="Other", type_key="document.note", category="Calls to make")

    for tool in ("list_onto_documents", "search_onto_documents"):
        rows = call_handler(tool, query="note other", category="calls").result["documents"]
        assert [(row["title"], row["category"]) for row in rows] == [("Note", "Calls")]


def test_project_list_filters_by_state_and_type_with_its_variants(project: Project) -> None:
    ProjectFactory(name="Garden", type_key="project.personal.garden", state_key="active")

    def names(**filters: str) -> list[str]:
        return sorted(row["name"] for row in call_handler("list_onto_projects", **filters).result["projects"])

    assert names(type_key="project.personal.garden") == ["Garden"]
    assert names(type_key="project.personal") == ["Garden"]
    assert names(type_key="project.person") == []
    assert names(state_key="planning") == ["Launch"]
    assert names(state_key="planning", type_key="project.personal.garden") == []


@for_each("tool", [f"{action}_onto_{what}" for action in ("list", "search") for what in PLURALS], undone=True)
def test_list_refuses_a_malformed_cursor(db: None, tool: str) -> None:
    errors = list_field_errors(lambda: call_handler(tool, query="x", cursor="nonsense"))

    assert errors == [("/cursor", "malformed_cursor")]


def test_list_pages_with_next_cursor(project: Project) -> None:
    for number in range(3):
        TaskFactory(project=project, title=str(number), updated_at=MADE_AT + timedelta(hours=number))

    first = call_handler("list_onto_tasks", limit=2).result
    second = call_handler("list_onto_tasks", limit=2, cursor=first["next_cursor"]).result

    assert ([row["title"] for row in first["tasks"]], first["total"], first["has_more"]) == (["2", "1"], 3, True)
    assert ([row["title"] for row in second["tasks"]], second["total"], second["has_more"]) == (["0"], 3, False)
    assert "next_cursor" not in second


@for_each("tool", [f"list_onto_{what}" for what in PLURALS])
@for_each("rows", [1, 30], undone=True)
def test_list_costs_two_queries_whatever_its_length(
    db: None, tool: str, rows: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for task in TaskFactory.create_batch(rows):
        for make in (DocumentFactory, GoalFactory, PlanFactory, MilestoneFactory):
            make(project=task.project)

    with django_assert_num_queries(3 if tool == "list_onto_projects" else 2):  # with the subject's roles
        assert len(call_handler(tool, limit=50).result["message"]) > 0


@for_each(
    "kind, found, missed",
    [
        ("task", [{"title": "Call the printer"}], [{"description": "for the printer"}]),
        ("goal", [{"name": "The printer"}, {"description": "a printer"}], [{"measurement_criteria": "printer"}]),
        ("plan", [{"name": "The printer"}, {"description": "a printer"}], [{"plan": "1. Ask the printer"}]),
        ("document", [{"title": "The printer"}, {"description": "a printer"}, {"content": "printer"}], []),
    ],
    undone=True,
)
def test_search_covers_these_texts_of_a_kind(
    project: Project, kind: str, found: list[dict[str, str]], missed: list[dict[str, str]]
) -> None:
    ids = {str(project_graph.create_row(kind, project, **fields).pk) for fields in found}
    for fields in missed:
        project_graph.create_row(kind, project, **fields)

    rows = call_handler(f"search_onto_{kind}s", query="PRINTER").result[f"{kind}s"]

    assert {row["id"] for row in rows} == ids


def test_project_search_covers_names_and_descriptions(project: Project) -> None:
    ProjectFactory(name="Garden", description="Everything before the launch")
    ProjectFactory(name="Kitchen")

    result = call_handler("search_onto_projects", query="launch").result

    assert sorted(row["name"] for row in result["projects"]) == ["Garden", "Launch"]


@for_each(
    "kind, label, filters, texts, more",
    [
        ("task", "title", {"state_key": "blocked", "priority": 2}, {"description": 100}, {}),
        ("goal", "name", {"state_key": "active", "type_key": "goal.outcome.traffic"}, {"description": 100}, {}),
        ("plan", "name", {"state_key": "active", "type_key": "plan.sprint"}, {"plan": 200}, {}),
        ("milestone", "title", {"state_key": "in_progress"}, {"description": 100}, {}),
        ("risk", "title", {"state_key": "occurred", "impact": "high"}, {"description": 100, "content": 100}, {}),
        ("requirement", "text", {"priority": 1, "type_key": "requirement.legal"}, {}, {}),
        (
            "document",
            "title",
            {"state_key": "published", "type_key": "document.report"},
            {"description": 100, "content": 200},
            {"created_at": WHEN, "content_length": 201},
        ),
    ],
    undone=True,
)
def test_lists_of_a_kind_filter_and_abbreviate_rows(
    project: Project, kind: str, label: str, filters: dict[str, Any], texts: dict[str, int], more: dict[str, Any]
) -> None:
    long = {name: "ü" * (length + 1) for name, length in texts.items()}
    kept = project_graph.create_row(kind, project, **{label: "Kept"}, **filters, **long)
    for name in filters:
        others = {key: value for key, value in filters.items() if key != name}
        project_graph.create_row(kind, project, **{label: "Kept"}, **others)

    row = {"id": str(kept.pk), "project_id": str(project.pk), "project_name": "Launch", label: "Kept"}
    previews = {f"{name}_preview": "ü" * length + "…" for name, length in texts.items()}
    for action in ("list", "search"):
        result = call_handler(f"{action}_onto_{kind}s", query="kept", **filters).result
        assert result[f"{kind}s"] == [row | filters | previews | more]
        assert (result["total"], result["has_more"]) == (1, False)
        is_cut = result["message"].endswith(f" onto.{kind}.get returns the complete row.")
        assert is_cut == any(name.endswith("_preview") for name in result[f"{kind}s"][0])


def test_milestone_becomes_missed_as_time_passes(project: Project) -> None:
    id = str(MilestoneFactory(project=project, due_at=AT).pk)

    def read_is_missed(after: timedelta) -> set[bool]:
        at = AT + after
        [listed] = call_handler("list_onto_milestones", at=at).result["milestones"]
        [hit] = call_handler("search_onto_milestones", at=at, query="milestone").result["milestones"]
        detail = call_handler("get_onto_milestone_details", at=at, milestone_id=id).result["milestone"]
        return {row.get("is_missed", False) for row in (listed, hit, detail)}

    assert read_is_missed(timedelta(0)) == {False}
    assert read_is_missed(timedelta(seconds=1)) == {True}
    assert Milestone.objects.get().state_key == "pending"


def test_search_prefers_rows_with_all_words_and_falls_back_to_any_word(project: Project) -> None:
    for title in ("Call the printer", "Call the bank", "Pay the printer", "Sleep"):
        TaskFactory(project=project, title=title)

    both, any_word, nothing = (
        call_handler("search_onto_tasks", query=query).result for query in ("printer call", "bank pay", "garden")
    )

    assert titles(both) == ["Call the printer"]
    assert both["message"] == "1 of 1 matching tasks, newest update first."
    assert (titles(any_word), any_word["total"]) == (["Call the bank", "Pay the printer"], 2)
    assert "with any of the words, because none has all of them" in any_word["message"]
    assert nothing["message"] == "No tasks match."


def test_search_fallback_continues_on_the_next_page(project: Project) -> None:
    for number in range(3):
        TaskFactory(project=project, title=f"Call {number}", updated_at=MADE_AT + timedelta(hours=number))
    first = call_handler("search_onto_tasks", query="call printer", limit=2).result

    TaskFactory(project=project, title="Call the printer", updated_at=MADE_AT + timedelta(days=1))
    second = call_handler("search_onto_tasks", query="call printer", limit=2, cursor=first["next_cursor"]).result

    assert (titles(first), titles(second)) == (["Call 1", "Call 2"], ["Call 0"])


def test_search_for_no_words_and_lists_until_an_impossible_date_are_invalid(project: Project) -> None:
    for query in (" ", "\n\t"):
        errors = list_field_errors(lambda query=query: call_handler("search_onto_tasks", query=query))
        assert errors == [("/query", "blank")]
    errors = list_field_errors(lambda: call_handler("list_onto_tasks", due_before="2026-02-30"))
    assert errors == [("/due_before", "impossible_time")]


def test_search_applies_its_filters(project: Project) -> None:
    TaskFactory(project=project, title="Call", state_key="blocked")
    TaskFactory(title="Call")

    def count_matches(**filters: str) -> int:
        total: int = call_handler("search_onto_tasks", query="call", **filters).result["total"]
        return total

    assert count_matches() == 2
    assert count_matches(project_id=str(project.pk)) == 1
    assert count_matches(state_key="blocked") == 1
    assert count_matches(project_id=str(project.pk), state_key="todo") == 0


def test_search_costs_at_most_three_queries(
    project: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(3):  # one for all words, one for any word, one for the project
        call_handler("search_onto_tasks", query="two words", project_id=str(project.pk))
    TaskFactory.create_batch(30, project=project, title="words")
    with django_assert_max_num_queries(3):
        call_handler("search_onto_tasks", query="two words", project_id=str(project.pk))


def test_tasks_of_a_plan(project: Project) -> None:
    plan, other = PlanFactory(project=project), PlanFactory(project=project)
    for title, linked, deleted_at in (("kept", plan, None), ("unlinked", plan, MADE_AT), ("other", other, None)):
        task = TaskFactory(project=project, title=title)
        ends = {"src_kind": "plan", "src_id": linked.pk, "rel": "has_task", "dst_kind": "task", "dst_id": task.pk}
        EdgeFactory(project=project, deleted_at=deleted_at, **ends)
    TaskFactory(project=project, title="subtask", parent_task=Task.objects.get(title="kept"))
    waiting = TaskFactory(project=project, title="other way round")
    EdgeFactory(project=project, src_id=waiting.pk, rel="references", dst_kind="plan", dst_id=plan.pk)

    expected = ["kept", "other way round", "subtask"]
    assert titles(call_handler("list_onto_tasks", plan_id=str(plan.pk)).result) == expected
    with pytest.raises(NotFound):
        call_handler("list_onto_tasks", plan_id=str(plan.pk), subject="stranger")
