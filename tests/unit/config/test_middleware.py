from django.test import Client, RequestFactory, override_settings

from config import middleware


def test_api_calls_open_no_session_and_get_no_cookie(api) -> None:
    response = api.get("help")

    assert response.status_code == 200
    assert not hasattr(response.wsgi_request, "session")
    assert not response.cookies
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_pages_have_the_middleware_of_pages(client: Client, db: None) -> None:
    response = client.get("/admin/login/")

    assert hasattr(response.wsgi_request, "session")
    assert "csrftoken" in response.cookies
    assert response.headers["X-Frame-Options"] == "DENY"


def test_page_form_without_a_token_is_forbidden(db: None) -> None:
    response = Client(enforce_csrf_checks=True).post("/admin/login/", {"username": "a", "password": "b"})

    assert response.status_code == 403


def test_unknown_address_of_the_api_is_the_envelope(client: Client) -> None:
    response = client.get("/api/v1/nothing")

    assert response.status_code == 404
    assert response.json()["error"]["details"]["reason"] == "unknown_address"


def test_api_call_for_another_host_is_refused(client: Client) -> None:
    response = client.get("/api/v1/help", headers={"host": "elsewhere.example"})

    assert response.status_code == 400


@override_settings(SECURE_SSL_REDIRECT=True, SECURE_REDIRECT_EXEMPT=[r"^api/v1/"])
def test_api_call_over_plain_http_is_refused_where_https_is_asked_for() -> None:
    response = Client().post("/api/v1/exec", "{}", content_type="application/json")

    assert response.status_code == 400
    assert response.json()["error"]["details"]["reason"] == "https_required"
    assert Client().get("/admin/").headers["Location"].startswith("https://")


def test_api_first_hands_on_what_is_not_the_api() -> None:
    handed_on = []

    middleware.api_first(handed_on.append)(RequestFactory().get("/api/docs"))

    assert len(handed_on) == 1
