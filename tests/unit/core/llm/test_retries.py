"""How long to wait before a request is sent again."""

from datetime import UTC, datetime

import pytest

from core.http import parse_retry_after
from core.llm.completions import choose_wait

NOW = datetime(2026, 11, 24, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("", None),
        ("0", 0),
        ("120", 120),
        ("-1", None),
        ("soon", None),
        ("Tue, 24 Nov 2026 12:00:30 GMT", 30),
        ("Tue, 24 Nov 2026 11:00:00 GMT", 0),
        ("Tue, 24 Nov 2026 12:00:30 -0000", None),  # no time zone
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert parse_retry_after(value, now=NOW) == seconds


def test_the_wait_doubles_unless_the_endpoint_names_one() -> None:
    assert all(0.25 <= choose_wait(0, None) <= 0.5 for _ in range(50))
    assert all(0.5 <= choose_wait(1, None) <= 1 for _ in range(50))
    assert choose_wait(1, 7.0) == 7.0
