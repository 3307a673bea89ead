"""How pages show times, browsers, people and nothing."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from core.text import display

NOON = datetime(2026, 11, 28, 12, 0, 7, tzinfo=UTC)


def test_times_are_in_the_readers_zone_with_utc_beside_them() -> None:
    assert display.format_time_with_utc(NOON) == "28 Nov, 12:00 UTC"
    with timezone.override(ZoneInfo("Europe/Vienna")):
        assert display.format_time(NOON) == "28 Nov, 13:00 CET"
        assert display.format_seconds(NOON) == "28 Nov, 13:00:07 CET"
        assert display.format_time_with_utc(NOON) == "28 Nov, 13:00 CET (28 Nov, 12:00 UTC)"


@pytest.mark.parametrize(
    ("user_agent", "text"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36", "Chrome on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/142.0 Safari/537.36 Edg/142.0", "Edge on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari on iPhone"),
        ("curl/8.5.0", "curl/8.5.0"),
    ],
)
def test_browser_is_named_with_its_system(user_agent: str, text: str) -> None:
    assert display.describe_browser(user_agent) == text


def test_commands_are_not_people() -> None:
    assert [display.describe_actor(name) for name in ("load_demo", "ana")] == ["set-up", "ana"]
