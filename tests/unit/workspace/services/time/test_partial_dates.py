from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.loops import for_each
from workspace.entity_types import GOAL, PLAN, PROJECT, TASK
from workspace.services.time.partial_dates import PartialDates, parse_partial_date

LATE = "T23:59:59Z"
UTC_ZONE, BERLIN = ZoneInfo("UTC"), ZoneInfo("Europe/Berlin")


def iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


@for_each(
    "text, start, end",
    [
        ("2026-03-09T17:30:00+02:00", "2026-03-09T17:30:00+02:00", "2026-03-09T17:30:00+02:00"),
        ("2026-03-09t17:30:00z", "2026-03-09T17:30:00Z", "2026-03-09T17:30:00Z"),
        ("2026-03-09", "2026-03-09T00:00:00Z", f"2026-03-09{LATE}"),
        (" 2026-02 ", "2026-02-01T00:00:00Z", f"2026-02-28{LATE}"),
        ("2028-02", "2028-02-01T00:00:00Z", f"2028-02-29{LATE}"),  # a leap year
        ("2026", "2026-01-01T00:00:00Z", f"2026-12-31{LATE}"),
        ("March 2026", "2026-03-01T00:00:00Z", f"2026-03-31{LATE}"),
        ("apr 2026", "2026-04-01T00:00:00Z", f"2026-04-30{LATE}"),
        ("Sept. 2026", "2026-09-01T00:00:00Z", f"2026-09-30{LATE}"),
        ("DECEMBER, 9999", "9999-12-01T00:00:00Z", f"9999-12-31{LATE}"),
    ],
)
def test_partial_date_is_read_as_its_first_or_last_second(text: str, start: str, end: str) -> None:
    assert (
        iso(parse_partial_date(text, is_end=False, zone=UTC_ZONE)),
        iso(parse_partial_date(text, is_end=True, zone=UTC_ZONE)),
    ) == (start, end)


@for_each(
    "text, moment",
    [
        ("2026-03-09T17:30", "2026-03-09T17:30:00+01:00"),
        ("2026-07-09", "2026-07-09T23:59:59+02:00"),
        ("2026-03", "2026-03-31T23:59:59+02:00"),  # summer time since the 29th
        ("2026-03-09T17:30:00Z", "2026-03-09T17:30:00Z"),
    ],
)
def test_date_without_an_offset_is_in_the_zone(text: str, moment: str) -> None:
    assert iso(parse_partial_date(text, is_end=True, zone=BERLIN)) == moment


@for_each(
    "due_at, warnings",
    [
        ("2026-03-09T17:30", []),
        (
            "2026-03-29T02:30",
            ["The clocks of Europe/Berlin skip due_at that day; read it as 2026-03-29T03:30:00+02:00."],
        ),
        ("2026-03-29T02:30:00+02:00", []),
        ("2026-03", []),
    ],
)
def test_time_is_warned_about_if_the_clocks_skip_it(due_at: str, warnings: list[str]) -> None:
    dates = PartialDates(BERLIN)
    dates.complete_times({"due_at": due_at, "title": "T"}, kind=TASK, pointer="")
    dates.complete_times({"end_date": "2026-03-29T02:30"}, kind=PLAN, pointer="")  # the same date in every zone

    assert dates.warnings == warnings


@for_each("text", [
        "", "soon", "next week", "Q2 2026", "March", "March 26", "Marsh 2026", "ma 2026", "2026 March", "spring 2026",
        "0000", "2026-00", "2026-13", "2026-02-30", "2026-2-3", "26-02-03", "02/03/2026", "2026-W09", "20260309",
        "2026-03-09T25:00:00Z", "0000-03-09T17:30:00Z", "9999-12-31T23:59:59-01:00", "٢٠٢٦", "2026-03-09T",
        "1772409600",
    ])  # fmt: skip
@for_each("is_end", [False, True])
def test_invalid_partial_date_is_refused(text: str, is_end: bool) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_partial_date(text, is_end=is_end, zone=UTC_ZONE)


@given(st.text(max_size=30) | st.from_regex(r"[0-9T:Z+. -]{0,30}", fullmatch=True), st.booleans())
def test_any_text_is_a_valid_partial_date_or_refused(text: str, is_end: bool) -> None:
    try:
        moment = parse_partial_date(text, is_end=is_end, zone=UTC_ZONE)
    except ValueError:
        return
    assert moment.tzinfo is not None
    moment.astimezone(UTC)


@given(st.dates())
def test_start_of_a_day_is_before_its_end(day: Any) -> None:
    for text in (day.isoformat(), day.isoformat()[:7], day.isoformat()[:4]):
        noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
        assert (
            parse_partial_date(text, is_end=False, zone=UTC_ZONE)
            <= noon
            <= parse_partial_date(text, is_end=True, zone=UTC_ZONE)
        )


@for_each(
    "kind, sent, stored",
    [
        (TASK, {"start_at": "2026-03", "due_at": "2026-03"}, ("2026-03-01T00:00:00Z", f"2026-03-31{LATE}")),
        (PROJECT, {"start_at": "2026", "end_at": "2026"}, ("2026-01-01T00:00:00Z", f"2026-12-31{LATE}")),
        (PLAN, {"start_date": "2026-03", "end_date": "May 2026"}, ("2026-03-01", "2026-05-31")),
        (GOAL, {"target_date": "2026-05-31T22:00:00-07:00"}, ("2026-05-31",)),  # the written day
    ],
)
def test_partial_dates_are_expanded_to_column_values(kind: Any, sent: Any, stored: tuple[str, ...]) -> None:
    fields, errors = PartialDates(UTC_ZONE).complete_times(sent | {"description": "2026"}, kind=kind, pointer="")

    assert fields.pop("description") == "2026"
    assert (tuple(fields.values()), errors) == (stored, [])


def test_invalid_partial_dates_are_reported_and_omitted() -> None:
    sent = {"title": "T", "start_at": "soon", "due_at": "2026-02-30"}

    fields, errors = PartialDates(UTC_ZONE).complete_times(sent, kind=TASK, pointer="/entities/3")

    assert fields == {"title": "T"}
    expected = [("/entities/3/start_at", "impossible_time"), ("/entities/3/due_at", "impossible_time")]
    assert [(error.path, error.code) for error in errors] == expected
    assert "2026-03-01, 2026-03, 2026 or March 2026" in errors[0].message
