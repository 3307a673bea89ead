import re
from html import unescape
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from analytics.events.models import OperationEvent
from analytics.experiments import experiment_job
from analytics.flags import FlagKey
from analytics.reports.report_filter import match_cohort
from analytics.rollout import assignment
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Assignment, Cohort
from audit.models import AuditEntry
from core.text import json_text
from registry.models import Activation, Release
from registry.releases import stored_releases
from tests.support.clients.api import Api

pytestmark = pytest.mark.django_db


def load_demo(*options: str) -> str:
    out = StringIO()
    call_command("load_demo", *options, stdout=out)
    assignment.refresh_rollout()
    return out.getvalue()


def get_surface(api: Api, **headers: str) -> str:
    return api.post("toolset", {"format": "mcp"}, **headers).json()["surface"]


def test_demo_user_and_dev_environment_get_the_gateway_surface(api: Api, settings: object) -> None:
    settings.AGENTIC_CHAT_TOOL_GATEWAY = True  # type: ignore[attr-defined]  # the fixture takes any setting
    assert "cohort demo" in load_demo()

    assert get_surface(api) == "gateway"
    assert get_surface(api, Gateway_Subject="ana") == "legacy"
    assert get_surface(api, Gateway_Subject="ana", Gateway_Environment="dev") == "gateway"


def test_load_demo_keeps_changed_and_deleted_cohorts(api: Api) -> None:
    load_demo()
    Cohort.objects.update(is_on=False)
    assert "cohort" not in load_demo()
    assert not Cohort.objects.get().is_on

    Cohort.objects.all().delete()
    load_demo()
    assert not Cohort.objects.exists()


def test_demo_activity_creates_cohorts_once_which_the_reports_compare(api: Api, admin_client: HttpClient) -> None:
    live = Release.objects.get()

    assert "cohorts gateway-pilot, copy-a and copy-b" in load_demo("--activity")

    cohorts = {cohort.name: cohort for cohort in Cohort.objects.filter(flag=FlagKey.RELEASE, experiment=None)}
    earlier, clearer = (Release.objects.get(version=cohorts[name].variant) for name in ("copy-a", "copy-b"))
    assert live.version not in (earlier.version, clearer.version)  # or there would be nothing to compare
    compared = {"before": earlier.version, "after": clearer.version}
    page = admin_client.get(reverse("admin:registry_release_compare"), compared).content.decode()
    assert "4 ops differ" in page
    assert (
        json_text.hash_canonically(stored_releases.load_content(earlier)) == earlier.version
    )  # it can be served as any other
    for name, cohort in cohorts.items():
        cohort.full_clean()
        subjects = OperationEvent.objects.filter(match_cohort(name)).values_list("subject", flat=True)
        assert set(cohort.listed) == set(subjects)
        added = AuditEntry.objects.get(kind="cohort", name=name).time
        assert Release.objects.get(version=cohort.variant).created_at < added
        assert added < Assignment.objects.filter(cohort=name).earliest("time").time
        assert not cohort.percentage
    [pilot] = Cohort.objects.filter(flag=FlagKey.SURFACE, name="gateway-pilot")
    for subject, surface in OperationEvent.objects.values_list("subject", "surface").distinct():
        assert (surface == pilot.variant) == (subject in pilot.listed)
    assert {each.flag for each in Assignment.objects.all()} == {FlagKey.RELEASE, FlagKey.SURFACE}
    first_event = OperationEvent.objects.earliest("time").time
    assert Activation.objects.get(is_live=True).activated_at < first_event

    page = admin_client.get(reverse("admin:report_comparison")).content.decode()

    for cohort in Cohort.objects.filter(flag=FlagKey.RELEASE, experiment=None):
        address = reverse("admin:analytics_cohort_change", args=[cohort.pk])
        assert f'<a href="{address}">{cohort.name}</a>' in page
        assert admin_client.get(address).status_code == 200
    sides = {"first": "copy-a", "second": "copy-b"}
    content = unescape(admin_client.get(reverse("admin:report_comparison"), sides).content.decode())
    (link,) = set(re.findall(r'href="(/admin/registry/release/compare/[^"]+)"', content))
    assert "4 ops differ" in admin_client.get(link).content.decode()

    running, decided = Experiment.objects.order_by("-started_at")
    assert [each.state for each in (running, decided)] == ["running", "decided"]
    experiment_job.run_experiments(timezone.now())
    pages = [
        unescape(admin_client.get(reverse("admin:analytics_experiment_change", args=[each.pk])).content.decode())
        for each in (running, decided)
    ]
    for page, direction in zip(pages, ("less than", "more than"), strict=True):
        assert re.search(rf"Release r\d+ [^<]*fails \d+\.\d points {direction} release", page)
        assert "split within chance" in page
        assert "chart-band-line" in page
    assert Experiment.objects.filter(state="running", hold_reason="").count() == 1  # the job leaves it alone

    Cohort.objects.filter(name="copy-a").delete()
    assert "cohorts" not in load_demo("--activity")
    assert list(Cohort.objects.filter(flag=FlagKey.RELEASE, experiment=None).values_list("name", flat=True)) == [
        "copy-b"
    ]
