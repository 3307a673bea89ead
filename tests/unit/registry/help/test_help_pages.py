"""The exact answers of help: for a group, an op, an argument and a search."""

import hashlib
from typing import Any

import orjson
import pytest

from core.text import token_budget
from registry.catalog.model import Catalog, Visibility
from registry.help import answers, fitted_help, help_pages
from registry.help.answers import BadHelpQuery, UnknownPath
from registry.help.help_pages import HelpQuery
from registry.search import index as search_index
from tests.support.rows.op_entries import build_catalog, build_op_entry, build_schema

ID = "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01"
UPDATE = build_op_entry(
    "onto.task.update",
    tool_name="update_onto_task",
    kind="write",
    summary="Change a task",
    entity="task",
    action="update",
    description="Changes only the fields sent.",
    notes="Priority 1 is the most urgent.",
    keywords=["edit"],
    aliases=["task.update", "onto.tasks.update"],
    argument_aliases={"id": "task_id"},
    parameters_schema=build_schema(
        ("task_id",),
        title={"type": "string", "maxLength": 300, "x-aliases": {"a": "b"}},
        task_id={"type": "string", "format": "uuid", "description": "Task to change"},
        state={"type": "string", "enum": ["todo", "done"], "default": "todo"},
        priority={"type": "integer", "minimum": 1, "maximum": 5},
    ),
    policy={"edge_cases": ["A deleted task is NOT_FOUND."], "dont": ["Never guess."], "do": ["Send a change."]},
    examples=[
        {"title": "Done", "args": {"task_id": ID, "state": "done"}},
        {"args": {"task_id": ID, "title": "New"}, "note": "Renames"},
    ],
)
GET = build_op_entry("onto.task.get", summary="Get one task")
RETIRED = build_op_entry("onto.task.close", status="retired", successor="onto.task.update", tool_name="close_task")
GONE = build_op_entry("onto.task.wipe", status="retired")
PING = build_op_entry("util.ping", summary="Answer at once")


MANY = [build_op_entry(f"many.op{n:03}") for n in range(120)]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return build_catalog(UPDATE, GET, RETIRED, GONE, PING, *MANY)


def query_help(
    catalog: Catalog, visibility: Visibility = help_pages.FULL_VISIBILITY, /, **query: Any
) -> dict[str, Any]:
    body: dict[str, Any] = orjson.loads(help_pages.answer_query(catalog, HelpQuery(**query), visibility).body)
    return body


@pytest.mark.parametrize("path", ["", "root"])
def test_root_lists_its_direct_children(catalog: Catalog, path: str) -> None:
    assert query_help(catalog, path=path) == {
        "path": "root",
        "type": "group",
        "summary": "Group root",
        "items": [
            {"path": "many", "summary": "Group many"},
            {"path": "onto", "summary": "Group onto"},
            {"path": "util", "summary": "Group util"},
        ],
    }


def test_group_lists_its_active_ops_with_their_kind(catalog: Catalog) -> None:
    body = query_help(catalog, path="onto.task")

    assert body == {
        "path": "onto.task",
        "type": "group",
        "summary": "Group onto.task",
        "items": [
            {"path": "onto.task.get", "summary": "Get one task", "kind": "read"},
            {"path": "onto.task.update", "summary": "Change a task", "kind": "write"},
        ],
    }
    assert list(body) == ["path", "type", "summary", "items"]
    assert list(body["items"][0]) == ["path", "summary", "kind"]


SHORT = {
    "path": "onto.task.update",
    "type": "op",
    "kind": "write",
    "summary": "Change a task",
    "args": {"task_id": "uuid, required", "title": "string", "state": "todo|done = todo", "priority": "integer, 1..5"},
}
EXAMPLES = UPDATE["examples"]
FULL = SHORT | {
    **{name: UPDATE[name] for name in ("entity", "action", "description", "policy", "notes", "examples")},
    "usage": {"op": "onto.task.update", "args": {"task_id": "<uuid>", "state": "done"}},
    "args": [
        {"name": "task_id", "type": "uuid", "required": True, "description": "Task to change"},
        {"name": "title", "type": "string", "required": False},
        {"name": "state", "type": "string", "required": False, "default": "todo", "enum": ["todo", "done"]},
        {"name": "priority", "type": "integer, 1..5", "required": False},
    ],
}


def test_op_help_is_short_by_default(catalog: Catalog) -> None:
    body = query_help(catalog, path="onto.task.update")

    assert body == SHORT
    assert list(body) == ["path", "type", "kind", "summary", "args"]
    assert next(iter(body["args"])) == "task_id"


def test_op_help_in_full(catalog: Catalog) -> None:
    body = query_help(catalog, path="onto.task.update", format="full")

    assert body == FULL
    assert list(body) == "path type kind summary entity action description usage args policy notes examples".split()
    assert list(body["policy"]) == ["do", "dont", "edge_cases"]


@pytest.mark.parametrize(
    ("query", "has"),
    [
        ({"format": "short"}, False),
        ({"format": "short", "include_examples": True}, True),
        ({"format": "full"}, True),
        ({"format": "full", "include_examples": False}, False),
    ],
)
def test_examples_are_included_on_request(catalog: Catalog, query: dict[str, Any], has: bool) -> None:
    assert query_help(catalog, path="onto.task.update", **query).get("examples", []) == (EXAMPLES if has else [])


@pytest.mark.parametrize("form", ["short", "full"])
def test_schema_is_included_on_request_without_our_annotations(catalog: Catalog, form: str) -> None:
    body = query_help(catalog, path="onto.task.update", format=form, include_schemas=True)

    assert body["schema"]["required"] == ["task_id"]
    assert body["schema"]["properties"]["title"] == {"type": "string", "maxLength": 300}
    assert "schema" not in query_help(catalog, path="onto.task.update", format=form)


@pytest.mark.parametrize("form", ["short", "full"])
def test_empty_fields_are_left_out_except_args(catalog: Catalog, form: str) -> None:
    body = query_help(catalog, path="util.ping", format=form)

    assert body == {
        "path": "util.ping",
        "type": "op",
        "kind": "read",
        "summary": "Answer at once",
        "args": {} if form == "short" else [],
    } | ({} if form == "short" else {"usage": {"op": "util.ping", "args": {}}})


@pytest.mark.parametrize("name", ["onto.task.update", "update_onto_task", "task.update", "onto.tasks.update"])
def test_every_name_of_an_op_returns_its_path(catalog: Catalog, name: str) -> None:
    assert query_help(catalog, path=name) == SHORT
    assert help_pages.answer_query(catalog, HelpQuery(path=name)).path == "onto.task.update"


@pytest.mark.parametrize(
    ("arg", "expected"),
    [
        ("priority", {"type": "integer, 1..5", "required": False, "minimum": 1, "maximum": 5}),
        # An argument alias returns its argument, and no examples: their ids exist in no workspace.
        ("id", {"type": "uuid", "required": True, "description": "Task to change", "format": "uuid"}),
    ],
)
def test_argument_help_is_complete(catalog: Catalog, arg: str, expected: dict[str, Any]) -> None:
    body = query_help(catalog, path="task.update", arg=arg)

    name = {"id": "task_id"}.get(arg, arg)
    assert body == {"path": "onto.task.update", "type": "arg", "arg": {"name": name} | expected}


def test_unknown_argument_suggests_the_nearest(catalog: Catalog) -> None:
    with pytest.raises(
        UnknownPath, match=r"^onto\.task\.update has no such argument\. Its arguments are title, "
    ) as refused:
        query_help(catalog, path="onto.task.update", arg="tsk_id")

    assert refused.value.help_path == "onto.task.update"
    assert refused.value.did_you_mean == ["task_id"]
    with pytest.raises(UnknownPath, match="It has no arguments"):
        query_help(catalog, path="util.ping", arg="x")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"path": "onto.task", "arg": "x"}, "arg"),
        ({"path": "onto.task.get", "cursor": "b250bw"}, "cursor"),
        ({"path": "onto", "cursor": "%%%"}, "cursor"),
        ({"path": "onto", "cursor": "_w"}, "cursor"),  # not UTF-8
        ({"query": "x", "arg": "y"}, "arg"),
        ({"query": "x", "cursor": "b250bw"}, "cursor"),
    ],
)
def test_invalid_field_is_refused(catalog: Catalog, query: dict[str, Any], field: str) -> None:
    with pytest.raises(BadHelpQuery) as refused:
        query_help(catalog, **query)

    assert refused.value.field == field


@pytest.mark.parametrize(
    ("path", "help_path", "did_you_mean"),
    [
        ("onto.task.udpate", "onto.task", ["onto.task.update"]),
        ("onto.task.get ", "onto.task", ["onto.task.get"]),  # not trimmed
        ("Onto.Task.Get", "root", ["onto.task.get"]),  # not case-folded
        ("UPDATE_ONTO_TASK", "root", ["onto.task.update"]),
        ("onto.task.get.more", "onto.task", None),
        ("nothing.like.it", "root", []),
        ("ontos", "root", ["onto"]),
        ("tasks", "root", ["onto.task"]),
        ("onto.task.wipe", "onto.task", None),  # retired without a successor
    ],
)
def test_unknown_path_names_a_group_and_similar_paths(
    catalog: Catalog, path: str, help_path: str, did_you_mean: list[str] | None
) -> None:
    with pytest.raises(UnknownPath) as refused:
        query_help(catalog, path=path)

    assert refused.value.help_path == help_path
    assert query_help(catalog, path=refused.value.help_path)["type"] == "group"
    if did_you_mean is not None:
        assert refused.value.did_you_mean[:1] == did_you_mean[:1]
        assert len(refused.value.did_you_mean) <= 3
    assert str(refused.value).startswith(f"There is no op or group {path}.")


@pytest.mark.parametrize("path", ["a." * 500_000, "." * 1_000_000, "x" * 1_000_000])
def test_very_long_path_is_refused_fast(catalog: Catalog, path: str) -> None:
    with pytest.raises(UnknownPath) as refused:
        query_help(catalog, path=path)

    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("name", ["onto.task.close", "close_task"])
def test_retired_op_names_its_successor(catalog: Catalog, name: str) -> None:
    with pytest.raises(UnknownPath, match=r"^onto\.task\.close is retired\. Use onto\.task\.update\.$") as refused:
        query_help(catalog, path=name)

    assert (refused.value.help_path, refused.value.did_you_mean) == ("onto.task.update", ["onto.task.update"])


def test_help_shows_a_caller_only_allowed_ops(catalog: Catalog) -> None:
    reader = Visibility(patterns=("onto.*",), kinds=frozenset(["read"]))

    assert [item["path"] for item in query_help(catalog, reader)["items"]] == ["onto"]
    assert [item["path"] for item in query_help(catalog, reader, path="onto.task")["items"]] == ["onto.task.get"]
    assert [item["path"] for item in query_help(catalog, reader, query="task update")["items"]] == ["onto.task.get"]
    for hidden in ("onto.task.update", "update_onto_task", "util.ping", "util", "onto.task.close"):
        with pytest.raises(UnknownPath) as refused:
            query_help(catalog, reader, path=hidden)
        assert not {"onto.task.update", "util.ping", "util"} & set(refused.value.did_you_mean)
        assert refused.value.help_path in ("root", "onto.task")


def test_pages_of_a_large_group_list_each_op_once(catalog: Catalog) -> None:
    pages, cursor = [], None
    while True:
        body = query_help(catalog, path="many", cursor=cursor)
        pages.append([item["path"] for item in body["items"]])
        if (cursor := body.get("next_cursor")) is None:
            break

    assert [len(page) for page in pages] == [50, 50, 20]
    assert [path for page in pages for path in page] == [f"many.op{n:03}" for n in range(120)]
    for limit, more in ((1, True), (119, True), (120, False)):
        body = query_help(catalog, path="many", limit=limit)
        assert (len(body["items"]), "next_cursor" in body) == (limit, more)


def test_cursor_works_after_its_op_was_removed_and_after_the_last(catalog: Catalog) -> None:
    cursor = query_help(catalog, path="many", limit=10)["next_cursor"]
    without = build_catalog(*MANY[:9], *MANY[10:])

    assert query_help(without, path="many", cursor=cursor, limit=1)["items"][0]["path"] == "many.op010"
    later = build_catalog(build_op_entry("many.zzz"), build_op_entry("many.zzzz"))
    last = query_help(later, path="many", limit=1)["next_cursor"]
    empty = {"path": "many", "type": "group", "summary": "Group many", "items": []}
    assert query_help(catalog, path="many", cursor=last) == empty


def test_search_returns_ops(catalog: Catalog) -> None:
    body = query_help(catalog, query="change a task", limit=2)

    assert list(body) == ["query", "type", "items"]
    update = {"path": "onto.task.update", "summary": "Change a task", "kind": "write", "args": SHORT["args"]}
    get = {"path": "onto.task.get", "summary": "Get one task", "kind": "read", "args": {}}
    assert body == {"query": "change a task", "type": "search", "items": [update, get]}
    long = "change a task " * 20
    assert query_help(catalog, query=long)["query"] == long[: help_pages.MAX_ECHO] + "…"


@pytest.mark.parametrize("max_tokens", [None, 60, 100, 400, 2_000])
def test_search_shows_the_args_of_the_first_ops_as_far_as_they_fit(catalog: Catalog, max_tokens: int | None) -> None:
    body = query_help(catalog, query="op", max_tokens=max_tokens)

    shown = ["args" in item for item in body["items"]]
    assert shown == sorted(shown, reverse=True)
    assert sum(shown) <= fitted_help.MAX_WITH_ARGUMENTS
    assert token_budget.count_json(body) <= (max_tokens or help_pages.SEARCH_TOKENS)
    assert any(shown) is (max_tokens not in (60, 100))


def test_search_says_that_nothing_clearly_fits(monkeypatch: pytest.MonkeyPatch, catalog: Catalog) -> None:
    monkeypatch.setattr(search_index, "MIN_CLEAR_SCORE", 100)

    body = query_help(catalog, query="change the colour of one cloud")

    assert body["message"] == help_pages.NOTHING_FITS
    assert body["items"]
    assert not any("args" in item for item in body["items"])
    assert "message" not in query_help(catalog, query="onto.task.update")  # a name is always clear


def test_search_without_matches_returns_the_nearest_groups(catalog: Catalog) -> None:
    answer = help_pages.answer_query(catalog, HelpQuery(query="zzzz"))

    assert answer.result_count == 0
    assert orjson.loads(answer.body) == {
        "query": "zzzz",
        "type": "search",
        "items": [
            {"path": "many", "summary": "Group many", "ops": 120},
            {"path": "onto", "summary": "Group onto", "ops": 2},
            {"path": "util", "summary": "Group util", "ops": 1},
        ],
    }


@pytest.mark.parametrize(
    "query", [{}, {"path": "onto.task.update"}, {"path": "task.update", "format": "full"}, {"query": "task"}]
)
def test_etag_is_a_hash_of_the_body(catalog: Catalog, query: dict[str, Any]) -> None:
    answer = help_pages.answer_query(catalog, HelpQuery(**query))
    rebuilt = help_pages.answer_query(build_catalog(UPDATE, GET, RETIRED, GONE, PING, *MANY), HelpQuery(**query))

    assert answer.etag == f'"{hashlib.sha256(answer.body).hexdigest()[:32]}"'
    assert rebuilt == answer
    other = help_pages.answer_query(build_catalog(UPDATE | {"summary": "Change one task"}), HelpQuery(**query))
    assert other.etag != answer.etag


def test_answer_cache_is_bounded_and_keyed_by_caller_and_query(monkeypatch: pytest.MonkeyPatch) -> None:
    small = build_catalog(UPDATE, GET)
    monkeypatch.setattr(answers, "MAX_CACHED_ANSWERS", 5)
    query = HelpQuery(path="onto.task.get")

    assert help_pages.answer_query(small, query) is help_pages.answer_query(small, query)
    assert help_pages.answer_query(small, query, Visibility(kinds=frozenset(["read"]))) is not help_pages.answer_query(
        small, query
    )
    for number in range(20):
        help_pages.answer_query(small, HelpQuery(path="onto.task.get", max_tokens=number + 1))
        help_pages.answer_query(small, HelpQuery(query=f"words {number}"))
    assert len(small.answers) <= 5
    assert all(query.query is None for _, query in small.answers)
