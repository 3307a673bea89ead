""" "Go to" in the admin's sidebar: lists, ops and groups by what they are called."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client as HttpClient
from django.urls import reverse

from core.admin.site import MAX_GO_TO_ROWS
from registry.models import Op
from tests.support.api import Api

URL = "/admin/search/"


def links(client: HttpClient, typed: str, **others: str) -> list[str]:
    response = client.get(URL, {"s": typed, **others})
    assert response.status_code == 200
    return [item["link"] for item in response.context["found"]]


def test_lists_and_ops_are_gone_to_by_name(api: Api, admin_client: HttpClient) -> None:
    op = Op.objects.get(op="onto.task.update")

    assert links(admin_client, "RELEASES") == [reverse("admin:registry_release_changelist")]
    assert links(admin_client, "onto.task.update") == [reverse("admin:registry_op_change", args=[op.pk])]
    assert len(links(admin_client, "onto")) == 2 * MAX_GO_TO_ROWS
    assert "No matching names." in admin_client.get(URL, {"s": "zzz"}).content.decode()


@pytest.mark.parametrize("typed", ["", "  ", "%", "\\", "'\"", "é" * 5_000])
def test_whatever_is_typed_is_answered(api: Api, admin_client: HttpClient, typed: str) -> None:
    links(admin_client, typed, page="x", extended="1")


def test_odd_words_are_refused_with_a_sentence(db: None, admin_client: HttpClient) -> None:
    for typed in ("\x00", "a" * 60_000, "a " * 100):
        response = admin_client.get(URL, {"s": typed})
        assert (response.status_code, response.content[-1:]) == (400, b".")


def test_nobody_is_sent_to_what_they_may_not_see(api: Api, client: HttpClient, django_user_model: type[User]) -> None:
    reader = django_user_model.objects.create_user("reader", is_staff=True)
    reader.user_permissions.set(Permission.objects.filter(codename="view_group", content_type__app_label="registry"))
    client.force_login(reader)

    assert len(links(client, "onto")) == MAX_GO_TO_ROWS
    assert links(client, "Switches") == []
    client.logout()
    assert client.get(URL, {"s": "onto"}).status_code == 302
