"""The sidebar: complete, by job, and nobody is led to what they may not see."""

from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.test import Client, RequestFactory

from config import sidebar


def entries() -> list[sidebar.SidebarList]:
    return [
        entry for section in sidebar.SECTIONS for entry in section.entries if isinstance(entry, sidebar.SidebarList)
    ]


def titles(user: User) -> dict[str, list[str]]:
    request = RequestFactory().get("/admin/")
    request.user = user
    return {section["title"]: [item["title"] for item in section["items"]] for section in sidebar.sections(request)}


def test_every_model_of_the_admin_is_led_to_once() -> None:
    models = [apps.get_model(entry.model) for entry in entries()]

    assert set(models) == set(admin.site._registry)
    assert len(models) == len(set(models))
    assert len({entry.title for entry in entries()}) == len(models)


def test_an_entry_and_its_list_have_one_word() -> None:
    told = {
        entry.model: (entry.title.lower(), str(apps.get_model(entry.model)._meta.verbose_name_plural).lower())
        for entry in entries()
    }

    two = {model for model, (title, rows) in told.items() if title not in rows and rows not in title}

    # Django's groups are roles here: groups hold ops.
    assert two == {"auth.Group"}


@pytest.mark.django_db
def test_each_person_is_led_to_what_they_may_see(django_user_model: Any) -> None:
    nobody = django_user_model.objects.create_user("nobody", is_staff=True)
    reader = django_user_model.objects.create_user("reader", is_staff=True)
    reader.user_permissions.set(Permission.objects.filter(codename__in=["view_op", "change_switch"]))

    assert titles(nobody) == {"": ["Home"]}
    assert titles(reader) == {"": ["Home"], "Copy": ["Ops"], "Access": ["Switches"]}


def test_every_page_has_the_sidebar(admin_client: Client) -> None:
    page = admin_client.get("/admin/registry/op/").content.decode()

    for section in sidebar.SECTIONS:
        assert f"{section.title}\n" in page
    assert 'href="/admin/workspace/task/"' in page


def test_one_entry_is_where_one_is(admin_client: Client) -> None:
    def active(path: str) -> list[str]:
        sections = admin_client.get(path).context["sidebar_navigation"]
        return [item["title"] for section in sections for item in section["items"] if item["active"]]

    assert active("/admin/") == ["Home"]
    assert active("/admin/registry/release/") == ["Releases"]
    assert active("/admin/registry/release/review/") == ["Review and publish"]
    assert active("/admin/registry/op/add/") == ["Ops"]
