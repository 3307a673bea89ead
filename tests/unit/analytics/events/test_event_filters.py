"""Calls are the same ones in a query and of one event."""

from datetime import UTC, datetime
from itertools import product
from typing import Any

from analytics.events import event_filters
from analytics.models import OperationEvent

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


def test_query_and_function_tell_the_same(db: None) -> None:
    reasons = (
        "",
        "invalid_args",
        event_filters.UNKNOWN_OP,
        event_filters.UNKNOWN_PATH,
        *event_filters.DEFERRED_REASONS,
    )
    kinds: Any = product(OperationEvent.Type, OperationEvent.Source, (True, False), (True, False), reasons)
    rows = [
        OperationEvent(
            time=NOON,
            type=type,
            source=source,
            dry_run=dry,
            replayed=replayed,
            reason=reason,
            ok=not reason,
            code=reason and "CONFLICT",
            status=200,
            latency_ms=1,
            trace_id="tr_1",
        )
        for type, source, dry, replayed, reason in kinds
    ]
    OperationEvent.objects.bulk_create(rows)

    for condition, tells in (
        (event_filters.CALL, event_filters.is_call),
        (event_filters.UNKNOWN_NAME, event_filters.is_unknown_name),
    ):
        assert set(OperationEvent.objects.filter(condition)) == {row for row in rows if tells(row)}
