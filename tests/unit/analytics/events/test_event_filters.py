"""The query conditions, and the functions for one event, which select the same events."""

from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest

from analytics.events import event_filters
from analytics.events.event_filters import CountedAs
from analytics.events.models import UNKNOWN_OP, UNKNOWN_PATH, OperationEvent
from analytics.turns.models import TURN_CONDITIONS, TurnWith

pytestmark = pytest.mark.both_databases

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


def test_conditions_and_functions_select_the_same_events(db: None) -> None:
    reasons = ("", "invalid_args", UNKNOWN_OP, UNKNOWN_PATH, *event_filters.DEFERRED_REASONS)
    kinds: Any = product(
        OperationEvent.Type, OperationEvent.Source, (True, False), (True, False), reasons, ("", "context")
    )
    rows = [
        OperationEvent(
            time=NOON,
            type=type,
            source=source,
            dry_run=dry_run,
            replayed=replayed,
            reason=reason,
            purpose=purpose,
            ok=not reason,
            code=reason and "CONFLICT",
            status=200,
            latency_ms=1,
            trace_id="tr_1",
        )
        for type, source, dry_run, replayed, reason, purpose in kinds
    ]
    OperationEvent.objects.bulk_create(rows)

    for counted_as, matches in (
        (CountedAs.CALLS, event_filters.is_call),
        (CountedAs.FAILED, lambda row: event_filters.is_call(row) and not row.ok),
        (CountedAs.SEARCHES, event_filters.is_search),
    ):
        assert set(OperationEvent.objects.filter(event_filters.EVENT_CONDITIONS[counted_as])) == set(
            filter(matches, rows)
        )
    for condition in event_filters.EVENT_CONDITIONS.values():
        events = OperationEvent.objects.filter(condition)
        assert not events.filter(source=OperationEvent.Source.ADMIN).exists()
        assert not events.exclude(purpose="").exists()  # what a client loads for itself


def test_repaired_calls_are_found_with_and_without_a_session(db: None) -> None:
    call = {"time": NOON, "type": "exec", "status": 200, "latency_ms": 1, "trace_id": "tr_1", "turn": "1"}
    failed = [
        OperationEvent.objects.create(**call, session=session, ok=False, code="CONFLICT")
        for session in ("one", "two", "")
    ]
    for each in failed[1:]:
        OperationEvent.objects.create(**call, session=each.session, ok=True, repairs=each.pk)

    repaired = OperationEvent.objects.filter(event_filters.REPAIRED_CALL)
    assert set(repaired) == set(failed[1:])


def test_repairs_are_in_no_index() -> None:
    # Else PostgreSQL would write a new entry in each index of the event when the roll-up finds what it repairs.
    assert not any("repairs" in str(index.deconstruct()) for index in OperationEvent._meta.indexes)


def test_every_counted_figure_has_a_condition() -> None:
    assert set(event_filters.EVENT_CONDITIONS) == set(CountedAs)
    assert set(TURN_CONDITIONS) == set(TurnWith)
