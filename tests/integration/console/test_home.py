"""The home page: what needs attention, in the order of a role's work, and the first steps of a new gateway."""

import re
from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from analytics.experiments import experiment_job, lifecycle
from analytics.flags import FlagKey
from analytics.rollout.models import Cohort, Flag
from analytics.rollups.models import OpDaily
from analytics.turns.models import Turn
from audit import audit_log
from audit.models import AuditEntry
from gateway.jobs import runner
from gateway.models import ApiKey, Client, PeriodicJob
from registry.drafts import switch_service
from registry.models import Activation, Op, ScheduledPublish
from registry.releases import publishing, selection, stored_releases
from registry.reviews import requests
from tests.support.clients.api import Api
from tests.support.console.admin_pages import read_text
from tests.support.console.role_matrix import create_user_with_role
from tests.support.console.staff import sign_in
from tests.support.rows.copy_rows import change_row
from tests.support.rows.experiment_rows import add_figures, add_users, create_experiment


def read_home(client: HttpClient) -> str:
    return read_text(client.get(reverse("admin:index")))


def change_op() -> Op:
    op = Op.objects.get(op="onto.task.get")
    change_row(op, summary="Get one task, whole")
    return op


def test_home_shows_that_nothing_needs_attention(api: Api, admin_client: HttpClient) -> None:
    page = read_home(admin_client)

    assert "Nothing to publish." in page
    assert stored_releases.get_live_release().short_name in page
    assert "No earlier release to roll back to." in page
    assert "No calls yet." in page
    assert "No searches yet." in page
    assert "Nothing is switched off." in page
    assert "All users get the defaults." in page


def test_home_says_that_nobody_runs_jobs(api: Api, admin_client: HttpClient, settings: Any) -> None:
    settings.PRODUCTION = True
    runner.run_due_jobs(at=timezone.now())
    assert "Periodic jobs do not run" not in read_home(admin_client)
    PeriodicJob.objects.update(held_until=timezone.now() - timedelta(minutes=9, seconds=30))

    page = read_home(admin_client)

    assert "Periodic jobs do not run" in page
    assert "should have run 9 minutes ago" in page
    assert "Run one or more processes of manage.py run_jobs --forever." in page
    jobs = read_text(admin_client.get(reverse("admin:gateway_periodicjob_changelist")))
    assert jobs.count("late") >= PeriodicJob.objects.count()


def test_home_links_unpublished_changes_to_the_review(api: Api, admin_client: HttpClient) -> None:
    op = change_op()

    page = read_home(admin_client)

    assert '<p class="ui-figure">1 op</p>' in page
    assert 'ui-card--line" aria-labelledby="switches"' in page  # nothing to do: one line
    assert f'<a href="{reverse("admin:registry_op_change", args=[op.pk])}">onto.task.get</a>' in page
    assert f'href="{reverse("admin:registry_release_review")}">Review</a>' in page


def test_home_links_to_compare_and_roll_back_the_live_release(api: Api, admin_client: HttpClient) -> None:
    first = Activation.objects.get(is_live=True).release
    change_op()
    second = publishing.publish_draft(note="Say that it is whole", by="ann", at=timezone.now() - timedelta(days=2))

    page = read_home(admin_client)

    assert f'title="{second.version}">{second.short_name} Say that it is whole</a>' in page
    assert "2 days ago</time> by ann. 83 ops." in page
    assert f"?before={first.pk}&amp;after={second.pk}" in page
    rollback_url = reverse("admin:registry_release_make_live", args=[first.pk])
    assert f'href="{rollback_url}">Roll back to {first.short_name}' in page
    admin_client.post(rollback_url, {"note": "Models sent nothing"})
    assert Activation.objects.get(is_live=True).release == first
    page = read_home(admin_client)
    own_note = Activation.objects.order_by("id").values_list("note", flat=True)[0]
    assert f">{first.short_name} {own_note}</a>" in page  # not the reason why the other was rolled back
    assert "by admin: Models sent nothing. 83 ops." in page
    assert "Roll back to" not in page
    assert f"Make {second.short_name} live again" in page


def test_home_lists_failing_ops_and_searches_that_found_nothing(api: Api, admin_client: HttpClient) -> None:
    day = timezone.now().date()
    errors = [["/state_key", "enum", 90], ["/due_at", "format", 2]]
    OpDaily.objects.create(day=day, op="onto.task.get", is_settled=True, calls=500, not_found=1)
    assert "No op failed often in 500 calls." in read_home(admin_client)

    OpDaily.objects.create(day=day, op="onto.task.update", is_settled=True, calls=812, invalid=114, field_errors=errors)
    OpDaily.objects.create(day=day, op="", is_settled=True, searches=50, misses=3)
    page = read_home(admin_client)

    assert "state_key: not an allowed value" in page
    assert ">114</a> of <a" in page
    assert ">812</a>" in page
    assert ">14%</td>" in page
    assert "onto.task.get" not in page
    assert "3 of 50</a> searches found nothing (6.0%)." in page


def test_home_lists_switches_with_their_reason(api: Api, admin_client: HttpClient) -> None:
    switch_service.switch_off(kind="op", name="onto.task.move", reason="It <loses> tasks", by="ben", at=timezone.now())

    page = read_home(admin_client)

    assert "op onto.task.move</a>: It &lt;loses&gt; tasks (by ben," in page


def test_home_warns_when_no_release_is_live(db: None, admin_client: HttpClient) -> None:
    page = read_home(admin_client)

    assert "No live release, so no op can be found or run." in page


@pytest.mark.parametrize(
    ("permissions", "shown"),
    [
        ([], []),
        (
            ["view_op", "view_group", "view_promptsection", "view_agent", "view_pin", "view_vocabulary"],
            ["Unpublished changes"],
        ),
        (["view_release"], ["Live release"]),
        (["view_opdaily", "view_operationevent"], ["Failing ops"]),
        (["view_switch"], ["Switched off"]),
    ],
)
def test_home_shows_each_section_only_with_its_permissions(api: Api, permissions: list[str], shown: list[str]) -> None:
    page = read_home(sign_in("person", permissions=permissions))

    parts = ["Unpublished changes", "Live release", "Failing ops", "Switched off"]
    assert [part for part in parts if f">{part}" in page] == shown
    assert ("You have no permissions yet." in page) == (not shown)


def test_home_needs_few_queries(api: Api, admin_client: HttpClient, django_assert_max_num_queries: Any) -> None:
    change_op()
    read_home(admin_client)

    with django_assert_max_num_queries(39):
        read_home(admin_client)


def test_home_compares_cohorts_with_other_users(api: Api, admin_client: HttpClient) -> None:
    cohort = Cohort.objects.create(name="copy-b", flag_id=FlagKey.SURFACE, variant="gateway", percentage=25)
    now = timezone.now()
    add_figures("copy-b", [1, 0], at=now)
    add_figures("", [2, 2], at=now)
    Turn.objects.create(client="chat", turn="t1", time=now, cohort="copy-b", calls=3, failed=1)

    page = read_home(admin_client)

    assert f'<a href="{reverse("admin:analytics_cohort_change", args=[cohort.pk])}">copy-b</a>' in page
    assert '<td>gateway</td> <td>25% of all</td> <td class="ui-number">100% of 1</td>' in page
    assert '<td class="ui-number">5.0% of 20</td>' in page
    assert '<td class="ui-number">20% of 20</td>' in page  # no cohort
    assert "copy-b: not enough data yet: 2 of 20 users" in page  # as on the cohort's page


def test_home_lists_cohorts_that_are_off_or_removed_while_they_have_calls(api: Api, admin_client: HttpClient) -> None:
    off = Cohort.objects.create(name="copy-a", flag_id=FlagKey.SURFACE, variant="gateway", is_on=False)
    for name in ("copy-a", "copy-b", ""):
        OpDaily.objects.create(day=timezone.now().date(), op="onto.task.get", cohort=name, is_settled=True, calls=20)

    page = read_home(admin_client)

    assert f'<a href="{reverse("admin:analytics_cohort_change", args=[off.pk])}">copy-a</a>' in page
    assert "<td>off</td>" in page
    assert '<th scope="row">copy-b</th> <td>removed</td>' in page
    assert page.count("0% of 20") == 3


def read_headings(client: HttpClient) -> list[str]:
    return re.findall(r'<h2 id="([a-z-]+)"', read_home(client))


@pytest.mark.parametrize(
    ("role", "first"),
    [
        ("A", ["unpublished", "live", "misses", "first-steps"]),
        ("E", ["unpublished", "live", "misses"]),
        ("P", ["rollout", "live", "unpublished", "misses"]),
        ("U", ["access", "live", "unpublished", "misses"]),
    ],
)
def test_home_begins_with_what_a_role_works_on_and_what_needs_somebody(
    api: Api, client: HttpClient, role: str, first: list[str]
) -> None:
    client.force_login(create_user_with_role(role))
    change_op()
    OpDaily.objects.create(day=timezone.now().date(), op="", is_settled=True, searches=50, misses=3)

    headings = read_headings(client)

    assert headings[: len(first)] == first
    assert ("access" in headings) == (role in "AU")
    assert headings[-1] == "switches"  # nothing is off


def test_first_steps_are_those_of_the_user_and_end_with_one_line(api: Api, admin_client: HttpClient) -> None:
    def read_done() -> list[str]:
        return re.findall(r'ui-step--done.*?<a href="[^"]+">([\w ]+)</a>', read_home(admin_client))

    def log(kind: str, action: str, by: str = "admin") -> None:
        audit_log.record_action(kind, "pets", AuditEntry.Action(action), by=by, at=timezone.now())

    for kind, action in (("connection", "imported"), ("cohort", "added"), ("release", "published")):
        log(kind, action, by="demo")
    assert read_done() == [], "the demo and the fixtures have all of them"

    log("connection", "imported")
    key = ApiKey.objects.create(
        client=Client.objects.create(name="mine"), name="mine", prefix="gw_mine", secret_hash="mine", created_by="admin"
    )
    assert read_done() == ["Connect a service", "Create an API key"]
    ApiKey.objects.filter(pk=key.pk).update(last_used_at=timezone.now())
    change_op()
    publishing.publish_draft(note="Whole", by="admin", at=timezone.now())
    assert read_done()[2:] == ["Make the first call", "Publish a change"]

    log("cohort", "added")
    assert "All set. Next:" in read_home(admin_client)
    assert "All set" not in (later := read_home(admin_client))
    assert "First steps" not in later


def test_first_steps_come_after_what_needs_somebody(api: Api, admin_client: HttpClient) -> None:
    assert read_headings(admin_client)[0] == "first-steps"

    OpDaily.objects.create(day=timezone.now().date(), op="", is_settled=True, searches=50, misses=3)

    headings = read_headings(admin_client)
    assert headings.index("misses") < headings.index("first-steps") < headings.index("rollout")


def test_first_steps_can_be_hidden(api: Api, admin_client: HttpClient) -> None:
    assert "First steps: 0 of 5 done" in read_home(admin_client)
    address = reverse("admin:home_checklist_hide")

    assert admin_client.get(address).status_code == 405
    assert "First steps" not in read_text(admin_client.post(address, follow=True))
    assert "First steps" not in read_home(admin_client)


def test_home_tells_an_auditor_of_keys_and_failed_sign_ins(api: Api, admin_client: HttpClient) -> None:
    now = timezone.now()
    chat = Client.objects.create(name="chat-b")
    for name, fields in (
        ("soon", {"expires_at": now + timedelta(days=3)}),
        ("later", {"expires_at": now + timedelta(days=300)}),
        ("idle", {"last_used_at": now - timedelta(days=100)}),
        ("gone", {"expires_at": now + timedelta(days=3), "revoked_at": now}),
    ):
        ApiKey.objects.create(client=chat, name=name, prefix=f"gw_{name}", secret_hash=name, **fields)
    AccessAttempt.objects.create(username="mallory", failures_since_start=2)

    page = read_home(admin_client)

    assert re.search("gw_soon.*? of chat-b expires", page)
    assert re.search("gw_idle.*? of chat-b has not been used for 90 days", page)
    assert "gw_later" not in page
    assert "gw_gone" not in page
    assert "1 failed sign-in</a> in the last 15 minutes" in page


def test_home_says_whom_the_open_review_waits_for(api: Api, admin_client: HttpClient) -> None:
    chosen = selection.load_selection()
    review = requests.ask_for_review(chosen, summary="2 ops", comment="", by="<b>ed</b>", at=timezone.now())
    asked = read_home(admin_client)
    requests.approve_changes(review, chosen, summary="2 ops", comment="", by="admin", at=timezone.now())
    approved = read_home(admin_client)

    assert "waits for you" in asked
    assert "&lt;b&gt;ed&lt;/b&gt; requested a review of 2 ops." in asked
    assert "You approved 2 ops." in approved


def test_home_says_what_is_scheduled_and_why_it_was_not_published(api: Api, admin_client: HttpClient) -> None:
    at = timezone.now()
    change_op()
    ScheduledPublish.objects.create(summary="2 ops", publish_at=at, created_by="<b>ed</b>", created_at=at)

    page = read_home(admin_client)

    assert "2 ops scheduled for" in page
    assert "by &lt;b&gt;ed&lt;/b&gt;." in page
    assert "will not be published" in page  # it has no entries, as one of an earlier version
    ScheduledPublish.objects.update(entries=selection.load_selection().hash_entries())
    assert "will not be published" not in read_home(admin_client)
    ScheduledPublish.objects.update(state="failed", ended_at=at, reason="The draft has changed <b>since</b>.")
    page = read_home(admin_client)
    assert "not published" in page
    assert "The draft has changed &lt;b&gt;since&lt;/b&gt;." in page


def test_home_offers_a_product_manager_a_cohort_and_no_forbidden_page(api: Api, client: HttpClient) -> None:
    client.force_login(create_user_with_role("P"))
    release = Activation.objects.get(is_live=True).release
    flag = Flag.objects.get_or_create(key=FlagKey.RELEASE)[0]
    Cohort.objects.create(name="copy", flag=flag, variant=release.version, percentage=5, listed=["ana", "ben"])

    page = read_home(client)

    assert f'href="{reverse("admin:analytics_cohort_add")}">Add a cohort</a>' in page
    assert f"<td>{release.short_name}</td>" in page
    assert "5% of all, and 2 listed" in page
    assert "Ask an Admin to give a service a client and a key" in page
    assert reverse("admin:gateway_client_changelist") not in page


def test_experiments_that_wait_for_somebody_come_first(api: Api, admin_client: HttpClient) -> None:
    assert 'id="experiments"' not in read_home(admin_client)
    at = timezone.now()
    create_experiment(at, name="runs")
    held, stopped = create_experiment(at, name="held"), create_experiment(at, name="harmful")
    lifecycle.hold(held, "It has fewer than 20 users a side.", by="guardrail", at=at)
    lifecycle.stop(stopped, "Failure rate: 60% in the new arm.", by="guardrail", at=at)
    decided = create_experiment(at, name="decided")
    lifecycle.decide(decided, "drop", "", by="ana", at=at)

    page = read_home(admin_client)

    assert "runs on, and needs a decision. It has fewer than 20 users a side." in page
    assert "was stopped and waits for a decision. Failure rate: 60% in the new arm." in page
    assert page.index(">runs</a>") > max(page.index(">held</a>"), page.index(">harmful</a>"))
    assert ">decided</a>" not in page


def test_rollout_lists_experiments_and_not_their_arms(api: Api, admin_client: HttpClient) -> None:
    at = timezone.now() - timedelta(hours=1)
    create_experiment(at, name="runs")
    ended = create_experiment(at, name="ended")
    for arm in ("runs-control", "runs-b", "ended-control"):
        add_users(arm, at, failures=[1] * 3)
    lifecycle.stop(ended, "Enough.", by="ana", at=at)
    while experiment_job.measure(timezone.now()):
        pass

    page = read_home(admin_client)

    rollout = page[page.index('aria-label="Table of cohorts"') :]
    assert ">runs</a>" in rollout
    assert "10% of 60" in rollout, rollout[:3000]
    for arm in ("runs-control", "runs-b", "ended-control", ">ended<"):
        assert arm not in rollout


def test_experiment_with_a_verdict_waits_for_a_decision(api: Api, admin_client: HttpClient) -> None:
    at = timezone.now() - timedelta(hours=1)
    experiment = create_experiment(at)
    for arm, failed in (("tools-control", 5), ("tools-b", 0)):
        add_users(arm, at, failures=[failed] * 30)
    while experiment_job.measure(timezone.now()):
        pass
    assert experiment.state == "running"

    assert "has a verdict and waits for a decision. Surface hybrid fails 50.0 points less" in read_home(admin_client)
