"""How far turns come, what they were handed, and where they lose their way."""

from datetime import timedelta

import pytest

from analytics.models import ToolSelection
from analytics.reports import funnel, lost
from analytics.reports import selection as selections
from analytics.reports.funnel import Step
from analytics.reports.lost import Name
from analytics.reports.scope import Scope
from analytics.reports.selection import Name as Missed
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

    assert funnel.steps(Scope(NOON)) == [
        Step("turns", 33, 33),
        Step("searched", 24, 24),
        Step("read help", 20, 20),
        Step("called an op", 21, 15),
        Step("had a call that succeeded", 13, 7),
    ]


def test_selections_are_summed_over_turns(db: None) -> None:
    assert selections.of(Scope(NOON)).turns == 0
    assert selections.of(Scope(NOON)).used_rate is None


def test_selections_tell_what_was_loaded_used_and_missed(selection: Write) -> None:
    selection(times=2, loaded=["a", "b", "c"], used=["a"], tokens=100, outcome="succeeded")
    selection(loaded=["a"], missed=["x", "y"], escalated=["x"], tokens=400, outcome="failed")

    found = _of()

    assert (found.turns, found.loaded, found.used, found.missed, found.escalated) == (3, 7, 2, 2, 1)
    assert (found.missing, found.escalating, found.tokens) == (1, 1, 200.0)
    assert found.outcomes == {"succeeded": 2, "failed": 1, "abandoned": 0, "unknown": 0}
    assert (found.used_rate, found.miss_rate, found.escalation_rate) == (2 / 7, 1 / 3, 1 / 3)
    assert set(found.outcomes) == set(ToolSelection.Outcome)


def _of() -> selections.Selections:
    return selections.of(Scope(NOON))


def test_tools_that_were_missed_in_most_turns_come_first(selection: Write) -> None:
    selection(times=2, missed=["b", "b", "a"])
    selection(missed=["b", "c"])
    selection()

    assert _most_missed() == [Missed("b", 3), Missed("a", 2), Missed("c", 1)]


def _most_missed() -> list[Missed]:
    return selections.most_missed(Scope(NOON))


def test_names_that_nothing_has_are_counted_as_they_were_sent(happen: Happen) -> None:
    unknown = {"tool_name": "", "code": "NOT_FOUND"}
    happen(NOON, op="onto.snooze", reason="unknown_op", times=3, **unknown)
    happen(NOON, op="onto.snooze", type="help", reason="unknown_path", **unknown)
    happen(NOON, op="onto.tusk", type="help", reason="unknown_path", model="claude", **unknown)
    happen(NOON, op="onto.gone", reason="unknown_op", dry_run=True, **unknown)
    happen(NOON - timedelta(days=30), op="onto.old", reason="unknown_op", **unknown)
    happen(NOON)

    assert lost.names(Scope(NOON)) == [Name("onto.snooze", 4), Name("onto.tusk", 1)]
    assert lost.names(Scope(NOON), limit=1) == [Name("onto.snooze", 4)]
    assert lost.names(Scope(NOON, model="claude")) == [Name("onto.tusk", 1)]


def test_worst_loops_come_first(turn: Write) -> None:
    for repeats in (0, 2, 5, 1):
        turn(repeats=repeats)

    assert [each.repeats for each in lost.worst_loops(Scope(NOON), limit=2)] == [5, 2]
