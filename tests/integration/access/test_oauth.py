"""MCP clients that cannot send a header sign in over OAuth: each endpoint, what is refused, and how access ends."""

import json
import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client as HttpClient
from django.utils import timezone
from oauth2_provider.models import AccessToken, Application, Grant, RefreshToken

from analytics.events import event_log
from analytics.events.models import OperationEvent
from chat.models import Profile as ChatProfile
from core import http
from gateway.access import api_keys, key_verification
from gateway.jobs import retention
from gateway.models import ApiKey, Client, SignedInApplication
from gateway.oauth import client_documents, sign_ins
from gateway.oauth.validator import PublicClientValidator
from registry.catalog.model import Catalog
from tests.support.clients.api import Api
from tests.support.clients.mcp_client import McpClient
from tests.support.clients.oauth_client import REDIRECT_URI, OAuthClient, read_redirect, register_application
from tests.support.console.admin_models import run_action
from tests.support.loops import for_each
from workspace.demo import DEMO_SUBJECT

pytestmark = pytest.mark.django_db

GATEWAY = "http://testserver"
RESOURCE = f"{GATEWAY}/mcp"
METADATA = f"{GATEWAY}/.well-known/oauth-protected-resource/mcp"
CHALLENGE = f'Bearer realm="Tool Gateway", resource_metadata="{METADATA}"'
DOCUMENT_URL = "https://app.example.com/oauth/client.json"
OWN_APPLICATIONS = "/oauth/applications"
PASSWORD = "correct horse battery"


@pytest.fixture
def oauth(settings: Any, live_catalog: Catalog) -> Iterator[None]:
    """A gateway whose setting GATEWAY_OAUTH is on."""
    settings.GATEWAY_OAUTH = True
    settings.GATEWAY_URL = GATEWAY
    settings.OAUTH2_PROVIDER = settings.OAUTH2_PROVIDER | {"OIDC_ISS_ENDPOINT": GATEWAY}
    settings.ROOT_URLCONF = "tests.support.clients.oauth_urls"
    settings.AGENTIC_CHAT_TOOL_GATEWAY = True
    key_verification.clear_cache()
    yield
    key_verification.clear_cache()


@pytest.fixture
def user(db: None) -> User:
    """A user who is not staff, and whom the demo's workspace knows."""
    user = User.objects.create_user("ana", password=PASSWORD)
    ChatProfile.objects.create(user=user, subject=DEMO_SUBJECT)
    return user


@pytest.fixture
def application(db: None) -> Application:
    return register_application()


@pytest.fixture
def client_of_ana(oauth: None, application: Application, user: User) -> OAuthClient:
    return OAuthClient(application.client_id, RESOURCE, user)


def build_mcp(token: str) -> McpClient:
    """Return an MCP client that sends a bearer token and no subject."""
    return McpClient(Api(token, subject=""))


def call(token: str) -> HttpResponse:
    return build_mcp(token).send("tools/list")


def is_let_in(token: str) -> bool:
    response = call(token)
    assert response.status_code in (200, 401), response.content
    return response.status_code == 200


# --- off --------------------------------------------------------------------------------------------------------------

PATHS = [
    "/oauth/authorize",
    "/oauth/sign-in",
    OWN_APPLICATIONS,
    "/oauth/token",
    "/oauth/revoke",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
]


@for_each("path", PATHS)
def test_no_endpoint_exists_while_it_is_off(path: str) -> None:
    for response in (HttpClient().get(path), HttpClient().post(path)):
        assert (response.status_code, response.headers["Content-Type"]) == (404, "application/json")


def test_no_access_token_is_taken_while_it_is_off(client_of_ana: OAuthClient, settings: Any) -> None:
    token = client_of_ana.sign_in()["access_token"]
    settings.GATEWAY_OAUTH = False

    response = call(token)

    assert (response.status_code, response.headers["WWW-Authenticate"]) == (401, 'Bearer realm="Tool Gateway"')


# --- metadata ---------------------------------------------------------------------------------------------------------


def test_401_leads_to_the_metadata(oauth: None) -> None:
    challenge = call("gwo_wrong").headers["WWW-Authenticate"]
    resource = HttpClient().get("/.well-known/oauth-protected-resource/mcp").json()
    server = HttpClient().get("/.well-known/oauth-authorization-server").json()

    assert challenge == CHALLENGE
    assert resource == HttpClient().get("/.well-known/oauth-protected-resource").json()
    assert resource == {
        "resource": RESOURCE,
        "authorization_servers": [GATEWAY],
        "scopes_supported": ["mcp"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Tool Gateway",
    }
    assert server == {
        "issuer": GATEWAY,
        "authorization_endpoint": f"{GATEWAY}/oauth/authorize",
        "token_endpoint": f"{GATEWAY}/oauth/token",
        "revocation_endpoint": f"{GATEWAY}/oauth/revoke",
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "scopes_supported": ["mcp"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "client_id_metadata_document_supported": True,
        "authorization_response_iss_parameter_supported": True,
    }


def test_keys_work_as_before_while_it_is_on(oauth: None, make_key: Callable[..., str]) -> None:
    assert is_let_in(make_key(subject=DEMO_SUBJECT))
    assert not is_let_in("gw_wrong")


# --- the pages --------------------------------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_user_who_is_not_staff_signs_in_and_comes_back_to_the_question(
    oauth: None, application: Application, user: User
) -> None:
    client = OAuthClient(application.client_id, RESOURCE)
    sign_in = client.ask()
    assert sign_in.headers["Location"].startswith("/oauth/sign-in?next=/oauth/authorize")
    form = client.browser.get(sign_in.headers["Location"])
    assert form.status_code == 200
    fields = {"username": "ana", "next": form.context["next"]}

    wrong = client.browser.post("/oauth/sign-in", fields | {"password": "wrong"})
    right = client.browser.post("/oauth/sign-in", fields | {"password": PASSWORD})

    assert "The user name or the password is wrong." in wrong.content.decode()
    assert right.headers["Location"] == client.build_url()
    assert client.browser.get(right.headers["Location"]).status_code == 200


def test_other_account_is_asked_for_as_in_the_console(oauth: None, user: User) -> None:
    browser = HttpClient()
    browser.force_login(user)

    form = browser.get("/oauth/sign-in").content.decode()
    wrong = browser.post("/oauth/sign-in", {"username": "ben", "password": "wrong"}).content.decode()

    assert "You are signed in as ana." in form
    assert "has no access" not in form
    assert "The user name or the password is wrong." in wrong


def test_sign_in_leads_to_no_other_site(oauth: None, user: User) -> None:
    fields = {"username": "ana", "password": PASSWORD, "next": "https://evil.example/"}

    assert HttpClient().post("/oauth/sign-in", fields).headers["Location"] == OWN_APPLICATIONS


def test_wrong_passwords_lock_this_sign_in_too(oauth: None, user: User) -> None:
    statuses = [
        HttpClient().post("/oauth/sign-in", {"username": "ana", "password": f"wrong {number}"}).status_code
        for number in range(6)
    ]

    assert statuses[0] == 200
    assert statuses[-1] == 429
    assert HttpClient().post("/oauth/sign-in", {"username": "ana", "password": PASSWORD}).status_code == 429


def test_inactive_user_cannot_sign_in(oauth: None, user: User) -> None:
    User.objects.update(is_active=False)

    assert HttpClient().post("/oauth/sign-in", {"username": "ana", "password": PASSWORD}).status_code == 200


def test_question_names_the_application_and_where_it_gets_access(client_of_ana: OAuthClient) -> None:
    response = client_of_ana.ask()
    text = response.content.decode()

    assert "Let Example app use your tools?" in text
    assert "An administrator registered this application." in text
    assert "<strong>app.example.com</strong>" in text
    assert "You are signed in as ana." in text
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert policy.endswith("form-action 'self' https://app.example.com")
    assert response.headers["X-Frame-Options"] == "DENY"
    assert "no-store" in response.headers["Cache-Control"]


def test_question_says_that_a_program_on_the_own_computer_gets_access(oauth: None, user: User) -> None:
    application = register_application("<b>Tool</b>", "http://127.0.0.1/callback")
    client = OAuthClient(application.client_id, RESOURCE, user, redirect_uri="http://127.0.0.1:5123/callback")

    text = client.ask().content.decode()

    assert "on <strong>your own computer</strong>" in text
    assert "<b>Tool</b>" not in text
    assert client.decide()["code"]


def test_answer_needs_the_token_of_the_form(client_of_ana: OAuthClient, user: User) -> None:
    browser = HttpClient(enforce_csrf_checks=True)
    browser.force_login(user)

    assert browser.post(client_of_ana.build_url(), {"decision": "allow"}).status_code == 403
    assert not SignedInApplication.objects.exists()


@for_each("changes", [{"client_id": "unknown"}, {"client_id": None}, {"redirect_uri": "https://evil.example/"}])
def test_browser_is_not_sent_to_an_address_that_is_not_registered(
    client_of_ana: OAuthClient, changes: dict[str, str | None]
) -> None:
    for response in (
        client_of_ana.ask(**changes),
        client_of_ana.browser.post(client_of_ana.build_url(**changes), {"decision": "allow"}),
    ):
        assert response.status_code == 400
        assert "This application cannot sign in" in response.content.decode()


@for_each(
    "changes, error",
    [
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"resource": "https://other.example.com/mcp"}, "invalid_target"),
        ({"resource": f"{RESOURCE}/more"}, "invalid_target"),
        ({"response_type": "token"}, "unsupported_response_type"),
    ],
)
def test_unusable_request_goes_back_with_an_error(
    client_of_ana: OAuthClient, changes: dict[str, str | None], error: str
) -> None:
    for query in (read_redirect(client_of_ana.ask(**changes)), client_of_ana.decide(**changes)):
        assert (query["error"], query["iss"]) == (error, GATEWAY)
        assert query.get("state") == "s1"
    assert not Grant.objects.exists()
    assert not SignedInApplication.objects.exists()


def test_user_who_cancels_lets_nobody_in(client_of_ana: OAuthClient) -> None:
    query = client_of_ana.decide("cancel")

    assert (query["error"], query["state"], query["iss"]) == ("access_denied", "s1", GATEWAY)
    assert not Grant.objects.exists()
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize(
    ("subject", "reason"), [("", "You have no chat profile"), ("Ana Müller", "A key of mcp can be bound to")]
)
def test_user_without_a_usable_subject_acts_for_nobody_and_reads_why(
    oauth: None, application: Application, subject: str, reason: str
) -> None:
    user = User.objects.create_user(DEMO_SUBJECT)
    if subject:
        ChatProfile.objects.create(user=user, subject=subject)
    client = OAuthClient(application.client_id, RESOURCE, user)

    response = client.browser.post(client.build_url(), {"decision": "allow"})

    assert response.status_code == 403
    assert reason in response.content.decode()
    assert not SignedInApplication.objects.exists()
    assert not ApiKey.objects.exists()


# --- tokens -----------------------------------------------------------------------------------------------------------


def test_token_acts_for_the_user_with_a_key_that_nobody_knows(client_of_ana: OAuthClient) -> None:
    code = client_of_ana.decide()
    assert (code["state"], code["iss"]) == ("s1", GATEWAY)
    response = client_of_ana.exchange(code["code"])
    tokens = response.json()

    result = build_mcp(tokens["access_token"]).call("tool_help", {"path": "onto.task"})

    assert response.headers["Cache-Control"] == "no-store"
    assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 3600, "mcp")
    assert result["isError"] is False
    event_log.flush()
    event = OperationEvent.objects.get()
    assert (event.subject, event.client, event.source) == (DEMO_SUBJECT, "mcp", "mcp")
    link = SignedInApplication.objects.get()
    assert (link.key.subject, link.key.client.name, link.key.client.confirms) == (DEMO_SUBJECT, "mcp", True)
    assert (link.key.name, link.key.created_by) == ("Example app", "ana")
    key_verification.save_last_used()
    link.key.refresh_from_db()
    assert link.key.last_used_at is not None


def test_limits_of_the_key_hold_for_its_tokens(client_of_ana: OAuthClient) -> None:
    token = client_of_ana.sign_in()["access_token"]
    key = ApiKey.objects.get()
    key.scopes = ["help"]
    key.save()

    result = build_mcp(token).call("tool_exec", {"op": "onto.task.create", "args": {}})

    assert result["structuredContent"]["error"]["details"]["reason"] == "scope_missing"


def test_only_mcp_takes_access_tokens(client_of_ana: OAuthClient) -> None:
    token = client_of_ana.sign_in()["access_token"]

    for path in ("/api/v1/help", "/api/v1/exec", "/ofrep/v1/evaluate/flags"):
        response = HttpClient().post(path, {}, "application/json", headers={"Authorization": f"Bearer {token}"})
        assert (response.status_code, response.headers["WWW-Authenticate"]) == (401, "Bearer")


def test_signing_in_again_reuses_the_key(client_of_ana: OAuthClient) -> None:
    first, second = client_of_ana.sign_in(), client_of_ana.sign_in()

    assert is_let_in(first["access_token"])
    assert is_let_in(second["access_token"])
    assert ApiKey.objects.count() == SignedInApplication.objects.count() == 1


def test_request_without_a_resource_means_mcp(client_of_ana: OAuthClient) -> None:
    code = client_of_ana.decide(resource=None)["code"]
    tokens = client_of_ana.exchange(code, resource=None).json()

    assert is_let_in(tokens["access_token"])
    assert AccessToken.objects.get().resource == [RESOURCE]


def test_unknown_scopes_are_ignored(client_of_ana: OAuthClient) -> None:
    code = client_of_ana.decide(scope="mcp offline_access")["code"]
    tokens = client_of_ana.exchange(code).json()
    renewed = client_of_ana.refresh(tokens["refresh_token"], scope="mcp offline_access admin").json()

    assert (tokens["scope"], renewed["scope"]) == ("mcp", "mcp")


@for_each(
    "changes, error",
    [
        ({"code_verifier": "x" * 50}, "invalid_grant"),
        ({"code_verifier": None}, "invalid_request"),
        ({"redirect_uri": "https://app.example.com/other"}, "invalid_request"),
        ({"code": "unknown"}, "invalid_grant"),
        ({"client_id": "unknown"}, "invalid_client"),
        ({"client_secret": "guessed"}, "invalid_client"),
        ({"resource": "https://other.example.com/mcp"}, "invalid_target"),
    ],
)
def test_code_is_exchanged_only_by_who_began(
    client_of_ana: OAuthClient, changes: dict[str, str | None], error: str
) -> None:
    code = client_of_ana.decide()["code"]

    response = client_of_ana.exchange(**{"code": code, **changes})

    assert response.status_code in (400, 401)
    assert response.json()["error"] == error
    assert not AccessToken.objects.exists()


def test_code_of_another_application_is_refused(client_of_ana: OAuthClient) -> None:
    other = register_application("Other")

    response = client_of_ana.exchange(client_of_ana.decide()["code"], client_id=other.client_id)

    assert response.json()["error"] == "invalid_grant"


def test_code_works_once_and_for_a_minute(client_of_ana: OAuthClient) -> None:
    code = client_of_ana.decide()["code"]
    assert client_of_ana.exchange(code).status_code == 200
    assert client_of_ana.exchange(code).json()["error"] == "invalid_grant"

    late = client_of_ana.decide()["code"]
    with time_machine.travel(timezone.now() + timedelta(seconds=61)):
        assert client_of_ana.exchange(late).json()["error"] == "invalid_grant"


def test_code_that_is_used_twice_ends_the_tokens_that_it_gave(client_of_ana: OAuthClient) -> None:
    before = client_of_ana.sign_in()
    with time_machine.travel(timezone.now() + timedelta(minutes=10)):
        code = client_of_ana.decide()["code"]
        tokens = client_of_ana.exchange(code).json()
        renewed = client_of_ana.refresh(tokens["refresh_token"]).json()
        assert is_let_in(renewed["access_token"])

        assert client_of_ana.exchange(code).json()["error"] == "invalid_grant"

        assert not is_let_in(tokens["access_token"])
        assert not is_let_in(renewed["access_token"])
        assert client_of_ana.refresh(renewed["refresh_token"]).json()["error"] == "invalid_grant"
        assert is_let_in(before["access_token"])


@for_each(
    "grant_type", ["password", "client_credentials", "urn:ietf:params:oauth:grant-type:device_code", "implicit", ""]
)
def test_other_grants_do_not_exist(client_of_ana: OAuthClient, grant_type: str) -> None:
    response = client_of_ana.request_token(grant_type, username="ana", password=PASSWORD)

    assert (response.status_code, response.json()["error"]) in (
        (400, "unsupported_grant_type"),
        (400, "invalid_request"),
    )


def test_access_token_ends_after_an_hour_and_is_renewed_for_thirty_days(client_of_ana: OAuthClient) -> None:
    tokens = client_of_ana.sign_in()
    with time_machine.travel(timezone.now() + timedelta(minutes=61)):
        assert call(tokens["access_token"]).headers["WWW-Authenticate"] == CHALLENGE
        renewed = client_of_ana.refresh(tokens["refresh_token"]).json()
        assert is_let_in(renewed["access_token"])
        assert renewed["refresh_token"] != tokens["refresh_token"]
        assert AccessToken.objects.get().resource == [RESOURCE]

    with time_machine.travel(timezone.now() + timedelta(days=30, hours=4)):
        assert client_of_ana.refresh(renewed["refresh_token"]).json()["error"] == "invalid_grant"


@pytest.mark.both_databases
def test_refresh_token_that_is_used_twice_ends_the_access(client_of_ana: OAuthClient) -> None:
    tokens = client_of_ana.sign_in()
    renewed = client_of_ana.refresh(tokens["refresh_token"]).json()

    assert client_of_ana.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"

    assert not is_let_in(renewed["access_token"])
    assert client_of_ana.refresh(renewed["refresh_token"]).json()["error"] == "invalid_grant"


@pytest.mark.both_databases
def test_second_of_two_refreshes_at_once_is_refused(
    client_of_ana: OAuthClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = client_of_ana.sign_in()
    first: list[HttpResponse] = []
    validate = PublicClientValidator.validate_refresh_token

    def validate_and_be_overtaken(self: PublicClientValidator, *args: Any, **kwargs: Any) -> bool:
        is_valid = validate(self, *args, **kwargs)
        if not first:
            monkeypatch.setattr(PublicClientValidator, "validate_refresh_token", validate)
            first.append(client_of_ana.refresh(tokens["refresh_token"]))
        return is_valid

    monkeypatch.setattr(PublicClientValidator, "validate_refresh_token", validate_and_be_overtaken)

    second = client_of_ana.refresh(tokens["refresh_token"])

    assert first[0].status_code == 200
    assert (second.status_code, second.json()["error"]) == (400, "invalid_grant")
    assert is_let_in(first[0].json()["access_token"])


def test_refresh_for_another_resource_is_refused(client_of_ana: OAuthClient) -> None:
    tokens = client_of_ana.sign_in()

    response = client_of_ana.refresh(tokens["refresh_token"], resource="https://other.example.com")

    assert response.json()["error"] == "invalid_target"


@for_each("audience", [[], ["https://other.example.com/mcp"], [GATEWAY], [RESOURCE, GATEWAY]])
def test_token_for_another_resource_is_refused(client_of_ana: OAuthClient, audience: list[str]) -> None:
    token = client_of_ana.sign_in()["access_token"]
    AccessToken.objects.update(resource=audience)

    assert not is_let_in(token)


def test_tokens_are_stored_as_hashes_only(client_of_ana: OAuthClient) -> None:
    tokens = client_of_ana.sign_in()
    rows = [*AccessToken.objects.values(), *RefreshToken.objects.values(), *ApiKey.objects.values()]

    assert len(rows) == 3
    for token in (tokens["access_token"], tokens["refresh_token"]):
        assert token not in repr(rows)


def test_no_token_or_code_is_logged(client_of_ana: OAuthClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("oauth2_provider", "oauthlib"):
        logging.getLogger(name).setLevel(logging.WARNING)  # as in LOGGING
    code = client_of_ana.decide()["code"]
    tokens = client_of_ana.exchange(code).json()
    call(tokens["access_token"])
    client_of_ana.refresh(tokens["refresh_token"])

    assert "oauth.let_in" in caplog.text
    for secret in (code, tokens["access_token"], tokens["refresh_token"]):
        assert secret not in caplog.text


def test_guessed_token_costs_no_query(oauth: None, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert not is_let_in("gwo_" + "x" * 51)
        assert not is_let_in("gwo_" + "x" * 500)


# --- the end of access ------------------------------------------------------------------------------------------------


def revoke(client: OAuthClient, token: str, **fields: str) -> None:
    response = HttpClient().post("/oauth/revoke", {"token": token, "client_id": client.client_id, **fields})
    assert response.status_code == 200


def change(row: ApiKey | Client, **fields: Any) -> None:
    for name, value in fields.items():
        setattr(row, name, value)
    row.save()
    key_verification.refresh_verified_keys()


def revoke_key() -> None:
    api_keys.revoke(ApiKey.objects.get(), by="tests", at=timezone.now())


ENDS: dict[str, Callable[[OAuthClient, dict[str, Any]], object]] = {
    "user": lambda client, tokens: revoke(client, tokens["access_token"]),
    "refresh token": lambda client, tokens: revoke(client, tokens["refresh_token"], token_type_hint="refresh_token"),
    "key": lambda *_: revoke_key(),
    "inactive user": lambda *_: User.objects.update(is_active=False),
    "inactive client": lambda *_: change(Client.objects.get(name="mcp"), is_active=False),
    "no application": lambda *_: Application.objects.all().delete(),
    "no key": lambda *_: ApiKey.objects.all().delete(),
    "expired key": lambda *_: change(ApiKey.objects.get(), expires_at=timezone.now()),
}
OF_ONE_SIGN_IN = {"user", "refresh token"}  # these end one sign-in of possibly several


@pytest.mark.parametrize("end", ENDS)
def test_access_ends_at_once(client_of_ana: OAuthClient, end: str) -> None:
    tokens = client_of_ana.sign_in()
    code = client_of_ana.decide()["code"]
    assert is_let_in(tokens["access_token"])

    ENDS[end](client_of_ana, tokens)

    assert not is_let_in(tokens["access_token"])
    assert client_of_ana.refresh(tokens["refresh_token"]).status_code in (400, 401)
    if end not in OF_ONE_SIGN_IN:
        assert client_of_ana.exchange(code).status_code in (400, 401)


def test_revocation_by_another_application_does_nothing(client_of_ana: OAuthClient) -> None:
    token = client_of_ana.sign_in()["access_token"]
    other = register_application("Other")

    HttpClient().post("/oauth/revoke", {"token": token, "client_id": other.client_id})

    assert is_let_in(token)


@pytest.mark.both_databases
def test_new_sign_in_after_a_revocation_does_not_revive_old_tokens(client_of_ana: OAuthClient) -> None:
    old = client_of_ana.sign_in()
    revoke_key()

    new = client_of_ana.sign_in()

    assert is_let_in(new["access_token"])
    assert not is_let_in(old["access_token"])
    assert client_of_ana.refresh(old["refresh_token"]).json()["error"] == "invalid_grant"
    assert ApiKey.objects.filter(revoked_at=None).count() == 1


def test_user_with_another_subject_gets_another_key(client_of_ana: OAuthClient) -> None:
    old = client_of_ana.sign_in()
    ChatProfile.objects.update(subject="somebody")

    new = client_of_ana.sign_in()

    assert not is_let_in(old["access_token"])
    assert is_let_in(new["access_token"])
    assert ApiKey.objects.get(revoked_at=None).subject == "somebody"


def test_admin_sees_and_ends_access(client_of_ana: OAuthClient, admin_client: HttpClient) -> None:
    tokens = client_of_ana.sign_in()
    page = admin_client.get("/admin/gateway/signedinapplication/").content.decode()
    assert "Example app" in page
    assert "ana" in page

    answer = run_action(admin_client, SignedInApplication, "revoke", SignedInApplication.objects.get())

    assert "Revoked Example app for ana." in answer
    assert not is_let_in(tokens["access_token"])
    assert client_of_ana.refresh(tokens["refresh_token"]).status_code == 400


def test_user_sees_and_ends_access_of_their_applications(client_of_ana: OAuthClient) -> None:
    tokens = client_of_ana.sign_in()
    link = SignedInApplication.objects.get()
    ben = OAuthClient(client_of_ana.client_id, RESOURCE, User.objects.create_user("ben"))
    assert "No application has access." in ben.browser.get(OWN_APPLICATIONS).content.decode()
    assert "Example app" in client_of_ana.browser.get(OWN_APPLICATIONS).content.decode()

    for id in (str(link.pk), "", "x", "9" * 30):
        assert ben.browser.post(OWN_APPLICATIONS, {"id": id}).status_code == 302
    assert is_let_in(tokens["access_token"])
    answer = client_of_ana.browser.post(OWN_APPLICATIONS, {"id": link.pk}, follow=True).content.decode()

    assert "Example app no longer has access." in answer
    assert "No application has access." in answer
    assert not is_let_in(tokens["access_token"])
    stranger = HttpClient().get(OWN_APPLICATIONS)
    assert (stranger.status_code, stranger.headers["Location"]) == (302, f"/oauth/sign-in?next={OWN_APPLICATIONS}")


def test_admin_registers_an_application(oauth: None, user: User, admin_client: HttpClient) -> None:
    url = "/admin/oauth2_provider/application/add/"
    refused = admin_client.post(url, {"name": "Desk", "redirect_uris": "http://desk.example.com/callback"})
    assert "must begin with https://" in refused.content.decode()
    admin_client.post(url, {"name": "", "redirect_uris": ""})
    assert not Application.objects.exists()

    admin_client.post(url, {"name": "Desk", "redirect_uris": f"{REDIRECT_URI}\nhttp://localhost:1/callback"})

    application = Application.objects.get()
    assert OAuthClient(application.client_id, RESOURCE, user).sign_in()["access_token"]


@pytest.mark.both_databases
def test_expired_tokens_are_deleted(client_of_ana: OAuthClient) -> None:
    client_of_ana.sign_in()
    at = timezone.now() + timedelta(days=31)

    with time_machine.travel(at):
        retention.delete_oauth_tokens(at)

    assert not AccessToken.objects.exists()
    assert not RefreshToken.objects.exists()
    assert SignedInApplication.objects.exists()


@pytest.mark.both_databases
def test_application_with_a_long_name_can_be_let_in(user: User) -> None:
    link = sign_ins.let_in(register_application("x" * 255), user, at=timezone.now())

    assert len(link.key.name) == sign_ins.KEY_NAME_LENGTH


# --- client ID metadata documents -------------------------------------------------------------------------------------

DOCUMENT = {
    "client_id": DOCUMENT_URL,
    "client_name": "Example app",
    "redirect_uris": [REDIRECT_URI, "http://localhost/callback"],
    "grant_types": ["authorization_code", "refresh_token"],
    "token_endpoint_auth_method": "none",
}


class Documents:
    """Answers the gateway's guarded HTTP requests with a document."""

    def __init__(self) -> None:
        self.document: Any = DOCUMENT
        self.headers = {"content-type": "application/json", "cache-control": "max-age=600"}
        self.status = 200
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def request(self, method: str, url: str, **options: Any) -> http.Response:
        self.requests.append((url, options))
        return http.Response(self.status, url, self.headers, json.dumps(self.document).encode(), 0)


@pytest.fixture
def documents(monkeypatch: pytest.MonkeyPatch) -> Documents:
    documents = Documents()
    monkeypatch.setattr(client_documents.http, "request", documents.request)
    return documents


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    cache.clear()  # of documents that could not be read lately


@pytest.fixture
def unregistered(oauth: None, user: User) -> OAuthClient:
    return OAuthClient(DOCUMENT_URL, RESOURCE, user)


@pytest.mark.both_databases
def test_application_that_describes_itself_signs_in(unregistered: OAuthClient, documents: Documents) -> None:
    text = unregistered.ask().content.decode()
    tokens = unregistered.sign_in()

    assert "The application belongs to <strong>app.example.com</strong>." in text
    assert is_let_in(tokens["access_token"])
    assert is_let_in(unregistered.refresh(tokens["refresh_token"]).json()["access_token"])
    [(url, options)] = documents.requests  # then it is remembered
    assert url == DOCUMENT_URL
    assert (options["allow"], options["follow_redirects"]) == ((), False)
    documents.document = DOCUMENT | {"client_name": "Renamed"}
    with time_machine.travel(timezone.now() + timedelta(seconds=601)):
        assert "Let Renamed use your tools?" in unregistered.ask().content.decode()


def test_nobody_makes_the_gateway_fetch_without_a_sign_in(oauth: None, documents: Documents) -> None:
    client = OAuthClient(DOCUMENT_URL, RESOURCE)

    assert client.ask().status_code == 302
    assert client.exchange("x").status_code == 401
    assert HttpClient().post("/oauth/revoke", {"token": "x", "client_id": DOCUMENT_URL}).status_code == 401
    assert documents.requests == []


@pytest.mark.parametrize(
    "document",
    [
        DOCUMENT | {"client_id": "https://other.example.com/client.json"},
        {name: value for name, value in DOCUMENT.items() if name != "client_id"},
        DOCUMENT | {"redirect_uris": []},
        DOCUMENT | {"redirect_uris": "https://app.example.com/callback"},
        DOCUMENT | {"redirect_uris": [REDIRECT_URI, "http://app.example.com/callback"]},
        DOCUMENT | {"redirect_uris": [REDIRECT_URI, "javascript:alert(1)"]},
        DOCUMENT | {"redirect_uris": [REDIRECT_URI] * 51},
        DOCUMENT | {"token_endpoint_auth_method": "client_secret_basic"},
        DOCUMENT | {"client_secret": "x"},
        DOCUMENT | {"grant_types": ["implicit", "authorization_code"]},
        DOCUMENT | {"client_name": 7},
        [DOCUMENT],
    ],
)
def test_document_that_lies_or_asks_for_too_much_is_refused(
    unregistered: OAuthClient, documents: Documents, document: Any
) -> None:
    documents.document = document

    assert unregistered.ask().status_code == 400
    assert not Application.objects.exists()


@pytest.mark.parametrize("status", [404, 301, 500])
def test_document_that_is_not_there_is_refused(
    unregistered: OAuthClient, documents: Documents, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    documents.status = status

    assert unregistered.ask().status_code == 400
    assert f"oauth.document_refused host=app.example.com reason=status_{status}" in caplog.text
    assert unregistered.ask().status_code == 400
    assert len(documents.requests) == 1  # not asked for again for a minute


def test_document_of_another_type_is_refused(unregistered: OAuthClient, documents: Documents) -> None:
    documents.headers["content-type"] = "text/html"

    assert unregistered.ask().status_code == 400


@for_each(
    "url",
    [
        "https://127.0.0.1/client.json",
        "https://[::1]/client.json",
        "https://10.0.0.7/client.json",
        "https://169.254.169.254/client.json",
        "https://localhost/client.json",
        "https://user@app.example.com/client.json",
        "https://app.example.com/../client.json",
        "https://app.example.com/client.json#x",
        "http://app.example.com/client.json",
    ],
)
def test_document_at_a_private_or_odd_address_is_not_fetched(oauth: None, user: User, settings: Any, url: str) -> None:
    settings.GATEWAY_OUTGOING_ALLOW = []

    assert OAuthClient(url, RESOURCE, user).ask().status_code == 400
    assert not Application.objects.exists()


def test_document_cannot_take_over_a_registered_application(unregistered: OAuthClient, documents: Documents) -> None:
    application = register_application("Registered")
    Application.objects.filter(pk=application.pk).update(client_id=DOCUMENT_URL, cimd_expires_at=timezone.now())

    assert "Let Registered use your tools?" in unregistered.ask().content.decode()
    assert documents.requests == []
