"""The previewed effect of a rollout change, and the page that explains which variant a user gets."""

import re
from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from analytics.flags import FlagKey
from analytics.rollout import assignment, evaluation, exposures
from analytics.rollout.models import Assignment, Cohort, CohortRule, Flag, Subject
from registry.models import Op
from registry.releases import stored_releases
from tests.support.clients.api import Api
from tests.support.rows.catalog_fixture import publish_draft

pytestmark = pytest.mark.django_db

USERS = [f"user-{number}" for number in range(100)]
FORM: dict[str, Any] = {
    "name": "some",
    "flag": FlagKey.SURFACE,
    "is_on": "on",
    "variant": "gateway",
    "percentage": "25",
    "listed": "",
    "note": "",
    "rules-TOTAL_FORMS": 0,
    "rules-INITIAL_FORMS": 0,
}


@pytest.fixture(autouse=True)
def _last_seen_users(api: Api, settings: Any) -> None:
    settings.AGENTIC_CHAT_TOOL_GATEWAY = True
    now = timezone.now()
    rows = [Subject(subject=user, seen_at=now, environment="dev" if user < "user-2" else "") for user in USERS]
    Subject.objects.bulk_create(rows)


def count_within(percentage: float) -> int:
    return sum(evaluation.is_within("some", user, int(percentage * 100)) for user in USERS)


def create_cohort(**fields: Any) -> Cohort:
    cohort = Cohort.objects.create(
        **{"name": "some", "flag_id": FlagKey.SURFACE, "variant": "gateway", "percentage": 25} | fields
    )
    assignment.refresh_rollout()
    return cohort


def preview_effect(http: HttpClient, row: Any = None, **fields: Any) -> str:
    """Return the text in which the page describes the effect of saving the form."""
    model = "flag" if isinstance(row, Flag) else "cohort"
    url = (
        reverse(f"admin:analytics_{model}_impact", args=[row.pk])
        if row
        else reverse("admin:analytics_cohort_add_impact")
    )
    response = http.post(url, fields if isinstance(row, Flag) else FORM | fields)
    assert response.status_code == 200
    return unescape(re.sub(r"<[^>]+>|\s+", " ", response.content.decode()))


def test_new_cohort_shows_how_many_users_move_and_what_they_gain(admin_client: HttpClient) -> None:
    text = preview_effect(admin_client)

    assert f"{count_within(25)} of last week's 100 users move from legacy to gateway." in text
    assert re.search(r"Without a context, the model gains \d+ write ops and \d+ read ops", text)
    assert not Cohort.objects.exists()
    assert "That is 100% of all users seen." in preview_effect(admin_client, percentage="100")


@pytest.mark.both_databases
def test_effect_uses_unsaved_rules_of_the_form(admin_client: HttpClient) -> None:
    rule = {"rules-0-attribute": "environment", "rules-0-operator": "in", "rules-0-values": "dev", "rules-0-trait": ""}

    text = preview_effect(admin_client, percentage="100", **{"rules-TOTAL_FORMS": 1}, **rule)

    dev = Subject.objects.filter(environment="dev").count()
    assert f"{dev} of last week's 100 users move" in text


def test_smaller_percentage_or_off_moves_users_back(admin_client: HttpClient) -> None:
    cohort = create_cohort()

    moved = f"{count_within(25) - count_within(5)} of last week's 100 users move from gateway to legacy."
    assert moved in preview_effect(admin_client, cohort, percentage="5")
    off = {name: value for name, value in FORM.items() if name != "is_on"}
    page = admin_client.post(reverse("admin:analytics_cohort_impact", args=[cohort.pk]), off).content.decode()
    assert f"{count_within(25)} of last week&#x27;s 100 users move from gateway to legacy" in page
    assert "No change for last week's 100 users." in preview_effect(admin_client, cohort)


@pytest.mark.both_databases
def test_delete_page_and_a_flag_that_is_turned_off_show_the_effect_on_users(admin_client: HttpClient) -> None:
    cohort = create_cohort()

    page = unescape(admin_client.get(reverse("admin:analytics_cohort_delete", args=[cohort.pk])).content.decode())
    text = preview_effect(admin_client, Flag.objects.get(key=FlagKey.SURFACE))

    moved = f"{count_within(25)} of last week's 100 users move from gateway to legacy."
    assert moved in page
    assert moved in text


@pytest.mark.both_databases
def test_delete_action_shows_the_effect_of_all_cohorts(admin_client: HttpClient) -> None:
    surface, copy = (
        create_cohort(),
        create_cohort(
            name="copy", flag_id=FlagKey.RELEASE, variant=stored_releases.get_live_release().version, percentage=100
        ),
    )
    selected = {"action": "delete_selected", "_selected_action": [surface.pk, copy.pk]}

    page = unescape(admin_client.post(reverse("admin:analytics_cohort_changelist"), selected).content.decode())

    assert f"{count_within(25)} of last week's 100 users move from gateway to legacy." in page
    assert "100 of last week's 100 users move from r1 to the live release." in page
    admin_client.post(reverse("admin:analytics_cohort_changelist"), selected | {"post": "yes"})
    assert not Cohort.objects.exists()


@pytest.mark.both_databases
def test_cohort_keeps_its_flag(admin_client: HttpClient) -> None:
    cohort = create_cohort()

    admin_client.post(
        reverse("admin:analytics_cohort_change", args=[cohort.pk]), FORM | {"flag": FlagKey.RELEASE, "note": "Kept"}
    )

    cohort.refresh_from_db()
    assert (cohort.flag_id, cohort.note) == (FlagKey.SURFACE, "Kept")


def test_effect_explains_the_master_switch_when_it_is_off(admin_client: HttpClient, settings: Any) -> None:
    settings.AGENTIC_CHAT_TOOL_GATEWAY = False

    assert "until it is on, everyone stays on legacy" in preview_effect(admin_client)
    assert "master switch" not in preview_effect(admin_client, flag=FlagKey.RELEASE, variant="live")


def test_effect_of_another_release_counts_ops_with_different_copy(admin_client: HttpClient) -> None:
    before = stored_releases.get_live_release().version
    Op.objects.filter(op__in=["onto.task.get", "onto.task.list"]).update(summary="Read it")
    Op.objects.filter(op="onto.task.delete").update(status="retired")
    publish_draft()

    text = preview_effect(admin_client, flag=FlagKey.RELEASE, variant=before, percentage="100")

    assert "100 of last week's 100 users move from the live release to r1." in text
    assert "3 ops have different copy." in text


def test_effect_needs_a_valid_form_and_seen_users(admin_client: HttpClient) -> None:
    assert "Fill in the form to see its effect." in preview_effect(admin_client, percentage="101")
    assert "Fill in the form to see its effect." in preview_effect(admin_client, variant="lost")

    Subject.objects.all().delete()
    assert "No users were seen in the last 7 days" in preview_effect(admin_client)


def test_who_page_explains_which_cohort_decided(admin_client: HttpClient) -> None:
    inside = next(user for user in USERS if evaluation.is_within("some", user, 2_500))
    outside = next(user for user in USERS if not evaluation.is_within("some", user, 2_500))
    dev = create_cohort(name="dev-team", percentage=100, listed=["vip"])
    create_cohort()
    CohortRule.objects.create(cohort=dev, attribute="environment", values=["dev"])
    assignment.refresh_rollout()

    def read_page(**query: str) -> str:
        page = admin_client.get(reverse("admin:rollout_who"), query).content.decode()
        return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))

    assert "no match (fails: environment is one of dev)" in read_page(subject=inside, environment="production")
    assert "in the percentage of cohort some" in read_page(subject=inside, environment="production")
    assert "default, because the user is in no cohort" in read_page(subject=outside, environment="x")
    assert "not in the 25% (user is at " in read_page(subject=outside, environment="x")
    assert "match (listed)" in read_page(subject="vip")
    assert "match (all rules hold)" in read_page(subject="new", environment="dev")
    assert not Assignment.objects.exists()


def test_effect_says_when_it_covers_only_the_latest_users(
    admin_client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exposures, "MAX_SUBJECTS", 50)

    assert "50 of the latest 50 users move from legacy to gateway." in preview_effect(admin_client, percentage="100")


def test_who_page_is_filled_in_from_the_seen_user_for_those_who_may_view_users(
    client: HttpClient, admin_client: HttpClient, django_user_model: Any
) -> None:
    Subject.objects.filter(subject="user-1").update(environment="dev", traits={"plan": "pro", "beta": True})
    user = django_user_model.objects.create_user("somebody", is_staff=True)
    codenames = ["view_cohort", "view_flag", "view_assignment"]
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client.force_login(user)

    page = client.get(reverse("admin:rollout_who"), {"subject": "user-1"})
    filled = admin_client.get(reverse("admin:rollout_who"), {"subject": "user-1"}).content.decode()

    assert page.status_code == 200
    assert "as last seen" not in page.content.decode()
    assert "traits, as last seen" in filled
    assert "beta=true\nplan=pro" in filled


def test_who_page_finds_users_by_a_part_of_their_id(admin_client: HttpClient) -> None:
    def find_users(**query: str) -> list[str]:
        page = admin_client.get(reverse("admin:rollout_who"), query).content.decode()
        return re.findall(r'class="ui-chip" href="\?subject=([^"]+)"', page)

    assert len(find_users()) == 12  # those seen last
    assert find_users(subject="ser-17") == ["user-17"]
    assert find_users(subject="user-17") == []  # it is explained


@pytest.mark.both_databases
def test_exposures_have_the_titles_of_flags_and_the_names_of_releases(admin_client: HttpClient) -> None:
    version = stored_releases.get_live_release().version
    Assignment.objects.create(
        flag=FlagKey.RELEASE, variant=version, cohort="pilot", subject="ana", time=datetime(2026, 3, 1, 12, tzinfo=UTC)
    )

    explained = admin_client.get(reverse("admin:rollout_who"), {"subject": "ana"}).content.decode()
    listed = admin_client.get(reverse("admin:analytics_assignment_changelist")).content.decode()

    assert "1 Mar, 12:00 UTC: Release, r1, cohort pilot" in explained
    assert re.findall(r"field-(flag_title|variant_label)[^>]*>([^<]*)<", " ".join(listed.split())) == [
        ("flag_title", "Release"),
        ("variant_label", "r1"),
    ]
