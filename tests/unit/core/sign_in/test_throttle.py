"""Limits of wrong passwords: by account and address, by address, by account."""

import logging
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from axes.models import AccessAttempt
from django.contrib.auth import authenticate
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.http import HttpRequest
from django.test import RequestFactory

from core.sign_in import throttle
from core.sign_in.throttle import ACCOUNT_LIMIT, ADDRESS_LIMIT, PAIR_LIMIT, SignInLocked
from gateway.jobs import retention

pytestmark = pytest.mark.django_db

AT = datetime(2030, 1, 1, 12, tzinfo=UTC)
PASSWORD, WRONG = "a password of ana", "wrong"
HERE, THERE = "192.0.2.7", "198.51.100.9"


@pytest.fixture(autouse=True)
def ana() -> User:
    return User.objects.create_user("ana", password=PASSWORD, is_staff=True)


def build_request(address: str) -> HttpRequest:
    return RequestFactory().post("/admin/login/", REMOTE_ADDR=address, headers={"user-agent": "Firefox"})


def try_password(password: str = WRONG, *, user: str = "ana", address: str = HERE) -> bool | None:
    """Return whether the password is right, or None if sign-in is locked."""
    try:
        return authenticate(build_request(address), username=user, password=password) is not None
    except SignInLocked:
        return None


def fail(count: int, *, user: str = "ana", address: str = HERE) -> None:
    for _ in range(count):
        try_password(user=user, address=address)


def sign_in(user: User, address: str) -> None:
    user_logged_in.send(sender=User, request=build_request(address), user=user)


def list_many_addresses(count: int) -> list[str]:
    return [f"203.0.113.{number}" for number in range(1, count + 1)]


@pytest.mark.both_databases
def test_locks_are_counted_while_they_last() -> None:
    with time_machine.travel(AT, tick=False):
        fail(PAIR_LIMIT - 1)
        assert throttle.count_locks(AT) == 0
        fail(1)
        fail(ADDRESS_LIMIT, user="ben", address=THERE)  # ben is locked there after five, and tries on
        assert throttle.count_locks(AT) == 2
        assert throttle.count_locks(AT + timedelta(minutes=16)) == 0


@pytest.mark.both_databases
def test_account_is_locked_at_an_address_after_five_failures() -> None:
    fail(PAIR_LIMIT - 1)
    assert try_password(PASSWORD) is True

    fail(1)

    assert try_password(PASSWORD) is None
    assert try_password(PASSWORD, address=THERE) is True


@pytest.mark.both_databases
def test_address_is_locked_after_failures_of_several_accounts() -> None:
    for number in range(ADDRESS_LIMIT):
        assert try_password(PASSWORD) is True
        fail(1, user=f"nobody{number}")

    assert try_password(PASSWORD) is None
    assert try_password(PASSWORD, address=THERE) is True


def test_account_is_locked_after_failures_from_many_addresses() -> None:
    for address in list_many_addresses(ACCOUNT_LIMIT):
        assert try_password(PASSWORD) is True
        fail(1, address=address)

    assert try_password(PASSWORD) is None
    assert try_password(user="bob") is False


def test_account_is_not_locked_where_its_user_signed_in_lately(ana: User) -> None:
    with time_machine.travel(AT - timedelta(days=31)):
        sign_in(ana, THERE)
    with time_machine.travel(AT - timedelta(days=29)):
        sign_in(ana, HERE)
    with time_machine.travel(AT):
        for address in list_many_addresses(ACCOUNT_LIMIT):
            fail(1, address=address)

        assert try_password(PASSWORD, address=HERE) is True
        assert try_password(PASSWORD, address=THERE) is None


def test_address_of_ipv6_is_a_network() -> None:
    for number in range(PAIR_LIMIT):
        fail(1, address=f"2001:db8:1:2::{number}")

    assert try_password(PASSWORD, address="2001:db8:1:2:ffff::1") is None
    assert try_password(PASSWORD, address="2001:db8:1:3::1") is True


def test_lock_ends_fifteen_minutes_after_the_last_failure_whatever_is_tried_meanwhile() -> None:
    with time_machine.travel(AT, tick=False) as clock:
        fail(PAIR_LIMIT - 1)
        clock.shift(timedelta(minutes=10))
        with pytest.raises(SignInLocked) as lock:
            authenticate(build_request(HERE), username="ana", password="wrong")
        assert lock.value.until == AT + timedelta(minutes=25)

        clock.shift(timedelta(minutes=14, seconds=59))
        fail(3)
        assert try_password(PASSWORD) is None

        clock.shift(timedelta(seconds=2))
        assert try_password(PASSWORD) is True


def test_failures_of_long_ago_do_not_count() -> None:
    with time_machine.travel(AT, tick=False) as clock:
        fail(PAIR_LIMIT - 1)
        clock.shift(timedelta(minutes=16))
        fail(1)

        assert try_password(PASSWORD) is True


def test_locked_sign_in_hashes_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    for user in ("ana", "nobody"):
        fail(PAIR_LIMIT, user=user)
    hashed: list[object] = []
    monkeypatch.setattr(MD5PasswordHasher, "encode", lambda *args: hashed.append(args))

    assert [try_password(PASSWORD, user=user) for user in ("ana", "nobody")] == [None, None]
    assert hashed == []


@pytest.mark.both_databases
def test_sign_in_forgets_the_failures_of_its_account_and_address_only(ana: User) -> None:
    fail(PAIR_LIMIT - 1)
    fail(1, user="bob")
    fail(1, address=THERE)

    sign_in(ana, HERE)

    assert AccessAttempt.objects.filter(username="ana").count() == 1
    assert AccessAttempt.objects.filter(ip_address=HERE).count() == 1
    fail(PAIR_LIMIT - 1)
    assert try_password(PASSWORD) is True


def test_name_without_a_user_has_the_same_limit_and_is_not_stored(caplog: pytest.LogCaptureFixture) -> None:
    typed = "hunter2, typed into the wrong field"
    fail(PAIR_LIMIT, user=typed)

    assert try_password(user=typed) is None
    assert try_password(user="another") is False
    assert typed not in str(list(AccessAttempt.objects.values()))
    assert typed not in caplog.text


def test_each_failure_is_one_log_event_without_control_characters(ana: User, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    fail(PAIR_LIMIT + 1)
    fail(1, user="nobody", address=THERE)
    User.objects.filter(pk=ana.pk).update(username="ana\nsign_in.failed")  # no form accepts it
    fail(1, user="ana\nsign_in.failed", address=THERE)

    assert [record.getMessage() for record in caplog.records] == [
        *[f"sign_in.failed reason=wrong_password user=ana address={HERE}"] * PAIR_LIMIT,
        f"sign_in.failed reason=locked user=ana address={HERE}",
        f"sign_in.failed reason=unknown_user address={THERE}",
        f"sign_in.failed reason=wrong_password user=ana?sign_in.failed address={THERE}",
    ]


def test_unlock_forgets_failures(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    fail(PAIR_LIMIT)
    caplog.clear()

    assert throttle.unlock(AccessAttempt.objects.all(), by="bob") == 1

    assert try_password(PASSWORD) is True
    assert caplog.messages == ["sign_in.unlocked rows=1 by=bob"]


@pytest.mark.both_databases
def test_job_deletes_what_no_limit_needs(ana: User) -> None:
    with time_machine.travel(AT - timedelta(days=31)):
        sign_in(ana, HERE)
    with time_machine.travel(AT - timedelta(minutes=16)):
        fail(PAIR_LIMIT)
    with time_machine.travel(AT - timedelta(minutes=14)):
        sign_in(ana, THERE)
        AccessAttempt.objects.create(username="bob", ip_address=THERE, failures_since_start=1)

    retention.delete_sign_ins(AT)

    assert list(AccessAttempt.objects.values_list("username", flat=True)) == ["bob"]
    assert try_password(PASSWORD) is True
