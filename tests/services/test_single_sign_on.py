"""People sign in at a provider of OpenID Connect, and get in if an administrator added them."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from allauth.mfa.models import Authenticator
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth.models import User
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from audit.models import AuditEntry
from tests.support.servers.identity_provider import IdentityProvider, run_identity_provider
from tests.support.servers.processes import PLAIN_HTTP, Process, Server, free_port, submit_sign_in, wait_until_ready
from tests.support.servers.stores import Store

pytestmark = pytest.mark.server

ANA = {"sub": "7f3a", "email": "Ana@acme.example", "email_verified": True, "name": "Ana"}
EVE = {"sub": "666", "email": "ana@acme.example", "email_verified": False}
BEGIN = "/account/single-sign-on/oidc/"


Serve = Callable[..., AbstractContextManager[tuple[Server, Store]]]


@contextmanager
def run_provider(folder: Path) -> Iterator[str]:
    """Run a provider that knows Ana, and somebody who only says that her address is theirs; yield its URL."""
    port = free_port()
    people = [part for each in (ANA, EVE) for part in ("--user-claims", json.dumps(each))]
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port), *people]
    process = Process(command, environment={"PATH": ""}, folder=folder)
    url = f"http://127.0.0.1:{port}"

    try:
        wait_until_ready(process, url, "/.well-known/openid-configuration")
        yield url
    finally:
        process.kill()


@contextmanager
def run_gateway(serve: Serve, provider: str, **variables: str) -> Iterator[tuple[Server, Store]]:
    """Run a gateway that offers single sign-on, after the migration that the guide asks for."""
    variables = {
        "GATEWAY_SSO_ISSUER": provider,
        "GATEWAY_SSO_CLIENT_ID": "gateway",
        "GATEWAY_SSO_CLIENT_SECRET": "secret of the gateway",
        "GATEWAY_SSO_NAME": "Acme",
        **variables,
    }
    with serve("migrate -v0", **variables) as (server, store):
        yield server, store


@pytest.fixture(scope="module")
def gateway_for_all(
    serve_several_tests: Serve, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, Store]]:
    """A gateway that asks people with a password for a second factor, and its provider."""
    with (
        run_provider(tmp_path_factory.mktemp("provider")) as provider,
        run_gateway(serve_several_tests, provider, GATEWAY_REQUIRE_SECOND_FACTOR="on") as running,
    ):
        yield running


@pytest.fixture
def server(gateway_for_all: tuple[Server, Store], django_db_blocker: DjangoDbBlocker) -> Iterator[Server]:
    """That gateway, and its database for this process. The people that a test adds are removed after it."""
    running, store = gateway_for_all
    with django_db_blocker.unblock(), store.connected():
        yield running
        with connection.cursor() as cursor:  # the server has this table, and this process not its model
            cursor.execute("DELETE FROM socialaccount_socialaccount")
        User.objects.all().delete()


def open_browser(server: Server) -> httpx2.Client:
    return httpx2.Client(base_url=server.url, follow_redirects=True, timeout=20, **PLAIN_HTTP)


def sign_in(browser: httpx2.Client, person: dict[str, Any], *, target: str = "/admin/") -> httpx2.Response:
    """Sign in at the provider as a person, and return the page that comes then."""
    question = browser.get(BEGIN, params={"next": target})
    assert "openid" in str(question.url), question.text
    return browser.post(str(question.url), data={"sub": person["sub"]})


def add_ana(**fields: Any) -> User:
    return User.objects.create_user("ana", email="ana@acme.example", is_staff=True, **fields)


def test_a_person_signs_in_and_is_known_by_the_providers_id_from_then_on(server: Server) -> None:
    ana = add_ana()
    with open_browser(server) as browser:
        assert f'href="{BEGIN}?next=%2Fadmin%2F">Sign in with Acme</a>' in browser.get("/admin/").text
        page = sign_in(browser, ANA, target="/admin/guides/")
        assert (page.status_code, page.url.path) == (200, "/admin/guides/")  # the provider asks for a second factor

    User.objects.filter(pk=ana.pk).update(email="ana.b@acme.example")
    with open_browser(server) as browser:
        assert sign_in(browser, ANA).url.path == "/admin/"

    entry = AuditEntry.objects.filter(kind="sign_in").latest("id")
    assert (entry.by, entry.note) == ("ana", "by single sign-on from 127.0.0.1")


def test_a_session_of_somebody_else_ends(server: Server) -> None:
    ana = add_ana()
    ben = User.objects.create_user("ben", password="a long password of ben", is_staff=True)
    Authenticator.objects.create(user=ana, type="totp", data={"secret": "unused"})  # not asked for
    with open_browser(server) as browser:
        assert ben.username in submit_sign_in(browser, "ben", "a long password of ben").text

        page = sign_in(browser, ANA)

    assert page.url.path == "/admin/"
    assert ">ana<" in re.sub(r"\s", "", page.text)


@pytest.mark.parametrize(
    ("person", "account", "reason"),
    [
        (ANA, None, "No user here has the verified e-mail address"),
        (EVE, {}, "No user here has the verified e-mail address"),  # an address that the provider has not verified
        (ANA, {"is_active": False}, "Your account here is switched off."),
    ],
)
def test_nobody_else_gets_in(
    server: Server, person: dict[str, Any], account: dict[str, Any] | None, reason: str
) -> None:
    if account is not None:
        add_ana(**account)
    with open_browser(server) as browser:
        page = sign_in(browser, person)

        assert page.status_code == 403
        assert reason in page.text
        assert browser.get("/admin/guides/").url.path == "/admin/login/"


def test_an_address_of_two_people_is_nobodys(server: Server) -> None:
    add_ana()
    User.objects.create_user("ana2", email="ANA@acme.example")
    with open_browser(server) as browser:
        assert sign_in(browser, ANA).status_code == 403


def test_answers_that_nobody_asked_for_are_refused(server: Server) -> None:
    add_ana()
    with open_browser(server) as browser:
        state = browser.get(BEGIN).url.params["state"]
        refused = browser.get(f"{BEGIN}callback/", params={"error": "access_denied", "state": state})
        forged = browser.get(f"{BEGIN}callback/", params={"code": "1", "state": "<b>x</b>"})
        outside = sign_in(browser, ANA, target="https://evil.example/")
        unknown = browser.get("/account/single-sign-on/other/")

    assert (refused.status_code, forged.status_code, unknown.status_code) == (403, 403, 404)
    assert "was cancelled" in refused.text
    assert "could not be used" in forged.text
    assert "<b>x</b>" not in forged.text
    assert outside.url.host == "127.0.0.1"


@pytest.mark.thorough
def test_a_provider_can_be_trusted_to_have_verified_addresses_and_is_named_when_it_is_down(
    serve_several_tests: Serve, django_db_blocker: DjangoDbBlocker, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        with run_provider(tmp_path) as provider:
            server, store = stack.enter_context(
                run_gateway(serve_several_tests, provider, GATEWAY_SSO_TRUSTS_EMAIL="on")
            )
            with django_db_blocker.unblock(), store.connected():
                add_ana()
            with open_browser(server) as browser:
                assert sign_in(browser, EVE).url.path == "/admin/"

        with open_browser(server) as browser:
            page = browser.get(BEGIN)
        assert page.status_code == 502
        assert "The provider does not answer." in page.text


OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
FORGED: dict[str, Callable[[IdentityProvider], object]] = {
    "no ID token": lambda it: setattr(it, "has_id_token", False),
    "a key of somebody else": lambda it: setattr(it, "signing_key", OTHER_KEY),
    "no signature": lambda it: (setattr(it, "signing_key", None), setattr(it, "algorithm", "none")),
    "a signature with the client's secret": lambda it: (
        setattr(it, "signing_key", "secret of the gateway, which is long enough"),
        setattr(it, "algorithm", "HS256"),
    ),
    "another issuer": lambda it: it.claims.update(iss="https://evil.example"),
    "another client": lambda it: it.claims.update(aud="other"),
    "issued to another client": lambda it: it.claims.update(aud=["gateway", "other"], azp="other"),
    "expired": lambda it: it.claims.update(exp=1_700_000_000),
    "without an end": lambda it: it.claims.update(exp=...),
    "not valid yet": lambda it: it.claims.update(nbf=4_000_000_000),
    "no nonce": lambda it: it.claims.update(nonce=...),
    "the nonce of another browser": lambda it: it.claims.update(nonce="other"),
    "an empty subject": lambda it: it.person.update(sub=""),
    "no subject": lambda it: it.person.update(sub=None),
    "a subject that is a number": lambda it: it.person.update(sub=7),
    "user info of somebody else": lambda it: it.userinfo.update(sub="666"),
    **{
        f"email_verified {said!r}": lambda it, said=said: it.person.update(email_verified=said)
        for said in ("false", "False", "no", "", 0, 1, "1", ["true"], None)
    },
}


@pytest.fixture(scope="module")
def forging_provider() -> Iterator[IdentityProvider]:
    with run_identity_provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def server_of_forger(serve_several_tests: Serve, forging_provider: IdentityProvider) -> Iterator[tuple[Server, Store]]:
    with run_gateway(serve_several_tests, forging_provider.url) as running:
        yield running


def test_answers_that_prove_nothing_sign_nobody_in(
    server_of_forger: tuple[Server, Store], forging_provider: IdentityProvider, django_db_blocker: DjangoDbBlocker
) -> None:
    server, store = server_of_forger
    with django_db_blocker.unblock(), store.connected():
        ana = add_ana()
        for name, forge in FORGED.items():
            forging_provider.reset()
            forge(forging_provider)
            with open_browser(server) as browser:
                page = browser.get(BEGIN, params={"next": "/admin/"})
                assert page.status_code == 403, name
                assert "You are not signed in" in page.text, name

        for said in (True, "true"):
            forging_provider.reset(email_verified=said)
            with open_browser(server) as browser:
                assert browser.get(BEGIN, params={"next": "/admin/"}).url.path == "/admin/", said

        with connection.cursor() as cursor:
            cursor.execute("SELECT uid, user_id, extra_data FROM socialaccount_socialaccount")
            assert [(uid, user, str(data).strip('"')) for uid, user, data in cursor] == [("7f3a", ana.pk, "{}")]

        # A second identity with the same address is refused until a person unlinks the first one.
        forging_provider.reset(sub="8a2b")
        with open_browser(server) as browser:
            page = browser.get(BEGIN, params={"next": "/admin/"})
            assert (page.status_code, "linked to another identity" in page.text) == (403, True)
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM socialaccount_socialaccount")
        with open_browser(server) as browser:
            assert browser.get(BEGIN, params={"next": "/admin/"}).url.path == "/admin/"
