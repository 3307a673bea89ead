"""Times of answers in the user's zone."""

from typing import Any
from zoneinfo import ZoneInfo

from chat.context.local_times import localize_answer
from tests.support.loops import for_each

BERLIN = ZoneInfo("Europe/Berlin")


@for_each(
    "answer, expected",
    [
        # A Saturday in Berlin is not shown as the evening before.
        ({"due_at": "2026-11-28T22:59:00Z"}, {"due_at": "2026-11-28T23:59+01:00"}),
        ({"rows": [{"at": "2026-07-01T10:00:00.123456Z"}]}, {"rows": [{"at": "2026-07-01T12:00+02:00"}]}),
        # Local times of the calendar get their offset.
        (
            {"op": "cal.event.list", "result": {"events": [{"start_at": "2026-03-02T09:00"}]}},
            {"op": "cal.event.list", "result": {"events": [{"start_at": "2026-03-02T09:00+01:00"}]}},
        ),
        # In the answer of another op it is not known whose local time it is.
        ({"op": "shop.order.get", "result": {"at": "2026-03-02T09:00"}}, None),
        # A time with an offset, and what is no time.
        ({"at": "2026-03-02T09:00:00+09:00", "day": "2026-03-02", "number": 1, "none": None, "yes": True}, None),
        # UTC as services write it.
        ({"created_at": "2026-11-28T22:59:00+00:00"}, {"created_at": "2026-11-28T23:59+01:00"}),
        ({"created_at": "2026-11-28T22:59:00.5-00:00"}, {"created_at": "2026-11-28T23:59+01:00"}),
        ({"created_at": "2026-11-28 22:59:10+0000"}, {"created_at": "2026-11-28T23:59:10+01:00"}),
        ({"created_at": "2026-11-28 22:59:10.123+00"}, {"created_at": "2026-11-28T23:59:10+01:00"}),
        ({"created_at": "2026-11-28T22:59Z"}, {"created_at": "2026-11-28T23:59+01:00"}),
        ({"at": "2026-11-28T22:59:00+00:30"}, None),
        # Sentences, but no texts of rows.
        (
            {"message": "Moved to 2026-03-02T09:00:00Z.", "content": "at 2026-03-02T09:00:00Z"},
            {"message": "Moved to 2026-03-02T10:00+01:00.", "content": "at 2026-03-02T09:00:00Z"},
        ),
        (
            {"meta": {"warnings": ["Due 2026-03-02T09:00:00Z."]}},
            {"meta": {"warnings": ["Due 2026-03-02T10:00+01:00."]}},
        ),
        # What no calendar has.
        ({"at": "0001-01-01T00:00:00Z", "then": "9999-12-31T23:59:59Z", "never": "2026-13-01T00:00:00Z"}, ...),
    ],
)
def test_times_are_in_the_zone_of_the_user(answer: Any, expected: Any) -> None:
    localized = localize_answer(answer, BERLIN)

    if expected is ...:
        assert localized["then"] == answer["then"]
        assert localized["never"] == answer["never"]
    else:
        assert localized == (answer if expected is None else expected)


def test_batch_is_read_entry_by_entry() -> None:
    entries = [{"op": op, "result": {"start_at": "2026-03-02T09:00"}} for op in ("cal.event.get", "shop.order.get")]

    results = localize_answer({"results": entries}, BERLIN)["results"]

    assert [entry["result"]["start_at"] for entry in results] == ["2026-03-02T09:00+01:00", "2026-03-02T09:00"]
