from typing import Any

import pytest
from django.core.exceptions import ValidationError

from tests.support.loops import for_each
from workspace.models import working_week


@for_each(
    "week",
    [
        {},
        working_week.usual(),
        {"sunday": []},
        {"monday": ["00:00-24:00"]},
        {"monday": ["09:00-12:00", "12:00-17:00"]},  # touching spans
        {"friday": ["00:00-06:00", "22:30-24:00"]},
    ],
)
def test_validate_accepts_ordered_spans(week: Any) -> None:
    working_week.validate_week(week)


@for_each(
    "week, message",
    [
        (None, "JSON object"),
        (["09:00-17:00"], "JSON object"),
        ({"Monday": []}, "monday"),
        ({"monday": "09:00-17:00"}, "list of spans"),
        ({"monday": [9]}, "list of spans"),
        ({"monday": ["9-17"]}, "list of spans"),
        ({"monday": ["09:00-24:01"]}, "list of spans"),
        ({"monday": ["09:00-25:00"]}, "list of spans"),
        ({"monday": ["24:00-24:00"]}, "list of spans"),
        ({"monday": ["٠٩:00-17:00"]}, "list of spans"),
        ({"monday": ["17:00-09:00"]}, "must end after"),
        ({"monday": ["09:00-09:00"]}, "must end after"),
        ({"monday": ["09:00-12:00", "11:00-13:00"]}, "no earlier than the previous"),
        ({"monday": ["13:00-17:00", "09:00-12:00"]}, "no earlier than the previous"),
        ({"monday": [f"{hour:02}:00-{hour:02}:30" for hour in range(13)]}, "at most 12"),
    ],
)
def test_validate_errors_say_what_to_write_instead(week: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        working_week.validate_week(week)


def test_spans_are_in_minutes_of_the_day() -> None:
    hours = {"tuesday": ["00:00-06:15", "22:00-24:00"]}

    assert working_week.parse_spans(hours, 1) == [(0, 375), (1320, 1440)]
    assert working_week.parse_spans(hours, 0) == []
    assert [len(working_week.parse_spans(working_week.usual(), day)) for day in range(7)] == [1, 1, 1, 1, 1, 0, 0]
