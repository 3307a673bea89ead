from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tests.support.loops import for_each
from tests.support.rows.factories import MADE_AT
from workspace.entity_types import TASK
from workspace.models import Task
from workspace.services.entities import changes

LATER = MADE_AT + timedelta(hours=1)


def assign(row: Task, **sent: Any) -> list[tuple[str, str]]:
    errors = changes.assign_fields(row, kind=TASK, sent=sent, at=LATER, pointer="/here")
    return [(error.path, error.code) for error in errors]


def test_assign_sets_only_the_sent_fields() -> None:
    task = Task(title="Old", priority=2, description="text")

    assert assign(task, title="New", task_id="x", project_id="y", unknown=1) == []

    assert (task.title, task.priority, task.description, task.project_id) == ("New", 2, "text", None)


@for_each(
    "stored, sent, merged",
    [
        ({}, {"a": 1}, {"a": 1}),
        ({"a": 1, "b": 2}, {"b": 3}, {"a": 1, "b": 3}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),  # null removes
        ({}, {"a": None}, {}),  # nothing to remove
        ({"a": {"x": 1}}, {"a": {"y": 2}}, {"a": {"y": 2}}),  # one level deep
        ({"a": {"x": 1}}, {"a": {"x": None}}, {"a": {"x": None}}),  # deeper nulls are values
        ({"a": None}, {"b": 1}, {"a": None, "b": 1}),  # keys that were not sent are kept
        ({"a": 1}, {}, {"a": 1}),
    ],
)
def test_props_merge_shallowly(stored: dict[str, Any], sent: dict[str, Any], merged: dict[str, Any]) -> None:
    task = Task(title="T", props=stored)
    before = dict(stored)

    assert assign(task, props=sent) == []

    assert task.props == merged
    assert stored == before  # the old value is kept for comparison


def test_null_clears_description_and_dates() -> None:
    task = Task(title="T", description="text", start_at=MADE_AT, due_at=MADE_AT)

    assert assign(task, description=None, start_at=None, due_at=None) == []

    assert (task.description, task.start_at, task.due_at) == ("", None, None)


@for_each("title", [" ", "\n\t", "\u3000"])
def test_blank_titles_and_impossible_times_are_reported_together(title: str) -> None:
    wrong = assign(Task(title="Old"), title=title, start_at="0000-01-01T00:00:00Z", due_at="2016-12-31T23:59:60Z")

    expected = [("/here/title", "blank"), ("/here/start_at", "impossible_time"), ("/here/due_at", "impossible_time")]
    assert wrong == expected


def test_messages_contain_no_sent_values() -> None:
    secret = "2016-12-31T23:59:60.31337Z"

    [error] = changes.assign_fields(Task(), kind=TASK, sent={"due_at": secret}, at=LATER)

    assert "31337" not in f"{error.message} {error.expected} {error.got}"


@for_each(
    "sent, error",
    [
        ({"due_at": "2026-02-28T00:00:00Z"}, [("/here/due_at", "out_of_order")]),
        ({"start_at": "2026-03-06T00:00:00Z"}, [("/here/start_at", "out_of_order")]),  # only the start was sent
        ({"start_at": "2026-03-06T00:00:00Z", "due_at": "2026-03-05T23:59:59Z"}, [("/here/due_at", "out_of_order")]),
        ({"start_at": "2026-03-06T00:00:00Z", "due_at": "2026-03-06T00:00:00Z"}, []),  # the same time is allowed
        ({"start_at": "2026-03-05T01:00:00+02:00", "due_at": "2026-03-04T23:00:00Z"}, []),  # compared in UTC
        ({"start_at": None, "due_at": "2020-01-01T00:00:00Z"}, []),
        ({"title": "Dates were not sent"}, []),
    ],
)
def test_end_before_start_is_refused_at_the_sent_field(sent: dict[str, Any], error: list[tuple[str, str]]) -> None:
    task = Task(title="T", start_at=MADE_AT, due_at=MADE_AT + timedelta(days=3))

    assert assign(task, **sent) == error


@for_each(
    "before, stamped, state, after",
    [
        ("todo", None, "done", LATER),  # entering
        ("done", MADE_AT, "done", MADE_AT),  # staying keeps the first time
        ("done", MADE_AT, "in_progress", None),  # leaving
        ("todo", None, "blocked", None),
    ],
)
def test_completed_at_follows_the_state(before: str, stamped: Any, state: str, after: Any) -> None:
    task = Task(title="T", state_key=before, completed_at=stamped)

    assign(task, state_key=state)

    assert task.completed_at == after


@for_each(
    "before, after, differs",
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),  # objects are unordered
        ({"a": [1, 2]}, {"a": [2, 1]}, True),  # lists are ordered
        ({"a": 1}, {"a": True}, True),  # equal in Python, not in JSON
        ({"a": 0}, {"a": False}, True),
        ({"a": 1}, {"a": 1.0}, False),  # the same number in two notations
        ({"a": None}, {}, True),
        ("x", "x ", True),
    ],
)
def test_changed_compares_like_json(before: Any, after: Any, differs: bool) -> None:
    assert changes.get_changed_fields({"f": before}, {"f": after}) == (["f"] if differs else [])


@for_each(
    "old, new, expected",
    [
        ("todo", "done", "field todo → done"),
        (None, 3, "field none → 3"),
        ("Lower the TTL", None, "field “Lower the TTL” → none"),
        (False, True, "field false → true"),
        (["web"], ["web", "print"], "field [web] → [web, print]"),
        (["a tag that is long"], ["a tag that is long"] * 3, "field [a tag that is long] → [3 items]"),
        ("short", "x" * 1_234, "field (5 → 1,234 characters, old text replaced)"),
        ("short", "short" * 20, "field (5 → 100 characters, old text kept)"),
        (None, "one\ntwo", "field (0 → 7 characters)"),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4}, "field (b, c)"),
        ({}, dict.fromkeys("abcdefg", 1), "field (a, b, c, d, e, …)"),
        (None, "One.", "field none → “One.”"),
    ],
)
def test_change_tells_the_old_and_the_new_value(old: Any, new: Any, expected: str) -> None:
    assert changes.describe_changes({"field": old}, {"field": new}, ["field"]) == expected


def test_times_are_shown_in_a_zone() -> None:
    before, after = {"due_at": "2026-03-09T16:00:00Z", "title": "at ten"}, {"due_at": None, "title": "at 2026-03-09"}

    text = changes.describe_changes(before, after, ["due_at", "title"], zone=ZoneInfo("Europe/Berlin"))

    assert text == "due_at 2026-03-09T17:00:00+01:00 → none, title “at ten” → “at 2026-03-09”"
