"""Changes of a row as text."""

from typing import Any
from zoneinfo import ZoneInfo

from tests.support.loops import for_each
from workspace.services.entities import changes


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
    ],
)
def test_change_tells_the_old_and_the_new_value(old: Any, new: Any, expected: str) -> None:
    assert changes.describe_changes({"field": old}, {"field": new}, ["field"]) == expected


def test_times_are_shown_in_a_zone() -> None:
    before, after = {"due_at": "2026-03-09T16:00:00Z", "title": "at ten"}, {"due_at": None, "title": "at 2026-03-09"}

    text = changes.describe_changes(before, after, ["due_at", "title"], zone=ZoneInfo("Europe/Berlin"))

    assert text == "due_at 2026-03-09T17:00:00+01:00 → none, title “at ten” → “at 2026-03-09”"
