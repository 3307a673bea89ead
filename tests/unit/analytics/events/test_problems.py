"""What went wrong: described in a few words, counted, and found again by the condition of its count."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.events import problems
from analytics.events.models import OperationEvent
from analytics.events.problems import EventFieldError, Problem
from tests.support.loops import for_each

pytestmark = pytest.mark.both_databases

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
INVALID = ("VALIDATION_ERROR", "invalid_args")


def add_event(code: str = "", reason: str = "", errors: Any = (), **fields: Any) -> OperationEvent:
    values = {"time": AT, "type": "exec", "op": "onto.task.get", "status": 200, "latency_ms": 1, **fields}
    return OperationEvent.objects.create(ok=not code, code=code, reason=reason, field_errors=list(errors), **values)


@for_each(
    "fields, text",
    [
        ({}, ""),
        (
            {"code": "VALIDATION_ERROR", "reason": "invalid_args", "errors": [["/due_at", "format"]]},
            "due_at: wrong format",
        ),
        (
            {"code": "VALIDATION_ERROR", "errors": [["", "required"], ["/a", "enum"], ["/b", "enum"]]},
            "the args: missing +2",
        ),
        ({"code": "NOT_FOUND", "reason": "unknown_op"}, "unknown op"),
        ({"code": "INTERNAL"}, "internal"),
        ({"type": "search", "result_count": 0}, "no result"),
        ({"type": "search", "result_count": 2}, ""),
    ],
)
@pytest.mark.django_db
def test_problem_is_described_in_a_few_words(fields: dict[str, Any], text: str) -> None:
    assert problems.describe_problem(add_event(**fields)) == text


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = st.text("abc_", max_size=8)


@given(problem=st.builds(Problem, NAMES, NAMES, WORDS, NAMES))
def test_problem_survives_the_url(problem: Problem) -> None:
    assert problems.parse_key(problem.key) == problem


@pytest.mark.parametrize("key", ["", "x", "|", "a|b|c"])
def test_other_text_is_no_problem(key: str) -> None:
    assert problems.parse_key(key) is None


@pytest.mark.django_db
def test_every_cause_finds_the_events_that_it_counts() -> None:
    for errors in (
        [["/due_at", "format"]],
        [["/due_at", "format"], ["/title", "required"]],
        [["/title", "required"], ["/due_at", "format"]],
        [['/a|b"c', "enum"]],
        [["/due_at", "enum"]],
        [],
    ):
        add_event(*INVALID, errors)
    add_event("NOT_FOUND", "unknown_op")
    add_event("NOT_FOUND", "unknown_path")
    add_event("INTERNAL")
    add_event()

    causes = problems.count_causes(OperationEvent.objects.all())

    assert (causes.counted, causes.is_limited, causes.other_times) == (9, False, 0)
    counts = {each.problem.text: each.times for each in causes.most_frequent}
    assert counts == {
        "due_at: wrong format": 2,
        "title: missing": 1,
        'a|b"c: not an allowed value': 1,
        "due_at: not an allowed value": 1,
        "invalid args": 1,
        "unknown op": 1,
        "unknown path": 1,
        "internal": 1,
    }
    for each in causes.most_frequent:
        parsed = problems.parse_key(each.problem.key)
        assert parsed is not None
        assert OperationEvent.objects.filter(parsed.condition).count() == each.times


@pytest.mark.django_db
def test_only_the_newest_failed_events_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problems, "MAX_COUNTED", 3)
    for number, reason in enumerate(("old", "new", "new", "newest")):
        add_event("CONFLICT", reason, time=AT + timedelta(seconds=number))

    causes = problems.count_causes(OperationEvent.objects.all())

    assert (causes.counted, causes.is_limited) == (3, True)
    assert [(each.problem.reason, each.times) for each in causes.most_frequent] == [("new", 2), ("newest", 1)]


@pytest.mark.django_db
def test_rare_causes_are_counted_together() -> None:
    for number in range(problems.MAX_CAUSES + 3):
        add_event("CONFLICT", f"reason_{number:02}")

    causes = problems.count_causes(OperationEvent.objects.all())

    assert len(causes.most_frequent) == problems.MAX_CAUSES
    assert causes.other_times == 3


@for_each(
    "pointer, code",
    [("/due_at", "format"), ("", "required"), ("/a|b", "enum"), ('/é "x"', "enum"), ("/tasks/0/title", "max_length")],
)
def test_condition_of_a_field_error_finds_it_alone_and_beside_others(db: None, pointer: str, code: str) -> None:
    alone = add_event(*INVALID, errors=[[pointer, code]])
    second = add_event(*INVALID, errors=[["/other", "type"], [pointer, code]])
    for errors in ([], [[pointer, "type"]], [["/other", code]], [[code, pointer]]):
        add_event(*INVALID, errors=errors)
    add_event()

    field_error = EventFieldError.parse(EventFieldError(pointer, code).key)

    assert field_error == EventFieldError(pointer, code)
    assert set(OperationEvent.objects.filter(field_error.condition)) == {alone, second}


@pytest.mark.parametrize("key", ["", "due_at", "/due_at|"])
def test_field_error_of_an_invalid_query_parameter_is_none(key: str) -> None:
    assert EventFieldError.parse(key) is None
