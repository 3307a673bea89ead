from datetime import UTC, datetime

from tests.support.loops import for_each
from tests.support.rows.factories import ProfileFactory
from tests.support.values.handler_calls import call_handler
from workspace.models import Profile

NOON = datetime(2026, 7, 1, 12, 0, 0, 5, tzinfo=UTC)  # a Wednesday


def test_get_returns_the_profile_of_the_subject(db: None) -> None:
    ProfileFactory(subject="other", name="Somebody", preferences={"focus": "never"})
    ProfileFactory(subject="s", name="Mira", working_hours={"monday": ["08:00-12:00"]}, preferences={"buffer": 15})

    outcome = call_handler("get_user_profile", subject="s", at=NOON)

    profile = outcome.result["profile"]
    hours = profile.pop("working_hours")
    assert profile == {
        "name": "Mira",
        "time_zone": "Europe/Berlin",
        "local_time": "2026-07-01T14:00:00+02:00",
        "weekday": "wednesday",
        "preferences": {"buffer": 15},
    }
    assert (hours["monday"], hours["tuesday"], len(hours)) == (["08:00-12:00"], [], 7)
    assert outcome.result["message"].startswith("The user's profile.")


def test_get_returns_defaults_and_says_so(db: None) -> None:
    ProfileFactory(subject="other", name="Somebody")

    result = call_handler("get_user_profile", subject="s", at=NOON).result

    assert (result["profile"]["name"], result["profile"]["time_zone"]) == (None, "UTC")
    assert {day for day, hours in result["profile"]["working_hours"].items() if not hours} == {"saturday", "sunday"}
    assert result["profile"]["local_time"] == "2026-07-01T12:00:00Z"
    assert result["message"].startswith("The user has no profile yet")
    assert Profile.objects.count() == 1  # the defaults are not stored


@for_each("part", ["name", "working_hours", "preferences"], undone=True)
def test_get_of_a_part_returns_it_with_the_time_zone(db: None, part: str) -> None:
    ProfileFactory(subject="s", name="Mira")

    profile = call_handler("get_user_profile", subject="s", part=part).result["profile"]

    assert set(profile) == {part, "time_zone", "local_time", "weekday"}
