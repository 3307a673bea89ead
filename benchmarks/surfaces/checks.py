"""Check what a session did against what its task expects."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from benchmarks.surfaces.evaluation_tasks import EvaluationTask, ExpectedChange, Fact
from benchmarks.surfaces.relative_dates import RelativeDates
from benchmarks.surfaces.workspaces import CHANGE, CREATE, RowChange, Snapshot

REFUSAL = re.compile(
    r"\b(can ?not|can't|couldn't|could not|unable|not able|not possible|impossible|no tool|not available|unavailable|"
    r"don't have|do not have|doesn't support|does not support|not supported|no way to|have no)\b"
)
_MONTH = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?)\\b"
)
# Dates and times, whose numbers are no counts.
_DATE_OR_TIME = re.compile(
    r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2}:\d\d\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?{_MONTH}|\b{_MONTH}\.? \d{{1,2}}\b"
    r"|\b\d{1,2}([./])\d{1,2}\1(?:\d{2,4})?"
)
_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "\u202f": " ", "*": "", "`": ""})


@dataclass(frozen=True, slots=True)
class SessionOutcome:
    """What is checked of a session: rows before and after, what they differ in, and the answers of its turns."""

    before: Snapshot
    after: Snapshot
    changes: Sequence[RowChange]
    answers: Sequence[str]
    asked_to_confirm: bool
    errors: Sequence[str]  # of turns that failed


def find_problems(task: EvaluationTask, outcome: SessionOutcome, dates: RelativeDates) -> list[str]:
    """Return why a session did not do its task; empty if it did."""
    return [
        *(f"A turn failed: {error}" for error in outcome.errors),
        *_find_row_problems(task.rows, outcome, dates),
        *_find_answer_problems(task, outcome, dates),
    ]


def _find_row_problems(
    expected: Sequence[ExpectedChange], outcome: SessionOutcome, dates: RelativeDates
) -> Iterator[str]:
    left, missing = list(outcome.changes), []
    for each in expected:
        matching = next((change for change in left if _matches(each, change, outcome, dates)), None)
        if matching is None:
            missing.append(each)
        else:
            left.remove(matching)
            if others := _list_other_fields(each, matching):
                yield f"change {each.kind} {_get_title(each)}: changed {', '.join(others)}, too"
    for each in missing:
        similar = next((change for change in left if _is_same_row(each, change)), None)
        name = f"{each.action} {each.kind} {_get_title(each)}"
        if similar is None:
            yield f"Missing: {name}"
        else:
            left.remove(similar)
            yield f"{name}: {_describe_differences(each, similar, outcome, dates)}"
    yield from (f"Unexpected: {change}" for change in left)


def _list_other_fields(expected: ExpectedChange, change: RowChange) -> list[str]:
    """Return the fields of a row that changed although its task does not name them. A new row may have any."""
    if change.action != CHANGE:
        return []
    return sorted(change.fields.keys() - {name for fields in expected.alternatives for name in fields})


def _is_same_row(expected: ExpectedChange, change: RowChange) -> bool:
    is_same_kind = (change.action, change.row.kind) == (expected.action, expected.kind)
    return is_same_kind and _normalize(change.row.title) == _normalize(_get_title(expected))


def _get_title(expected: ExpectedChange) -> str:
    fields = expected.alternatives[0]
    return expected.title or str(fields.get("title") or fields.get("name") or fields.get("rel") or "")


def _describe_differences(
    expected: ExpectedChange, change: RowChange, outcome: SessionOutcome, dates: RelativeDates
) -> str:
    current = outcome.after[change.row.id].fields
    return ", ".join(
        f"{name} is {current.get(name)!s:.60}"
        for name, value in expected.alternatives[0].items()
        if not _matches_value(value, current.get(name), change, outcome, dates)
    )


def _matches(expected: ExpectedChange, change: RowChange, outcome: SessionOutcome, dates: RelativeDates) -> bool:
    if (change.action, change.row.kind) != (expected.action, expected.kind):
        return False
    if expected.action != CREATE and expected.title and change.row.title != expected.title:
        return False
    current = outcome.after[change.row.id].fields if change.row.id in outcome.after else {}
    return any(
        all(_matches_value(value, current.get(name), change, outcome, dates) for name, value in fields.items())
        for fields in expected.alternatives
    )


def _matches_value(
    expected: Any, actual: Any, change: RowChange, outcome: SessionOutcome, dates: RelativeDates
) -> bool:
    if not isinstance(expected, Mapping):
        if isinstance(expected, str):
            return _normalize(expected).rstrip(".") == _normalize(str(actual)).rstrip(".")
        return bool(expected == actual)
    if "row" in expected:
        row = outcome.after.get(str(actual))
        return row is not None and _normalize(row.title) == _normalize(expected["row"])
    if "contains" in expected:
        return all(_normalize(text) in _normalize(str(actual)) for text in expected["contains"])
    if "is_free" in expected:
        return isinstance(actual, datetime) and _is_free(actual, expected["is_free"], change, outcome, dates)
    day, time = dates.to_local(actual)
    return day == dates.get_date(expected["day"]) and expected.get("time", time) == time


def _is_free(start: datetime, minutes: int, change: RowChange, outcome: SessionOutcome, dates: RelativeDates) -> bool:
    """Whether a time is within the next week and the day, without other events that happen once."""
    end = start + timedelta(minutes=minutes)
    day, time = dates.to_local(start)
    if day is None or not dates.today <= day <= dates.get_date(7) or not "07:00" <= time <= "20:00":
        return False
    return not any(
        row.fields["start_at"] < end and row.fields["end_at"] > start
        for row in outcome.before.values()
        if row.kind == "event"
        and row.fields["start_at"]
        and row.fields["task_event_kind"] != "due"
        and row.fields["task"] != change.row.id
    )


def _find_answer_problems(task: EvaluationTask, outcome: SessionOutcome, dates: RelativeDates) -> Iterator[str]:
    text = _normalize("\n".join(outcome.answers))
    for fact in task.answer:
        spellings = list(_iter_spellings(fact, dates))
        if not any(_has_words(text, spelling) for spelling in spellings):
            yield f"The answer lacks: {spellings[0]}"
    yield from (f"The answer has: {each}" for each in task.answer_lacks if _has_words(text, each))
    last = outcome.answers[-1] if outcome.answers else ""
    if not last.strip() and not outcome.errors:
        yield "There is no answer"
    if task.asks and "?" not in last:
        yield "The answer asks nothing"
    if task.refuses and not REFUSAL.search(_normalize(last)):
        yield "The answer does not say that it cannot be done"
    if task.must_confirm and not outcome.asked_to_confirm:
        yield "The user was not asked to agree"


def _iter_spellings(fact: Fact, dates: RelativeDates) -> Iterator[str]:
    if isinstance(fact, Mapping):
        yield from dates.iter_spellings(fact["day"])
    elif isinstance(fact, list):
        yield from (str(each) for each in fact)
    else:
        yield str(fact)


def _has_words(text: str, words: str) -> bool:
    """Whether a normalized text contains words, as whole words. A number does not count within a date or time."""
    if words.isdecimal():
        text = _DATE_OR_TIME.sub(" ", text)
    return re.search(rf"(?<!\w){re.escape(_normalize(words))}(?!\w)", text) is not None


def _normalize(text: str) -> str:
    """Return a text without emphasis, case and typography."""
    return " ".join(text.translate(_STRAIGHT).casefold().split())
