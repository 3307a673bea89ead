"""Dates of the scripted model: today from the system prompt, days in words, times in the user's zone."""

import pytest

from chat.scripted_model.dates import Days, read_days

DAYS = read_days("Project, due 2026-12-19.\nToday is Tuesday, 2026-11-24 in the user's time zone, Europe/Berlin.")


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("tomorrow", "2026-11-25"),
        ("the day after tomorrow", "2026-11-26"),
        ("on friday", "2026-11-27"),
        ("next Tuesday", "2026-12-01"),
        ("in 3 days", "2026-11-27"),
        ("in 2 weeks", "2026-12-08"),
        ("next week", "2026-11-30"),
        ("next friday", "2026-12-04"),  # of the next week, as the gateway reads it
        ("by 2031-05-02", "2031-05-02"),
        ("due on Friday, 4 December 2026", "2026-12-04"),
        ("on March 3rd", "2027-03-03"),
        ("on the 24th of Nov.", "2026-11-24"),
        ("30 February 2027", None),
        ("29 feb", None),
        ("3 decisions in 5 marches", None),
        ("some day", None),
    ],
)
def test_day_in_words_is_a_date(text: str, day: str | None) -> None:
    assert DAYS.parse_day(text) == day


def test_next_week_is_monday_to_sunday() -> None:
    assert DAYS.parse_range("next week") == {"time_min": "2026-11-30", "time_max": "2026-12-06"}
    assert DAYS.parse_range("tomorrow") == {"time_min": "2026-11-25", "time_max": "2026-11-25"}
    assert DAYS.parse_range("this week") == {"time_min": "2026-11-24", "time_max": "2026-11-29"}
    assert DAYS.parse_range("") == {}


def test_part_of_a_day_has_hours() -> None:
    assert DAYS.parse_hours("tomorrow Afternoon") == {"time_min": "2026-11-25T12:00", "time_max": "2026-11-25T18:00"}
    assert DAYS.parse_hours("in the morning") == {}
    assert DAYS.parse_hours("tomorrow") == DAYS.parse_range("tomorrow")


@pytest.mark.parametrize(
    ("text", "other", "replaced"),
    [
        ("what is due today?", "tomorrow", "what is due tomorrow"),
        ("schedule it on Monday at 10:00", "at 14:00 instead", "schedule it on Monday at 14:00 instead"),
        ("schedule it on Monday at 10:00", "next friday at 9", "schedule it next friday at 9"),
        ("my tasks", "the kitchen", "my tasks"),
    ],
)
def test_times_of_a_text_are_replaced_by_those_of_another(text: str, other: str, replaced: str) -> None:
    assert " ".join(DAYS.replace_times(text, other).split()) == replaced


def test_date_is_shifted_in_the_users_zone() -> None:
    assert DAYS.shift("2026-11-30T23:30:00Z", 7) == "2026-12-08"
    assert DAYS.shift(None, 7) is None


@pytest.mark.parametrize("system", ["", "Today is 2026-99-99 in Mars/Olympus", "in Europe/Atlantis", "2026-02-30"])
def test_days_are_unknown_when_the_prompt_does_not_say_them(system: str) -> None:
    assert read_days(system) == Days(None, None)
    assert Days(None, None).parse_day("tomorrow") is None


def test_times_are_in_the_users_zone() -> None:
    text = "due 2026-11-30T17:00:00Z → 2027-01-04T23:30:00Z, starts 2026-11-25T10:00:00+01:00, 2026-13-99T99:99"

    assert DAYS.format_times(text) == "due 30 Nov 18:00 → 5 Jan 2027 00:30, starts 25 Nov 10:00, 2026-13-99T99:99"
    assert DAYS.format_day("2026-11-24T23:30:00Z") == "Wed 25 Nov"
    assert DAYS.format_day("2026-12-09") == "Wed 9 Dec"
    assert DAYS.format_span("2026-11-25T10:00:00+01:00", "2026-11-25T12:00:00+01:00") == "Wed 25 Nov, 10:00–12:00"
