"""The cohort form: subjects and rule values are edited one per line and stored as lists."""

import re
from html import unescape
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from analytics.experiments import lifecycle
from analytics.flags import FlagKey
from analytics.rollout.models import Cohort, CohortRule, Subject
from tests.support.console.admin_pages import read
from tests.support.rows.experiment_rows import create_experiment

pytestmark = pytest.mark.django_db

RULE = {"attribute": "environment", "trait": "", "operator": "in", "values": "dev"}


@pytest.fixture
def cohort() -> Cohort:
    created = Cohort.objects.create(name="dev-team", flag_id=FlagKey.SURFACE, variant="gateway", listed=["ana", "ben"])
    CohortRule.objects.create(cohort=created, attribute="environment", values=["dev", "staging"])
    return created


def save_cohort(http: HttpClient, cohort: Cohort, **fields: Any) -> HttpResponse:
    """Save the form of a cohort with its one rule. Fields of the rule are named rule_…"""
    rule = cohort.rules.get()
    form = {name: getattr(cohort, name) for name in ("name", "variant", "percentage", "note")}
    form |= {"flag": cohort.flag_id, "is_on": "on", "listed": "\r\n".join(cohort.listed)}
    form |= {"rules-TOTAL_FORMS": "1", "rules-INITIAL_FORMS": "1", "rules-0-id": rule.pk, "rules-0-cohort": cohort.pk}
    form |= {f"rules-0-{name}": value for name, value in RULE.items()}
    form |= {name.replace("rule_", "rules-0-"): value for name, value in fields.items()}
    return http.post(reverse("admin:analytics_cohort_change", args=[cohort.pk]), form)


def test_invalid_line_is_named_and_the_form_keeps_the_input(admin_client: HttpClient, cohort: Cohort) -> None:
    response = save_cohort(admin_client, cohort, listed="ana\r\n\r\n" + "b" * 201, rule_values="dev\r\na\x00b")

    html = unescape(response.content.decode())
    assert "Line 3: 201 characters; the limit is 200." in html
    assert "Line 2: remove the invisible character U+0000." in html
    assert ">ana\r\n\r\nbbb" in html
    cohort.refresh_from_db()
    assert cohort.listed == ["ana", "ben"]


def test_cohort_form_offers_only_variants_of_its_flag(admin_client: HttpClient, cohort: Cohort) -> None:
    change, add = reverse("admin:analytics_cohort_change", args=[cohort.pk]), reverse("admin:analytics_cohort_add")
    groups = [
        re.findall(r'<optgroup label="([^"]+)"', admin_client.get(page).content.decode())
        for page in (change, add, f"{add}?flag=tool_release")
    ]
    assert groups == [["Surface"], ["Surface", "Release", "Tool selection"], ["Release"]]

    response = save_cohort(admin_client, cohort, variant="live")

    assert "live is not a variant of this flag. Choose one that is." in response.content.decode()
    cohort.refresh_from_db()
    assert cohort.variant == "gateway"


def test_new_cohort_belongs_to_the_flag_of_its_variant(admin_client: HttpClient, cohort: Cohort) -> None:
    rules = {"rules-TOTAL_FORMS": "0", "rules-INITIAL_FORMS": "0"}
    form = {"name": "pilot", "variant": "dynamic", "is_on": "on", "percentage": "1", "listed": "", "note": ""}

    admin_client.post(reverse("admin:analytics_cohort_add"), form | rules)

    assert Cohort.objects.get(name="pilot").flag_id == FlagKey.SELECTION


def test_list_shows_who_is_in_a_cohort_and_how_many_users_that_are(admin_client: HttpClient, cohort: Cohort) -> None:
    Cohort.objects.create(name="rest", flag_id=FlagKey.SURFACE, variant="hybrid", percentage=5, listed=["cleo"])
    Subject.objects.bulk_create(Subject(subject=name, seen_at=timezone.now()) for name in ("ana", "ben", "cleo", "dan"))

    page = admin_client.get(reverse("admin:analytics_cohort_changelist")).content.decode()

    assert "2 listed" in page
    assert "5% of the rest, and 1 listed" in page
    assert re.findall(r"</progress>(\d+%)", page) == ["50%", "25%"]


def test_cohort_page_links_to_its_results_and_exposures(admin_client: HttpClient, cohort: Cohort) -> None:
    html = unescape(admin_client.get(reverse("admin:analytics_cohort_change", args=[cohort.pk])).content.decode())
    links = [link for link in re.findall(r'class="ui-button" href="([^"]+)"', html) if "dev-team" in link]

    assert len(links) == 3
    assert [admin_client.get(link).status_code for link in links] == [200] * 3
    new = admin_client.get(reverse("admin:analytics_cohort_add")).content.decode()
    assert 'aria-label="Related pages"' not in new


def test_arms_of_ended_experiments_are_left_out_unless_asked_for(admin_client: HttpClient, cohort: Cohort) -> None:
    _, ended = (create_experiment(timezone.now(), name=name) for name in ("runs", "ended"))
    lifecycle.stop(ended, "Enough.", by="pm", at=timezone.now())
    list_url = reverse("admin:analytics_cohort_changelist")
    flag_url = reverse("admin:analytics_flag_change", args=[FlagKey.SURFACE])

    pages = [read(admin_client.get(url)) for url in (list_url, f"{list_url}?ended_arms=shown", flag_url)]

    assert ["runs-control" in page for page in pages] == [True, True, True]
    assert ["ended-control" in page for page in pages] == [False, True, False]
    flag = admin_client.get(flag_url)
    sent = {"is_on": "on", "cohort": re.findall(r'name="cohort" value="(\d+)"', flag.content.decode())}
    assert admin_client.post(flag_url, sent).status_code == 302  # an order names all cohorts
