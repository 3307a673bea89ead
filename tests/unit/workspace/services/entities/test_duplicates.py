"""Warnings about a new row that probably repeats an open one."""

from typing import Any

import pytest

from tests.support.loops import for_each
from tests.support.rows.factories import DocumentFactory, ProjectFactory, TaskFactory
from tests.support.values.handler_calls import AT, call_handler
from workspace.entity_types import ENTITY_TYPE_BY_NAME
from workspace.models import Project, Task
from workspace.services.entities import duplicates


@pytest.fixture
def task(db: None) -> Task:
    task: Task = TaskFactory(title="Call the printers", project=ProjectFactory(created_by="owner"))
    return task


def create(project: Project, title: str, **args: Any) -> tuple[str, ...]:
    warnings: tuple[str, ...] = call_handler(
        "create_onto_task", project_id=str(project.pk), title=title, **args
    ).warnings
    return warnings


@for_each("title", ["Call the printers", "call the printers!", "Call a printer", "Call  Printers"], undone=True)
def test_new_row_with_nearly_the_same_title_is_warned_about(task: Task, title: str) -> None:
    assert create(task.project, title) == (
        f"A task “Call the printers” already exists ({task.pk}). If it is the same, delete the new one.",
    )


@for_each("title", ["Call the painters", "Call the printers back", "Call the printers 2", "…"], undone=True)
def test_other_titles_are_not_warned_about(task: Task, title: str) -> None:
    assert create(task.project, title) == ()


@for_each("change", [{"state_key": "done", "completed_at": AT}, {"title": "Done"}, {"deleted_at": AT}], undone=True)
def test_done_renamed_and_deleted_rows_are_not_open_duplicates(task: Task, change: dict[str, Any]) -> None:
    parent = TaskFactory(title="Print", project=task.project)
    assert create(task.project, task.title, parent_task_id=str(parent.pk)) == ()
    assert create(ProjectFactory(created_by="owner"), task.title) == ()

    Task.objects.filter(title=task.title).update(**change)

    assert create(task.project, task.title) == ()


def test_long_name_is_cut_in_messages(task: Task) -> None:
    args = {"project_id": str(task.project_id), "text": "The visitor can pay.\n" * 90}

    first, second = (call_handler("create_onto_requirement", **args) for _ in range(2))

    cut = "“The visitor can pay. The visitor can pay. The visitor can pa…”"
    assert first.result["message"] == f"Created the requirement {cut}."
    assert [cut in warning for warning in second.warnings] == [True]


def test_documents_are_compared_with_their_siblings(task: Task) -> None:
    document = DocumentFactory(title="Brief", project=task.project)
    args = {"project_id": str(task.project_id), "title": "Brief"}

    beside = call_handler("create_onto_document", **args)
    below = call_handler("create_onto_document", **args, parent_id=str(document.pk))

    assert [str(document.pk) in warning for warning in beside.warnings] == [True]
    assert below.warnings == ()


@for_each(
    "kind, word, meant",
    [
        ("task", "done", "done"),
        ("task", "completed", "done"),
        ("task", "In Progress", "in_progress"),
        ("task", "active", "in_progress"),
        ("task", "cancelled", None),
        ("task", "published", None),
        ("goal", "todo", "draft"),
        ("goal", "in-progress", "active"),
        ("goal", "done", "achieved"),
        ("goal", "cancelled", "abandoned"),
        ("plan", "in_progress", "active"),
        ("plan", "finished", "completed"),
        ("milestone", "todo", "pending"),
        ("milestone", "achieved", "completed"),
        ("risk", "open", "identified"),
        ("risk", "done", "closed"),
        ("risk", "mitigated", "mitigated"),
        ("document", "todo", "draft"),
        ("document", "done", None),
        ("requirement", "done", None),
    ],
)
def test_alias_maps_to_a_state(kind: str, word: str, meant: str | None) -> None:
    assert duplicates.resolve_state(word, ENTITY_TYPE_BY_NAME[kind]) == meant


@for_each("kind", ENTITY_TYPE_BY_NAME.values())
def test_each_alias_is_defined_once_and_states_of_a_kind_share_none(kind: object) -> None:
    assert sum(map(len, duplicates.STATE_ALIASES)) == len(frozenset().union(*duplicates.STATE_ALIASES))
    for words in duplicates.STATE_ALIASES:
        assert len(words & set(duplicates.list_states(kind))) <= 1  # type: ignore[arg-type]
