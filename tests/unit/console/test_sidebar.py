"""The sidebar is complete, has nine sections, and links only to pages that a user may see."""

import re

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.test import Client, RequestFactory
from django.utils import timezone
from pytest_django.fixtures import Settings

from analytics.flags import FlagKey
from analytics.rollout import assignment
from analytics.rollout.models import Cohort
from console import sidebar
from core import manifest
from core.manifest import Manifest, ModelList, PageLink, SectionTab
from registry.catalog import switches
from registry.models import Switch
from tests.support.console.staff import create_staff, sign_in


def list_model_lists() -> list[ModelList]:
    declared = manifest.get()
    pages = [page for tab in declared.tabs for page in tab.pages]
    pages += [page for lists in (declared.tab_pages, declared.system_lists) for each in lists.values() for page in each]
    return [page for page in pages if isinstance(page, ModelList)]


def read_titles(user: User) -> dict[str, list[str]]:
    request = RequestFactory().get("/admin/")
    request.user = user
    [group] = sidebar.list_sections(request)
    return {item["title"]: [tab["title"] for tab in item["tabs"] if not tab["hidden"]] for item in group["items"]}


def test_every_admin_model_is_behind_one_tab() -> None:
    models = [apps.get_model(each.model) for each in list_model_lists()]

    assert set(models) == set(admin.site._registry)
    assert len(models) == len(set(models))
    assert len({each.title for each in list_model_lists()}) == len(models)
    for each in list_model_lists():  # the page and the list have the same name
        title, rows = each.title.lower(), str(apps.get_model(each.model)._meta.verbose_name_plural).lower()
        assert title in rows or rows in title, each.model


@pytest.mark.parametrize(
    ("declared", "named"),
    [
        (Manifest(tabs=[SectionTab("Copy", 1, "g", [ModelList("Lost", "registry.Lost")])]), "registry.Lost"),
        (Manifest(tabs=[SectionTab("Copy", 1, "g", [PageLink("Lost", "lost", [])])]), "unknown page: lost"),
        (Manifest(tabs=[SectionTab("Lost", 1, "g", [ModelList("Ops", "registry.Op")])]), "section: Lost"),
        (Manifest(tab_pages={"Lost": [ModelList("Ops", "registry.Op")]}), "tab: Lost"),
        (Manifest(system_lists={"Calls": [ModelList("Lost", "gateway.Lost")]}), "gateway.Lost"),
    ],
)
def test_what_the_sidebar_cannot_show_stops_the_start(declared: Manifest, named: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=named):
        sidebar.check(declared)


@pytest.mark.django_db
def test_sidebar_shows_only_permitted_pages() -> None:
    reader = create_staff("reader", permissions=["view_example", "view_auditentry", "view_batch"])

    assert read_titles(create_staff("nobody")) == {"Home": ["Home"], "Guides": ["Guides"]}
    assert read_titles(reader) == {
        "Home": ["Home"],
        "Copy": ["Ops"],
        "Access": ["Audit log"],
        "System": ["Guides", "Internal records"],
    }


def test_sidebar_has_nine_sections(admin_user: User) -> None:
    assert read_titles(admin_user) == {
        "Home": ["Home", "Alerts"],
        "Copy": ["Ops", "Groups", "Prompt", "Agents and pins", "Vocabulary"],
        "Releases": ["Draft", "Releases", "Evals"],
        "Rollout": ["Cohorts", "Experiments", "Who gets this?"],
        "Reports": ["Overview", "Side by side", "Misses"],
        "Activity": ["Turns", "Events"],
        "Connections": ["Connections"],
        "Access": ["Clients and keys", "Users", "Audit log"],
        "System": ["Guides", "Internal records"],
    }


def test_empty_pages_have_no_tab(admin_user: User, admin_client: Client) -> None:
    overview, off = "/admin/reports/", "/admin/registry/switch/"

    assert read_tabs(admin_client, overview)[-1] == "Funnel"
    assert read_tabs(admin_client, off)[-1] == "Switches"  # the current page has one

    Cohort.objects.create(name="dynamic", flag_id=FlagKey.SELECTION, variant="dynamic", percentage=100)
    Switch.objects.create(
        kind="op", name="onto.task.move", reason="Tested", changed_by="tests", changed_at=timezone.now()
    )
    switches.refresh_switches()
    assignment.refresh_rollout()

    assert read_tabs(admin_client, overview)[-1] == "Tool selection"
    assert "Switches" in read_titles(admin_user)["Access"]


def test_tool_selection_has_a_tab_where_a_fast_model_selects(admin_client: Client, settings: Settings) -> None:
    settings.LLM_BASE_URL, settings.LLM_FAST_MODEL = "http://llm.test/v1", "small"

    assert read_tabs(admin_client, "/admin/reports/")[-1] == "Tool selection"


def read_tabs(client: Client, path: str) -> list[str]:
    navs = re.findall(r'<nav class="ui-page-tabs.*?</nav>', client.get(path).content.decode(), re.DOTALL)
    return re.findall(r"<a [^>]+>([^<]+)</a>", "".join(navs))


@pytest.mark.django_db
def test_a_tab_opens_the_first_page_that_the_user_may_open() -> None:
    client = sign_in("reader", permissions=["view_example", "view_policyrule"])

    page = client.get("/admin/registry/example/")

    tab = page.context["breadcrumb_tab"]
    assert (tab["title"], tab["link"]) == ("Ops", "/admin/registry/policyrule/")
    assert [each["title"] for each in tab["pages"]] == ["Policy rules", "Examples"]
    assert '<a href="/admin/registry/example/" aria-current="page">Examples</a>' in page.content.decode()


@pytest.mark.django_db
def test_system_lists_what_the_user_may_see() -> None:
    client = sign_in("reader", permissions=["view_batch"])

    page = client.get("/admin/system/").content.decode()

    assert 'href="/admin/gateway/batch/"' in page
    assert "/admin/workspace/task/" not in page
    assert sign_in("nobody").get("/admin/system/").status_code == 403


def test_one_tab_is_active(admin_client: Client) -> None:
    def read_active_titles(path: str) -> list[str]:
        sections = admin_client.get(path).context["sidebar_navigation"]
        [item] = [item for section in sections for item in section["items"] if item["active"]]
        return [item["title"], *(tab["title"] for tab in item["tabs"] if tab["active"])]

    assert read_active_titles("/admin/") == ["Home", "Home"]
    assert read_active_titles("/admin/registry/release/") == ["Releases", "Releases"]
    assert read_active_titles("/admin/registry/release/review/") == ["Releases", "Draft"]
    assert read_active_titles("/admin/registry/op/add/") == ["Copy", "Ops"]
    assert read_active_titles("/admin/registry/example/") == ["Copy", "Ops"]
    assert read_active_titles("/admin/workspace/task/") == ["System", "Internal records"]
    assert read_active_titles("/admin/reports/funnel/") == ["Reports", "Overview"]


@pytest.mark.django_db
def test_no_two_tabs_of_a_page_have_the_same_title(admin_client: Client) -> None:
    for path in ("/admin/reports/", "/admin/reports/ops/", "/admin/analytics/turn/", "/admin/registry/connection/"):
        titles = read_tabs(admin_client, path)
        assert len(titles) == len(set(titles)) > 1
