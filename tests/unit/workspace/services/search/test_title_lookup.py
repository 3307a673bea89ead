from typing import Any
from uuid import UUID

from pytest_django.fixtures import DjangoAssertNumQueries

from core.handler_contract import ArgumentError
from tests.support.loops import for_each
from tests.support.rows import project_graph
from tests.support.rows.factories import MADE_AT, ProjectFactory
from workspace.entity_types import ENTITY_TYPE_BY_NAME
from workspace.models import Project
from workspace.services.search import row_finder, title_lookup
from workspace.services.search.title_lookup import TitledRow


def find(project: Project, *pairs: tuple[str, str], subject: str = "owner") -> list[UUID | ArgumentError]:
    named = [TitledRow(kind, title, "other/title", "other/id") for kind, title in pairs]
    return title_lookup.find_ids(named, subject=subject, project_id=project.pk)


def make_row(project: Project, kind: str, title: str, **fields: Any) -> Any:
    return project_graph.create_row(kind, project, **{ENTITY_TYPE_BY_NAME[kind].label: title}, **fields)


@for_each("kind", [name for name in ENTITY_TYPE_BY_NAME if name != "project"], undone=True)
def test_row_of_any_kind_is_found_by_its_name_or_title(project: Project, kind: str) -> None:
    row = make_row(project, kind, "Straße nach Süden")
    make_row(project, kind, "Straße nach Süden, zweiter Teil")

    for title in ("Straße nach Süden", " straße NACH süden "):
        assert find(project, (kind, title)) == [row.pk]


def test_project_is_found_by_its_name_and_an_exact_title_is_preferred(project: Project) -> None:
    ProjectFactory(name="Other")
    exact = make_row(project, "task", "Call")
    make_row(project, "task", "CALL")

    project_id, other, task_id = find(project, ("project", "launch"), ("project", "Other"), ("task", "Call"))

    assert (project_id, task_id) == (project.pk, exact.pk)
    assert isinstance(other, ArgumentError)


def test_ambiguous_title_is_refused_with_ids_newest_first(project: Project) -> None:
    rows = [make_row(project, "document", "Notes", updated_at=MADE_AT.replace(hour=hour)) for hour in range(12)]

    [error] = find(project, ("document", "notes"))

    assert isinstance(error, ArgumentError)
    ids = [str(row.pk) for row in rows[:1:-1]]
    assert (error.path, error.code) == ("/other/title", "ambiguous_title")
    assert [each["id"] for each in error.expected] == ids
    assert error.expected[0] == {"id": ids[0], "title": "Notes", "updated_at": "2026-03-01T11:00:00Z"}
    assert error.message == (
        f"other/title matches 12 documents; send the id of the right one as other/id: {', '.join(ids)} and 2 more."
    )


def test_unknown_and_invisible_titles_are_refused_alike(project: Project) -> None:
    make_row(project, "goal", "Gone", deleted_at=MADE_AT)
    make_row(ProjectFactory(), "goal", "Elsewhere")  # of the same owner
    make_row(ProjectFactory(created_by="someone else"), "goal", "Foreign")
    make_row(project, "task", "Task")

    named = ("Gone", "Elsewhere", "Foreign", "Task", "Never was", "", " ", "%", "_")
    errors = find(project, *(("goal", title) for title in named))

    assert {error.message for error in errors if isinstance(error, ArgumentError)} == {
        "other/title: no goal in this project has this name; find it with onto.goal.search and send its id as other/id."
    }
    assert [each.code for each in errors if isinstance(each, ArgumentError)] == ["no_such_title"] * len(named)


def test_unknown_title_is_refused_with_the_rows_that_have_its_words(project: Project) -> None:
    rows = [make_row(project, "task", f"Set up a kitchen in room {number}") for number in range(4)]
    make_row(ProjectFactory(), "task", "Set up a kitchen elsewhere")

    [error] = find(project, ("task", "kitchen in the room"))
    [only] = find(project, ("task", "kitchen room 2"))
    [of_stranger] = find(project, ("task", "kitchen"), subject="stranger")

    assert isinstance(error, ArgumentError)
    assert isinstance(only, ArgumentError)
    assert isinstance(of_stranger, ArgumentError)
    assert len(error.expected) == row_finder.MAX_ROWS
    assert only.expected == [{"id": str(rows[2].pk), "title": "Set up a kitchen in room 2"}]
    assert only.message == (
        "other/title: no task in this project has this title; if it is one of these, send its id as other/id."
    )
    assert of_stranger.expected is None


def test_title_lookup_costs_one_query_per_kind(
    project: Project, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    rows = [make_row(project, kind, f"{kind} {n}") for kind in ("task", "goal") for n in range(3)]

    with django_assert_num_queries(2):
        ids = find(project, *((row._meta.model_name, str(row)) for row in rows))

    assert ids == [row.pk for row in rows]
    with django_assert_num_queries(0):
        assert find(project) == []
    with django_assert_num_queries(1 + title_lookup.MAX_SIMILAR_LOOKUPS):  # similar titles of a few only
        find(project, *(("task", f"kitchen {number}") for number in range(9)))
