"""The form of an experiment: a plan beside it, a draft that is started, and what a running one refuses."""

from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.http import HttpResponse
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from analytics.experiments import lifecycle
from analytics.flags import FlagKey
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Cohort, CohortRule, Subject
from analytics.rollups.models import SubjectFigures
from audit.models import AuditEntry
from registry.models import Release
from tests.support.console.admin_pages import read_form, read_text
from tests.support.rows.experiment_rows import create_draft, create_experiment

pytestmark = pytest.mark.django_db

ADD = "admin:analytics_experiment_add"
RULE = {"rules-TOTAL_FORMS": "1", "rules-0-attribute": "environment", "rules-0-operator": "in", "rules-0-values": "dev"}


def get_url(experiment: Experiment, page: str = "change") -> str:
    return reverse(f"admin:analytics_experiment_{page}", args=[experiment.pk])


def fill_in(page: HttpResponse, **fields: str) -> dict[str, Any]:
    """Return the form of a page with fields, of which arms are named arm_0 and so on."""
    form: dict[str, Any] = read_form(page)
    form |= {name.replace("arm_", "arms-") + "-variant": fields[name] for name in fields if name.startswith("arm_")}
    form |= {name: value for name, value in fields.items() if not name.startswith("arm_")}
    return form | {"guardrails": ["failure_rate"], "signals": []}


def fill_in_new(http: HttpClient, **fields: str) -> dict[str, Any]:
    values = {"name": "tools", "arm_0": "legacy", "arm_1": "hybrid"} | fields
    return fill_in(http.get(reverse(ADD)), **values)


def take_step(http: HttpClient, experiment: Experiment, step: str, **fields: str) -> HttpResponse:
    experiment.refresh_from_db()
    seen = f"{experiment.state} {experiment.step}"
    return http.post(get_url(experiment, "step"), {"step": step, "seen": seen} | fields, follow=True)


def add_history(users: int = 280) -> None:
    """Add users of the last days, of whom every second one fails in 2 of 10 calls."""
    at = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    SubjectFigures.objects.bulk_create(
        SubjectFigures(
            begin=at - timedelta(days=n % 28), subject=f"user-{n}", calls=10, failed=n // 28 % 2 * 2, is_settled=True
        )
        for n in range(users)
    )
    Subject.objects.bulk_create(Subject(subject=f"user-{n}", seen_at=timezone.now()) for n in range(users))


def test_form_saves_a_draft_that_serves_nobody(admin_client: HttpClient) -> None:
    add_history()
    form = fill_in_new(admin_client, hypothesis="Fewer failures", share="50") | RULE

    response = admin_client.post(reverse(ADD), form, follow=True)

    experiment = Experiment.objects.get()
    assert "Nobody gets it until you start it." in read_text(response)
    assert (experiment.state, experiment.flag_id, experiment.owner) == ("draft", FlagKey.SURFACE, "admin")
    assert (experiment.primary_metric, experiment.guardrails, experiment.share) == (
        "failure_rate",
        ["failure_rate"],
        50,
    )
    arms = experiment.list_arms()
    assert [(arm.name, arm.variant, arm.is_on) for arm in arms] == [
        ("tools-control", "legacy", False),
        ("tools-b", "hybrid", False),
    ]
    assert [str(arm.rules.get()) for arm in arms] == ["environment is one of dev"] * 2
    assert experiment.call_limit == 10
    assert experiment.tuning >= 400


def test_plan_shows_beside_the_form_before_it_is_saved(admin_client: HttpClient) -> None:
    add_history()

    page = admin_client.post(
        reverse("admin:analytics_experiment_add_plan"), fill_in_new(admin_client, smallest_effect="60")
    )

    text = unescape(read_text(page))
    assert "for an 80% chance to find the smallest effect" in text
    assert "is 10.0% now" in text
    assert "70 within a week and 280 within 28 days" in text
    assert "users move from legacy to hybrid" in text
    assert not Experiment.objects.exists()


def test_plan_waits_for_the_arms(admin_client: HttpClient) -> None:
    page = admin_client.post(reverse("admin:analytics_experiment_add_plan"), fill_in_new(admin_client, arm_1=""))

    assert "Choose the arms" in read_text(page)


def test_plan_without_a_name_is_shown(admin_client: HttpClient) -> None:
    add_history()
    form = fill_in_new(admin_client, name="")

    assert "70 within a week and 280 within 28 days" in read_text(
        admin_client.post(reverse("admin:analytics_experiment_add_plan"), form)
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"arm_1": "live"}, "Choose variants of one flag"),
        ({"arm_1": ""}, "Choose 2 to 8 arms"),
        ({"name": "dev"}, "There is a cohort dev-b"),
        ({"name": "No spaces"}, "Use lower-case letters"),
        ({"primary_metric": "happiness"}, "Select a valid choice"),
        ({"share": "0"}, "greater than or equal to 0.02"),
    ],
)
def test_form_says_what_is_wrong(admin_client: HttpClient, fields: dict[str, str], message: str) -> None:
    Cohort.objects.create(name="dev-b", flag_id=FlagKey.SURFACE, variant="gateway")

    response = admin_client.post(reverse(ADD), fill_in_new(admin_client, **fields))

    assert message in unescape(read_text(response))
    assert not Experiment.objects.exists()


def test_aa_test_is_named_so(admin_client: HttpClient) -> None:
    add_history()
    form = fill_in_new(admin_client, arm_1="legacy")

    assert "an A/A test" in read_text(admin_client.post(reverse("admin:analytics_experiment_add_plan"), form))
    admin_client.post(reverse(ADD), form)
    assert Experiment.objects.get().is_aa


def test_draft_can_be_changed_with_its_arms_and_its_audience(admin_client: HttpClient) -> None:
    experiment = create_draft(timezone.now())
    CohortRule.objects.create(cohort=experiment.list_arms()[0], attribute="environment", values=["dev"])
    form = fill_in(admin_client.get(get_url(experiment)), name="other", arm_1="gateway", share="20")
    assert form["rules-0-values"] == "dev"

    admin_client.post(get_url(experiment), form | {"rules-0-values": "staging"})

    experiment.refresh_from_db()
    assert (experiment.name, experiment.share) == ("other", 20)
    assert [(arm.name, arm.variant) for arm in experiment.list_arms()] == [
        ("other-control", "legacy"),
        ("other-b", "gateway"),
    ]
    assert [rule.values for rule in CohortRule.objects.all()] == [["staging"]] * 2
    changes = AuditEntry.objects.filter(kind="experiment", name="other").latest("id").changes
    assert changes["share"] == [100, 20]
    assert "other-b" in changes["arms"][1]


def test_start_states_whom_it_moves_and_starts(admin_client: HttpClient) -> None:
    add_history()
    experiment = create_draft(timezone.now())

    assert "users move from legacy to hybrid" in unescape(read_text(admin_client.get(get_url(experiment))))
    response = take_step(admin_client, experiment, "start")

    experiment.refresh_from_db()
    assert experiment.state == "running"
    assert "tools runs. Servers follow within two seconds." in read_text(response)
    assert all(arm.is_on for arm in experiment.list_arms())


def test_running_experiment_refuses_another_plan_and_takes_a_note(admin_client: HttpClient) -> None:
    experiment = create_draft(timezone.now())
    form = fill_in(admin_client.get(get_url(experiment)), share="20")
    lifecycle.start(experiment, by="pm", at=timezone.now())

    refused = admin_client.post(get_url(experiment), form, follow=True)
    page = admin_client.get(get_url(experiment))
    admin_client.post(get_url(experiment), read_form(page) | {"note": "Ask Ana first.", "owner": "ana"})

    experiment.refresh_from_db()
    assert "a change would spoil its figures" in read_text(refused)
    assert (experiment.share, experiment.note, experiment.owner) == (100, "Ask Ana first.", "ana")
    assert "primary_metric" not in read_form(page)


@pytest.mark.parametrize(
    ("step", "state", "decision"), [("stop", "stopped", ""), ("drop", "decided", "drop"), ("ship", "decided", "ship")]
)
def test_running_experiment_is_stopped_or_decided(
    admin_client: HttpClient, step: str, state: str, decision: str
) -> None:
    experiment = create_experiment(timezone.now())

    take_step(admin_client, experiment, step, note="Enough.", arm="tools-b")

    experiment.refresh_from_db()
    assert (experiment.state, experiment.decision) == (state, decision)
    assert [arm.is_on for arm in experiment.list_arms()] == [False, step == "ship"]
    assert experiment.note == ("" if step == "stop" else "Enough.")


def test_stopped_experiment_starts_again(admin_client: HttpClient) -> None:
    experiment = create_experiment(timezone.now())
    take_step(admin_client, experiment, "stop")

    response = take_step(admin_client, experiment, "again")

    assert response.redirect_chain[-1][0] == get_url(Experiment.objects.get(name="tools-2"))


def test_held_guarded_experiment_goes_on_anyway(admin_client: HttpClient) -> None:
    experiment = create_experiment(timezone.now(), steps=[[1, 4], [50, 8]])
    assert "Go on anyway" not in read_text(admin_client.get(get_url(experiment)))
    lifecycle.hold(experiment, "Too few users.", by="guardrail", at=timezone.now())

    take_step(admin_client, experiment, "go_on", note="We know why.")

    experiment.refresh_from_db()
    assert (experiment.step, experiment.hold_reason) == (1, "")


def test_step_of_a_page_that_is_out_of_date_changes_nothing(admin_client: HttpClient) -> None:
    experiment = create_experiment(timezone.now())

    for form in ({"step": "ship", "seen": "draft 0"}, {"step": "start", "seen": "running 0"}):
        response = admin_client.post(get_url(experiment, "step"), form, follow=True)
        assert "Nothing was changed: tools is running now." in read_text(response)

    experiment.refresh_from_db()
    assert experiment.state == "running"
    assert admin_client.post(get_url(experiment, "step"), {"step": "fly"}).status_code == 404


def test_only_who_publishes_ships_a_release(client: HttpClient, live_catalog: Any) -> None:
    version = Release.objects.get().version
    experiment = create_experiment(timezone.now(), flag_id=FlagKey.RELEASE, variants=["live", version])
    manager = User.objects.create_user("pia", is_staff=True)
    manager.groups.set(Group.objects.filter(name="Product manager"))
    client.force_login(manager)

    assert "Only Admins can make a release live" in read_text(client.get(get_url(experiment)))
    assert take_step(client, experiment, "ship").status_code == 403
    assert take_step(client, experiment, "stop").status_code == 200


def test_who_cannot_publish_starts_no_release_again_that_would_ship_itself(
    client: HttpClient, live_catalog: Any
) -> None:
    version = Release.objects.get().version
    variants = ["live", version]
    experiment = create_experiment(timezone.now(), flag_id=FlagKey.RELEASE, variants=variants, steps=[[1, 4]])
    lifecycle.stop(experiment, "It does harm.", by="guardrail", at=timezone.now())
    manager = User.objects.create_user("pia", is_staff=True)
    manager.groups.set(Group.objects.filter(name="Product manager"))
    client.force_login(manager)

    assert take_step(client, experiment, "again").status_code == 403
    assert take_step(client, experiment, "drop").status_code == 200


def test_only_drafts_can_be_deleted(admin_client: HttpClient) -> None:
    draft, running = create_draft(timezone.now()), create_experiment(timezone.now(), name="runs")
    chosen = {"action": "delete_selected", "_selected_action": [draft.pk, running.pk], "post": "yes"}

    admin_client.post(reverse("admin:analytics_experiment_changelist"), chosen)
    assert Experiment.objects.count() == 2
    assert admin_client.post(get_url(running, "delete"), {"post": "yes"}).status_code == 403
    admin_client.post(get_url(draft, "delete"), {"post": "yes"})

    assert list(Experiment.objects.all()) == [running]
    assert not Cohort.objects.filter(name__startswith="tools").exists()
    assert AuditEntry.objects.get(kind="experiment", name="tools", action="removed").by == "admin"


def test_arms_show_their_experiment_among_cohorts_and_cannot_be_changed(admin_client: HttpClient) -> None:
    experiment = create_experiment(timezone.now())
    arm = experiment.list_arms()[1]
    change = reverse("admin:analytics_cohort_change", args=[arm.pk])

    cohorts = admin_client.get(reverse("admin:analytics_cohort_changelist")).content.decode()
    page = read_text(admin_client.get(change))

    assert f'arm of <a href="{get_url(experiment)}">tools</a>' in cohorts
    assert "This is an arm of the experiment" in page
    assert admin_client.post(change, {"name": "x"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [arm.pk], "post": "yes"}
    admin_client.post(reverse("admin:analytics_cohort_changelist"), chosen)
    assert Cohort.objects.filter(pk=arm.pk, is_on=True).exists()


def test_list_shows_experiments_with_their_metric_and_state(admin_client: HttpClient) -> None:
    create_draft(timezone.now())

    page = read_text(admin_client.get(reverse("admin:analytics_experiment_changelist")))

    assert "draft" in page
    assert "primary metric" in page.lower()


def test_share_is_held_out_from_the_page_of_a_flag(admin_client: HttpClient, live_catalog: Any) -> None:
    page = reverse("admin:analytics_flag_change", args=[FlagKey.RELEASE])
    assert "Hold out 5%" in read_text(admin_client.get(page))

    admin_client.post(reverse("admin:analytics_flag_holdout", args=[FlagKey.RELEASE]))

    holdout = Cohort.objects.get(name__startswith="holdout-")
    assert (holdout.variant, holdout.position) == (live_catalog.version, 0)
    assert "Hold out 5%" not in read_text(admin_client.get(page))
