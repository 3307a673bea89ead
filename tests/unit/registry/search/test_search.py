"""Finding ops by words: what comes first, what is never shown, and what any text may do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry import search
from registry.catalog.model import FULL_VISIBILITY, Catalog, Visibility
from registry.search import fields
from tests.support.cpu_budget import within
from tests.support.op_entries import catalog, op, schema

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
        ("ScheduleMeeting", "cal.event.create"),
        ("calender meating", "cal.event.create"),  # slips
        ("make a new to-do please", "onto.task.create"),  # by meaning: no op says make or new
    ],
)
def test_find_puts_what_was_meant_first(found: Catalog, query: str, best: str) -> None:
    assert search.find_ops(found, found.view_for(FULL_VISIBILITY), query, limit=5)[0] == best


@pytest.mark.parametrize("query", ["", "the of to", "zzz", "?!", "old.task"])
def test_find_finds_nothing_where_nothing_fits_or_is_active(found: Catalog, query: str) -> None:
    assert "old.task" not in search.find_ops(found, found.view_for(FULL_VISIBILITY), query, limit=5)
    if query != "old.task":
        assert search.find_ops(found, found.view_for(FULL_VISIBILITY), query, limit=5) == []


def test_find_gives_visible_ops_alone_and_at_most_the_limit(found: Catalog) -> None:
    reader = found.view_for(Visibility(kinds=frozenset(["read"])))

    assert set(search.find_ops(found, reader, "create task", limit=5)) <= reader.ops
    assert len(search.find_ops(found, found.view_for(FULL_VISIBILITY), "onto task list create", limit=2)) == 2


@pytest.mark.parametrize(
    ("query", "groups"),
    [
        ("calendar cal holidays", ["cal", "cal.event"]),
        ("task wiping", ["onto.task"]),
        ("nothing at all", ["cal", "onto"]),  # the root's
    ],
)
def test_nearest_groups_lead_on(found: Catalog, query: str, groups: list[str]) -> None:
    assert search.find_nearest_groups(found, found.view_for(FULL_VISIBILITY), query) == groups


@pytest.mark.parametrize("query", ["oldTask", "old_task", "old.task", "former_name"])
def test_a_retired_op_leads_to_its_successor(query: str) -> None:
    found = catalog(
        op("old.task", status="retired", successor="older.task", aliases=["former_name"]),
        op("older.task", status="retired", successor="onto.task.create"),
        *OPS[:3],
    )

    assert search.find_ops(found, found.view_for(FULL_VISIBILITY), query, limit=5)[0] == "onto.task.create"


def test_retired_ops_that_succeed_each_other_lead_nowhere() -> None:
    found = catalog(
        op("a.one", status="retired", successor="a.two"), op("a.two", status="retired", successor="a.one"), *OPS[:2]
    )

    assert not {"a.one", "a.two"} & set(search.find_ops(found, found.view_for(FULL_VISIBILITY), "a.one", limit=5))


def test_a_name_that_fits_two_ops_in_another_spelling_is_neither_s_alone() -> None:
    found = catalog(op("a.bc"), op("ab.c", tool_name="another"), op("x.y"))

    assert search.find_ops(found, found.view_for(FULL_VISIBILITY), "ab.c", limit=5)[0] == "ab.c"
    assert "x.y" not in search.find_ops(found, found.view_for(FULL_VISIBILITY), "ABC", limit=5)


def test_what_a_caller_may_not_run_is_left_out_even_by_its_name(found: Catalog) -> None:
    reader = found.view_for(Visibility(kinds=frozenset(["read"])))

    assert "onto.task.create" not in search.find_ops(found, reader, "onto.task.create", limit=5)


def test_warm_leaves_nothing_to_make(monkeypatch: pytest.MonkeyPatch) -> None:
    found = catalog(*OPS)
    search.warm(found)
    monkeypatch.setattr(fields, "read_op_words", None)  # would be called

    assert search.find_ops(found, found.view_for(FULL_VISIBILITY), "create task", limit=1) == ["onto.task.create"]


@given(st.text(max_size=5000))
def test_any_text_finds_visible_ops_or_groups(found: Catalog, text: str) -> None:
    view = found.view_for(FULL_VISIBILITY)

    ops, groups = search.find_ops(found, view, text, limit=3), search.find_nearest_groups(found, view, text)

    assert set(ops) <= view.ops
    assert groups
    assert set(groups) <= set(view.children)


@given(st.text(max_size=80), st.text(max_size=80))
def test_an_op_of_any_text_can_be_indexed_and_is_found_by_its_name(summary: str, keyword: str) -> None:
    found = catalog(op("onto.task.list", summary=summary, description=keyword, keywords=[keyword]), *OPS[2:])

    assert search.find_ops(found, found.view_for(FULL_VISIBILITY), "onto task list", limit=1) == ["onto.task.list"]


def test_no_request_takes_long() -> None:
    found = catalog(*(op(f"g{number}.record.get", summary="Get the record of a worker") for number in range(500)))
    hostile = ["a" * 100_000, "wrkr " * 20_000, "a, b c. " * 20_000, "Ab" * 50_000, "'" * 100_000, "日" * 100_000]
    search.warm(found)

    def ask() -> None:
        for text in hostile:
            search.find_ops(found, found.view_for(FULL_VISIBILITY), text, limit=8)

    within(2, ask)


def test_a_catalog_without_ops_finds_nothing() -> None:
    found = catalog()

    assert search.find_ops(found, found.view_for(FULL_VISIBILITY), "anything", limit=5) == []
