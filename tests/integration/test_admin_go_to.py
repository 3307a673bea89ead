""" "Go to" in the admin's sidebar finds lists, ops and groups by name."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client as HttpClient
from django.urls import reverse

from core.admin.site import MAX_GO_TO_ROWS
from registry.models import Op
from tests.support.api import Api

URL = "/admin/search/"


def find_links(client: HttpClient, query: str, **parameters: str) -> list[str]:
    response = client.get(URL, {"s": query, **parameters})
    assert response.status_code == 200
    return [item["link"] for item in response.context["results"]]


def test_go_to_finds_lists_and_ops_by_name(api: Api, admin_client: HttpClient) -> None:
    op = Op.objects.get(op="onto.task.update")

    assert find_links(admin_client, "RELEASES") == [reverse("admin:registry_release_changelist")]
    assert find_links(admin_client, "onto.task.update") == [reverse("admin:registry_op_change", args=[op.pk])]
    assert len(find_links(admin_client, "onto")) == 2 * MAX_GO_TO_ROWS
    assert "No matching names." in admin_client.get(URL, {"s": "zzz"}).content.decode()


@pytest.mark.parametrize("query", ["", "  ", "%", "\\", "'\"", "é" * 5_000])
def test_go_to_accepts_any_short_text(api: Api, admin_client: HttpClient, query: str) -> None:
    find_links(admin_client, query, page="x", extended="1")


def test_go_to_refuses_long_and_invalid_text(db: None, admin_client: HttpClient) -> None:
    for query in ("\x00", "a" * 60_000, "a " * 100):
        response = admin_client.get(URL, {"s": query})
        assert (response.status_code, response.content[-1:]) == (400, b".")


def test_go_to_omits_pages_without_permission(api: Api, client: HttpClient, django_user_model: type[User]) -> None:
    reader = django_user_model.objects.create_user("reader", is_staff=True)
    reader.user_permissions.set(Permission.objects.filter(codename="view_group", content_type__app_label="registry"))
    client.force_login(reader)

    assert len(find_links(client, "onto")) == MAX_GO_TO_ROWS
    assert find_links(client, "Switches") == []
    client.logout()
    assert client.get(URL, {"s": "onto"}).status_code == 302
