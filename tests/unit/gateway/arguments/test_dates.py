from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.arguments.dates import DATE_FORMATS, add_offset, find_date, read_offset
from registry.jsonschema.dialect import FORMATS
from tests.support.cpu_budget import examples

NOW = datetime(2026, 11, 23, 19, 0, tzinfo=ZoneInfo("Europe/Berlin"))  # a Monday


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tomorrow", "2026-11-24"),
        ("Day after tomorrow", "2026-11-25"),
        ("friday", "2026-11-27"),
        ("next friday", "2026-12-04"),  # of the next week
        ("friday next week", "2026-12-04"),
        ("end of friday", "2026-11-27"),
        ("friday morning", "2026-11-27T09:00"),
        ("in 3 days", "2026-11-26"),
        ("+3 days", "2026-11-26"),
        ("end of month", "2026-11-30"),
        ("end of next week", "2026-12-04"),  # its Friday
        ("middle of next month", "2026-12-16"),
        ("end of Q1", "2027-03-31"),
        ("early January", "2027-01-01"),
        ("this weekend", "2026-11-28"),
        ("in the next two weeks", "2026-12-07"),
        ("tonight at 8", "2026-11-23T20:00"),
        ("tuesday at half past three pm", "2026-11-24T15:30"),
        ("Dec 1", "2026-12-01"),
        ("Friday, November 27, 2026", "2026-11-27"),
        ("25/12/2026", "2026-12-25"),
        ("01.12.2026", "2026-12-01"),  # with dots, the day comes first
        ("20261201", "2026-12-01"),
        ("today 17:00", "2026-11-23T17:00"),
        ("tomorrow at 5pm", "2026-11-24T17:00"),
        ("eod", "2026-11-23T17:00"),
        ("in 90 minutes", "2026-11-23T20:30"),
        ("2026-12-01T14", "2026-12-01T14:00"),
        ("2026-12-01T14:00:00+0100", "2026-12-01T14:00+01:00"),
        ("2026-12-01T14:00:00 America/New_York", "2026-12-01T14:00-05:00"),
        (1796137200, "2026-12-01T15:00Z"),
        ("1796137200000", "2026-12-01T15:00Z"),
    ],
)
def test_date_in_words_is_found(text: Any, expected: str) -> None:
    assert find_date(text, "iso-date-or-date-time", now=NOW) == expected


@pytest.mark.parametrize(
    "text",
    [
        "soon",
        "",
        "may",
        "Q1 2027",
        "this month",
        "1/12",
        "friday 4.12",
        "saturday 4 december",
        "02/03/2026",
        "2026-13-45",
        7,
        None,
        "tomorrow or friday",
        "x" * 61,
    ],
)
def test_text_that_names_no_day_or_several_is_no_date(text: Any) -> None:
    assert find_date(text, "iso-date-or-date-time", now=NOW) is None


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("time_min", "next week", "2026-11-30"),
        ("time_max", "next week", "2026-12-06"),
        ("due_before", "end of next week", "2026-12-06"),
        ("completed_after", "last month", "2026-10-01"),
        ("completed_after", "the last two weeks", "2026-11-09"),
    ],
)
def test_period_is_the_end_of_a_range(name: str, text: str, expected: str) -> None:
    assert find_date(text, "iso-date-or-date-time", now=NOW, name=name) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("+1 week", "2026-12-27"),
        ("-3 days", "2026-12-17"),
        ("a week later", "2026-12-27"),
        ("3 more days", "2026-12-23"),
        ("another month", "2027-01-20"),
        ("1 hour later", "2026-12-20T18:30"),
    ],
)
def test_offset_counts_from_a_date(text: str, expected: str) -> None:
    offset = read_offset(text)

    assert offset is not None
    stored = datetime(2026, 12, 20, 17, 30, tzinfo=NOW.tzinfo)
    assert add_offset(stored, offset, "iso-date-or-date-time", now=NOW) == expected


@pytest.mark.parametrize("text", ["in 3 days", "3 days", "next week", "tomorrow", "2026-12-01", "", 7, None, "+1"])
def test_text_that_names_a_day_itself_is_no_offset(text: Any) -> None:
    assert read_offset(text) is None


@pytest.mark.parametrize(("text", "expected"), [("+1 day", "2026-11-24T09:00"), ("+2 hours", "2026-11-23T21:00")])
def test_offset_without_a_date_counts_from_now(text: str, expected: str) -> None:
    offset = read_offset(text)

    assert offset is not None
    assert add_offset(None, offset, "iso-date-time", now=NOW.replace(second=7)) == expected


def test_offset_out_of_range_is_no_date() -> None:
    offset = read_offset("+9999 years")

    assert offset is not None
    assert add_offset(NOW, offset, "date", now=NOW) is None


@pytest.mark.parametrize(
    ("text", "format", "expected"),
    [
        ("tomorrow", "date", "2026-11-24"),
        ("tomorrow at 5pm", "date", "2026-11-24"),
        ("tomorrow at 5pm", "date-time", "2026-11-24T17:00:00+01:00"),
        ("tomorrow at 5pm", "iso-date-time", "2026-11-24T17:00"),
        ("tomorrow", "iso-date-time", "2026-11-24T09:00"),  # where a time is required, work begins
    ],
)
def test_date_has_the_format_of_its_argument(text: str, format: str, expected: str) -> None:
    assert find_date(text, format, now=NOW) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("time_min", "00:00"),
        ("created_after", "00:00"),
        ("due_after", "00:00"),
        ("due_before", "23:59"),
        ("time_max", "23:59"),
        ("due_at", "23:59"),
        ("start_at", "09:00"),
    ],
)
def test_day_of_a_range_or_a_deadline_counts_as_a_whole_where_a_time_is_required(name: str, expected: str) -> None:
    assert find_date("2026-11-24", "iso-date-time", now=NOW, name=name) == f"2026-11-24T{expected}"


@settings(max_examples=examples(200), deadline=None)
@given(
    st.text(max_size=70) | st.integers() | st.floats() | st.none(),
    st.sampled_from(sorted(DATE_FORMATS & FORMATS.keys())),
)
def test_any_value_is_a_valid_date_or_none(value: Any, format: str) -> None:
    found = find_date(value, format, now=NOW)

    assert found is None or FORMATS[format](found)
