import pytest
from django.http import HttpResponse
from django.middleware.security import SecurityMiddleware
from django.test import Client, RequestFactory, override_settings

from config.middleware import api_first


def test_api_calls_have_no_session_and_no_cookie(api) -> None:
    response = api.get("help")

    assert response.status_code == 200
    assert not hasattr(response.wsgi_request, "session")
    assert not response.cookies
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_pages_have_sessions_csrf_and_frame_protection(client: Client, db: None) -> None:
    response = client.get("/admin/login/")

    assert hasattr(response.wsgi_request, "session")
    assert "csrftoken" in response.cookies
    assert response.headers["X-Frame-Options"] == "DENY"


def test_page_form_without_a_token_is_forbidden(db: None) -> None:
    response = Client(enforce_csrf_checks=True).post("/admin/login/", {"username": "a", "password": "b"})

    assert response.status_code == 403


def test_api_call_for_another_host_is_refused(client: Client) -> None:
    response = client.get("/api/v1/help", headers={"host": "elsewhere.example"})

    assert response.status_code == 400


@override_settings(SECURE_SSL_REDIRECT=True, SECURE_REDIRECT_EXEMPT=[r"^api/v1/"])
def test_api_call_over_http_is_refused_when_https_is_required() -> None:
    response = Client().post("/api/v1/exec", "{}", content_type="application/json")

    assert response.status_code == 400
    assert response.json()["error"]["details"]["reason"] == "https_required"
    assert Client().get("/admin/").headers["Location"].startswith("https://")


@override_settings(SECURE_HSTS_SECONDS=60, SECURE_REFERRER_POLICY="no-referrer", SECURE_CROSS_ORIGIN_OPENER_POLICY=None)
@pytest.mark.parametrize("is_secure", [False, True])
def test_api_calls_have_the_security_headers_of_pages(is_secure: bool) -> None:
    request = RequestFactory().get("/api/v1/help", secure=is_secure)
    expected = SecurityMiddleware(lambda _: HttpResponse())(request)
    del expected.headers["Content-Type"]

    answer = api_first(lambda _: HttpResponse())(request)

    assert ("Strict-Transport-Security" in expected.headers) is is_secure
    assert expected.headers.items() <= dict(answer.items()).items()
