"""All lists of the console: few queries, numbers right-aligned, hints if they are empty, and their location."""

import re
from collections import Counter
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db import connection
from django.db.models import DecimalField, FloatField, IntegerField, Model
from django.test import Client as HttpClient
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from analytics.events import event_log
from analytics.events.models import OperationEvent
from analytics.rollout.models import Cohort, Flag
from analytics.turns.models import Turn
from console import sidebar
from gateway.models import ApiKey, Client, IdempotencyRecord
from registry.models import Activation, Op, Release
from tests.support.clients.api import Api
from tests.support.console.admin_models import MODELS, PROJECT_APPS, get_admin_url
from tests.support.loops import for_each

TRAIL = re.compile(
    r'<h1[^>]*>.*?((?:<span class="ui-breadcrumb-section">|<span class="ui-breadcrumb").*?)</h1>', re.DOTALL
)
STEP = re.compile(r'<(?:a|span) class="ui-breadcrumb(?:-section)?"[^>]*>(.*?)</(?:a|span)>', re.DOTALL)


@for_each("model", MODELS)
def test_number_columns_are_right_aligned_and_an_empty_list_has_a_hint(model: type[Model]) -> None:
    css = (Path(settings.BASE_DIR) / "static" / "console" / "admin.css").read_text()
    css_classes = {
        kind: set(re.findall(rf"\.{kind}-(\w+)", css.partition("/* --- tables")[0])) for kind in ("field", "column")
    }
    numbers = {
        field.name
        for field in model._meta.fields
        if isinstance(field, (IntegerField, DecimalField, FloatField)) and not field.choices
    }

    columns = numbers & set(admin.site.get_model_admin(model).list_display)

    assert columns <= css_classes["field"]
    assert columns <= css_classes["column"]
    assert re.fullmatch(r"[A-Z].{20,110}\.", admin.site.get_model_admin(model).empty)


def test_empty_list_links_to_the_add_page_and_one_without_matches_to_all_rows(
    db: None, admin_client: HttpClient
) -> None:
    empty = admin_client.get(get_admin_url(Client, "changelist")).content.decode()
    Client.objects.create(name="chat")
    search = admin_client.get(get_admin_url(Client, "changelist"), {"q": "nothing like it"}).content.decode()
    filtered = admin_client.get(get_admin_url(Op, "changelist"), {"kind__exact": "read"}).content.decode()

    assert "No clients yet" in empty
    assert admin.site.get_model_admin(Client).empty in unescape(empty)
    assert f'href="{get_admin_url(Client, "add")}"' in empty.partition("ui-empty-state")[2]
    for html, name in ((search, "clients"), (filtered, "ops")):
        assert f"No {name} match" in html
        assert f"Show all {name}" in html


def read_trail(http: HttpClient, address: str) -> list[str]:
    """Return the steps of the location that a page shows."""
    match = TRAIL.search(http.get(address).content.decode())
    assert match is not None, address
    return [unescape(step).strip() for step in STEP.findall(match[1]) if step.strip()]


def test_sidebar_pages_show_their_title(live_catalog: Any, admin_client: HttpClient) -> None:
    request = RequestFactory().get(reverse("admin:index"))
    request.user = User.objects.get(username="admin")

    [group] = sidebar.list_sections(request)
    for item in group["items"]:
        for tab in item["tabs"]:
            for page in tab["pages"]:
                above = [item["title"], tab["title"]] if "lists" in tab and page is not tab["pages"][0] else []
                assert read_trail(admin_client, page["link"]) == [*above, page["title"]]


def test_other_pages_show_their_location(live_catalog: Any, admin_client: HttpClient) -> None:
    cohort = Cohort.objects.create(name="dev-team", flag=Flag.objects.all()[0], variant="gateway")
    op = Op.objects.get(op="onto.task.list")
    role = Group.objects.get(name="Editor")
    expected_trails = {
        get_admin_url(Cohort, "change", cohort.pk): ["Rollout", "Cohorts", "dev-team"],
        get_admin_url(Cohort, "add"): ["Rollout", "Cohorts", "Add cohort"],
        get_admin_url(Cohort, "delete", cohort.pk): ["Rollout", "Cohorts", "dev-team"],
        get_admin_url(Group, "change", role.pk): ["Access", "Roles", "Editor"],
        reverse("admin:op_try", args=[op.pk]): ["Copy", "Ops", "Try onto.task.list"],
        reverse("admin:registry_release_compare"): ["Releases", "Compare"],
        reverse("admin:password_change"): ["Home", "Password change"],
    }

    assert {address: read_trail(admin_client, address) for address in expected_trails} == expected_trails


def test_times_are_in_the_time_zone_of_the_browser(live_catalog: Any, admin_client: HttpClient) -> None:
    at = datetime(2026, 7, 1, 10, 0, 5, tzinfo=UTC)
    OperationEvent.objects.create(time=at, type="exec", ok=True, status=200, latency_ms=1.0)
    events = get_admin_url(OperationEvent, "changelist")

    admin_client.cookies["time_zone"] = "Europe%2FVienna"
    local = admin_client.get(events).content.decode()
    admin_client.cookies["time_zone"] = "../etc"
    utc = admin_client.get(events).content.decode()
    releases = admin_client.get(get_admin_url(Release, "changelist")).content.decode()

    assert 'title="1 Jul, 12:00 CEST (1 Jul, 10:00 UTC)">1 Jul, 12:00:05 CEST</time>' in local
    assert ">1 Jul, 10:00:05 UTC</time>" in utc
    assert "ago</time>" in releases or "now</time>" in releases


def test_whole_numbers_have_separators(api: Api, admin_client: HttpClient) -> None:
    ApiKey.objects.update(rate=1_500)

    page = admin_client.get(get_admin_url(ApiKey, "changelist"), {"o": "5"}).content.decode()

    assert re.findall(r'<td class="[^"]*field-rate[^"]*"[^>]*>([^<]*)</td>', page) == ["1,500"]


def test_filter_for_a_release_has_its_name(live_catalog: Any, admin_client: HttpClient) -> None:
    release = Release.objects.get()

    page = admin_client.get(get_admin_url(OperationEvent, "changelist"), {"release__exact": release.version})

    assert f"Release: <strong>{release.short_name}</strong>" in page.content.decode()


def test_lists_offer_releases_by_their_number_and_note(live_catalog: Any, admin_client: HttpClient) -> None:
    key = {"client": "chat", "time": timezone.now()}
    Activation.objects.filter(is_live=True).update(note="Plainer copy")
    for version in (Release.objects.get().version, "0" * 64, ""):  # the second was deleted, the third is not known
        Turn.objects.create(**key, turn=f"turn-{version}", release=version)

    page = admin_client.get(get_admin_url(Turn, "changelist")).content.decode()

    options = re.findall(r'href="\?release=[^"]*" title="([^"]*)"', page)
    assert options == ["r1 · Plainer copy", "None", "0" * 12]


def test_lists_are_filtered_only_by_what_they_offer(rf: RequestFactory, admin_user: User) -> None:
    request = rf.get("/")
    request.user = admin_user

    for model in MODELS:
        page = admin.site.get_model_admin(model)
        for field in model._meta.fields:
            for lookup in ("contains", "startswith", "in", "range", "regex"):
                assert not page.lookup_allowed(f"{field.name}__{lookup}", "a", request), (model, field)


def test_every_filter_for_empty_columns_answers(db: None, admin_client: HttpClient) -> None:
    asked = 0
    for model in MODELS:
        for each in admin.site.get_model_admin(model).list_filter:
            if isinstance(each, tuple) and issubclass(each[1], admin.EmptyFieldListFilter):
                for value, status in (("0", 200), ("1", 200), ("x", 400)):
                    response = admin_client.get(get_admin_url(model, "changelist"), {f"{each[0]}__isempty": value})
                    assert response.status_code in (status, 302), (model, each, value)
                    asked += 1

    assert asked > 3


@for_each(
    "model, lookup",
    [
        (IdempotencyRecord, "answer__contains"),
        (IdempotencyRecord, "fingerprint__gt"),
        (ApiKey, "secret_hash__startswith"),
        (ApiKey, "secret_hash"),
        (ApiKey, "client__note__contains"),
    ],
)
def test_hidden_columns_cannot_be_found_out_by_filters(
    db: None, admin_client: HttpClient, model: type[Model], lookup: str
) -> None:
    response = admin_client.get(get_admin_url(model, "changelist"), {lookup: "a"})

    assert response.status_code == 400
    assert response.content.decode() == "The list cannot be filtered like this. Use its filters, or search."


PROJECT_MODELS = [model for model in MODELS if model._meta.app_label in PROJECT_APPS]


def test_every_model_is_searchable() -> None:
    for model in PROJECT_MODELS:
        assert admin.site.get_model_admin(model).search_fields, model


@pytest.mark.both_databases
def test_changelists_have_no_query_per_row(api: Api, admin_client: HttpClient) -> None:
    project_id = api.exec("onto.project.list")["result"]["projects"][0]["id"]
    for _ in range(3):  # also creates rows of calls
        api.help("onto.task")
        api.exec("onto.task.create", {"project_id": project_id, "title": "x"})
    event_log.flush()

    for model in PROJECT_MODELS:
        with CaptureQueriesContext(connection) as queries:
            response = admin_client.get(get_admin_url(model, "changelist"), {"q": "o"})

        assert response.status_code == 200, model
        statements = Counter(query["sql"].partition("WHERE")[0] for query in queries.captured_queries)
        assert [sql for sql, count in statements.items() if count > 3] == [], model
