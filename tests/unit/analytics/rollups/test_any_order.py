"""Figures and turns equal one count of all events, in whatever order events are written, and wherever runs cut them."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analytics.events import event_log
from analytics.events.event_filters import DEFERRED_REASONS, is_call
from analytics.events.models import OperationEvent
from analytics.rollups import event_batches, op_daily, rollup_job, subject_figures
from analytics.rollups.models import OpDaily, Rollup, SubjectFigures
from analytics.turns import aggregation
from analytics.turns.models import Turn
from tests.support.cpu_budget import examples
from tests.support.rows.analytics_rows import NOON

pytestmark = pytest.mark.both_databases

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
FAILED = {"ok": False, "code": "VALIDATION_ERROR", "reason": "invalid_args", "field_errors": [["/items/1/a", "type"]]}
KINDS: list[dict[str, Any]] = [
    {},
    {"digest": "a"},
    FAILED,
    FAILED | {"digest": "a"},
    {"ok": False, "code": "NOT_FOUND", "reason": "unknown_op", "tool_name": ""},
    {"ok": False, "code": "CONFLICT", "reason": DEFERRED_REASONS[0]},
    {"type": "help", "format": "short", "digest": "a"},
    {"type": "search", "op": "", "tool_name": "", "result_count": 0},
    {"dry_run": True},
    {"replayed": True},
    {"source": "admin"},
    {"purpose": "context"},
]
EVENTS = st.lists(
    st.fixed_dictionaries(
        {
            "minute": st.one_of(st.integers(0, 20), st.integers(0, 40 * 60)),
            "kind": st.sampled_from(KINDS),
            "op": st.sampled_from(["onto.task.update", "onto.task.get"]),
            "turn": st.sampled_from(["t1", "t1", "t2", ""]),
            "session": st.sampled_from(["s1", "s1", ""]),
            "subject": st.sampled_from(["ana", "ana", ""]),
            "release": st.sampled_from(["r1", "r2"]),
            "commit": st.integers(0, 100),  # the order in which transactions end
            "runs": st.sampled_from([False, False, True]),  # whether the job runs after it
        }
    ),
    max_size=25,
)


@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=EVENTS, size=st.sampled_from([2, 1_000]), step=st.sampled_from([1, 3]), ranges=st.sampled_from([1, 200]))
def test_figures_equal_one_count_of_all_events(
    db: None, monkeypatch: pytest.MonkeyPatch, drawn: list[dict[str, Any]], size: int, step: int, ranges: int
) -> None:
    monkeypatch.setattr(event_batches, "MAX_RANGES", ranges)
    for model in (OperationEvent, OpDaily, SubjectFigures, Turn, Rollup):
        model.objects.all().delete()
    events = [build_event(1 + number * step, **fields) for number, fields in enumerate(drawn)]

    for event, fields in sorted(zip(events, drawn, strict=True), key=lambda each: each[1]["commit"]):
        event.save(force_insert=True)
        while fields["runs"] and rollup_job.run_rollup(NOON, size=size):
            pass
    while rollup_job.run_rollup(NOON, size=size):
        pass

    expected = count_once(events)
    assert read_figures() == expected
    rollup_job.recount_from((NOON - 40 * HOUR).date(), NOON)
    assert read_figures() == expected


def build_event(number: int, **fields: Any) -> OperationEvent:
    """Return an unsaved event with this id. Its time has nothing to do with it."""
    values = {name: fields[name] for name in ("op", "turn", "session", "subject", "release")}
    values |= {"type": "exec", "tool_name": "a_tool", "ok": True, "status": 200, "latency_ms": 2.0, "trace_id": "tr"}
    values |= {"time": NOON - 40 * HOUR + fields["minute"] * MINUTE, "client": "chat"}
    return OperationEvent(id=number, **values | fields["kind"])


# --- one count of all events, in Python ------------------------------------------------------------------------------


def count_once(events: Sequence[OperationEvent]) -> dict[str, Any]:
    """Return what `read_figures` must return."""
    in_order = sorted(events, key=lambda event: (event.time, event.pk))
    turns: defaultdict[tuple[str, str], list[OperationEvent]] = defaultdict(list)
    for event in in_order:
        if event.turn and event.source != "admin":
            turns[event.session, event.turn].append(event)
    links = {by.pk: failed for of_turn in turns.values() for by, failed in find_repairs(of_turn)}
    days, subjects = Counter[Any](), Counter[Any]()
    errors: defaultdict[Any, Counter[Any]] = defaultdict(Counter)
    for event in in_order:
        day = datetime.combine(event.time.date(), time(), UTC)
        key = (event.op if event.tool_name or counts(event)["helps"] else "", event.release)
        figures = count_figures(event)
        figures["repaired"] = sum(failed.pk == event.pk for failed in links.values())
        for name, number in figures.items():
            days[name, day.date(), *key] += number
            if event.subject:
                subjects[name, day, event.subject, *key] += number
        if counts(event)["failed"] and event.field_errors:
            errors[day.date(), *key]["/items/*/a", "type"] += 1
    return {
        "days": {key: number for key, number in days.items() if number and key[0] in op_daily.SUMS.sum_fields},
        "subjects": {
            key: number for key, number in subjects.items() if number and key[0] in subject_figures.SUMS.sum_fields
        },
        "errors": {key: [[*error, times] for error, times in counted.items()] for key, counted in errors.items()},
        "links": {by: failed.pk for by, failed in links.items()},
        "turns": {key: count_turn(of_turn, links) for key, of_turn in turns.items()},
    }


def find_repairs(events: Sequence[OperationEvent]) -> list[tuple[OperationEvent, OperationEvent]]:
    """Return [(call, failed call that it repairs)] for the events of one turn, in order of time."""
    repairs = []
    unrepaired: defaultdict[str, list[OperationEvent]] = defaultdict(list)
    for event in filter(is_call, events):
        if not event.ok:
            unrepaired[event.op].append(event)
        elif unrepaired[event.op]:
            repairs.append((event, unrepaired[event.op].pop()))
    return repairs


def counts(event: OperationEvent) -> dict[str, bool]:
    """Return what an event of KINDS counts as."""
    is_by_model = event.source != "admin" and not event.purpose
    return {
        "calls": is_call(event),
        "failed": is_call(event) and not event.ok,
        "helps": is_by_model and event.type == "help",
        "searches": is_by_model and event.type == "search",
    }


def count_figures(event: OperationEvent) -> dict[str, float]:
    figures = counts(event)
    return figures | {
        "invalid": figures["calls"] and event.code == "VALIDATION_ERROR",
        "not_found": figures["calls"] and event.code == "NOT_FOUND",
        "unknown_names": figures["calls"] and event.reason == "unknown_op",
        "short_reads": figures["helps"],
        "misses": figures["searches"],
        "latency_ms": 2.0 * figures["calls"],
    }


def count_turn(events: Sequence[OperationEvent], links: dict[int, OperationEvent]) -> tuple[Any, ...]:
    last = [event for event in events if event.time >= events[-1].time - aggregation.MAX_TURN_LENGTH]
    figures: Counter[str] = sum((Counter(count_figures(event)) for event in last), Counter())
    calls = [event for event in last if is_call(event)]
    digests = Counter(event.digest for event in last if event.digest and not event.purpose)
    repaired = sum(event.pk in links and links[event.pk].time >= last[0].time for event in last)
    stored_last = max(last, key=lambda event: event.pk)
    names = ("searches", "misses", "helps", "calls", "failed", "unknown_names")
    return (
        last[0].time,
        stored_last.release,
        stored_last.subject,
        *(figures[name] for name in names),
        repaired,
        sum(max(0, times - aggregation.LOOP_LENGTH + 1) for times in digests.values()),
        any(call.ok for call in calls if call.time == calls[0].time) if calls else None,
    )


def read_figures() -> dict[str, Any]:
    """Return the figures, field errors, repairs and turns in the database, without zeros."""

    def read_sums(sums: Any, *key: str) -> dict[Any, float]:
        rows = sums.model.objects.values(*key, *sums.sum_fields)
        return {
            (name, *(row[each] for each in key)): row[name] for row in rows for name in sums.sum_fields if row[name]
        }

    turn_fields = "time release subject searches misses helps calls failed unknown_names repaired repeats".split()
    turns = Turn.objects.values_list("session", "turn", *turn_fields, "is_first_call_ok")
    errors = OpDaily.objects.exclude(field_errors=[]).values_list("day", "op", "release", "field_errors")
    return {
        "days": read_sums(op_daily.SUMS, "day", "op", "release"),
        "subjects": read_sums(subject_figures.SUMS, "begin", "subject", "op", "release"),
        "errors": {tuple(key): counted for *key, counted in errors},
        "links": dict(OperationEvent.objects.exclude(repairs=None).values_list("pk", "repairs")),
        "turns": {tuple(row[:2]): tuple(row[2:]) for row in turns},
    }


# --- gaps in the ids --------------------------------------------------------------------------------------------------


def write_with_id(number: int) -> None:
    build_event(number, minute=0, op="onto.task.get", turn="", session="", subject="", release="r1", kind={}).save(
        force_insert=True
    )


def count_calls() -> int:
    return sum(OpDaily.objects.values_list("calls", flat=True))


def test_gaps_are_those_of_missing_ids_and_end_with_their_events(db: None) -> None:
    for number in (3, 4, 8):
        write_with_id(number)
    rollup_job.run_rollup(NOON)
    assert [gap[:2] for gap in Rollup.objects.get().gaps] == [[1, 2], [5, 7]]

    write_with_id(6)
    rollup_job.run_rollup(NOON + MINUTE)

    assert [gap[:2] for gap in Rollup.objects.get().gaps] == [[1, 2], [5, 5], [7, 7]]
    assert count_calls() == 4


def test_ids_that_stay_missing_are_forgotten(db: None) -> None:
    write_with_id(5)
    rollup_job.run_rollup(NOON)

    rollup_job.run_rollup(NOON + event_batches.GAP_AGE)

    assert Rollup.objects.get().gaps == []


def test_events_that_appeared_while_the_job_paused_count(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_batches, "MAX_RANGES", 2)
    for number in (2, 4, 6):
        write_with_id(number)
    rollup_job.run_rollup(NOON)
    for number in (1, 3, 5):
        write_with_id(number)

    while rollup_job.run_rollup(NOON + 2 * event_batches.GAP_AGE, size=2):
        pass

    assert count_calls() == 6


def test_run_counts_no_more_late_events_than_its_size(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_batches, "MAX_RANGES", 2)
    for number in range(2, 22, 2):
        write_with_id(number)
    rollup_job.run_rollup(NOON)
    for number in range(1, 21, 2):
        write_with_id(number)

    counted = []
    while rollup_job.run_rollup(NOON, size=4):
        counted.append(count_calls())

    assert counted == [14, 18]
    assert count_calls() == 20


def test_recount_can_leave_out_thousands_of_gaps(db: None) -> None:
    """SQLite takes at most 1,000 ranges in a condition, and PostgreSQL takes a minute to plan one of thousands."""
    for number in (1, 5_000):
        write_with_id(number)
    rollup_job.run_rollup(NOON)
    Rollup.objects.update(gaps=[[number, number, NOON.isoformat()] for number in range(2, 5_000, 2)])

    rollup_job.recount_from((NOON - 40 * HOUR).date(), NOON)

    assert count_calls() == 2


def test_event_that_appears_during_a_recount_is_counted_once(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (2, 3):
        write_with_id(number)
    rollup_job.run_rollup(NOON)

    def write_in_a_gap_and_at_the_end(_at: datetime) -> None:
        for number in (1, 4):
            write_with_id(number)

    monkeypatch.setattr(rollup_job, "catch_up", write_in_a_gap_and_at_the_end)
    rollup_job.recount_from((NOON - 40 * HOUR).date(), NOON)
    rollup_job.run_rollup(NOON)

    assert count_calls() == 4


def test_sqlite_finds_late_events_by_their_ids(db: None) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("by design: PostgreSQL plans by the number of rows")
    plans: list[str] = []

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("INSERT INTO counted_events"):
            with connection.cursor() as cursor:
                cursor.cursor.execute("EXPLAIN QUERY PLAN " + sql, params)
                plans.append("\n".join(row[3] for row in cursor.fetchall()))
        return execute(sql, params, many, context)

    for number in (2, 4, 6, 8):
        write_with_id(number)
    rollup_job.run_rollup(NOON)
    with connection.execute_wrapper(explain):
        rollup_job.run_rollup(NOON)

    assert plans
    assert "SCAN" not in plans[0]


def test_many_gaps_are_looked_at_in_parts(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_batches, "MAX_RANGES", 2)
    for first in (0, 1):  # every second id, then the others
        for number in range(first, 10, 2):
            write_with_id(number + 1)
        while rollup_job.run_rollup(NOON):
            pass

    assert count_calls() == 10
    assert Rollup.objects.get().gaps == []


@pytest.mark.skipif(connection.vendor == "sqlite", reason="by design: on SQLite, one transaction writes at a time")
@pytest.mark.django_db(transaction=True)
def test_event_of_a_transaction_that_ends_after_later_ones_counts() -> None:
    event = event_log.build_event(
        time=NOON, type="exec", op="onto.task.get", tool_name="get", ok=True, status=200, latency_ms=1, trace_id="tr"
    )

    def write_and_count() -> None:
        event_log.write_events([event])
        rollup_job.run_rollup(NOON)
        connection.close()

    with transaction.atomic():
        event_log.write_events([event])
        with ThreadPoolExecutor(1) as pool:
            pool.submit(write_and_count).result()
        with_open_transaction = Rollup.objects.get().gaps

    rollup_job.run_rollup(NOON + MINUTE)

    assert len(with_open_transaction) == 1
    assert count_calls() == 2
