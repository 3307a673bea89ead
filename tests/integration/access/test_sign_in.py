"""Signing in to the console: too many wrong passwords lock it, and hashing passwords does not block the server."""

import logging
import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from io import StringIO
from typing import Any

import pytest
import time_machine
from axes.models import AccessAttempt
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db.models import Sum
from django.http import HttpResponse
from django.test import Client as HttpClient

from core.sign_in import throttle
from core.sign_in.throttle import PAIR_LIMIT, UNKNOWN_USER
from tests.support.concurrency import run_at_once
from tests.support.console.admin_models import run_action
from tests.support.loops import for_each

pytestmark = pytest.mark.django_db

LOGIN = "/admin/login/"
AT = datetime(2030, 1, 1, 12, tzinfo=UTC)
PASSWORD, WRONG = "a password of ana", "wrong"
BOUNDED_HASHERS = [
    "core.sign_in.throttle.BoundedArgon2PasswordHasher",
    "core.sign_in.throttle.BoundedPBKDF2PasswordHasher",
]


@pytest.fixture
def ana(db: None) -> User:
    return User.objects.create_user("ana", password=PASSWORD, is_staff=True)


def sign_in(http: HttpClient, password: str = WRONG, *, user: str = "ana", **headers: str) -> HttpResponse:
    return http.post(LOGIN, {"username": user, "password": password}, headers=headers)


def lock(http: HttpClient, **headers: str) -> HttpResponse:
    return [sign_in(http, **headers) for _ in range(PAIR_LIMIT)][-1]


def test_locked_page_says_when_to_try_again_and_who_can_unlock(client: HttpClient, ana: User) -> None:
    with time_machine.travel(AT, tick=False) as clock:
        assert lock(client).status_code == HTTPStatus.TOO_MANY_REQUESTS
        clock.shift(timedelta(minutes=5, seconds=1))
        response = sign_in(client, PASSWORD)

    page = response.content.decode()
    assert response.status_code == HTTPStatus.TOO_MANY_REQUESTS
    assert response.headers["Retry-After"] == str(10 * 60 - 1)
    assert "Try again after 12:15 UTC, in 10 minutes." in page
    assert "An Admin can unlock it sooner under Failed sign-ins, an operator with manage.py axes_reset." in page
    assert not client.session.get("_auth_user_id")


def test_what_was_typed_is_neither_stored_nor_logged(
    client: HttpClient, ana: User, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="axes")
    sign_in(client, "hunter2-as-password")
    for _ in range(PAIR_LIMIT + 1):
        sign_in(client, "hunter2-as-password", user="hunter2-as-name")

    rows = str(list(AccessAttempt.objects.values()))
    assert "'ana'" in rows
    assert "hunter2" not in rows + caplog.text
    assert caplog.text.count("sign_in.failed") == PAIR_LIMIT + 2


def test_operator_unlocks_with_a_command(client: HttpClient, ana: User) -> None:
    lock(client)

    call_command("axes_reset_username", "ana", stdout=StringIO())

    assert sign_in(client, PASSWORD).status_code == HTTPStatus.FOUND


def test_admin_unlocks_in_the_list_of_failures(client: HttpClient, admin_client: HttpClient, ana: User) -> None:
    lock(client)
    sign_in(client, user="nobody")
    failures = AccessAttempt.objects.get(username="ana")

    page = admin_client.get("/admin/axes/accessattempt/").content.decode()
    after = run_action(admin_client, AccessAttempt, "unlock", failures)

    assert "No such user" in page
    assert UNKNOWN_USER not in page
    assert "Unlocked: 1 row of failures deleted." in after
    assert sign_in(client, PASSWORD).status_code == HTTPStatus.FOUND


def test_clients_of_one_proxy_are_locked_separately(client: HttpClient, ana: User, settings: Any) -> None:
    settings.GATEWAY_PROXY_COUNT = 1

    lock(client, x_forwarded_for="192.0.2.7")

    assert sign_in(client, PASSWORD, x_forwarded_for=" 6.6.6.6, 192.0.2.7").status_code == HTTPStatus.TOO_MANY_REQUESTS
    assert sign_in(client, PASSWORD, x_forwarded_for="198.51.100.9").status_code == HTTPStatus.FOUND


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_failures_at_the_same_moment_are_all_counted(settings: Any) -> None:
    calls = PAIR_LIMIT - 1

    responses = run_at_once([lambda: sign_in(HttpClient(), user="nobody")] * calls)

    assert [response.status_code for response in responses] == [200] * calls
    assert AccessAttempt.objects.aggregate(count=Sum("failures_since_start")) == {"count": calls}


# --- hashing ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def busy_hashing(settings: Any) -> Iterator[None]:
    """Occupy all places of password hashing, as other threads of the process would."""
    settings.PASSWORD_HASHERS = BOUNDED_HASHERS
    places = 1 + throttle.MAX_WAITING
    for _ in range(places):
        assert throttle._places.acquire(blocking=False)
    yield
    for _ in range(places):
        throttle._places.release()


NEW_PASSWORDS = {"old_password": "x", "new_password1": "correct horse 1", "new_password2": "correct horse 1"}
NEW_USER = {
    "username": "bob",
    "usable_password": "true",
    "password1": "correct horse battery",
    "password2": "correct horse battery",
}


@for_each(
    "path, form",
    [
        (LOGIN, {"username": "admin", "password": "wrong"}),
        (LOGIN, {"username": "nobody", "password": "wrong"}),
        ("/admin/password_change/", NEW_PASSWORDS),
        ("/admin/auth/user/add/", NEW_USER),
    ],
)
def test_page_says_to_try_again_while_others_hash(
    admin_client: HttpClient, busy_hashing: None, path: str, form: dict[str, str]
) -> None:
    response = admin_client.post(path, form)

    assert response.status_code == HTTPStatus.TOO_MANY_REQUESTS
    assert response.headers["Retry-After"] == str(math.ceil(throttle.MAX_WAIT_SECONDS))
    assert "Nothing was changed. Go back and try again." in response.content.decode()
    assert not User.objects.filter(username="bob").exists()
    assert not AccessAttempt.objects.exists()


def test_hash_from_before_argon2_works_and_is_replaced(client: HttpClient, settings: Any) -> None:
    settings.PASSWORD_HASHERS = BOUNDED_HASHERS
    hashed = make_password(PASSWORD, hasher="pbkdf2_sha256")
    User.objects.create(username="ana", password=hashed, is_staff=True)

    assert sign_in(client, PASSWORD).status_code == HTTPStatus.FOUND
    assert User.objects.get().password.startswith("argon2$argon2id$")
    assert sign_in(HttpClient(), PASSWORD).status_code == HTTPStatus.FOUND


def test_form_stores_the_time_zone_so_that_the_first_page_has_local_times(client: HttpClient, db: None) -> None:
    assert "console/time_zone" in client.get(LOGIN).content.decode()
