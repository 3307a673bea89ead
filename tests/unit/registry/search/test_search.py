"""Finding ops by words: ranking, hidden ops, and arbitrary queries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry import search
from registry.catalog.model import FULL_VISIBILITY, Catalog, Visibility
from registry.search import postings
from registry.search.index import Ranking, SearchIndex
from tests.support.cpu_budget import assert_cpu_seconds
from tests.support.rows.op_entries import build_catalog, build_op_entry, build_schema

OPS = [
    build_op_entry("onto.task.create", kind="write", summary="Create a task", keywords=["reminder", "to-do"]),
    build_op_entry("onto.task.list", summary="List tasks", parameters_schema=build_schema(overdue={"type": "boolean"})),
    build_op_entry(
        "onto.project.list", summary="List projects", description="Rows of every initiative, reminder included."
    ),
    build_op_entry(
        "cal.event.create", kind="write", summary="Put a meeting on the calendar", aliases=["schedule_meeting"]
    ),
    build_op_entry("old.task", status="retired", summary="Create a task"),
]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return build_catalog(*OPS)


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("create task", "onto.task.create"),
        ("createTask", "onto.task.create"),
        ("reminder", "onto.task.create"),  # a keyword weighs more than the description
        ("initiatives", "onto.project.list"),
        ("overdue", "onto.task.list"),  # an argument's name
        ("schedule meeting", "cal.event.create"),  # an alias
        ("what is on my calendar", "cal.event.create"),
        ("onto.project.list", "onto.project.list"),
        (" schedule_meeting ", "cal.event.create"),
        ("ScheduleMeeting", "cal.event.create"),
        ("calender meating", "cal.event.create"),  # typos
        ("make a new to-do please", "onto.task.create"),  # by meaning: no op has the words make or new
    ],
)
def test_find_ranks_the_intended_op_first(catalog: Catalog, query: str, best: str) -> None:
    assert search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), query, limit=5)[0] == best


@pytest.mark.parametrize("query", ["", "the of to", "zzz", "?!", "old.task"])
def test_find_returns_nothing_without_matching_active_ops(catalog: Catalog, query: str) -> None:
    assert "old.task" not in search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), query, limit=5)
    if query != "old.task":
        assert search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), query, limit=5) == []


def test_find_returns_only_visible_ops_up_to_the_limit(catalog: Catalog) -> None:
    reader = catalog.view_for(Visibility(kinds=frozenset(["read"])))

    for query in ("create task", "onto.task.create"):
        assert set(search.find_ops(catalog, reader, query, limit=5)) <= reader.ops
    assert len(search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), "onto task list create", limit=2)) == 2
    empty = build_catalog()
    assert search.find_ops(empty, empty.view_for(FULL_VISIBILITY), "anything", limit=5) == []


@pytest.mark.parametrize(
    ("query", "groups"),
    [
        ("calendar cal holidays", ["cal", "cal.event"]),
        ("task wiping", ["onto.task"]),
        ("nothing at all", ["cal", "onto"]),  # groups of the root
    ],
)
def test_find_suggests_the_nearest_groups(catalog: Catalog, query: str, groups: list[str]) -> None:
    assert search.find_nearest_groups(catalog, catalog.view_for(FULL_VISIBILITY), query) == groups


@pytest.mark.parametrize("query", ["oldTask", "old_task", "old.task", "former_name"])
def test_find_returns_the_successor_of_a_retired_op(query: str) -> None:
    catalog = build_catalog(
        build_op_entry("old.task", status="retired", successor="older.task", aliases=["former_name"]),
        build_op_entry("older.task", status="retired", successor="onto.task.create"),
        *OPS[:3],
    )

    assert search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), query, limit=5)[0] == "onto.task.create"


def test_find_ignores_a_circle_of_retired_ops() -> None:
    catalog = build_catalog(
        build_op_entry("a.one", status="retired", successor="a.two"),
        build_op_entry("a.two", status="retired", successor="a.one"),
        *OPS[:2],
    )

    assert not {"a.one", "a.two"} & set(search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), "a.one", limit=5))


def test_find_prefers_the_exact_spelling_of_an_ambiguous_name() -> None:
    catalog = build_catalog(build_op_entry("a.bc"), build_op_entry("ab.c", tool_name="another"), build_op_entry("x.y"))

    assert search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), "ab.c", limit=5)[0] == "ab.c"
    assert "x.y" not in search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), "ABC", limit=5)


def test_warm_builds_the_whole_index(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = build_catalog(*OPS)
    search.warm_catalog(catalog)
    monkeypatch.setattr(postings, "read_op_words", None)  # would be called

    assert search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), "create task", limit=1) == ["onto.task.create"]


@given(st.text(max_size=5000))
def test_any_query_finds_only_visible_ops_or_groups(catalog: Catalog, text: str) -> None:
    view = catalog.view_for(FULL_VISIBILITY)

    ops, groups = search.find_ops(catalog, view, text, limit=3), search.find_nearest_groups(catalog, view, text)

    assert set(ops) <= view.ops
    assert groups
    assert set(groups) <= set(view.children)


@given(st.text(max_size=80), st.text(max_size=80))
def test_op_with_any_text_is_found_by_its_name(summary: str, keyword: str) -> None:
    catalog = build_catalog(
        build_op_entry("onto.task.list", summary=summary, description=keyword, keywords=[keyword]), *OPS[2:]
    )

    assert search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), "onto task list", limit=1) == ["onto.task.list"]


def test_any_query_is_fast() -> None:
    catalog = build_catalog(
        *(build_op_entry(f"g{number}.record.get", summary="Get the record of a worker") for number in range(500))
    )
    hostile = ["a" * 100_000, "wrkr " * 20_000, "a, b c. " * 20_000, "Ab" * 50_000, "'" * 100_000, "日" * 100_000]
    search.warm_catalog(catalog)

    def find_all() -> None:
        for text in hostile:
            search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), text, limit=8)

    assert_cpu_seconds(2, find_all)


def test_search_leaves_out_what_is_much_worse_than_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"a.op{number}" for number in range(8)]
    catalog = build_catalog(*map(build_op_entry, names))
    shares = dict(zip(names, (1.0, 0.9, 0.4, 0.4, 0.4, 0.6, 0.5, 0.4), strict=True))
    monkeypatch.setattr(SearchIndex, "rank", lambda *_, **__: Ranking(shares, is_clear=True))
    view = catalog.view_for(FULL_VISIBILITY)

    assert search.search_ops(catalog, view, "words").paths == names[:7]
    assert search.search_ops(catalog, view, "words", limit=8).paths == names


OPPOSITES = [
    ("mark", "unmark"),
    ("increment", "decrement"),
    ("start", "stop"),
    ("enable", "disable"),
    ("lock", "unlock"),
    ("add", "remove"),
    ("open", "close"),
    ("archive", "restore"),
]


@pytest.mark.parametrize(("verb", "opposite"), [*OPPOSITES, *((second, first) for first, second in OPPOSITES)])
def test_op_that_does_the_opposite_never_comes_before_the_asked_one(verb: str, opposite: str) -> None:
    catalog = build_catalog(
        build_op_entry("a.asked", tool_name=f"{verb}_counter", kind="write", summary="Change a thing"),
        build_op_entry(
            "a.opposite",
            tool_name=f"{opposite}_counter",
            kind="write",
            summary=f"Undo {verb}: whoever wants to {verb} the counter of a page can do the reverse",
        ),
    )

    found = search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), f"{verb} the counter of the page", limit=5)

    assert found == ["a.asked", "a.opposite"]


def test_op_that_has_the_verb_as_a_choice_of_how_to_do_it_comes_first() -> None:
    choices = {"type": "string", "enum": ["replace", "append"]}
    fields = {"kind": "write", "action": "update", "summary": "Change a text"}
    catalog = build_catalog(
        build_op_entry("a.one", **fields, parameters_schema=build_schema(way=choices)),
        build_op_entry("a.two", **fields, parameters_schema=build_schema(way=choices | {"x-option": True})),
    )

    found = search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), "append text to it", limit=2)

    assert found == ["a.two", "a.one"]


@pytest.mark.django_db
@pytest.mark.parametrize("request_", ["append text to the details", "append to the description of the task"])
def test_task_is_changed_rather_than_given_a_document(live_catalog: Catalog, request_: str) -> None:
    found = search.find_ops(live_catalog, live_catalog.view_for(FULL_VISIBILITY), request_, limit=5)

    assert found.index("onto.task.update") < found.index("onto.task.docs.create_or_attach")


TASKS = [
    build_op_entry("a.task.list", tool_name="list_tasks", summary="List tasks", entity="task", action="list"),
    build_op_entry("a.task.get", tool_name="get_task", summary="Read one task", entity="task", action="get"),
    build_op_entry("a.task.create", tool_name="create_task", kind="write", entity="task", action="create"),
    build_op_entry(
        "a.task.move",
        tool_name="move_task",
        kind="write",
        entity="task",
        action="move",
        description="Tasks finished in the last weeks move to another project.",
    ),
    build_op_entry("a.task.delete", tool_name="delete_task", kind="write", entity="task", action="delete"),
    build_op_entry("a.project.create", tool_name="create_project", kind="write", entity="project", action="create"),
]


@pytest.mark.parametrize(
    ("request_", "best"),
    [
        ("tasks finished in the last weeks", "a.task.get a.task.list"),
        ("which tasks did we move to another project", "a.task.get a.task.list"),
        ("copy a task", "a.task.create"),
        ("create a project with tasks", "a.project.create"),
        ("create a task for the project", "a.task.create"),
        ("move the task", "a.task.move"),
        ("delete the task of the project", "a.task.delete"),
    ],
)
def test_op_of_another_verb_does_not_come_before_one_of_the_right_verb(request_: str, best: str) -> None:
    catalog = build_catalog(*TASKS)

    assert search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), request_, limit=5)[0] in best.split()


@pytest.mark.parametrize(
    ("request_", "best"),
    [
        ("tasks finished in the last two weeks", "onto.task.list"),
        ("copy a document", "onto.document.create"),
        ("create a project with tasks", "onto.project.create"),
        ("create a risk for the milestone", "onto.risk.create"),
        ("documents created this month", "onto.document.list"),
        ("link two tasks", "onto.edge.link"),
        ("unlink two tasks", "onto.edge.unlink"),
    ],
)
@pytest.mark.django_db
def test_shipped_op_of_the_right_verb_comes_first(live_catalog: Catalog, request_: str, best: str) -> None:
    view = live_catalog.view_for(FULL_VISIBILITY)

    assert search.find_ops(live_catalog, view, request_, limit=5)[0] == best


@pytest.mark.parametrize(
    ("request_", "best"),
    [("list open tickets", "a.ticket.list"), ("list open tickets in acme desk", "b.ticket.list")],
)
def test_ops_of_a_service_that_the_request_names_come_first(request_: str, best: str) -> None:
    own = build_op_entry("a.ticket.list", tool_name="list_tickets", summary="List tickets")
    other = build_op_entry(
        "b.ticket.list", tool_name="list_desk_tickets", summary="List tickets", connection="acme-desk"
    )
    catalog = build_catalog(own, other)

    assert search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), request_, limit=2)[0] == best
