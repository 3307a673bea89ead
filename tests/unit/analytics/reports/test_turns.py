"""How far turns come, what they were handed, and where they lose their way."""

from datetime import timedelta

import pytest

from analytics.models import ToolSelection
from analytics.reports import dead_ends, funnel
from analytics.reports import selection as selections
from analytics.reports.dead_ends import UnknownName
from analytics.reports.funnel import FunnelStep
from analytics.reports.report_filter import ReportFilter
from analytics.reports.selection import MissedTool as Missed
from tests.unit.analytics.conftest import Happen
from tests.unit.analytics.reports.conftest import NOON, Write

pytestmark = pytest.mark.both_databases


def test_funnel_tells_who_took_a_step_and_who_took_all_before(turn: Write) -> None:
    turn(times=3)
    turn(times=4, searches=1)
    turn(times=5, searches=1, helps=2)
    turn(times=6, calls=2, failed=1)
    turn(times=7, searches=1, helps=1, calls=1)
    turn(times=8, searches=1, helps=1, calls=1, failed=1)

    assert funnel.count_steps(ReportFilter(NOON)) == [
        FunnelStep("turns", 33, 33),
        FunnelStep("searched", 24, 24),
        FunnelStep("read help", 20, 20),
        FunnelStep("called an op", 21, 15),
        FunnelStep("had a call that succeeded", 13, 7),
    ]


def test_selections_are_summed_over_turns(db: None) -> None:
    assert selections.sum_selections(ReportFilter(NOON)).turns == 0
    assert selections.sum_selections(ReportFilter(NOON)).used_rate is None


def test_selections_tell_what_was_loaded_used_and_missed(selection: Write) -> None:
    selection(times=2, loaded=["a", "b", "c"], used=["a"], tokens=100, outcome="succeeded")
    selection(loaded=["a"], missed=["x", "y"], escalated=["x"], tokens=400, outcome="failed")

    found = _of()

    assert (found.turns, found.loaded, found.used, found.missed, found.escalated) == (3, 7, 2, 2, 1)
    assert (found.turns_with_miss, found.turns_with_escalation, found.tokens) == (1, 1, 200.0)
    assert found.outcomes == {"succeeded": 2, "failed": 1, "abandoned": 0, "unknown": 0}
    assert (found.used_rate, found.miss_rate, found.escalation_rate) == (2 / 7, 1 / 3, 1 / 3)
    assert set(found.outcomes) == set(ToolSelection.Outcome)


def _of() -> selections.SelectionTotals:
    return selections.sum_selections(ReportFilter(NOON))


def test_tools_that_were_missed_in_most_turns_come_first(selection: Write) -> None:
    selection(times=2, missed=["b", "b", "a"])
    selection(missed=["b", "c"])
    selection()

    assert _most_missed() == [Missed("b", 3), Missed("a", 2), Missed("c", 1)]


def _most_missed() -> list[Missed]:
    return selections.list_most_missed(ReportFilter(NOON))


def test_names_that_nothing_has_are_counted_as_they_were_sent(happen: Happen) -> None:
    unknown = {"tool_name": "", "code": "NOT_FOUND"}
    happen(NOON, op="onto.snooze", reason="unknown_op", times=3, **unknown)
    happen(NOON, op="onto.snooze", type="help", reason="unknown_path", **unknown)
    happen(NOON, op="onto.tusk", type="help", reason="unknown_path", model="claude", **unknown)
    happen(NOON, op="onto.gone", reason="unknown_op", dry_run=True, **unknown)
    happen(NOON - timedelta(days=30), op="onto.old", reason="unknown_op", **unknown)
    happen(NOON)

    assert dead_ends.count_unknown_names(ReportFilter(NOON)) == [
        UnknownName("onto.snooze", 4),
        UnknownName("onto.tusk", 1),
    ]
    assert dead_ends.count_unknown_names(ReportFilter(NOON), limit=1) == [UnknownName("onto.snooze", 4)]
    assert dead_ends.count_unknown_names(ReportFilter(NOON, model="claude")) == [UnknownName("onto.tusk", 1)]


def test_worst_loops_come_first(turn: Write) -> None:
    for repeats in (0, 2, 5, 1):
        turn(repeats=repeats)

    assert [each.repeats for each in dead_ends.list_worst_loops(ReportFilter(NOON), limit=2)] == [5, 2]
