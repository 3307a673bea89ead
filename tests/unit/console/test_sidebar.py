"""The sidebar is complete, is grouped by job, and links only to pages that a user may see."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.test import Client, RequestFactory

from console import sidebar
from core import manifest
from core.manifest import Manifest, ModelList, PageLink, SidebarEntry
from tests.support.console.staff import create_staff, sign_in


def list_model_lists() -> list[ModelList]:
    declared = manifest.get()
    pages = [page for entry in declared.entries for page in entry.pages]
    pages += [page for lists in (declared.tabs, declared.system_lists) for each in lists.values() for page in each]
    return [page for page in pages if isinstance(page, ModelList)]


def read_titles(user: User) -> dict[str, list[str]]:
    request = RequestFactory().get("/admin/")
    request.user = user
    sections = sidebar.sections(request)
    return {section["title"]: [item["title"] for item in section["items"]] for section in sections[1:]}


def test_every_admin_model_is_behind_one_entry() -> None:
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
        (Manifest(entries=[SidebarEntry("Copy", 1, "i", "g", [ModelList("Lost", "registry.Lost")])]), "registry.Lost"),
        (Manifest(entries=[SidebarEntry("Copy", 1, "i", "g", [PageLink("Lost", "lost", [])])]), "unknown page: lost"),
        (Manifest(entries=[SidebarEntry("Lost", 1, "i", "g", [ModelList("Ops", "registry.Op")])]), "section: Lost"),
        (Manifest(tabs={"Lost": [ModelList("Ops", "registry.Op")]}), "entry: Lost"),
        (Manifest(system_lists={"Calls": [ModelList("Lost", "gateway.Lost")]}), "gateway.Lost"),
    ],
)
def test_what_the_sidebar_cannot_show_stops_the_start(declared: Manifest, named: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=named):
        sidebar.check(declared)


@pytest.mark.django_db
def test_sidebar_shows_only_permitted_entries() -> None:
    reader = create_staff("reader", permissions=["view_example", "change_switch"])

    assert read_titles(create_staff("nobody")) == {"": ["Guides"]}
    assert read_titles(reader) == {"": ["Guides"], "Copy": ["Ops"], "Access": ["Switches"]}


@pytest.mark.django_db
def test_an_entry_opens_the_first_page_that_the_user_may_open() -> None:
    client = sign_in("reader", permissions=["view_example", "view_policyrule"])

    page = client.get("/admin/registry/example/")

    entry = page.context["breadcrumb_entry"]
    assert (entry["title"], entry["link"]) == ("Ops", "/admin/registry/policyrule/")
    assert [tab["title"] for tab in entry["pages"]] == ["Policy rules", "Examples"]
    assert '<a href="/admin/registry/example/" aria-current="page">Examples</a>' in page.content.decode()


@pytest.mark.django_db
def test_system_lists_what_the_user_may_see() -> None:
    client = sign_in("reader", permissions=["view_batch"])

    page = client.get("/admin/system/").content.decode()

    assert 'href="/admin/gateway/batch/"' in page
    assert "/admin/workspace/task/" not in page
    assert sign_in("nobody").get("/admin/system/").status_code == 403


def test_one_entry_is_active(admin_client: Client) -> None:
    def read_active_titles(path: str) -> list[str]:
        sections = admin_client.get(path).context["sidebar_navigation"]
        return [item["title"] for section in sections for item in section["items"] if item["active"]]

    assert read_active_titles("/admin/") == ["Home"]
    assert read_active_titles("/admin/registry/release/") == ["Releases"]
    assert read_active_titles("/admin/registry/release/review/") == ["Review and publish"]
    assert read_active_titles("/admin/registry/op/add/") == ["Ops"]
    assert read_active_titles("/admin/registry/example/") == ["Ops"]
    assert read_active_titles("/admin/workspace/task/") == ["System"]
    assert read_active_titles("/admin/reports/funnel/") == ["Overview"]
