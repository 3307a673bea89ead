"""What was live when: everyone follows the activations, a cohort what the audit log says of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from analytics.flags import FlagKey
from analytics.rollout.models import Cohort, Flag
from audit import audit_log
from registry.models import Activation, Release
from registry.releases import timeline
from tests.support.loops import for_each

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

NOW = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
ONE, TWO = "1" * 64, "2" * 64


def days_ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


@pytest.fixture(autouse=True)
def two_releases() -> None:
    for version in (ONE, TWO):
        Release.objects.create(version=version, content="{}", tokens={}, op_count=0, created_at=NOW, created_by="tests")


def activate(version: str, at: datetime) -> None:
    Activation.objects.update(is_live=False)
    Activation.objects.create(release_id=version, note="x", activated_at=at, activated_by="tests")


def change_cohort(at: datetime, before: dict[str, Any] | None, after: dict[str, Any] | None) -> None:
    audit_log.record_change("cohort", "pilot", before, after, by="tests", at=at)


def make_cohort(**fields: Any) -> Cohort:
    flag = Flag.objects.get(key=FlagKey.RELEASE)
    return Cohort.objects.create(**{"name": "pilot", "flag": flag, "variant": ONE, "is_on": True, "salt": "x"} | fields)


def draw(name: str) -> list[tuple[str, float, float, bool]]:
    """Return (label, days from the start, days, whether it is now) of each segment of a lane."""
    lanes = {lane.name: lane for lane in timeline.build_lanes(days_ago(30), at=NOW)}
    return [
        (each.label, round(each.left * 0.3, 1), round(each.width * 0.3, 1), each.period.is_now)
        for each in (lanes[name].segments if name in lanes else [])
    ]


def test_chart_begins_with_the_first_release_of_a_new_gateway() -> None:
    assert timeline.find_start(NOW) == NOW - timedelta(minutes=1)
    activate(ONE, days_ago(2))
    assert timeline.find_start(NOW) == days_ago(2)
    activate(TWO, days_ago(90))
    Activation.objects.filter(release=ONE).delete()
    assert timeline.find_start(NOW) == days_ago(30)


def test_everyone_follows_the_activations_of_the_last_days() -> None:
    activate(ONE, days_ago(90))
    activate(TWO, days_ago(60))
    activate(ONE, days_ago(10))
    activate(TWO, days_ago(4))

    assert draw("Everyone") == [("r2", 0, 20, False), ("r1", 20, 6, False), ("r2", 26, 4, True)]


def test_short_period_can_still_be_seen() -> None:
    activate(ONE, days_ago(10))
    activate(TWO, NOW - timedelta(seconds=1))

    ((_, left, width, _),) = draw("Everyone")[1:]

    assert width > 0
    assert left + width <= 30


def test_cohort_was_on_a_release_as_the_audit_log_says() -> None:
    make_cohort(variant=TWO)
    change_cohort(days_ago(20), None, {"variant": ONE, "is_on": True})
    change_cohort(days_ago(12), {"is_on": True}, {"is_on": False})
    change_cohort(days_ago(9), {"percentage": 5}, {"percentage": 25})
    change_cohort(days_ago(6), {"is_on": False, "variant": ONE}, {"is_on": True, "variant": TWO})

    assert draw("pilot") == [("r1", 10, 8, False), ("r2", 24, 6, True)]


@for_each(
    "fields, lane",
    [
        ({}, [("r1", 0, 30, True)]),
        ({"variant": "a" * 64}, [("a" * 12, 0, 30, True)]),  # a release that is gone
        ({"variant": "live"}, []),
        ({"is_on": False}, []),
    ],
    undone=True,
)
def test_cohort_without_changes_was_on_its_release_all_the_time(fields: dict[str, Any], lane: list[Any]) -> None:
    make_cohort(**fields)

    assert draw("pilot") == lane
