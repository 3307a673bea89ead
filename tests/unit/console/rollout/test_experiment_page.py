"""The page of an experiment that was started: the verdict, the band, the tables, and nothing but stored results."""

from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client as HttpClient
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from analytics.experiments import experiment_job, lifecycle, results
from analytics.flags import FlagKey
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Assignment
from audit.models import AuditEntry
from registry.models import Release
from tests.support.console.admin_pages import read
from tests.support.rows.experiment_rows import add_users, create_experiment

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def measure(experiment: Experiment) -> None:
    at = timezone.now()
    while experiment_job.measure(at):
        pass
    results.update_results(experiment, at)


@pytest.fixture
def experiment() -> Experiment:
    """An experiment whose new arm fails less."""
    started = timezone.now() - 4 * HOUR
    experiment = create_experiment(started, hypothesis="Typed tools fail less.", planned_subjects=600)
    add_users("tools-control", started + HOUR, failures=[3] * 30 + [2] * 30, client="chat", model="claude")
    add_users("tools-b", started + HOUR, failures=[0] * 30 + [1] * 30, client="chat", model="claude")
    measure(experiment)
    return experiment


def get_url(experiment: Experiment) -> str:
    return reverse("admin:analytics_experiment_change", args=[experiment.pk])


def read_page(http: HttpClient, experiment: Experiment) -> str:
    return unescape(read(http.get(get_url(experiment))))


def test_page_says_the_verdict_and_what_stands_behind_it(admin_client: HttpClient, experiment: Experiment) -> None:
    page = read_page(admin_client, experiment)

    assert "Surface hybrid fails 20.0 points less than surface legacy (" in page
    assert "You may look at this at any time." in page
    assert "120 of 600 users that are needed" in page
    assert "split within chance" in page
    assert "Nobody was seen in two arms." in page
    assert "Failure rate by op, exploratory" in page
    assert "onto.<wbr>task.<wbr>get" in page
    assert "Typed tools fail less." in page
    assert "What the words mean" in page


def test_page_of_a_step_says_how_many_are_in_it_and_not_that_all_are(admin_client: HttpClient) -> None:
    experiment = create_experiment(timezone.now(), steps=[[20, 4], [50, 8]], signals=["latency"])
    measure(experiment)

    page = read_page(admin_client, experiment)

    assert "20% of the users who are not in an earlier cohort, and as many in the control." in page
    assert "Holds it" in page
    assert "20% 4 h, 50% 8 h" in page
    assert "split within chance" not in page  # nobody came


def test_signal_of_an_experiment_without_steps_holds_nothing(admin_client: HttpClient) -> None:
    experiment = create_experiment(timezone.now(), signals=["latency"])
    measure(experiment)

    page = read_page(admin_client, experiment)

    assert "Asks you" in page
    assert "Holds it" not in page


def test_more_users_than_planned_are_not_a_part_of_the_planned(
    admin_client: HttpClient, experiment: Experiment
) -> None:
    Experiment.objects.filter(pk=experiment.pk).update(planned_subjects=79)

    assert "120 users: the 79 that are needed have come" in read_page(admin_client, experiment)


def test_page_says_what_is_compared_before_there_are_figures(admin_client: HttpClient) -> None:
    page = read_page(admin_client, create_experiment(timezone.now(), guardrails=["failure_rate"], signals=["latency"]))

    assert "Surface legacy is the control, compared with surface hybrid" in page
    assert "<dt>Primary metric</dt><dd>Failure rate</dd>" in page
    assert "<dt>Signals</dt><dd>Latency of a call</dd>" in page


def test_ship_is_the_main_button_only_if_the_verdict_speaks_for_it(
    admin_client: HttpClient, experiment: Experiment
) -> None:
    assert 'ui-button--primary">Ship hybrid' in read_page(admin_client, experiment)
    other = create_experiment(timezone.now(), name="other")

    page = read_page(admin_client, other)

    assert "There are no figures yet." in page
    assert 'class="ui-button">Ship hybrid' in page


def test_band_shows_the_difference_over_time(admin_client: HttpClient, experiment: Experiment) -> None:
    assert "chart-band" not in read_page(admin_client, experiment)  # a single point is no band
    results.update_results(experiment, timezone.now() + 2 * HOUR)

    page = read_page(admin_client, experiment)

    assert '<polyline class="chart-band-line"' in page
    assert "Table: Failure rate: surface hybrid minus the control" in page


def test_broken_split_and_users_in_two_arms_are_shown(admin_client: HttpClient) -> None:
    experiment = create_experiment(timezone.now() - HOUR)
    for number in range(200):
        arm = "tools-b" if number % 5 else "tools-control"
        Assignment.objects.create(flag="x", variant="x", cohort=arm, subject=f"u{number}", time=timezone.now())
    Assignment.objects.create(flag="x", variant="x", cohort="tools-b", subject="u0", time=timezone.now())
    measure(experiment)

    page = read_page(admin_client, experiment)

    assert "split is broken" in page
    assert "no figure can be believed" in page
    assert "1 user was seen in two arms and left out." in page


def test_page_reads_stored_results_only(admin_client: HttpClient, experiment: Experiment) -> None:
    admin_client.get(get_url(experiment))
    with CaptureQueriesContext(
        connection,
    ) as queries:
        admin_client.get(get_url(experiment))

    sql = " ".join(each["sql"] for each in queries.captured_queries)
    for table in ("analytics_subjectfigures", "analytics_operationevent", "analytics_turn", "analytics_assignment"):
        assert f'FROM "{table}"' not in sql
    assert len(queries) < 40


@pytest.mark.parametrize("table", ["metrics", "guardrails", "ops", "models", "clients"])
def test_tables_are_csv_files_with_unrounded_figures(
    admin_client: HttpClient, experiment: Experiment, table: str
) -> None:
    response = admin_client.get(get_url(experiment), {"csv": table})

    lines = response.content.decode().splitlines()
    assert response.headers["Content-Disposition"] == f'attachment; filename="tools-{table}.csv"'
    assert lines[0].rstrip().endswith("Interval from,Interval to,p,Users of the control,Users of the arm")
    assert "0.25,0.05" in lines[1]
    assert AuditEntry.objects.filter(kind="report", action="exported").exists()
    assert admin_client.get(get_url(experiment), {"csv": "nothing"}).status_code == 404


def test_ops_link_to_the_copy_that_differs(admin_client: HttpClient, live_catalog: Any) -> None:
    live = Release.objects.get()
    other = Release.objects.get(pk=live.pk)
    other.version, other.number = "a" * 64, None
    other.save(force_insert=True)
    at = timezone.now() - HOUR
    experiment = create_experiment(at, flag_id=FlagKey.RELEASE, variants=[live.version, other.version])
    for arm in ("tools-control", "tools-b"):
        add_users(arm, at, failures=[1] * 20)
    measure(experiment)

    page = read_page(admin_client, experiment)

    compared = reverse("admin:registry_release_compare")
    assert f'href="{compared}?before={live.version}&after={other.version}#onto.task.get"' in page


def test_guarded_release_says_its_step_and_why_it_waits(admin_client: HttpClient) -> None:
    experiment = create_experiment(timezone.now(), steps=[[5, 4], [50, 8]])
    lifecycle.hold(experiment, "It has fewer than 20 users a side.", by="guardrail", at=timezone.now())

    page = read_page(admin_client, experiment)

    assert "Step 1 of 2: 5% until" in page
    assert "It waits for you. It has fewer than 20 users a side." in page


def test_page_says_who_let_a_step_go_on_without_a_test(admin_client: HttpClient) -> None:
    experiment = create_experiment(timezone.now(), steps=[[5, 4], [50, 8]])
    lifecycle.hold(experiment, "It has fewer than 20 users a side.", by="guardrail", at=timezone.now())
    lifecycle.advance(experiment, by="ana", at=timezone.now(), note="Staff only.")

    page = read_page(admin_client, experiment)

    assert "Step 1 (5%) had no test: ana let it go on" in page
    said = "It had fewer than 20 users a side. It waited with: “It has fewer than 20 users a side.” Why: Staff only."
    assert said in page


def test_ended_experiment_keeps_its_reason_and_its_verdict(admin_client: HttpClient, experiment: Experiment) -> None:
    lifecycle.stop(experiment, "Failure rate: 60% in the new arm.", by="guardrail", at=timezone.now())
    lifecycle.decide(experiment, "drop", "Not worth it.", by="pm", at=timezone.now())

    page = read_page(admin_client, experiment)

    for text in (
        "Failure rate: 60% in the new arm.",
        "Not worth it.",
        "dropped",
        "Start again",
        "fails 20.0 points less",
    ):
        assert text in page


def test_plain_experiment_with_a_worse_signal_runs_on(admin_client: HttpClient) -> None:
    experiment = create_experiment(timezone.now())
    lifecycle.hold(experiment, "Latency of a call: clearly worse.", by="guardrail", at=timezone.now())

    page = read_page(admin_client, experiment)

    assert "It runs on, and needs a decision. Latency of a call: clearly worse." in page
    assert "waits for you" not in page


def test_steps_that_would_be_refused_have_a_reason_and_no_button(admin_client: HttpClient, live_catalog: Any) -> None:
    live = Release.objects.get()
    other = Release.objects.get(pk=live.pk)
    other.version, other.number = "a" * 64, 7
    other.save(force_insert=True)
    experiment = create_experiment(timezone.now(), flag_id=FlagKey.RELEASE, variants=["live", other.version])
    assert 'class="ui-button">Ship r7' in read_page(admin_client, experiment)
    lifecycle.stop(experiment, "Enough.", by="pm", at=timezone.now())
    AuditEntry.objects.create(
        time=timezone.now(),
        kind="release",
        name=live.version,
        action="published",
        by="ana",
        changes={"live": [live.version, "b" * 64]},
    )

    page = read_page(admin_client, experiment)

    assert "<strong>Ship r7</strong> is not possible. Release" in page
    assert "<strong>Start again</strong> is not possible. Release" in page
    assert "Drop</summary>" in page
    sent = {"step": "again", "seen": "stopped 0"}
    url = reverse("admin:analytics_experiment_step", args=[experiment.pk])
    assert "Nothing was changed. Release" in unescape(read(admin_client.post(url, sent, follow=True)))
    assert Experiment.objects.count() == 1
