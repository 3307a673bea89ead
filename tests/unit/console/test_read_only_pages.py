"""Pages of people who can only view: words instead of stored values, and no advice to do what they cannot."""

from typing import Any

import pytest
from django.urls import reverse

from analytics.flags import FlagKey
from analytics.rollout.models import Cohort
from registry.models import Connection, Release
from tests.support.console.admin_pages import read_text
from tests.support.console.staff import sign_in

pytestmark = pytest.mark.django_db


def test_auditor_reads_a_cohort_in_words(published: Release) -> None:
    version = published.version
    cohort = Cohort.objects.create(
        name="pilot", flag_id=FlagKey.RELEASE, variant=version, percentage=12.5, listed=["ana", "ben"]
    )

    response = sign_in("aud", role="Auditor").get(reverse("admin:analytics_cohort_change", args=[cohort.pk]))

    shown = read_text(response)
    assert "ana, ben" in shown
    assert "12.5%" in shown
    assert f">{version}<" not in response.content.decode()  # its name, with the hash on hover
    assert f'title="{version}">{published.short_name}<' in response.content.decode()


@pytest.mark.parametrize(
    ("settings", "shown", "left_out"),
    [
        ({"auth": "bearer"}, {"Base URL"}, {"Token URL", "API key in", "Subject header"}),
        ({"auth": "api_key"}, {"API key in", "API key name"}, {"Token URL", "User name"}),
        ({"kind": "mcp", "transport": "stdio", "command": "x"}, {"Command"}, {"Base URL", "Headers"}),
    ],
)
def test_viewer_of_a_connection_sees_what_its_options_need(
    settings: dict[str, Any], shown: set[str], left_out: set[str]
) -> None:
    connection = Connection.objects.create(**{"name": "crm", "kind": "http", "base_url": "https://crm.test"} | settings)
    url = reverse("admin:registry_connection_change", args=[connection.pk])

    page = sign_in("ed", role="Editor").get(url).content.decode()

    assert {label for label in shown | left_out if f">{label}</label>" in page} == shown


@pytest.mark.parametrize(("role", "may_edit"), [("Editor", True), ("Product manager", False), ("Auditor", False)])
def test_home_asks_only_editors_to_choose_an_op(role: str, *, may_edit: bool, published: Release) -> None:
    home = read_text(sign_in("ana", role=role).get(reverse("admin:index")))

    assert "Nothing to publish." in home
    assert ("Choose an op" in home) is may_edit
