"""A running experiment ends when its arms, its flag or its releases are no longer what was planned."""

from datetime import timedelta
from typing import Any

import pytest

from analytics.experiments import experiment_job, lifecycle, verdict_text
from analytics.experiments.lifecycle import ExperimentRefused
from analytics.flags import FlagKey
from analytics.rollout import assignment
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Flag
from audit.models import AuditEntry
from tests.support.rows.analytics_rows import NOON
from tests.support.rows.experiment_rows import create_experiment

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
OLD, NEW, OTHER = "a" * 64, "b" * 64, "c" * 64
Action = AuditEntry.Action


@pytest.fixture(autouse=True)
def _servable_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignment, "_is_servable", lambda _: True)


def create_guarded_release() -> Experiment:
    return create_experiment(NOON, flag_id=FlagKey.RELEASE, variants=("live", NEW), steps=[[1, 4]])


def record(kind: str, name: str, action: Action = Action.CHANGED, **changes: Any) -> None:
    AuditEntry.objects.create(time=NOON + MINUTE, kind=kind, name=name, action=action, by="mia", changes=changes)


def supervise(experiment: Experiment) -> str:
    """Run the job, and return why the experiment was stopped; "" if it runs."""
    experiment_job.run_experiments(NOON + 3 * MINUTE)
    experiment.refresh_from_db()
    return experiment.stop_reason


def test_arm_that_somebody_switched_off_ends_it() -> None:
    experiment = create_guarded_release()
    assert supervise(experiment) == ""
    experiment.arms.filter(variant=NEW).update(is_on=False)
    record("cohort", "tools-b")

    assert supervise(experiment) == "Its arm tools-b was switched off by mia."
    assert (experiment.state, experiment.stopped_at) == ("stopped", NOON + MINUTE)
    assert not experiment.arms.filter(is_on=True).exists()


def test_deleted_arm_ends_it() -> None:
    experiment = create_guarded_release()
    experiment.arms.filter(variant="live").delete()

    assert supervise(experiment) == "One of its arms was deleted."


def test_flag_that_somebody_switched_off_ends_it() -> None:
    experiment = create_guarded_release()
    Flag.objects.filter(pk=FlagKey.RELEASE).update(is_on=False)
    record("flag", FlagKey.RELEASE)

    assert supervise(experiment) == "The flag Release was switched off by mia."


def test_another_live_release_ends_it_and_it_cannot_start_again() -> None:
    experiment = create_guarded_release()
    record("release", OTHER, Action.PUBLISHED, live=[OLD, OTHER])

    reason = supervise(experiment)

    assert reason.startswith(f"Release {OTHER[:12]} went live by mia, so the control reads something else")
    assert experiment.stopped_at == NOON + MINUTE
    with pytest.raises(ExperimentRefused, match="Review the draft and release it step by step again"):
        lifecycle.start_again(experiment, by="pm", at=NOON + 4 * MINUTE)


def test_release_does_not_ship_over_another_that_went_live_since() -> None:
    experiment = create_guarded_release()
    lifecycle.stop(experiment, "Stopped by mia.", by="mia", at=NOON + MINUTE)
    record("release", OTHER, Action.PUBLISHED, live=[OLD, OTHER])

    with pytest.raises(ExperimentRefused, match="Review the draft and release it step by step again"):
        lifecycle.decide(experiment, Experiment.Decision.SHIP, "", by="mia", at=NOON + 4 * MINUTE)


def test_release_that_somebody_made_live_for_everyone_ends_it() -> None:
    experiment = create_guarded_release()
    record("release", NEW, Action.PUBLISHED, live=[OLD, NEW])

    assert supervise(experiment) == f"Release {NEW[:12]} was made live for everyone by mia."


def test_live_release_that_came_back_changes_nothing() -> None:
    experiment = create_guarded_release()
    record("release", OTHER, Action.PUBLISHED, live=[OLD, OTHER])
    record("release", OLD, Action.MADE_LIVE, live=[OTHER, OLD])

    assert supervise(experiment) == ""


def test_experiment_without_the_live_release_goes_on_when_it_changes() -> None:
    experiment = create_experiment(NOON, flag_id=FlagKey.RELEASE, variants=(OLD, NEW))
    record("release", OTHER, Action.PUBLISHED, live=[OLD, OTHER])

    assert supervise(experiment) == ""


def test_control_is_named_by_what_it_read_after_another_release_went_live() -> None:
    experiment = create_guarded_release()
    assert verdict_text.name_arms(experiment)["tools-control"] == "the live release"
    record("release", NEW, Action.PUBLISHED, live=[OLD, NEW])

    assert verdict_text.name_arms(experiment)["tools-control"] == f"release {OLD[:12]}"
