"""Errors in the console: a person in a browser reads a page, other clients get the API's envelope."""

from http import HTTPStatus

import pytest
from django.test import Client as HttpClient
from django.urls import reverse

from tests.support.console.role_matrix import create_user_with_role
from tests.support.loops import for_each

pytestmark = pytest.mark.django_db

BROWSER = {"accept": "text/html,application/xhtml+xml"}


@for_each("path", ["/admin/nope/", "/admin/registry/op/999999/try/"])
def test_missing_page_links_to_home(admin_client: HttpClient, path: str) -> None:
    response = admin_client.get(path, headers=BROWSER)

    assert response.status_code == HTTPStatus.NOT_FOUND
    page = response.content.decode()
    assert "This page does not exist" in page
    assert "Go to Home" in page


@pytest.mark.parametrize(
    ("role", "path", "sentence"),
    [
        ("S", "/admin/registry/op/", "You have no role yet, so you cannot open Ops. Ask an Admin for one."),
        (
            "E",
            "/admin/gateway/apikey/",
            "Your role Editor cannot open API keys. Roles that can: Admin and Auditor. Ask an Admin for one.",
        ),
        (
            "E",
            "/admin/analytics/cohort/add/",
            "Your role Editor can view Cohorts but not make changes. Ask an Admin.",
        ),
    ],
)
def test_page_of_another_role_names_role_and_page(client: HttpClient, role: str, path: str, sentence: str) -> None:
    client.force_login(create_user_with_role(role))

    response = client.get(path, headers=BROWSER)

    assert response.status_code == HTTPStatus.FORBIDDEN
    assert sentence in response.content.decode()


def test_people_get_pages_and_clients_get_envelopes(client: HttpClient, admin_client: HttpClient) -> None:
    page = client.get("/nope", headers=BROWSER)
    assert "style-src 'self'" in page.headers["Content-Security-Policy"]
    assert (page.status_code, page.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert "This page does not exist" in page.content.decode()
    for path in ("/nope", "/admin/nope/", "/"):
        assert admin_client.get(path).json()["error"]["code"] == "NOT_FOUND"
    assert client.get("/api/v1/nope", headers=BROWSER).json()["error"]["code"] == "NOT_FOUND"
    sent = HttpClient(enforce_csrf_checks=True).post("/", {}, content_type="application/json")
    assert (sent.status_code, sent.json()["error"]["details"]["reason"]) == (404, "unknown_address")


def test_start_page_says_what_this_is_and_staff_go_to_the_console(client: HttpClient, admin_client: HttpClient) -> None:
    page = client.get("/", headers=BROWSER)

    for address in ("/admin/", reverse("docs"), "/chat/"):
        assert f'href="{address}"' in page.content.decode()
    assert "find and run the functions of your services" in page.content.decode()
    assert admin_client.get("/", headers=BROWSER).headers["Location"] == "/admin/"
