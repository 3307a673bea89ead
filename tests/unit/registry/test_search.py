"""Finding ops by words: what a word weighs by where it stands, and what is never shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry import search
from registry.catalogs import EVERYTHING, Catalog, Visibility
from tests.unit.registry.entries import catalog, op, schema

OPS = [
    op("onto.task.create", kind="write", summary="Create a task", keywords=["reminder", "to-do"]),
    op("onto.task.list", summary="List tasks", parameters_schema=schema(overdue={"type": "boolean"})),
    op("onto.project.list", summary="List projects", description="Rows of every initiative, reminder included."),
    op("cal.event.create", kind="write", summary="Put a meeting on the calendar", aliases=["schedule_meeting"]),
    op("old.task", status="retired", summary="Create a task"),
]


@pytest.fixture(scope="module")
def found() -> Catalog:
    return catalog(*OPS)


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("create task", "onto.task.create"),
        ("createTask", "onto.task.create"),
        ("TASKS, list!", "onto.task.list"),
        ("reminder", "onto.task.create"),  # a keyword weighs more than the description
        ("initiatives", "onto.project.list"),
        ("overdue", "onto.task.list"),  # an argument's name
        ("schedule meeting", "cal.event.create"),  # an alias
        ("what is on my calendar", "cal.event.create"),
        ("onto.project.list", "onto.project.list"),
        ("onto_task_list", "onto.task.list"),
        (" schedule_meeting ", "cal.event.create"),
    ],
)
def test_find_puts_what_was_meant_first(found: Catalog, query: str, best: str) -> None:
    assert search.find(found, found.view(EVERYTHING), query, limit=5)[0] == best


@pytest.mark.parametrize("query", ["", "the of to", "zzz", "?!", "old.task"])
def test_find_finds_nothing_where_nothing_fits_or_is_active(found: Catalog, query: str) -> None:
    assert "old.task" not in search.find(found, found.view(EVERYTHING), query, limit=5)
    if query != "old.task":
        assert search.find(found, found.view(EVERYTHING), query, limit=5) == []


def test_find_gives_visible_ops_alone_and_at_most_the_limit(found: Catalog) -> None:
    reader = found.view(Visibility(kinds=frozenset(["read"])))

    assert search.find(found, reader, "create task", limit=5) == ["onto.task.list"]
    assert len(search.find(found, found.view(EVERYTHING), "onto task list create", limit=2)) == 2


@pytest.mark.parametrize(
    ("query", "groups"),
    [
        ("calendar cal holidays", ["cal", "cal.event"]),
        ("task wiping", ["onto.task"]),
        ("nothing at all", ["cal", "onto"]),  # the root's
    ],
)
def test_nearest_groups_lead_on(found: Catalog, query: str, groups: list[str]) -> None:
    assert search.nearest_groups(found, found.view(EVERYTHING), query) == groups


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dueAt due_at due-at", ["due"] * 3),
        ("Activities of classes", ["activity", "classe"]),
        ("status address analysis", ["status", "address", "analysis"]),
        ("naïve Ünïcode 日本", ["naïve", "ünïcode", "日本"]),
        ("is as", []),
    ],
)
def test_words_are_folded(text: str, words: list[str]) -> None:
    assert search.words(text) == words


@given(st.text(max_size=5000))
def test_any_text_can_be_searched(text: str) -> None:
    found = catalog(*OPS)
    view = found.view(EVERYTHING)

    assert set(search.find(found, view, text, limit=3)) <= view.ops
    assert set(search.nearest_groups(found, view, text)) <= set(view.children)
