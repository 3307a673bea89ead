"""What the job does for running experiments: figures of subjects, rollback on harm, holds, and the next step."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User

from analytics.events.models import OperationEvent
from analytics.experiments import experiment_job, lifecycle, results
from analytics.flags import FlagKey
from analytics.rollout import assignment
from analytics.rollout.experiments import Experiment, ExperimentResult
from analytics.rollout.models import Assignment
from analytics.rollups.models import SubjectFigures
from analytics.turns.models import Feedback, ToolSelection
from audit.models import AuditEntry
from notifications.models import Notification
from tests.support.rows.analytics_rows import NOON
from tests.support.rows.experiment_rows import add_users, create_experiment

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
STEPS = [[1, 4], [50, 8]]


def measure(experiment: Experiment, at: Any = NOON + HOUR) -> dict[str, Any]:
    """Run the job, and return the stored figures."""
    while experiment_job.measure(at):
        pass
    experiment.refresh_from_db()
    latest = results.get_latest(experiment)
    return (latest and latest.figures) or {}


def get_metric(figures: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in figures["metrics"] if each["metric"] == name)


def test_figures_count_subjects_and_their_calls_since_the_start() -> None:
    add_users("tools-b", NOON - HOUR, failures=[10] * 3)  # before it started
    experiment = create_experiment(NOON, guardrails=[])
    Assignment.objects.all().delete()
    add_users("tools-control", NOON + MINUTE, failures=[1] * 30)
    add_users("tools-b", NOON + MINUTE, failures=[1] * 15 + [2] * 15)

    figures = measure(experiment)

    failures = get_metric(figures, "failure_rate")
    assert figures["subjects"] == {"tools-control": 30, "tools-b": 30}
    assert (failures["control"], failures["value"], failures["amount"]) == (pytest.approx(0.1), 0.15, [300, 300])
    assert figures["metrics"][0] == failures
    assert get_metric(figures, "latency")["value"] == 1.0
    assert [each["part"] for each in figures["ops"]] == ["onto.task.get"]
    assert experiment.state == "running"


def test_exposed_user_without_calls_counts_and_one_of_two_arms_does_not() -> None:
    experiment = create_experiment(NOON)
    for arm in ("tools-control", "tools-b"):
        add_users(arm, NOON + MINUTE, failures=[0] * 4)
        Assignment.objects.create(flag="x", variant="x", cohort=arm, subject="both", time=NOON)
    add_users("tools-b", NOON + MINUTE, failures=[], calls=0)
    Assignment.objects.create(flag="x", variant="x", cohort="tools-b", subject="silent", time=NOON)

    figures = measure(experiment)

    assert figures["subjects"] == {"tools-control": 4, "tools-b": 5}
    assert figures["crossed"] == 1


def test_calls_after_the_exposure_count_whatever_served_them() -> None:
    experiment = create_experiment(NOON)
    add_users("tools-b", NOON + MINUTE, failures=[0])
    AuditEntry.objects.create(time=NOON + 2 * MINUTE, kind="cohort", name="x", action="changed", by="pm", changes={})
    subject = Assignment.objects.get().subject
    add_users("other", NOON + 3 * MINUTE, failures=[0])
    OperationEvent.objects.filter(cohort="other").update(subject=subject, cohort="")

    assert get_metric(measure(experiment), "failure_rate")["amount"] == [0, 20]


def test_heavy_user_counts_up_to_the_limit() -> None:
    experiment = create_experiment(NOON, call_limit=5)
    add_users("tools-b", NOON + MINUTE, failures=[5], calls=10)

    failures = get_metric(measure(experiment), "failure_rate")

    assert (failures["value"], failures["amount"]) == (0.5, [0, 5])


def test_interval_is_narrower_where_the_past_of_users_explains_them() -> None:
    failures = [number % 8 for number in range(104)]  # enough of them to know how the past goes on
    for arm in ("tools-control", "tools-b"):
        add_users(arm, NOON - timedelta(days=3), failures=failures, is_new=False)
    experiment = create_experiment(NOON, guardrails=[])
    for arm in ("tools-control", "tools-b"):
        add_users(arm, NOON + MINUTE, failures=failures)

    with_past = get_metric(measure(experiment), "failure_rate")
    SubjectFigures.objects.filter(begin__lt=NOON).delete()
    without = get_metric(measure(experiment, NOON + 2 * HOUR), "failure_rate")

    assert with_past["value"] == without["value"] == pytest.approx(0.35)
    assert with_past["high"] - with_past["low"] < 0.2 * (without["high"] - without["low"])


def test_guardrail_finds_harm_early_whatever_is_planned() -> None:
    experiment = create_experiment(NOON, tuning=20_000)
    add_users("tools-control", NOON + MINUTE, failures=[0, 2] * 15)
    add_users("tools-b", NOON + MINUTE, failures=[2, 6] * 15)

    figures = measure(experiment)

    assert get_metric(figures, "failure_rate")["verdict"] == "none"
    assert experiment.state == "stopped"


def test_users_who_all_fail_alike_do_not_differ_by_a_rounding_error() -> None:
    experiment = create_experiment(NOON, call_limit=7)
    add_users("tools-control", NOON + MINUTE, failures=[1] * 30, calls=10)
    add_users("tools-b", NOON + MINUTE, failures=[2] * 30, calls=20)

    assert get_metric(measure(experiment), "failure_rate")["verdict"] == "none"
    assert experiment.state == "running"


def test_turns_tokens_and_thumbs_are_metrics_too() -> None:
    experiment = create_experiment(NOON)
    add_users("tools-b", NOON + MINUTE, failures=[1, 0], session="s", turn="t", client="chat")
    for subject in Assignment.objects.values_list("subject", flat=True):
        key = {"client": "chat", "session": subject, "turn": "t", "subject": subject, "cohort": "tools-b"}
        ToolSelection.objects.create(time=NOON + MINUTE, toolset="x", tokens=900, outcome="succeeded", **key)
        Feedback.objects.create(time=NOON + MINUTE, thumb="up", **key)

    figures = measure(experiment)

    assert get_metric(figures, "tokens_per_success")["value"] == 900
    assert get_metric(figures, "thumbs_up")["value"] == 1
    assert get_metric(figures, "dollars_per_turn")["value"] > 0
    assert get_metric(figures, "calls_per_turn")["value"] == 20  # one turn of both, as a client without sessions sends


def test_harm_takes_an_experiment_back_and_tells_people(settings: Any) -> None:
    settings.GATEWAY_SENDS_EMAIL = True
    user = User.objects.create_user("pia", "pia@example.com", is_staff=True)
    user.groups.add(Group.objects.get(name="Product manager"))
    experiment = create_experiment(NOON, steps=STEPS)
    add_users("tools-control", NOON + MINUTE, failures=[1] * 30)
    add_users("tools-b", NOON + MINUTE, failures=[6] * 30)

    measure(experiment)

    assert experiment.state == "stopped"
    assert not any(arm.is_on for arm in experiment.list_arms())
    for fact in ("60.0%", "10.0%", "onto.task.get", "hybrid"):
        assert fact in experiment.stop_reason
    entry = AuditEntry.objects.filter(kind="experiment").latest("id")
    assert (entry.by, entry.note) == ("guardrail", experiment.stop_reason)
    message = Notification.objects.get()
    assert (message.event, message.recipient) == ("experiment.stopped", "pia@example.com")
    assert message.subject == "Surface hybrid was taken back"
    assert "Failure rate: 60.0% of calls, and 10.0% in the control. Most of it comes from onto.task.get" in message.text


def test_harm_is_looked_for_each_minute_although_all_figures_take_long() -> None:
    experiment = create_experiment(NOON)
    measure(experiment, NOON + MINUTE)
    ExperimentResult.objects.update(figures={"seconds": 60})  # so the next ones come in twenty minutes
    for arm, failed in (("tools-control", 1), ("tools-b", 6)):
        add_users(arm, NOON + 2 * MINUTE, failures=[failed] * 30)

    measure(experiment, NOON + 3 * MINUTE)

    assert experiment.state == "stopped"


def test_few_users_are_no_proof_but_a_warning_holds_the_step() -> None:
    experiment = create_experiment(NOON, steps=STEPS)
    add_users("tools-control", NOON + MINUTE, failures=[10] * 5, calls=100)
    add_users("tools-b", NOON + MINUTE, failures=[60] * 5, calls=100)

    measure(experiment, NOON + 5 * HOUR)

    assert experiment.state == "running"
    assert experiment.step == 0
    assert "calls of few users, which are alike" in experiment.hold_reason


def test_step_goes_on_by_itself_and_ships_at_the_end() -> None:
    experiment = create_experiment(NOON, steps=STEPS)
    add_users("tools-control", NOON + MINUTE, failures=[1] * 20)
    add_users("tools-b", NOON + MINUTE, failures=[1] * 20)

    measure(experiment, NOON + 3 * HOUR)
    assert experiment.step == 0
    measure(experiment, NOON + 4 * HOUR)
    assert (experiment.step, experiment.step_ends_at) == (1, NOON + 12 * HOUR)
    measure(experiment, NOON + 12 * HOUR)
    assert (experiment.state, experiment.decision) == ("decided", "ship")


def test_step_with_too_few_users_waits_until_there_are_more() -> None:
    experiment = create_experiment(NOON, steps=STEPS)
    add_users("tools-control", NOON + MINUTE, failures=[1] * 19)
    add_users("tools-b", NOON + MINUTE, failures=[1] * 20)

    measure(experiment, NOON + 4 * HOUR)
    assert (experiment.step, "fewer than 20 users a side" in experiment.hold_reason) == (0, True)

    Assignment.objects.create(flag="x", variant="x", cohort="tools-control", subject="silent", time=NOON)
    measure(experiment, NOON + 4 * HOUR + MINUTE)
    assert experiment.step == 0  # who makes no call tells nothing of failures
    add_users("tools-control", NOON + 4 * HOUR, failures=[1] * 20, is_new=False)
    Assignment.objects.create(flag="x", variant="x", cohort="tools-control", subject="tools-control-19", time=NOON)
    measure(experiment, NOON + 4 * HOUR + 2 * MINUTE)
    assert experiment.hold_reason == ""
    assert experiment.step == 1


def test_fault_of_the_sample_ratio_holds() -> None:
    experiment = create_experiment(NOON, steps=STEPS)
    add_users("tools-control", NOON + MINUTE, failures=[0] * 150, calls=1)
    add_users("tools-b", NOON + MINUTE, failures=[0] * 20, calls=1)

    measure(experiment, NOON + 4 * HOUR)

    assert experiment.step == 0
    assert "assignment or recording is broken" in experiment.hold_reason


def test_worse_signal_holds_and_does_not_stop() -> None:
    experiment = create_experiment(NOON, steps=STEPS, guardrails=[], signals=["failure_rate"])
    add_users("tools-control", NOON + MINUTE, failures=[1] * 30)
    add_users("tools-b", NOON + MINUTE, failures=[6] * 30)

    measure(experiment, NOON + 4 * HOUR)

    assert (experiment.state, experiment.step) == ("running", 0)
    assert "Decide whether you accept that" in experiment.hold_reason


def test_signal_near_its_limit_holds_until_it_is_clearly_over() -> None:
    experiment = create_experiment(NOON, steps=STEPS, guardrails=[], signals=["failure_rate"])
    add_users("tools-control", NOON + MINUTE, failures=[1] * 25)
    add_users("tools-b", NOON + MINUTE, failures=[7] * 25)
    measure(experiment)
    held = experiment.hold_reason
    assert held.startswith("Failure rate: clearly worse")
    states = []
    for p in (0.06, 0.19, 0.21, 0.06):  # of the same harm, no longer significant
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(results, "update_results", lambda *_: _weaken(experiment, p))  # noqa: B023
            measure(experiment)
        states.append(experiment.hold_reason)

    assert states == [held, held, "", ""]


def _weaken(experiment: Experiment, p: float) -> dict[str, Any]:
    figures = results.compute_figures(experiment, NOON + HOUR)
    return figures | {"guardrails": [{**each, "verdict": "none", "p": p} for each in figures["guardrails"]]}


def test_hold_is_news_once_although_its_figures_change(settings: Any) -> None:
    settings.GATEWAY_NOTIFY_URL = "https://chat.example.com/hook"
    experiment = create_experiment(NOON, steps=STEPS, guardrails=[], signals=["failure_rate"])
    add_users("tools-control", NOON + MINUTE, failures=[1] * 30)
    add_users("tools-b", NOON + MINUTE, failures=[6] * 30)
    measure(experiment, NOON + 10 * MINUTE)
    add_users("tools-b", NOON + 20 * MINUTE, failures=[9] * 30, is_new=False)

    figures = measure(experiment, NOON + 30 * MINUTE)

    assert get_metric(figures, "failure_rate")["value"] == 0.75
    message = Notification.objects.get()
    assert "Failure rate: 60.0% of calls, and 10.0% in the control" in message.text
    assert AuditEntry.objects.filter(kind="experiment", note__startswith="Failure rate").count() == 1


def test_day_without_calls_holds() -> None:
    experiment = create_experiment(NOON, steps=STEPS)
    for arm in ("tools-control", "tools-b"):
        add_users(arm, NOON + MINUTE, failures=[0] * 25)

    measure(experiment, NOON + 3 * HOUR)
    measure(experiment, NOON + timedelta(days=2))

    assert experiment.step == 0
    assert "a day" in experiment.hold_reason


def test_experiment_without_a_difference_stays_so_through_many_looks() -> None:
    experiment = create_experiment(NOON)
    for number in range(20):
        add_users("tools-control", NOON + MINUTE * number, failures=[number % 3], calls=4)
        Assignment.objects.filter(subject="tools-control-0").update(subject=f"c{number}")
        add_users("tools-b", NOON + MINUTE * number, failures=[(number + 1) % 3], calls=4)
        Assignment.objects.filter(subject="tools-b-0").update(subject=f"b{number}")
        figures = measure(experiment, NOON + MINUTE * (number + 1))

    assert {each["verdict"] for each in figures["metrics"]} <= {"none", "wait"}
    assert experiment.state == "running"


def test_band_over_time_has_a_point_an_hour_and_figures_only_for_the_newest() -> None:
    experiment = create_experiment(NOON)
    for arm in ("tools-control", "tools-b"):
        add_users(arm, NOON + MINUTE, failures=[1] * 25)
    for minutes in (10, 20, 70, 130):
        measure(experiment, NOON + minutes * MINUTE)

    points = ExperimentResult.objects.order_by("hour").values_list("subjects", "difference", "figures")
    assert [(subjects, difference) for subjects, difference, _ in points] == [(50, 0.0)] * 3
    assert [figures is not None for *_, figures in points] == [False, False, True]


def test_withdrawn_release_ends_its_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    version = "a" * 64
    monkeypatch.setattr(assignment, "_is_servable", lambda _: True)
    experiment = create_experiment(NOON, flag_id=FlagKey.RELEASE, variants=("live", version))
    measure(experiment, NOON + MINUTE)
    assert experiment.state == "running"
    withdrawn = NOON + 2 * MINUTE
    AuditEntry.objects.create(time=withdrawn, kind="release", name=version, action="changed", by="ada", changes={})
    monkeypatch.setattr(assignment, "_is_servable", lambda _: False)

    measure(experiment, NOON + 3 * MINUTE)

    assert (experiment.state, experiment.stopped_at) == ("stopped", withdrawn)
    assert "withdrawn" in experiment.stop_reason


def test_release_that_cannot_be_shipped_holds_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise ValueError("An eval case is lost.")

    monkeypatch.setattr(lifecycle, "_ship_release", refuse)
    monkeypatch.setattr(assignment, "_is_servable", lambda _: True)
    experiment = create_experiment(
        NOON, flag_id=FlagKey.RELEASE, variants=("live", "a" * 64), steps=[[50, 1]], guardrails=[]
    )
    for arm in ("tools-control", "tools-b"):
        add_users(arm, NOON + MINUTE, failures=[1] * 25)

    measure(experiment, NOON + HOUR)

    assert experiment.state == "running"
    assert "An eval case is lost." in experiment.hold_reason
