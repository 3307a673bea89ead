"""A holdout keeps what everyone has now for a share of the users, before all other cohorts."""

from datetime import UTC, datetime

import pytest

from analytics.flags import FlagKey
from analytics.rollout import assignment, holdouts
from analytics.rollout.evaluation import EvaluationContext
from analytics.rollout.holdouts import HoldoutRefused
from analytics.rollout.models import Cohort, Flag
from audit.models import AuditEntry
from tests.support.loops import for_each
from tests.support.rows.analytics_rows import NOON
from tests.support.rows.experiment_rows import create_experiment

pytestmark = pytest.mark.django_db

LIVE = "a" * 64


def create_holdout(flag: FlagKey, at: datetime = NOON) -> Cohort:
    return holdouts.create_holdout(Flag.objects.get(pk=flag), live=LIVE, by="pia", at=at)


def test_holdout_keeps_a_share_on_what_everyone_has_whatever_follows() -> None:
    Cohort.objects.create(name="all", flag_id=FlagKey.SURFACE, variant="hybrid", percentage=100)

    holdout = create_holdout(FlagKey.SURFACE)
    Cohort.objects.filter(name="all").update(variant="gateway")

    rollout = assignment.load_rollout()
    users = [EvaluationContext(subject=f"user-{number}") for number in range(2_000)]
    variants = [rollout.evaluate(FlagKey.SURFACE, user).variant for user in users]
    assert variants.count("hybrid") == pytest.approx(100, abs=40)
    assert variants.count("gateway") == 2_000 - variants.count("hybrid")
    assert (holdout.name, holdout.variant, holdout.percentage) == ("holdout-2026-q1", "hybrid", 5)
    assert holdout.note == "Gets nothing new until 31 March 2026. Switch it off then."
    assert AuditEntry.objects.get(kind="cohort", name=holdout.name).by == "pia"


def test_holdout_of_releases_is_the_version_that_is_live_now() -> None:
    assert create_holdout(FlagKey.RELEASE).variant == LIVE


def test_flags_hold_out_the_same_users() -> None:
    surface, selection = create_holdout(FlagKey.SURFACE), create_holdout(FlagKey.SELECTION)

    assert selection.name == "holdout-2026-q1-tool-selection"
    assert selection.salt == surface.salt


@for_each(
    "month, name, end",
    [(1, "2026-q1", "31 March 2026"), (6, "2026-q2", "30 June 2026"), (12, "2026-q4", "31 December 2026")],
    undone=True,
)
def test_holdout_ends_with_the_quarter(month: int, name: str, end: str) -> None:
    holdout = create_holdout(FlagKey.SURFACE, datetime(2026, month, 30, tzinfo=UTC))

    assert holdout.name == f"holdout-{name}"
    assert end in holdout.note


def test_holdout_is_made_once_and_takes_nobody_from_an_experiment() -> None:
    create_holdout(FlagKey.SURFACE)
    with pytest.raises(HoldoutRefused, match="already"):
        create_holdout(FlagKey.SURFACE)

    Cohort.objects.all().delete()
    create_experiment(NOON)
    with pytest.raises(HoldoutRefused, match="Decide it first"):
        create_holdout(FlagKey.SURFACE)
