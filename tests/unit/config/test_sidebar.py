"""The sidebar is complete, is grouped by job, and links only to pages that a user may see."""

from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.test import Client, RequestFactory

from config import sidebar


def list_entries() -> list[sidebar.SidebarList]:
    return [
        entry for section in sidebar.SECTIONS for entry in section.entries if isinstance(entry, sidebar.SidebarList)
    ]


def read_titles(user: User) -> dict[str, list[str]]:
    request = RequestFactory().get("/admin/")
    request.user = user
    return {section["title"]: [item["title"] for item in section["items"]] for section in sidebar.sections(request)}


def test_every_admin_model_has_one_entry() -> None:
    models = [apps.get_model(entry.model) for entry in list_entries()]

    assert set(models) == set(admin.site._registry)
    assert len(models) == len(set(models))
    assert len({entry.title for entry in list_entries()}) == len(models)


def test_entry_and_list_have_the_same_name() -> None:
    titles_by_model = {
        entry.model: (entry.title.lower(), str(apps.get_model(entry.model)._meta.verbose_name_plural).lower())
        for entry in list_entries()
    }

    different = {model for model, (title, rows) in titles_by_model.items() if title not in rows and rows not in title}

    assert not different


@pytest.mark.django_db
def test_sidebar_shows_only_permitted_entries(django_user_model: Any) -> None:
    nobody = django_user_model.objects.create_user("nobody", is_staff=True)
    reader = django_user_model.objects.create_user("reader", is_staff=True)
    reader.user_permissions.set(Permission.objects.filter(codename__in=["view_op", "change_switch"]))

    assert read_titles(nobody) == {"": ["Home"]}
    assert read_titles(reader) == {"": ["Home"], "Copy": ["Ops"], "Access": ["Switches"]}


def test_every_page_has_the_sidebar(admin_client: Client) -> None:
    page = admin_client.get("/admin/registry/op/").content.decode()

    for section in sidebar.SECTIONS:
        assert f"{section.title}\n" in page
    assert 'href="/admin/workspace/task/"' in page


def test_one_entry_is_active(admin_client: Client) -> None:
    def read_active_titles(path: str) -> list[str]:
        sections = admin_client.get(path).context["sidebar_navigation"]
        return [item["title"] for section in sections for item in section["items"] if item["active"]]

    assert read_active_titles("/admin/") == ["Home"]
    assert read_active_titles("/admin/registry/release/") == ["Releases"]
    assert read_active_titles("/admin/registry/release/review/") == ["Review and publish"]
    assert read_active_titles("/admin/registry/op/add/") == ["Ops"]
