"""End users sign in to an upstream: from the link in an error to the grant, and everything that can go wrong."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from html import unescape
from ipaddress import ip_network
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from django.core import signing
from django.http import HttpResponse
from django.test import Client as HttpClient
from django.utils import timezone

from gateway.contracts.errors import GatewayError
from gateway.credentials import user_sign_in
from gateway.jobs import retention
from gateway.models import SignIn, UserGrant
from registry.catalog.connections import ConnectionConfig
from registry.models import Connection
from tests.support.upstreams.oauth_upstream import OAuthUpstream

pytestmark = pytest.mark.django_db

GATEWAY = "https://gateway.example.com"


@pytest.fixture(autouse=True)
def _settings(settings: Any) -> None:
    settings.GATEWAY_OUTGOING_ALLOW = [ip_network("127.0.0.0/8")]
    settings.GATEWAY_URL = GATEWAY


@pytest.fixture
def upstream() -> Iterator[OAuthUpstream]:
    upstream = OAuthUpstream()
    yield upstream
    upstream.server.stop()


@pytest.fixture
def config(upstream: OAuthUpstream) -> ConnectionConfig:
    return upstream.connect(auth="user_oauth", authorize_url="https://login.example.com/auth?tenant=1", scopes="a b")


def get_path(url: str) -> str:
    assert url.startswith(GATEWAY)
    return url.removeprefix(GATEWAY)


def begin(client: HttpClient, config: ConnectionConfig, *, subject: str = "ana") -> dict[str, str]:
    """Open the link of a subject, and return the query with which the browser is sent to the upstream."""
    link = get_path(user_sign_in.build_link(config, subject))
    question = client.get(link)
    assert_private(question)
    assert f"for the user {subject}." in question.content.decode()
    response = client.get(f"{link}&continue=1")
    assert response.status_code == 302, response.content
    assert_private(response)
    return {name: value for name, [value] in parse_qs(urlsplit(response.headers["Location"]).query).items()}


def call_back(client: HttpClient, state: str, **query: str) -> HttpResponse:
    response = client.get("/connect/callback", {"state": state, **query})
    assert_private(response)
    return response


def assert_private(response: HttpResponse) -> None:
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Referrer-Policy"] == "no-referrer"


def assert_failed(response: HttpResponse, message: str) -> None:
    text = unescape(response.content.decode())
    assert response.status_code == 400
    assert message in text
    assert "Go back to the conversation and ask for a new link." in text


@pytest.mark.both_databases
def test_a_link_leads_to_a_grant(client: HttpClient, upstream: OAuthUpstream, config: ConnectionConfig) -> None:
    query = begin(client, config)
    upstream.issued = {"expires_in": 3600, "refresh_token": "canary-refresh", "scope": "a"}

    response = call_back(client, query["state"], code="the-code")

    assert response.status_code == 200
    assert "You are signed in" in response.content.decode()
    assert "canary" not in response.content.decode()
    assert upstream.send(config, subject="ana").headers["authorization"] == "Bearer canary-access-1"
    assert UserGrant.objects.get().scopes == "a"
    assert not client.cookies[f"sign_in_{SignIn.objects.get().pk}"].value


def test_the_upstream_gets_what_the_protocol_asks_for(
    client: HttpClient, upstream: OAuthUpstream, config: ConnectionConfig
) -> None:
    query = begin(client, config)
    call_back(client, query["state"], code="the-code")

    form = upstream.token_requests[0].form
    challenge = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
    assert query == {
        "tenant": "1",
        "response_type": "code",
        "client_id": "my client",
        "redirect_uri": f"{GATEWAY}/connect/callback",
        "scope": "a b",
        "state": query["state"],
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    assert form == {
        "grant_type": "authorization_code",
        "code": "the-code",
        "redirect_uri": f"{GATEWAY}/connect/callback",
        "code_verifier": form["code_verifier"],
        "client_id": "my client",
    }
    assert 43 <= len(form["code_verifier"]) <= 128


@pytest.mark.both_databases
def test_signing_in_again_replaces_the_grant(
    client: HttpClient, upstream: OAuthUpstream, config: ConnectionConfig
) -> None:
    for subject in ("ana", "ana", "ben"):
        call_back(client, begin(client, config, subject=subject)["state"], code="c")

    assert sorted(UserGrant.objects.values_list("subject", flat=True)) == ["ana", "ben"]
    assert upstream.send(config, subject="ana").headers["authorization"] == "Bearer canary-access-2"


@pytest.mark.both_databases
def test_a_state_is_valid_once_also_if_the_exchange_fails(
    client: HttpClient, upstream: OAuthUpstream, config: ConnectionConfig
) -> None:
    state = begin(client, config)["state"]
    upstream.refusal = "invalid_grant"
    assert_failed(call_back(client, state, code="c"), "You could not be signed in.")
    upstream.refusal = ""

    client.cookies[f"sign_in_{SignIn.objects.get().pk}"] = "1"
    assert_failed(call_back(client, state, code="c"), "This sign-in was already used.")
    assert not UserGrant.objects.exists()
    assert len(upstream.token_requests) == 1


def test_an_end_user_can_refuse(client: HttpClient, upstream: OAuthUpstream, config: ConnectionConfig) -> None:
    state = begin(client, config)["state"]

    response = call_back(client, state, error="access_denied", error_description="canary")

    assert_failed(response, "You were not signed in.")
    assert "canary" not in response.content.decode()
    assert upstream.token_requests == []


def test_another_browser_cannot_finish(client: HttpClient, upstream: OAuthUpstream, config: ConnectionConfig) -> None:
    state = begin(client, config)["state"]

    assert_failed(call_back(HttpClient(), state, code="c"), "with another browser")
    assert call_back(client, state, code="c").status_code == 200


@pytest.mark.parametrize("place", ["link", "state"])
def test_links_and_states_expire(client: HttpClient, config: ConnectionConfig, place: str) -> None:
    link = get_path(user_sign_in.build_link(config, "ana"))
    state = begin(client, config)["state"]

    with time_machine.travel(timezone.now() + timedelta(minutes=11)):
        response = client.get(link) if place == "link" else call_back(client, state, code="c")

    assert_failed(response, "This link is too old.")


def test_a_link_of_somebody_else_is_not_followed_without_asking(client: HttpClient, config: ConnectionConfig) -> None:
    link = get_path(user_sign_in.build_link(config, "mallory"))
    own = get_path(user_sign_in.build_link(config, "ana"))

    client.get(own)  # the question of another link answers nothing
    page = client.get(f"{link}&continue=1")

    assert page.status_code == 200
    assert "for the user mallory." in page.content.decode()
    assert not SignIn.objects.exists()
    assert client.cookies["sign_in_asked"]["samesite"] == "Strict"


def test_forged_links_and_states_are_refused(client: HttpClient, config: ConnectionConfig) -> None:
    link = get_path(user_sign_in.build_link(config, "ana"))
    token = link.partition("token=")[2]

    assert_failed(client.get(link[:-1] + ("A" if link[-1] != "A" else "B")), "This link is not valid.")
    assert_failed(client.get(link.replace("/crm?", "/other?")), "This link is not valid.")
    assert_failed(client.get("/connect/crm"), "This link is not valid.")
    assert_failed(call_back(client, token, code="c"), "This link is not valid.")  # a link is no state
    assert_failed(call_back(client, signing.dumps(["x"]), code="c"), "This link is not valid.")
    assert_failed(client.get("/connect/callback"), "This link is not valid.")
    assert client.post(link).status_code == 405
    assert not SignIn.objects.exists()


def test_a_connection_that_changed_its_kind_signs_nobody_in(
    client: HttpClient, upstream: OAuthUpstream, config: ConnectionConfig
) -> None:
    link = get_path(user_sign_in.build_link(config, "ana"))
    upstream.connect(auth="none")

    assert_failed(client.get(link), "End users no longer sign in to this service.")


@pytest.mark.parametrize(("name", "value"), [("GATEWAY_URL", ""), ("GATEWAY_ENCRYPTION_KEYS", [])])
def test_a_missing_setting_is_named(config: ConnectionConfig, settings: Any, name: str, value: Any) -> None:
    setattr(settings, name, value)

    with pytest.raises(GatewayError, match=f"{name} is not set. Nothing was done") as error:
        user_sign_in.build_link(config, "ana")

    assert (error.value.status, error.value.reason) == (503, "not_configured")


@pytest.mark.both_databases
def test_old_sign_ins_are_deleted(client: HttpClient, config: ConnectionConfig) -> None:
    begin(client, config)

    retention.delete_user_sign_ins(timezone.now())
    assert SignIn.objects.exists()
    retention.delete_user_sign_ins(timezone.now() + timedelta(hours=2))
    assert not SignIn.objects.exists()
    assert Connection.objects.filter(name="crm").exists()
