"""Second factors and sessions: how they are added, what is asked for, and what admins do for people who lost one."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client as HttpClient

from audit.models import AuditEntry
from core.sign_in import second_factor
from core.sign_in.throttle import PAIR_LIMIT
from tests.support.console.admin_models import run_action
from tests.support.console.totp import build_code

pytestmark = pytest.mark.django_db

PASSWORD = "a password of ana"
FACTORS, ADD_APP, SHOW = (
    "/account/second-factor/",
    "/account/second-factor/totp/activate/",
    ("/account/second-factor/reauthenticate/"),
)
SESSIONS = "/account/sessions/"


@pytest.fixture(autouse=True)
def _empty_cache() -> Iterator[None]:
    cache.clear()  # used codes, which must not work twice
    yield
    cache.clear()


@pytest.fixture
def ana(db: None) -> User:
    return User.objects.create_superuser("ana", password=PASSWORD)


def sign_in(user: str = "ana") -> HttpClient:
    http = HttpClient()
    response = http.post("/admin/login/", {"username": user, "password": PASSWORD})
    assert response.status_code == 302
    return http


def read(response: HttpResponse) -> str:
    assert response.status_code == 200, response
    return " ".join(unescape(response.content.decode()).split())


def add_app(http: HttpClient) -> str:
    """Add an authenticator app and return its secret."""
    secret = re.search(r'value="([A-Z2-7]{32})"', read(http.get(ADD_APP)))
    assert secret is not None
    assert http.post(ADD_APP, {"code": build_code(secret[1])}).status_code == 302
    cache.clear()  # the code may be used again
    return secret[1]


def show(http: HttpClient, code: str) -> HttpResponse:
    return http.post(SHOW, {"code": code, "next": "/admin/"})


def is_asked(response: HttpResponse) -> bool:
    return response.status_code == 302 and response.headers["Location"].startswith(SHOW)


@pytest.mark.both_databases
def test_password_is_enough_without_a_second_factor(ana: User) -> None:
    http = sign_in()

    assert http.get("/admin/").status_code == 200
    assert "A code that an app on your phone shows." in read(http.get(FACTORS))


def test_code_is_asked_for_before_any_page(ana: User) -> None:
    first = sign_in()
    secret = add_app(first)
    assert first.get("/admin/").status_code == 200  # it has just been shown

    http = sign_in()
    for path in ("/admin/", "/admin/password_change/", FACTORS, ADD_APP, SESSIONS, "/account/reauthenticate/"):
        assert is_asked(http.get(path)), path
    assert is_asked(http.post("/account/second-factor/totp/deactivate/"))
    assert is_asked(http.post("/account/reauthenticate/", {"password": PASSWORD}))
    assert "Incorrect code." in read(show(http, "000000"))
    assert is_asked(http.get("/admin/"))

    response = show(http, build_code(secret))

    assert (response.status_code, response.headers["Location"]) == (302, "/admin/")
    assert http.get("/admin/").status_code == 200


def test_page_that_was_asked_for_follows(ana: User) -> None:
    add_app(sign_in())

    response = sign_in().get("/admin/registry/op/?q=task")

    assert response.headers["Location"] == f"{SHOW}?next=%2Fadmin%2Fregistry%2Fop%2F%3Fq%3Dtask"


@pytest.mark.both_databases
def test_recovery_code_works_once(ana: User) -> None:
    first = sign_in()
    add_app(first)
    codes = re.findall(r"\b\d{8}\b|\b[0-9a-f]{8}\b", read(first.get("/account/second-factor/recovery-codes/")))
    assert len(codes) == 10

    assert show(sign_in(), codes[0]).status_code == 302
    assert "Incorrect code." in read(show(sign_in(), codes[0]))


def test_wrong_codes_lock_sign_in_like_wrong_passwords(ana: User) -> None:
    secret = add_app(sign_in())
    http = sign_in()

    answers = [read(show(http, "000000")) for _ in range(PAIR_LIMIT)]

    assert "Incorrect code." in answers[-2]
    assert "There were too many wrong codes. Try again after" in answers[-1]
    assert "There were too many wrong codes." in read(show(http, build_code(secret)))  # it is not checked
    assert HttpClient().post("/admin/login/", {"username": "ana", "password": PASSWORD}).status_code == 429


def test_secret_is_encrypted_and_survives_another_key(ana: User, settings: Any) -> None:
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    settings.GATEWAY_ENCRYPTION_KEYS = []
    secret = add_app(sign_in())
    assert secret not in str(list(Authenticator.objects.values("data")))

    for keys in ([old], [new, old]):
        settings.GATEWAY_ENCRYPTION_KEYS = keys
        call_command("rotate_encryption_keys")
    settings.GATEWAY_ENCRYPTION_KEYS, settings.SECRET_KEY = [new], "another secret key"

    http = sign_in()
    assert show(http, build_code(secret)).status_code == 302
    assert http.get("/admin/").status_code == 200


# --- required of staff ------------------------------------------------------------------------------------------------


@pytest.fixture
def required(settings: Any) -> None:
    settings.GATEWAY_REQUIRE_SECOND_FACTOR = True


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)  # the library notes a new one when it is committed
def test_staff_without_a_second_factor_are_sent_to_add_one(ana: User, required: None) -> None:
    http = sign_in()
    response = http.get("/admin/")
    assert (response.status_code, response.headers["Location"]) == (302, f"{FACTORS}?next=%2Fadmin%2F")
    assert "Your role needs a second factor." in read(http.get(FACTORS))

    add_app(http)

    assert http.get("/admin/").status_code == 200
    assert is_asked(sign_in().get("/admin/"))
    notes = AuditEntry.objects.filter(kind="user", name="ana", by="ana").values_list("note", flat=True)
    assert "Added a second factor: TOTP Authenticator" in notes


def test_session_from_before_the_setting_is_asked(ana: User, settings: Any) -> None:
    http = sign_in()
    add_app(sign_in())
    assert http.get("/admin/").status_code == 200
    settings.GATEWAY_REQUIRE_SECOND_FACTOR = True

    assert is_asked(http.get("/admin/"))


# --- help for people who lost a device --------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_admin_removes_second_factors(ana: User, admin_client: HttpClient) -> None:
    add_app(sign_in())
    page = read(admin_client.get(f"/admin/auth/user/{ana.pk}/change/"))
    assert "authenticator app, recovery codes" in page

    assert "ana no longer has a second factor." in run_action(admin_client, User, "remove_second_factors", ana)
    entry = AuditEntry.objects.get(kind="user", name="ana")
    assert (entry.by, entry.note) == ("admin", "Removed the second factors")

    assert sign_in().get("/admin/").status_code == 200


def test_operator_removes_second_factors(ana: User, capsys: pytest.CaptureFixture[str]) -> None:
    add_app(sign_in())

    call_command("remove_second_factor", "ana")

    assert capsys.readouterr().out == "ana no longer has a second factor.\n"
    assert second_factor.find_kinds(ana) == []
    with pytest.raises(CommandError, match="There is no user bob"):
        call_command("remove_second_factor", "bob")


def test_user_sees_sessions_and_ends_the_others(ana: User) -> None:
    here, there = sign_in(), sign_in()
    page = read(here.get(SESSIONS, headers={"User-Agent": "Firefox"}))
    assert page.count("127.0.0.1") == 2
    assert page.count("this device") == 1

    here.post(SESSIONS)

    assert there.get("/admin/").status_code == 302
    assert here.get("/admin/").status_code == 200


def test_admin_signs_a_user_out_everywhere(ana: User, admin_client: HttpClient) -> None:
    sessions = [sign_in(), sign_in()]

    assert "ana is signed out of 2 sessions." in run_action(admin_client, User, "end_sessions", ana)

    assert [http.get("/admin/").status_code for http in sessions] == [302, 302]


@pytest.mark.parametrize("page", [FACTORS, ADD_APP, "/account/second-factor/webauthn/add/", SESSIONS])
def test_account_pages_are_pages_of_the_console_for_those_who_can_use_it(page: str, ana: User) -> None:
    http = sign_in()
    http.post("/account/reauthenticate/", {"password": PASSWORD})
    end_user = HttpClient()
    end_user.force_login(User.objects.create_user("end-user"))

    response = http.get(page)

    assert "nav-sidebar" in read(response)
    assert "admin/base_site.html" in [template.name for template in response.templates]
    assert response.headers["Content-Security-Policy"] == http.get("/admin/").headers["Content-Security-Policy"]
    plain_page = end_user.get(page, follow=True)
    assert plain_page.status_code == 200
    assert "admin/base_site.html" not in [template.name for template in plain_page.templates]


def test_confirming_ones_identity_stays_a_plain_page(ana: User) -> None:
    response = sign_in().get("/account/reauthenticate/")

    assert "admin/base_site.html" not in [template.name for template in response.templates]
