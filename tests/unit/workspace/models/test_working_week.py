from typing import Any

import pytest
from django.core.exceptions import ValidationError

from workspace.models import working_week


@pytest.mark.parametrize(
    "told",
    [
        {},
        working_week.usual(),
        {"sunday": []},
        {"monday": ["00:00-24:00"]},
        {"monday": ["09:00-12:00", "12:00-17:00"]},  # they touch
        {"friday": ["00:00-06:00", "22:30-24:00"]},
    ],
)
def test_validate_takes_spans_in_order(told: Any) -> None:
    working_week.validate_week(told)


@pytest.mark.parametrize(
    ("told", "said"),
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
def test_validate_says_what_to_write_instead(told: Any, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        working_week.validate_week(told)


def test_spans_are_minutes_of_the_day() -> None:
    told = {"tuesday": ["00:00-06:15", "22:00-24:00"]}

    assert working_week.parse_spans(told, 1) == [(0, 375), (1320, 1440)]
    assert working_week.parse_spans(told, 0) == []


def test_usual_hours_are_valid_and_spare_the_weekend() -> None:
    working_week.validate_week(working_week.usual())

    assert [len(working_week.parse_spans(working_week.usual(), day)) for day in range(7)] == [1, 1, 1, 1, 1, 0, 0]
