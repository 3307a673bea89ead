"""Requests to an upstream carry what its kind of authentication needs, and secrets go nowhere else."""

import logging
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from io import StringIO
from ipaddress import ip_network
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.test import Client as HttpClient
from django.utils import timezone

from console.connections.secrets import ConnectionSecretForm, describe_secrets
from gateway.contracts.errors import GatewayError, InternalError, PermissionDeniedError, UpstreamUnreachableError
from gateway.credentials import connection_secrets, token_endpoint, user_sign_in
from gateway.credentials.token_endpoint import TokenResponse
from gateway.executors.http.request_builder import BuiltRequest
from gateway.executors.remote import credentials
from gateway.executors.remote.credentials import apply_credentials
from gateway.models import ConnectionSecret, UserGrant
from registry.catalog.connections import ConnectionConfig
from registry.models import Connection
from tests.support.concurrency import run_at_once
from tests.support.console.admin_models import get_admin_url
from tests.support.loops import for_each
from tests.support.upstreams.oauth_upstream import OAuthUpstream, ReceivedRequest, build_call

pytestmark = pytest.mark.django_db

SECRET = "canary-5c1e-secret"
REFRESH_TOKEN = "canary-refresh-0"
SENT_ALWAYS = {"host", "accept-encoding", "accept", "user-agent"}


@pytest.fixture(autouse=True)
def _loopback_is_allowed(settings: Any) -> None:
    settings.GATEWAY_OUTGOING_ALLOW = [ip_network("127.0.0.0/8")]
    settings.GATEWAY_URL = "https://gateway.example.com"


@pytest.fixture
def upstream() -> Iterator[OAuthUpstream]:
    upstream = OAuthUpstream()
    yield upstream
    upstream.server.stop()


def set_secret(name: str, secret: str = SECRET) -> ConnectionSecret:
    return connection_secrets.set_secret(Connection.objects.get(name="crm"), name, secret)


def store_grant(*, lifetime: float | None = -1, refresh_token: str = REFRESH_TOKEN) -> None:
    token = TokenResponse("canary-access-0", refresh_token=refresh_token, lifetime=lifetime)
    user_sign_in.store_grant(Connection.objects.get(name="crm"), "ana", token, at=timezone.now())


def get_error(config: ConnectionConfig, *, subject: str = "ana") -> GatewayError:
    """Return the error with which a connection refuses to be used."""
    with pytest.raises(GatewayError) as error:
        apply_credentials(BuiltRequest("GET", config.base_url, {}, None), build_call(subject=subject), config)
    assert "canary" not in str(error.value.as_dict())
    return error.value


def get_added_headers(request: ReceivedRequest) -> dict[str, str]:
    return {name: value for name, value in request.headers.items() if name not in SENT_ALWAYS}


# --- what is sent -----------------------------------------------------------------------------------------------------


BASIC = "Basic " + b64encode(f"user:{SECRET}".encode()).decode()
STATIC = [
    ({"auth": "none"}, "", {}),
    ({"auth": "bearer"}, "token", {"authorization": f"Bearer {SECRET}"}),
    ({"auth": "basic", "username": "user"}, "password", {"authorization": BASIC}),
    ({"auth": "api_key", "key_in": "header", "key_name": "X-Key"}, "key", {"x-key": SECRET}),
    ({"auth": "api_key", "key_in": "cookie", "key_name": "sid"}, "key", {"cookie": f"sid={SECRET}"}),
]


@for_each("fields, name, headers", STATIC)
def test_static_credentials_are_sent_as_configured(
    upstream: OAuthUpstream, fields: dict[str, str], name: str, headers: dict[str, str]
) -> None:
    config = upstream.connect(**fields)
    if name:
        set_secret(name)

    assert get_added_headers(upstream.send(config)) == headers


def test_an_api_key_is_added_to_the_query(upstream: OAuthUpstream) -> None:
    config = upstream.connect(auth="api_key", key_in="query", key_name="key")
    set_secret("key")

    assert upstream.send(config, url=f"{config.base_url}/items?q=1").query == [("q", "1"), ("key", SECRET)]


def test_the_end_user_is_named_as_configured(upstream: OAuthUpstream) -> None:
    config = upstream.connect(subject_as="header", subject_header="X-User")
    assert upstream.send(config, headers={"x-user": "forged"}).headers["x-user"] == "ana"
    assert "x-user" not in upstream.send(config, subject="", headers={"x-user": "forged"}).headers

    config = upstream.connect(subject_as="signed_token", subject_header="X-User-Token")
    set_secret("signing_key")

    assert upstream.send(config).headers["x-user-token"].count(".") == 2


def test_a_secret_can_be_a_variable_and_no_other_one_is_read(
    upstream: OAuthUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = upstream.connect(auth="bearer")
    assert set_secret("token", "env:UPSTREAM_CRM_TOKEN").value == "env:UPSTREAM_CRM_TOKEN"
    assert "the variable UPSTREAM_CRM_TOKEN is not set" in str(get_error(config))

    monkeypatch.setenv("UPSTREAM_CRM_TOKEN", SECRET)
    assert upstream.send(config).headers["authorization"] == f"Bearer {SECRET}"

    ConnectionSecret.objects.update(value="env:SECRET_KEY")
    monkeypatch.setenv("SECRET_KEY", "canary")
    assert get_error(config).reason == "not_configured"


# --- what is refused --------------------------------------------------------------------------------------------------


@for_each("auth", ["bearer", "basic", "api_key", "client_credentials"])
def test_a_missing_secret_is_named_and_nothing_is_sent(upstream: OAuthUpstream, auth: str) -> None:
    error = get_error(upstream.connect(auth=auth))

    assert (type(error), error.status, error.reason) == (InternalError, 503, "not_configured")
    assert "is not set. Nothing was done; tell the administrator." in str(error)
    assert upstream.server.requests == []


@pytest.mark.parametrize(
    ("auth", "name", "change"),
    [
        ("bearer", "token", {"base_url": "http://127.0.0.1:1/v1"}),
        ("client_credentials", "client_secret", {"base_url": "http://127.0.0.1:1/v1"}),
        ("client_credentials", "client_secret", {"token_url": "http://127.0.0.1:1/token"}),
    ],
)
def test_a_secret_is_not_sent_to_another_address(
    upstream: OAuthUpstream, auth: str, name: str, change: dict[str, str]
) -> None:
    upstream.connect(auth=auth)
    set_secret(name)

    config = upstream.connect(auth=auth, **change)
    error = get_error(config)

    assert (error.status, error.reason) == (503, "not_configured")
    assert "was entered for another address; enter it again" in str(error)
    assert upstream.server.requests == []
    set_secret(name)
    with suppress(UpstreamUnreachableError):
        apply_credentials(BuiltRequest("GET", config.base_url, {}, None), build_call(), config)


def test_a_path_cannot_choose_the_host(upstream: OAuthUpstream) -> None:
    config = upstream.connect(auth="none")

    with pytest.raises(RuntimeError, match="leave the origin"):
        apply_credentials(BuiltRequest("GET", "http://evil.example/x", {}, None), build_call(), config)


def test_a_secret_of_a_lost_key_is_not_usable(upstream: OAuthUpstream, settings: Any) -> None:
    config = upstream.connect(auth="bearer")
    set_secret("token")
    settings.GATEWAY_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]

    assert "GATEWAY_ENCRYPTION_KEYS lacks" in str(get_error(config))


# --- client credentials -----------------------------------------------------------------------------------------------


def test_client_credentials_fetch_a_token_once(upstream: OAuthUpstream) -> None:
    config = upstream.connect(auth="client_credentials", scopes="read write")
    set_secret("client_secret", "s:1")

    sent = [upstream.send(config).headers["authorization"] for _ in range(3)]

    assert sent == ["Bearer canary-access-1"] * 3
    [request] = upstream.token_requests
    assert request.form == {"grant_type": "client_credentials", "scope": "read write"}
    assert request.headers["authorization"] == "Basic " + b64encode(b"my+client:s%3A1").decode()


def test_a_token_url_may_be_where_connections_may_be(upstream: OAuthUpstream, settings: Any) -> None:
    settings.GATEWAY_OUTGOING_ALLOW = []
    settings.GATEWAY_UPSTREAM_ALLOW = [ip_network("127.0.0.0/8")]
    config = upstream.connect(auth="client_credentials")
    set_secret("client_secret")

    sent = apply_credentials(BuiltRequest("GET", config.base_url, {}, None), build_call(), config)

    assert sent.headers == {"Authorization": "Bearer canary-access-1"}


def test_a_token_is_fetched_anew_when_it_is_refused_or_about_to_expire(upstream: OAuthUpstream) -> None:
    config = upstream.connect(auth="client_credentials")
    set_secret("client_secret")
    upstream.issued = {"expires_in": 0}
    upstream.send(config)
    upstream.issued = {"expires_in": "3600"}
    assert upstream.send(config).headers["authorization"] == "Bearer canary-access-2"

    credentials.forget(config, build_call())

    assert upstream.send(config).headers["authorization"] == "Bearer canary-access-3"
    assert len(upstream.token_requests) == 3


def test_a_changed_secret_has_an_effect_at_once(upstream: OAuthUpstream) -> None:
    config = upstream.connect(auth="client_credentials")
    set_secret("client_secret")
    upstream.send(config)

    set_secret("client_secret", "other")
    assert upstream.send(config).headers["authorization"] == "Bearer canary-access-2"
    ConnectionSecret.objects.all().delete()
    assert get_error(config).reason == "not_configured"


TOKEN_FAILURES: list[tuple[dict[str, Any], type[GatewayError], str]] = [
    ({"refusal": "invalid_client"}, InternalError, "refuses the client (invalid_client)"),
    ({"refusal": "<script>"}, InternalError, "refuses the client (no reason given)"),
    ({"status": 500}, UpstreamUnreachableError, "answered with status 500"),
    ({"status": 404}, InternalError, "answered with status 404 and no token"),
    ({"issued": {"access_token": "a\nb"}}, InternalError, "a header cannot carry"),
    ({"issued": {"token_type": "mac"}}, InternalError, "not a bearer token"),
]


@pytest.mark.parametrize(("answer", "kind", "message"), TOKEN_FAILURES)
def test_failures_of_the_token_endpoint_are_explained(
    upstream: OAuthUpstream, answer: dict[str, Any], kind: type[GatewayError], message: str
) -> None:
    config = upstream.connect(auth="client_credentials")
    set_secret("client_secret")
    for name, value in answer.items():
        setattr(upstream, name, value)

    error = get_error(config)

    assert type(error) is kind
    assert message in str(error)


def test_a_token_endpoint_that_is_down_can_be_tried_again(upstream: OAuthUpstream) -> None:
    config = upstream.connect(auth="client_credentials", token_url="http://127.0.0.1:1/token")
    set_secret("client_secret")

    error = get_error(config)

    assert (type(error), error.retryable) == (UpstreamUnreachableError, True)


# --- end users --------------------------------------------------------------------------------------------------------


def test_the_grant_of_the_end_user_is_used(upstream: OAuthUpstream) -> None:
    config = upstream.connect(auth="user_oauth")
    store_grant(lifetime=3600)

    assert upstream.send(config).headers["authorization"] == "Bearer canary-access-0"
    error = get_error(config, subject="ben")
    assert (type(error), error.reason) == (PermissionDeniedError, "sign_in_required")
    assert error.details["requires_user_action"]["type"] == "sign_in"
    assert get_error(config, subject="").reason == "subject_required"


@pytest.mark.both_databases
def test_an_expired_grant_is_renewed_and_keeps_its_refresh_token(upstream: OAuthUpstream) -> None:
    config = upstream.connect(auth="user_oauth")
    set_secret("client_secret")
    store_grant()

    assert upstream.send(config).headers["authorization"] == "Bearer canary-access-1"
    assert upstream.token_requests[0].form == {"grant_type": "refresh_token", "refresh_token": "canary-refresh-0"}
    credentials.forget(config, build_call(subject="ana"))
    upstream.issued = {"refresh_token": "canary-refresh-1", "expires_in": 5}
    upstream.send(config)
    upstream.send(config)

    used = [request.form["refresh_token"] for request in upstream.token_requests]
    assert used == ["canary-refresh-0", "canary-refresh-0", "canary-refresh-1"]


@pytest.mark.parametrize("refresh_token", ["", "canary-refresh-0"])
def test_a_grant_that_cannot_be_renewed_is_deleted(upstream: OAuthUpstream, refresh_token: str) -> None:
    config = upstream.connect(auth="user_oauth")
    store_grant(refresh_token=refresh_token)
    upstream.refusal = "invalid_grant"

    assert get_error(config).reason == "sign_in_required"
    assert not UserGrant.objects.exists()


@pytest.mark.parametrize(
    ("answer", "reason"), [({"refusal": "invalid_client"}, "not_configured"), ({"status": 503}, "upstream_unreachable")]
)
def test_a_grant_outlives_problems_of_others(upstream: OAuthUpstream, answer: dict[str, Any], reason: str) -> None:
    config = upstream.connect(auth="user_oauth")
    store_grant()
    for name, value in answer.items():
        setattr(upstream, name, value)

    assert get_error(config).reason == reason
    assert UserGrant.objects.exists()


def test_a_grant_is_not_used_at_another_address(upstream: OAuthUpstream) -> None:
    upstream.connect(auth="user_oauth")
    store_grant(lifetime=3600)

    config = upstream.connect(auth="user_oauth", base_url="http://127.0.0.1:1/v1")

    assert get_error(config).reason == "sign_in_required"


def run_together(count: int, upstream: OAuthUpstream, config: ConnectionConfig) -> list[str]:
    """Build requests in threads at the same moment, and return their Authorization headers."""
    request = BuiltRequest("GET", config.base_url, {}, None)
    sent = run_at_once([lambda: apply_credentials(request, build_call(), config)] * count)
    return [each.headers["Authorization"] for each in sent]


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_calls_at_the_same_moment_renew_a_grant_once(upstream: OAuthUpstream) -> None:
    config = upstream.connect(auth="user_oauth")
    store_grant()
    upstream.seconds = 0.2

    assert run_together(2, upstream, config) == ["Bearer canary-access-1"] * 2
    assert len(upstream.token_requests) == 1


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_calls_at_the_same_moment_fetch_a_token_once(upstream: OAuthUpstream) -> None:
    config = upstream.connect(auth="client_credentials")
    set_secret("client_secret")
    upstream.seconds = 0.2

    assert run_together(4, upstream, config) == ["Bearer canary-access-1"] * 4
    assert len(upstream.token_requests) == 1


# --- administrators ---------------------------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_rotating_keys_encrypts_everything_again(upstream: OAuthUpstream, settings: Any) -> None:
    old, new = (Fernet.generate_key().decode() for _ in range(2))
    settings.GATEWAY_ENCRYPTION_KEYS = [old]
    config = upstream.connect(auth="bearer")
    set_secret("token")
    set_secret("password", "env:UPSTREAM_PASSWORD")
    store_grant()

    settings.GATEWAY_ENCRYPTION_KEYS = [new, old]
    out = StringIO()
    call_command("rotate_encryption_keys", stdout=out)
    settings.GATEWAY_ENCRYPTION_KEYS = [new]

    assert out.getvalue() == "Encrypted 3 values again.\n"
    assert upstream.send(config).headers["authorization"] == f"Bearer {SECRET}"


def test_rotating_says_how_many_values_no_key_decrypts(upstream: OAuthUpstream, settings: Any) -> None:
    upstream.connect(auth="bearer")
    set_secret("token")
    settings.GATEWAY_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    with pytest.raises(CommandError, match=r"^1 values were encrypted with a key that GATEWAY_ENCRYPTION_KEYS lacks"):
        call_command("rotate_encryption_keys", stdout=StringIO())

    settings.GATEWAY_ENCRYPTION_KEYS = []
    with pytest.raises(CommandError, match="GATEWAY_ENCRYPTION_KEYS is not set"):
        call_command("rotate_encryption_keys", stdout=StringIO())


def test_the_form_sets_a_secret_and_never_shows_it(upstream: OAuthUpstream) -> None:
    upstream.connect(auth="bearer")
    connection = Connection.objects.get(name="crm")
    assert [tuple(each) for each in describe_secrets(connection)] == [("token", "bearer token", False, "not set")]
    form = ConnectionSecretForm({"name": "token", "secret": SECRET}, instance=ConnectionSecret(connection=connection))
    assert 'placeholder="not set"' in form.as_p()

    row = form.save()

    assert SECRET not in row.value
    assert [each.status for each in describe_secrets(connection)] == ["set just now"]
    ConnectionSecret.objects.update(updated_at=timezone.now() - timedelta(days=3, hours=2))
    row.refresh_from_db()
    page = ConnectionSecretForm({"name": "key", "secret": ""}, instance=row)
    assert page.is_valid()
    assert 'placeholder="set 3 days ago"' in page.as_p()
    assert SECRET not in page.as_p()
    assert row.value not in page.as_p()
    assert page.save().value == row.value  # an empty input keeps the secret
    assert page.instance.name == "token"


def test_the_form_refuses_what_cannot_be_stored(upstream: OAuthUpstream) -> None:
    upstream.connect(auth="bearer")
    instance = ConnectionSecret(connection=Connection.objects.get(name="crm"))

    assert "UPSTREAM_" in str(ConnectionSecretForm({"name": "token", "secret": "env:PATH"}, instance=instance).errors)


def test_the_form_says_that_a_secret_has_to_be_entered_again(upstream: OAuthUpstream) -> None:
    upstream.connect(auth="bearer")
    set_secret("token")
    upstream.connect(auth="bearer", base_url="https://other.example")

    [status] = describe_secrets(Connection.objects.get(name="crm"))

    assert (status.is_usable, status.status) == (False, "set for another address; enter it again")


def test_no_secret_is_in_a_log_an_error_a_page_or_an_export(
    upstream: OAuthUpstream, admin_client: HttpClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for auth, name in [("bearer", "token"), ("client_credentials", "client_secret"), ("user_oauth", "client_secret")]:
        config = upstream.connect(auth=auth, subject_as="signed_token", subject_header="X-User")
        set_secret(name)
        set_secret("signing_key")
        store_grant()
        upstream.send(config)
        upstream.refusal = "invalid_grant"
        credentials.forget(config, build_call(subject="ana"))
        get_error(upstream.connect(auth=auth, base_url="http://127.0.0.1:1"))  # it looks for canaries, too
        upstream.refusal = ""
        token_endpoint.clear_tokens()
    store_grant()
    pages = [
        admin_client.get(get_admin_url(UserGrant, "changelist")),
        admin_client.get(get_admin_url(UserGrant, "change", UserGrant.objects.get().pk)),
        admin_client.get(get_admin_url(Connection, "change", Connection.objects.get(name="crm").pk)),
    ]
    export = StringIO()
    call_command("export_subject", "ana", stdout=export)

    assert [page.status_code for page in pages] == [200, 200, 200]
    stored = [*ConnectionSecret.objects.values_list("value", flat=True), UserGrant.objects.get().access_token]
    for text in (caplog.text, export.getvalue(), *(page.content.decode() for page in pages)):
        assert "canary" not in text
        assert not [value for value in stored if value in text]
    assert '"row": "user_grants"' in export.getvalue()


def test_a_deleted_grant_asks_the_end_user_to_sign_in(upstream: OAuthUpstream, admin_client: HttpClient) -> None:
    config = upstream.connect(auth="user_oauth")
    store_grant(lifetime=3600)
    grant = UserGrant.objects.get()

    response = admin_client.post(get_admin_url(UserGrant, "delete", grant.pk), {"post": "yes"})

    assert response.status_code == 302
    assert get_error(config).reason == "sign_in_required"
