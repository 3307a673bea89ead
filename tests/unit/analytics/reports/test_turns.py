"""The funnel of turns, tool selections, unknown names and loops."""

from collections import Counter
from datetime import timedelta

import pytest

from analytics.reports import misses, turn_figures
from analytics.reports import selection as selections
from analytics.reports.misses import UnknownName
from analytics.reports.report_filter import ReportFilter
from analytics.reports.selection import MissedTool
from analytics.reports.turn_figures import TurnCount
from analytics.turns.models import ToolSelection, TurnWith
from tests.support.rows.analytics_rows import NOON, CreateRow, WriteEvent

pytestmark = pytest.mark.both_databases


def test_steps_of_the_funnel_only_fall_and_ways_are_counted_apart(turn: CreateRow) -> None:
    turn(times=3)
    turn(times=4, searches=1)
    turn(times=5, searches=1, helps=2)
    turn(times=6, calls=2, failed=1)
    turn(times=7, searches=1, helps=1, calls=1)
    turn(times=8, searches=1, helps=1, calls=1, failed=1)

    steps, ways = turn_figures.count_turns(ReportFilter(NOON))

    assert steps == [
        TurnCount("turns", None, 33),
        TurnCount("called an op", TurnWith.CALL, 21),
        TurnCount("had a call that succeeded", TurnWith.SUCCESS, 13),
    ]
    assert ways == [TurnCount("searched", TurnWith.SEARCH, 24), TurnCount("read help", TurnWith.HELP_READ, 20)]


def test_selection_totals_count_loaded_used_and_missed_tools(selection: CreateRow) -> None:
    assert selections.sum_selections(ReportFilter(NOON)).turns == 0
    assert selections.sum_selections(ReportFilter(NOON)).used_rate is None
    selection(times=2, loaded=["a", "b", "c"], used=["a"], tokens=100, outcome="succeeded")
    selection(loaded=["a"], missed=["x", "y"], escalated=["x"], tokens=400, outcome="failed")

    totals = selections.sum_selections(ReportFilter(NOON))

    assert (totals.turns, totals.loaded, totals.used, totals.missed, totals.escalated) == (3, 7, 2, 2, 1)
    assert (totals.turns_with_miss, totals.turns_with_escalation, totals.tokens) == (1, 1, 200.0)
    assert totals.outcomes == {"succeeded": 2, "failed": 1, "abandoned": 0, "unknown": 0}
    assert (totals.used_rate, totals.miss_rate, totals.escalation_rate) == (2 / 7, 1 / 3, 1 / 3)
    assert set(totals.outcomes) == set(ToolSelection.Outcome)


def test_most_missed_tools_come_first(selection: CreateRow) -> None:
    selection(times=2, missed=["b", "b", "a"])
    selection(missed=["b", "c"])
    selection()

    missed = selections.list_most_missed(ReportFilter(NOON))
    assert missed == [MissedTool("b", 3), MissedTool("a", 2), MissedTool("c", 1)]


def test_unknown_names_are_counted_as_sent(write_event: WriteEvent) -> None:
    unknown = {"tool_name": "", "code": "NOT_FOUND"}
    write_event(NOON, op="onto.snooze", reason="unknown_op", times=3, **unknown)
    write_event(NOON, op="onto.snooze", type="help", reason="unknown_path", **unknown)
    write_event(NOON, op="onto.tusk", type="help", reason="unknown_path", model="claude", **unknown)
    write_event(NOON, op="onto.gone", reason="unknown_op", dry_run=True, **unknown)
    write_event(NOON - timedelta(days=30), op="onto.old", reason="unknown_op", **unknown)
    write_event(NOON)

    assert misses.count_unknown_names(ReportFilter(NOON)) == [
        UnknownName("onto.snooze", 4, Counter(r1=4)),
        UnknownName("onto.tusk", 1, Counter(r1=1)),
    ]
    assert [each.name for each in misses.count_unknown_names(ReportFilter(NOON), limit=1)] == ["onto.snooze"]
    assert [each.name for each in misses.count_unknown_names(ReportFilter(NOON, model="claude"))] == ["onto.tusk"]


def test_worst_loops_come_first(turn: CreateRow) -> None:
    for repeats in (0, 2, 5, 1):
        turn(repeats=repeats)

    assert [each.repeats for each in misses.list_worst_loops(ReportFilter(NOON), limit=2)] == [5, 2]
