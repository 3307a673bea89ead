"""A turn as a trace: order, times, repairs, and what came next."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.events.models import OperationEvent
from analytics.turns.trace import StepKind, TurnTrace, build_trace

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def build_events(*fields: dict[str, Any]) -> list[OperationEvent]:
    """Return unsaved events, one second after the other."""
    defaults = {"type": "exec", "op": "onto.task.get", "ok": True, "latency_ms": 10.0, "field_errors": []}
    return [
        OperationEvent(id=number, time=AT + timedelta(seconds=number), **{**defaults, **each})
        for number, each in enumerate(fields, start=1)
    ]


INVALID = {"ok": False, "code": "VALIDATION_ERROR", "field_errors": [["/due_at", "format"]]}


def test_steps_have_kinds_times_and_repairs() -> None:
    trace = build_trace(
        build_events(
            {"type": "search", "op": "", "result_count": 3},
            {"type": "help", "format": "full"},
            INVALID,
            {"repairs": 3, "latency_ms": 1_000.0},
            {"dry_run": True},
            {"type": "escalate", "op": "onto.task.move"},
            {"purpose": "context"},
        )
    )

    assert [step.kind for step in trace.steps] == [
        StepKind.SEARCH,
        StepKind.HELP,
        StepKind.CALL,
        StepKind.REPAIR,
        StepKind.DRY_RUN,
        StepKind.ESCALATION,
        StepKind.CONTEXT,
    ]
    assert [step.start_ms for step in trace.steps] == [0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000]
    assert trace.length_ms == 6_010
    assert trace.gateway_ms == 1_060
    assert (trace.failed, trace.repaired) == (1, 1)
    assert (trace.steps[2].repaired_by, trace.steps[3].repairs) == (4, 3)
    assert trace.steps[2].problem == "due_at: wrong format"


@pytest.mark.parametrize(
    ("step", "following", "text"),
    [
        (INVALID, None, "the turn ended"),
        ({**INVALID, "digest": "a"}, {"digest": "a"}, "sent the same call again"),
        ({**INVALID, "digest": "a"}, {"digest": "b"}, "called it again with other args"),
        (INVALID, {}, "called it again"),
        (INVALID, {"op": "onto.task.list"}, "called onto.task.list"),
        (INVALID, {"type": "help", "op": "onto.task"}, "read help of onto.task"),
        (INVALID, {"type": "search", "op": ""}, "searched"),
        (INVALID, {"type": "escalate", "op": "onto.task.move"}, "asked for onto.task.move"),
        ({"type": "search", "op": "", "result_count": 0}, {"type": "search", "op": ""}, "searched again"),
        ({"type": "search", "op": "", "result_count": 0}, {}, "called onto.task.get"),
        ({}, {}, ""),
    ],
)
def test_what_came_next_is_told_after_a_problem(
    step: dict[str, Any], following: dict[str, Any] | None, text: str
) -> None:
    events = build_events(step, *([following] if following is not None else []))

    assert build_trace(events).steps[0].came_next == text


EVENTS = st.lists(st.tuples(st.integers(0, 10**7), st.floats(0, 1e6)), min_size=1, max_size=30)


@given(events=EVENTS)
def test_every_bar_lies_within_the_turn(events: list[tuple[int, float]]) -> None:
    rows = build_events(*[{"latency_ms": latency} for _, latency in events])
    for row, start in zip(rows, sorted(start for start, _ in events), strict=True):
        row.time = AT + timedelta(milliseconds=start)

    trace: TurnTrace = build_trace(rows)

    for step in trace.steps:
        assert 0 <= step.start_share <= 1
        assert 0 <= step.length_share <= 1
        assert step.start_share + step.length_share <= 1.000001
