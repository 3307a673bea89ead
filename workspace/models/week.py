"""A week of working hours as JSON: for each weekday the spans of wall time in which somebody works."""

import re
from itertools import pairwise
from typing import Any

from django.core.exceptions import ValidationError

Week = dict[str, list[str]]  # {"monday": ["09:00-12:00", "13:00-17:00"], …}; a day that is not named is a day off
Span = tuple[int, int]  # minutes of wall time since midnight, the end not included

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MOST_SPANS = 12  # of a day

_SPAN = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-(?:([01][0-9]|2[0-3]):([0-5][0-9])|(24):(00))")


def usual() -> Week:
    """Return the hours of somebody who told none: Monday to Friday, 9 to 5."""
    return {day: ["09:00-17:00"] if day in WEEKDAYS[:5] else [] for day in WEEKDAYS}


def spans(week: Week, weekday: int) -> list[Span]:
    """Return what a week says of a day, Monday being 0, in order."""
    return [_minutes(span) for span in week.get(WEEKDAYS[weekday], [])]


def validate(week: Any) -> None:
    """Refuse what is no week of working hours, with a sentence that says what to write instead."""
    if not isinstance(week, dict) or not week.keys() <= set(WEEKDAYS):
        raise ValidationError(f"Write a JSON object with none but these names: {', '.join(WEEKDAYS)}.")
    for day, told in week.items():
        if not isinstance(told, list) or not all(isinstance(span, str) and _SPAN.fullmatch(span) for span in told):
            raise ValidationError(f'{day}: write a list of spans such as ["09:00-12:00", "13:00-17:00"], or [].')
        if len(told) > MOST_SPANS:
            raise ValidationError(f"{day}: write at most {MOST_SPANS} spans.")
        if not _in_order([_minutes(span) for span in told]):
            raise ValidationError(
                f"{day}: each span must end after it begins, and none begin before the last one has ended."
            )


def _minutes(span: str) -> Span:
    begin, end = (60 * int(time[:2]) + int(time[3:]) for time in span.split("-"))
    return begin, end


def _in_order(day: list[Span]) -> bool:
    return all(begin < end for begin, end in day) and all(end <= begin for (_, end), (begin, _) in pairwise(day))
