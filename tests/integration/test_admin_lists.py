"""What all lists of the admin have in common: figures stand right, an empty one says what to do, and where it is."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db.models import DecimalField, FloatField, IntegerField, Model
from django.test import Client as HttpClient
from django.test import RequestFactory
from django.urls import reverse

from analytics.models import Cohort, Flag
from config import sidebar
from gateway.models import Client
from registry.models import Op
from tests.support.admin_models import MODELS, page

TRAIL = re.compile(r'<h1[^>]*>.*?((?:<span class="desk-job">|<span class="desk-step").*?)</h1>', re.DOTALL)
STEP = re.compile(r'<(?:a|span) class="desk-(?:job|step)"[^>]*>(.*?)</(?:a|span)>', re.DOTALL)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_columns_of_numbers_stand_right(model: type[Model]) -> None:
    css = (Path(settings.BASE_DIR) / "static" / "desk" / "desk.css").read_text()
    named = {
        kind: set(re.findall(rf"\.{kind}-(\w+)", css.partition("/* --- tables")[0])) for kind in ("field", "column")
    }
    numbers = {
        field.name
        for field in model._meta.fields
        if isinstance(field, (IntegerField, DecimalField, FloatField)) and not field.choices
    }

    listed = numbers & set(admin.site.get_model_admin(model).list_display)

    assert listed <= named["field"]
    assert listed <= named["column"]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_an_empty_list_says_what_to_do(model: type[Model]) -> None:
    assert re.fullmatch(r"[A-Z].{20,110}\.", admin.site.get_model_admin(model).empty)


def test_an_empty_list_leads_to_its_first_row(db: None, admin_client: HttpClient) -> None:
    html = admin_client.get(page(Client, "changelist")).content.decode()

    assert "No clients yet" in html
    assert admin.site.get_model_admin(Client).empty in unescape(html)
    assert f'href="{page(Client, "add")}"' in html.partition("desk-empty")[2]


def test_a_list_in_which_nothing_matches_leads_to_all_rows(db: None, admin_client: HttpClient) -> None:
    Client.objects.create(name="chat")

    searched = admin_client.get(page(Client, "changelist"), {"q": "nothing like it"}).content.decode()
    filtered = admin_client.get(page(Op, "changelist"), {"kind__exact": "read"}).content.decode()

    for html, name in ((searched, "clients"), (filtered, "ops")):
        assert f"No {name} match" in html
        assert f"Show all {name}" in html


def trail(http: HttpClient, address: str) -> list[str]:
    """Return where a page says that it stands."""
    found = TRAIL.search(http.get(address).content.decode())
    assert found is not None, address
    return [unescape(step).strip() for step in STEP.findall(found[1]) if step.strip()]


def test_every_entry_of_the_sidebar_says_its_job(live_catalog: Any, admin_client: HttpClient) -> None:
    request = RequestFactory().get(reverse("admin:index"))
    request.user = User.objects.get(username="admin")

    for section in sidebar.sections(request):
        for item in section["items"]:
            job = [section["title"]] if section["title"] not in ("", item["title"]) else []
            assert trail(admin_client, item["link"]) == [*job, item["title"]]


def test_pages_below_an_entry_say_what_they_are(live_catalog: Any, admin_client: HttpClient) -> None:
    cohort = Cohort.objects.create(name="dev-team", flag=Flag.objects.all()[0], variant="gateway")
    op = Op.objects.get(op="onto.task.list")
    role = Group.objects.get(name="Editor")
    told = {
        page(Cohort, "change", cohort.pk): ["Rollout", "Cohorts", "dev-team"],
        page(Cohort, "add"): ["Rollout", "Cohorts", "Add cohort"],
        page(Cohort, "delete", cohort.pk): ["Rollout", "Cohorts", "dev-team"],
        page(Group, "change", role.pk): ["Access", "Roles", "Editor"],
        reverse("admin:op_try", args=[op.pk]): ["Copy", "Ops", "Try onto.task.list"],
        reverse("admin:registry_release_compare"): ["Releases", "Compare"],
        reverse("admin:password_change"): ["Home", "Password change"],
    }

    assert {address: trail(admin_client, address) for address in told} == told
