"""Figures of subjects: the sums of each one's calls, in periods that no change of the rollout divides."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import Sum
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analytics.events.models import OperationEvent
from analytics.rollups import rollup_job, subject_figures
from analytics.rollups.models import OpDaily, Rollup, SubjectFigures
from audit.models import AuditEntry
from tests.support.cpu_budget import examples
from tests.support.rows.analytics_rows import NOON, WriteEvent, run_until_done

pytestmark = pytest.mark.both_databases

MINUTE = timedelta(minutes=1)
FAILED = {"code": "VALIDATION_ERROR", "reason": "invalid_args"}


def sum_figures(**which: Any) -> dict[str, float]:
    """Return the sums of the subjects' figures, without zeros."""
    sums = SubjectFigures.objects.filter(**which).aggregate(
        **{name: Sum(name) for name in subject_figures.SUMS.sum_fields}
    )
    return {name: value for name, value in sums.items() if value}


def change_rollout(at: Any, kind: str = "cohort") -> None:
    AuditEntry.objects.create(time=at, kind=kind, name="copy-b", action="changed", by="pm", changes={})


def test_calls_help_and_searches_of_a_subject_are_summed(write_event: WriteEvent) -> None:
    write_event(NOON - MINUTE, subject="ana", times=3)
    write_event(NOON - MINUTE, subject="ana", **FAILED)
    write_event(NOON - MINUTE, subject="ana", type="help", format="full", times=2)
    write_event(NOON - MINUTE, subject="ana", type="search", op="", tool_name="", result_count=0)
    write_event(NOON - MINUTE, subject="ben")
    write_event(NOON - MINUTE)  # nobody's

    run_until_done()

    expected = {"calls": 4, "failed": 1, "invalid": 1, "helps": 2, "searches": 1, "misses": 1, "latency_ms": 8.0}
    assert sum_figures(subject="ana") == expected
    assert sum_figures()["calls"] == 5


def test_what_a_client_loads_for_itself_is_not_counted(write_event: WriteEvent) -> None:
    write_event(NOON - MINUTE, subject="ana", purpose="context")
    write_event(NOON - MINUTE, subject="ana", source="admin")

    run_until_done()

    assert not SubjectFigures.objects.exists()


def test_change_of_the_rollout_begins_a_period(write_event: WriteEvent) -> None:
    change = NOON - timedelta(hours=2)
    write_event(change - MINUTE, subject="ana", times=2)
    write_event(change, subject="ana", times=3)
    change_rollout(change)
    change_rollout(change + MINUTE, kind="op")  # of the copy's draft: nobody reads it yet

    run_until_done()

    midnight = NOON.replace(hour=0)
    calls = dict(SubjectFigures.objects.values_list("begin").annotate(Sum("calls")).order_by("begin"))
    assert calls == {midnight: 2, change: 3}


def test_repair_counts_for_the_subject_of_the_failed_call(write_event: WriteEvent) -> None:
    turn = {"subject": "ana", "session": "s", "turn": "t"}
    write_event(NOON - timedelta(hours=1), **turn, **FAILED)
    run_until_done()
    write_event(NOON, **turn)
    run_until_done(NOON + MINUTE)

    assert sum_figures(subject="ana")["repaired"] == 1


def test_recount_counts_again_what_is_there(write_event: WriteEvent) -> None:
    write_event(NOON - timedelta(days=2), subject="ana", times=2)
    run_until_done()

    rollup_job.recount_from((NOON - timedelta(days=2)).date(), NOON)

    assert sum_figures() == {"calls": 2, "latency_ms": 4.0}


@settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    calls=st.lists(st.tuples(st.integers(0, 2 * 24 * 60), st.sampled_from(["ana", "ben"])), min_size=1, max_size=20),
    changes=st.lists(st.integers(0, 2 * 24 * 60), max_size=4),
    runs=st.lists(st.integers(0, 2 * 24 * 60), max_size=6),
)
def test_sums_equal_the_events_for_any_sequence_of_runs_and_changes(
    write_event: WriteEvent, calls: list[tuple[int, str]], changes: list[int], runs: list[int]
) -> None:
    start = NOON - timedelta(days=2)
    for model in (OperationEvent, OpDaily, SubjectFigures, Rollup, AuditEntry):
        model.objects.all().delete()
    waiting = sorted((start + minute * MINUTE, subject) for minute, subject in calls)
    changing = sorted(start + minute * MINUTE for minute in changes)

    for at in [*sorted(start + minute * MINUTE for minute in runs), NOON]:
        while changing and changing[0] <= at:
            change_rollout(changing.pop(0))
        while waiting and waiting[0][0] <= at:
            time, subject = waiting.pop(0)
            write_event(time, subject=subject)
        run_until_done(at)

    cuts = sorted(
        {start + minute * MINUTE for minute in changes} | {NOON.replace(hour=0) - timedelta(days=n) for n in range(3)}
    )
    expected = Counter(
        (subject, max(cut for cut in cuts if cut <= start + minute * MINUTE)) for minute, subject in calls
    )
    counted = SubjectFigures.objects.values_list("subject", "begin").annotate(Sum("calls")).order_by()
    assert {(subject, begin): calls for subject, begin, calls in counted} == expected
