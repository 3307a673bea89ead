"""What the report of misses counts: searches, wrong choices and field errors, with the release that served them."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from analytics.reports import misses
from analytics.reports.misses import FieldErrors
from analytics.reports.report_filter import ReportFilter
from analytics.turns.models import Turn
from tests.support.loops import for_each
from tests.support.rows.analytics_rows import NOON, CreateRow, WriteEvent

pytestmark = pytest.mark.both_databases

FAILED = {"code": "VALIDATION_ERROR", "reason": "invalid_args"}
Step = dict[str, Any]


def search(words: str = "", found: list[str] | None = None, count: int | None = None) -> Step:
    content = None if found is None else {"args": {"query": words}, "result": {"items": found}}
    result_count = len(found or []) if count is None else count
    return {"type": "search", "op": "", "tool_name": "", "result_count": result_count, "content": content}


def call(op: str, **fields: Any) -> Step:
    return {"op": op, "tool_name": op, **fields}


@pytest.fixture
def write_turn(write_event: WriteEvent) -> Callable[..., None]:
    """Return a function that writes the events of one turn, a second apart, and its row."""

    def write(*steps: Step, release: str = "r1") -> None:
        name = f"t{Turn.objects.count()}"
        for number, step in enumerate(steps):
            where = {"client": "chat", "session": "s", "turn": name, "release": release}
            write_event(NOON + timedelta(seconds=number), **where, **step)
        searches = sum(step.get("type") == "search" for step in steps)
        failed = sum("code" in step for step in steps)
        Turn.objects.create(
            client="chat", session="s", turn=name, time=NOON, searches=searches, calls=len(steps), failed=failed
        )

    return write


def list_searches() -> list[tuple[str, int, str]]:
    found = misses.find_turn_misses(ReportFilter(NOON))
    return [(each.words, each.miss.times, each.miss.next_op) for each in found.searches]


@for_each(
    "steps, is_missed",
    [
        ([search("snooze", []), call("x.y")], True),
        ([search("snooze", ["a.b"]), call("x.y")], True),
        ([search("snooze", ["a.b"]), search("later", ["x.y"]), call("x.y")], True),
        ([search("snooze", ["a.b", "x.y"]), call("x.y")], False),
        ([search("snooze", ["a.b"]), call("a.b", **FAILED), call("x.y")], True),
        ([search("snooze", ["a.b"]), search("other", ["x.y"]), call("a.b"), call("x.y")], False),
        ([search("snooze", ["a.b"])], False),  # the model may have answered with it
        ([search("snooze", ["a.b"]), call("x.y", dry_run=True)], False),
    ],
    undone=True,
)
def test_a_search_is_missed_if_nothing_it_showed_worked(
    write_turn: Callable[..., None], steps: list[Step], is_missed: bool
) -> None:
    write_turn(*steps)

    assert ("snooze" in [words for words, _, _ in list_searches()]) is is_missed


def test_missed_searches_are_grouped_by_words_with_the_op_that_worked(write_turn: Callable[..., None]) -> None:
    write_turn(search("Snooze  it", []), call("x.y"))
    write_turn(search("snooze it", ["a.b"]), call("x.y"), release="r2")
    write_turn(search("other", []))

    assert list_searches() == [("snooze it", 2, "x.y"), ("other", 1, "")]
    assert misses.find_turn_misses(ReportFilter(NOON)).searches[0].miss.releases == Counter(r1=1, r2=1)


def test_without_stored_words_only_searches_that_found_nothing_are_known(write_turn: Callable[..., None]) -> None:
    write_turn(search(count=0), call("x.y"))
    write_turn(search(count=3), call("x.y"))

    assert list_searches() == [("", 1, "x.y")]


def test_a_wrong_choice_is_an_op_that_never_worked_before_another_did(write_turn: Callable[..., None]) -> None:
    write_turn(call("a.b", **FAILED), call("a.b", **FAILED), call("x.y"))
    write_turn(search("move it", ["a.b"]), call("a.b", **FAILED), call("x.y"))
    write_turn(call("c.d", **FAILED), call("find.id"), call("c.d"))  # repaired
    write_turn(call("e.f", **FAILED))  # nothing worked
    write_turn(call("no.op", code="NOT_FOUND", reason="unknown_op"), call("x.y"))

    assert misses.find_turn_misses(ReportFilter(NOON)).choices == []  # two may be chance

    write_turn(call("a.b", **FAILED), call("x.y"))
    [choice] = misses.find_turn_misses(ReportFilter(NOON)).choices

    assert (choice.wrong, choice.right, choice.miss.times) == ("a.b", "x.y", 3)
    assert choice.search is not None


def test_misses_of_other_periods_and_releases_are_left_out(write_turn: Callable[..., None]) -> None:
    write_turn(search("snooze", []))
    Turn.objects.update(time=NOON - timedelta(days=40), release="r1")

    assert misses.find_turn_misses(ReportFilter(NOON)).turn_count == 0
    assert misses.find_turn_misses(ReportFilter(NOON, days=90)).turn_count == 1
    assert misses.find_turn_misses(ReportFilter(NOON, days=90, release="r2")).turn_count == 0


def test_field_errors_that_repeat_are_summed_over_days_and_releases(daily: CreateRow) -> None:
    daily(calls=5, invalid=5, field_errors=[["/due_at", "format", 3], ["/x", "unknown_argument", 1]])
    daily(calls=2, invalid=2, days_ago=1, release="r2", field_errors=[["/due_at", "format", 2]])

    assert misses.count_field_errors(ReportFilter(NOON)) == [
        FieldErrors("onto.task.update", "/due_at", "format", 5, Counter(r1=3, r2=2))
    ]
