from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client as HttpClient
from django.urls import reverse

from analytics.models import Assignment, Cohort, OperationEvent
from analytics.rollout import rollout_cache
from analytics.rollout.flags import FlagKey
from registry.models import Release
from tests.support.api import Api

pytestmark = pytest.mark.django_db


def load(*options: str) -> str:
    out = StringIO()
    call_command("load_demo", *options, stdout=out)
    rollout_cache.refresh()
    return out.getvalue()


def surface(api: Api, **headers: str) -> str:
    return api.post("toolset", {"format": "mcp"}, **headers).json()["surface"]


def test_the_demos_user_and_the_environment_dev_are_on_the_gateway_surface(api: Api, settings: object) -> None:
    settings.AGENTIC_CHAT_TOOL_GATEWAY = True  # type: ignore[attr-defined]  # the fixture takes any setting
    assert "cohort demo" in load()

    assert surface(api) == "gateway"
    assert surface(api, Gateway_Subject="ana") == "legacy"
    assert surface(api, Gateway_Subject="ana", Gateway_Environment="dev") == "gateway"


def test_a_cohort_that_somebody_deleted_or_changed_stays_so(api: Api) -> None:
    load()
    Cohort.objects.update(is_on=False)
    assert "cohort" not in load()
    assert not Cohort.objects.get().is_on

    Cohort.objects.all().delete()
    load()
    assert not Cohort.objects.exists()


def test_the_cohorts_of_the_demos_activity_are_there_and_list_its_users(api: Api) -> None:
    live = Release.objects.get()

    assert "cohorts copy-a and copy-b" in load("--activity")

    made = {cohort.name: cohort for cohort in Cohort.objects.filter(flag=FlagKey.RELEASE)}
    assert {name: cohort.variant for name, cohort in made.items()} == {"copy-a": "live", "copy-b": live.version}
    for name, cohort in made.items():
        cohort.full_clean()
        seen = OperationEvent.objects.filter(cohort=name).values_list("subject", flat=True)
        assert set(cohort.listed) == set(seen)
        assert not cohort.percentage
    assert {each.flag for each in Assignment.objects.all()} == {FlagKey.RELEASE}


def test_side_by_side_leads_to_the_cohorts_of_the_demo(api: Api, admin_client: HttpClient) -> None:
    load("--activity")

    page = admin_client.get(reverse("admin:report_comparison")).content.decode()

    for cohort in Cohort.objects.filter(flag=FlagKey.RELEASE):
        address = reverse("admin:analytics_cohort_change", args=[cohort.pk])
        assert f'<a href="{address}">{cohort.name}</a>' in page
        assert admin_client.get(address).status_code == 200


def test_a_cohort_of_the_demos_activity_that_somebody_deleted_stays_so(api: Api) -> None:
    load("--activity")
    Cohort.objects.filter(name="copy-a").delete()

    assert "cohorts" not in load("--activity")

    assert list(Cohort.objects.filter(flag=FlagKey.RELEASE).values_list("name", flat=True)) == ["copy-b"]
