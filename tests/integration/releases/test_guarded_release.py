"""Release step by step: from the draft to everyone, or back, without a person."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analytics.experiments import experiment_job, lifecycle
from analytics.experiments.guarded_steps import GuardedPlan
from analytics.experiments.lifecycle import ExperimentRefused
from analytics.flags import LIVE
from analytics.rollout import assignment
from analytics.rollout.experiments import Experiment
from audit.models import AuditEntry
from registry.catalog import cache
from registry.models import Op, Release
from registry.releases import publishing, stored_releases
from registry.reviews import guarded_release
from tests.support.clients.api import Api
from tests.support.console.admin_pages import read_text
from tests.support.rows.experiment_rows import add_users
from tests.support.upstreams import any_upstream

PATH = "onto.task.update"
NEW = "Change one task, also its date"
USERS = [f"user-{number}" for number in range(400)]


def edit_draft(summary: str = NEW) -> None:
    Op.objects.filter(op=PATH).update(summary=summary)


def release_steps(name: str = "r2-steps", **options: Any) -> tuple[Release, Experiment]:
    plan = GuardedPlan(name, [[10, 1], [50, 1]])
    return guarded_release.release_draft_step_by_step(plan, note="Try it", by="mia", at=timezone.now(), **options)


def count_readers(api: Api) -> int:
    """Return how many of 400 users read the new summary."""
    assignment.refresh_rollout()
    cache.refresh_live()
    return sum(api.get(f"help?path={PATH}", Gateway_Subject=user).json()["summary"] == NEW for user in USERS)


def supervise(experiment: Experiment, *, hours: int) -> None:
    while experiment_job.measure(timezone.now() + timedelta(hours=hours)):
        pass
    experiment.refresh_from_db()


def test_good_release_reaches_everyone_by_itself(api: Api) -> None:
    edit_draft()
    release, experiment = release_steps()
    assert [(arm.variant, arm.percentage) for arm in experiment.list_arms()] == [(LIVE, 10), (release.version, 10)]
    assert 20 < count_readers(api) < 60
    at = timezone.now()
    for arm in ("r2-steps-control", "r2-steps-b"):
        add_users(arm, at, failures=[1] * 25)

    supervise(experiment, hours=2)
    assert experiment.step_percent == 50
    supervise(experiment, hours=4)

    assert (experiment.state, experiment.decision) == ("decided", "ship")
    assert stored_releases.is_live(release.version)
    assert count_readers(api) == len(USERS)
    entries = AuditEntry.objects.filter(kind="release", name=release.version).order_by("id")
    assert [(each.action, each.by) for each in entries] == [("released", "mia"), ("published", "guardrail")]
    assert entries[0].changes["experiment"] == [None, "r2-steps"]


def test_harmful_release_is_taken_back_and_a_person_confirms_or_resumes(api: Api) -> None:
    edit_draft()
    _, experiment = release_steps()
    add_users("r2-steps-control", timezone.now(), failures=[1] * 25)
    add_users("r2-steps-b", timezone.now(), failures=[7] * 25)

    supervise(experiment, hours=0)

    assert experiment.state == "stopped"
    assert experiment.stop_reason.startswith("Release r2 does harm. Failure rate: 70.0% of calls, and 10.0%")
    assert count_readers(api) == 0
    again = lifecycle.start_again(experiment, by="mia", at=timezone.now())
    assert 20 < count_readers(api) < 60
    lifecycle.decide(again, "drop", "Worse", by="mia", at=timezone.now())
    assert count_readers(api) == 0


def test_import_goes_step_by_step_without_the_rest_of_the_draft(api: Api, tmp_path: Path) -> None:
    edit_draft()
    tools = tmp_path / "weather.json"
    schema = {"type": "object", "properties": {"city": {"type": "string", "description": "Such as Paris."}}}
    tools.write_text(json.dumps([{"name": "get_forecast", "description": "Get a forecast.", "input_schema": schema}]))
    call_command("import_ops", str(tools), "--format", "anthropic", "--group", "weather")
    any_upstream.connect_ops()
    call_command("catalog", "release", "--steps", "10:1, 50:1", "--note", "Weather", "--only", "weather.*", "weather")
    assignment.refresh_rollout()

    seen = [api.get("help?path=weather.forecast.get", Gateway_Subject=user).status_code for user in USERS]

    assert 20 < seen.count(200) < 60
    assert set(seen) == {200, 404}
    assert count_readers(api) == 0


def test_plan_that_cannot_work_freezes_nothing(api: Api) -> None:
    edit_draft()
    for plan, problem in (
        (GuardedPlan("Not a name", [[1, 1]]), "lower-case letters"),
        (GuardedPlan("back", [[5, 1], [1, 1]]), "Percents must grow"),
        (GuardedPlan("happy", [[1, 1]], ("happiness",)), "no metric happiness"),
    ):
        with pytest.raises(ExperimentRefused, match=problem):
            guarded_release.release_draft_step_by_step(plan, note="x", by="mia", at=timezone.now())
    assert Release.objects.count() == 1

    release_steps("first")
    edit_draft("Another text for it")
    with pytest.raises(ExperimentRefused, match="first already goes step by step"):
        release_steps("second")
    assert Release.objects.count() == 2


def test_command_releases_step_by_step(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    edit_draft()
    call_command("catalog", "release", "--steps", "10:0.5,50:2", "--guardrail", "help_per_call", "--note", "Try it")

    experiment = Experiment.objects.get()
    printed = capsys.readouterr().out
    assert "is released step by step by the experiment r2-steps: 10% 0.5 h, 50% 2 h." in printed
    assert (experiment.steps, experiment.guardrails) == ([[10, 0.5], [50, 2]], ["help_per_call"])
    assert "failure_rate" in experiment.signals
    for arguments, problem in (
        (["--steps", "5"], "Give the percent and the hours of each step"),
        (["--steps", "--name", "again"], "r2-steps already goes step by step"),
        (["--steps", "--cohort", "pilot"], "not allowed with"),
        ([], "required"),
    ):
        with pytest.raises(CommandError, match=problem):
            call_command("catalog", "release", *arguments, "--note", "Again")


def test_next_plan_begins_with_the_steps_of_the_last(api: Api) -> None:
    edit_draft()
    _, experiment = release_steps()
    lifecycle.decide(experiment, "drop", "Worse", by="mia", at=timezone.now())

    call_command("catalog", "release", "--steps", "--name", "again", "--note", "Again")

    assert Experiment.objects.get(name="again").steps == [[10, 1], [50, 1]]


def test_review_page_offers_to_release_step_by_step(api: Api, admin_client: Client) -> None:
    edit_draft()
    url = reverse("admin:registry_release_review")
    page = admin_client.get(url)
    form = page.context["steps_form"]
    assert [form[name].value() for name in ("experiment_name", "steps", "guardrails")] == [
        "r2-steps",
        "1% 4 h, 5% 4 h, 25% 8 h, 50% 8 h",
        ["failure_rate"],
    ]
    sent = {"seen": page.context["review"].seen, "note": "Clearer", "when": "steps"}
    sent |= {"experiment_name": "clearer", "guardrails": ["failure_rate", "latency"]}

    for steps, problem in (("5%", "percent and the hours"), ("5% 1 h, 1% 1 h", "Percents must grow")):
        refused = admin_client.post(url, sent | {"steps": steps})
        assert problem in refused.context["steps_form"].errors["steps"][0]
        assert refused.context["form"]["note"].value() == "Clearer"
    assert Release.objects.count() == 1
    done = admin_client.post(url, sent | {"steps": "10% 1 h, 50% 2 h"}, follow=True)

    experiment = Experiment.objects.get()
    assert done.request["PATH_INFO"] == reverse("admin:analytics_experiment_change", args=[experiment.pk])
    assert "r2 is released to 10% of the users, and goes on by itself." in read_text(done)
    assert (experiment.name, experiment.owner, experiment.hypothesis) == ("clearer", "admin", "Clearer")
    assert experiment.guardrails == ["failure_rate", "latency"]
    assert 20 < count_readers(api) < 60


def test_page_of_a_release_says_how_far_it_is_and_decides(api: Api, admin_client: Client) -> None:
    edit_draft()
    release, experiment = release_steps()
    page_url = reverse("admin:registry_release_change", args=[release.pk])
    resume_url, drop_url = (reverse(f"admin:registry_release_{name}", args=[release.pk]) for name in ("resume", "drop"))
    page = read_text(admin_client.get(page_url))
    assert "Step by step: 10% of the users read it.</strong>" in page
    assert "The next step is at" in page
    assert resume_url not in page

    lifecycle.stop(experiment, "Release r2 does harm.", by="guardrail", at=timezone.now())
    page = read_text(admin_client.get(page_url))
    assert "Taken back at 10% of the users.</strong> Release r2 does harm." in page
    assert "Confirm that it was taken back" in page
    done = read_text(admin_client.post(resume_url, {"seen": ""}, follow=True))
    assert "Release r2 is released to 10% of the users again." in done
    assert 20 < count_readers(api) < 60

    again = Experiment.objects.get(state="running")
    lifecycle.stop(again, "Release r2 does harm.", by="guardrail", at=timezone.now())
    done = read_text(admin_client.post(drop_url, {"note": "Worse"}, follow=True))
    assert "Release r2 is dropped." in done
    assert "Keep or discard unpublished changes" in done
    again.refresh_from_db()
    assert (again.state, again.decision, again.note) == ("decided", "drop", "Worse")


def test_release_cannot_resume_after_another_went_live(api: Api, admin_client: Client) -> None:
    edit_draft()
    release, experiment = release_steps()
    edit_draft("Another text for it")
    review = read_text(admin_client.get(reverse("admin:registry_release_review")))
    assert "which compares a release with the live one." in review
    publishing.publish_draft(note="Else", by="ana", at=timezone.now(), accepted="Test")

    supervise(experiment, hours=0)

    assert experiment.state == "stopped"
    page = read_text(admin_client.get(reverse("admin:registry_release_resume", args=[release.pk])))
    assert "Release r3 went live by ana, so the control reads something else than at the start." in page


def test_shipping_says_that_the_draft_would_take_the_release_back(api: Api, admin_client: Client) -> None:
    edit_draft()
    _, experiment = release_steps()
    url = reverse("admin:analytics_experiment_change", args=[experiment.pk])
    assert "The draft lacks" not in read_text(admin_client.get(url))
    edit_draft("Change one task")

    page = admin_client.get(url)
    assert "The draft lacks changes of 1 op in r2. Publishing the draft takes them back." in read_text(page)

    sent = {"step": "ship", "seen": page.context["seen"], "arm": "r2-steps-b"}
    asked = admin_client.post(reverse("admin:analytics_experiment_step", args=[experiment.pk]), sent, follow=True)
    assert "Keep or discard unpublished changes" in read_text(asked)


def test_review_says_which_changes_undo_the_live_release(api: Api, admin_client: Client) -> None:
    before = Op.objects.get(op=PATH).summary
    edit_draft()
    _, experiment = release_steps()
    edit_draft(before)
    Op.objects.filter(op="onto.task.get").update(summary="Read a task and all that it has")
    lifecycle.decide(experiment, "ship", "Good", by="mia", at=timezone.now())

    page = read_text(admin_client.get(reverse("admin:registry_release_review")))

    assert "1 of these changes is as in" in page
    assert "Publishing it takes back what r2 changed." in page
    Op.objects.filter(op=PATH).update(summary=NEW)
    assert "of these changes is as in" not in read_text(admin_client.get(reverse("admin:registry_release_review")))
