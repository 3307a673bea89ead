"""Errors in the admin: a person in a browser reads a page, other clients get the API's envelope."""

from http import HTTPStatus

import pytest
from django.contrib.auth.models import User
from django.test import Client as HttpClient

pytestmark = pytest.mark.django_db

BROWSER = {"accept": "text/html,application/xhtml+xml"}


@pytest.mark.parametrize("path", ["/admin/nope/", "/admin/registry/op/999999/try/"])
def test_missing_page_links_to_home(admin_client: HttpClient, path: str) -> None:
    response = admin_client.get(path, headers=BROWSER)

    assert response.status_code == HTTPStatus.NOT_FOUND
    page = response.content.decode()
    assert "This page does not exist" in page
    assert "Go to Home" in page


def test_page_of_another_role_says_whom_to_ask(client: HttpClient) -> None:
    client.force_login(User.objects.create(username="new", is_staff=True))

    response = client.get("/admin/registry/op/", headers=BROWSER)

    assert response.status_code == HTTPStatus.FORBIDDEN
    assert "Ask an Admin for another role." in response.content.decode()


def test_error_is_an_envelope_outside_of_the_admin_and_of_browsers(admin_client: HttpClient) -> None:
    assert admin_client.get("/nope", headers=BROWSER).json()["error"]["code"] == "NOT_FOUND"
    assert admin_client.get("/admin/nope/").json()["error"]["code"] == "NOT_FOUND"
