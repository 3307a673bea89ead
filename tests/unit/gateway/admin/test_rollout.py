"""A cohort's page: its subjects and the values of its rules are written one a line and kept as lists."""

import re
from html import unescape
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client as HttpClient
from django.urls import reverse

from analytics.models import Cohort, CohortRule
from analytics.rollout.flags import FlagKey

pytestmark = pytest.mark.django_db

RULE = {"attribute": "environment", "trait": "", "operator": "in", "values": "dev"}


@pytest.fixture
def cohort() -> Cohort:
    made = Cohort.objects.create(name="dev-team", flag_id=FlagKey.SURFACE, variant="gateway", listed=["ana", "ben"])
    CohortRule.objects.create(cohort=made, attribute="environment", values=["dev", "staging"])
    return made


def send(http: HttpClient, cohort: Cohort, **fields: Any) -> HttpResponse:
    """Save the page of a cohort with its one rule; a rule's fields are named rule_…"""
    rule = cohort.rules.get()
    sent = {name: getattr(cohort, name) for name in ("name", "position", "variant", "percentage", "note")}
    sent |= {"flag": cohort.flag_id, "is_on": "on", "listed": "\r\n".join(cohort.listed)}
    sent |= {"rules-TOTAL_FORMS": "1", "rules-INITIAL_FORMS": "1", "rules-0-id": rule.pk, "rules-0-cohort": cohort.pk}
    sent |= {f"rules-0-{name}": value for name, value in RULE.items()}
    sent |= {name.replace("rule_", "rules-0-"): value for name, value in fields.items()}
    return http.post(reverse("admin:analytics_cohort_change", args=[cohort.pk]), sent)


def test_lists_are_shown_one_a_line(admin_client: HttpClient, cohort: Cohort) -> None:
    html = unescape(admin_client.get(reverse("admin:analytics_cohort_change", args=[cohort.pk])).content.decode())

    assert ">ana\nben</textarea>" in html
    assert ">dev\nstaging</textarea>" in html
    assert "Subjects in the cohort regardless of rules and percentage. One per line." in html


def test_lines_are_kept_as_lists(admin_client: HttpClient, cohort: Cohort) -> None:
    answer = send(admin_client, cohort, listed="  ana \r\n\r\ncleo\r\nana\r\n", rule_values="dev \r\n\r\n Größe 2")

    cohort.refresh_from_db()
    assert answer.status_code == 302
    assert cohort.listed == ["ana", "cleo"]
    assert cohort.rules.get().values == ["dev", "Größe 2"]


def test_no_lines_are_an_empty_list_of_subjects_and_no_rule(admin_client: HttpClient, cohort: Cohort) -> None:
    assert send(admin_client, cohort, listed=" \r\n").status_code == 302
    refused = send(admin_client, cohort, rule_values="\r\n ")

    cohort.refresh_from_db()
    assert cohort.listed == []
    assert "This field is required." in refused.content.decode()


def test_a_line_that_cannot_be_kept_is_named_and_all_stays_as_typed(admin_client: HttpClient, cohort: Cohort) -> None:
    refused = send(admin_client, cohort, listed="ana\r\n\r\n" + "b" * 201, rule_values="dev\r\na\x00b")

    html = unescape(refused.content.decode())
    assert "Line 3: 201 characters; the limit is 200." in html
    assert "Line 2: remove the invisible character U+0000." in html
    assert ">ana\r\n\r\nbbb" in html
    cohort.refresh_from_db()
    assert cohort.listed == ["ana", "ben"]


def test_too_many_subjects_are_refused_with_the_number(admin_client: HttpClient, cohort: Cohort) -> None:
    refused = send(admin_client, cohort, listed="\n".join(map(str, range(1_001))))

    assert "Enter at most 1,000." in refused.content.decode()


def test_a_cohort_is_offered_what_its_flag_can_say(admin_client: HttpClient, cohort: Cohort) -> None:
    change, add = reverse("admin:analytics_cohort_change", args=[cohort.pk]), reverse("admin:analytics_cohort_add")
    groups = [
        re.findall(r'<optgroup label="([^"]+)"', admin_client.get(page).content.decode()) for page in (change, add)
    ]
    assert groups[0] == ["Surface"]
    assert groups[1][:3] == ["Surface", "Release", "Tool selection"]

    refused = send(admin_client, cohort, variant="live")

    assert "live is not a variant of this flag. Choose one that is." in refused.content.decode()
    cohort.refresh_from_db()
    assert cohort.variant == "gateway"


def test_a_new_cohort_is_refused_what_another_flag_says(admin_client: HttpClient) -> None:
    sent = {"name": "copy-c", "flag": FlagKey.SURFACE, "position": 0, "is_on": "on", "variant": "live"}
    sent |= {"percentage": "5", "rules-TOTAL_FORMS": "0", "rules-INITIAL_FORMS": "0"}

    refused = admin_client.post(reverse("admin:analytics_cohort_add"), sent)

    assert "Set Surface to gateway or legacy." in refused.content.decode()
    assert not Cohort.objects.exists()


def test_a_cohort_leads_to_how_it_does_and_to_who_was_exposed(admin_client: HttpClient, cohort: Cohort) -> None:
    html = unescape(admin_client.get(reverse("admin:analytics_cohort_change", args=[cohort.pk])).content.decode())
    links = [link for link in re.findall(r'class="desk-button" href="([^"]+)"', html) if "dev-team" in link]

    assert len(links) == 3
    assert [admin_client.get(link).status_code for link in links] == [200] * 3
    new = admin_client.get(reverse("admin:analytics_cohort_add")).content.decode()
    assert 'aria-label="Related pages"' not in new
