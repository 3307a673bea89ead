"""A process hashes one password at a time. One more request waits, and others are refused."""

import base64
import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth import hashers
from django.contrib.auth.hashers import Argon2PasswordHasher, PBKDF2PasswordHasher

from core.sign_in import throttle
from core.sign_in.throttle import BoundedArgon2PasswordHasher, BoundedPBKDF2PasswordHasher, PasswordHashingBusy
from tests.support.servers.processes import eventually


class HeldHashing:
    def __init__(self) -> None:
        self.started = 0
        self.go = threading.Event()

    def __call__(self, *args: object, **options: object) -> bytes:
        self.started += 1
        assert self.go.wait(10)
        return b"hash"


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldHashing]:
    hashing = HeldHashing()
    monkeypatch.setattr(hashers, "pbkdf2", hashing)
    yield hashing
    hashing.go.set()


def hash_in_threads(pool: ThreadPoolExecutor, count: int) -> list[Future[str]]:
    return [pool.submit(BoundedPBKDF2PasswordHasher().encode, "a password", "salt") for _ in range(count)]


def test_one_password_is_hashed_and_one_waits(held: HeldHashing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle, "MAX_WAIT_SECONDS", 20.0)  # the one that waits is not refused
    with ThreadPoolExecutor(6) as pool:
        futures = hash_in_threads(pool, 6)
        eventually(lambda: sum(future.done() for future in futures) == 4, what="the refusals")

        assert held.started == 1
        assert all(isinstance(future.exception(), PasswordHashingBusy) for future in futures if future.done())

        held.go.set()
        assert [future.result(10)[:13] for future in futures if not future.exception(10)] == ["pbkdf2_sha256"] * 2
    assert held.started == 2


def test_waiting_request_is_refused_after_some_time(held: HeldHashing, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(2) as pool:
        futures = hash_in_threads(pool, 1)
        eventually(lambda: held.started == 1, what="the first one")  # one that has started is not refused
        monkeypatch.setattr(throttle, "MAX_WAIT_SECONDS", 0.01)
        futures += hash_in_threads(pool, 1)
        eventually(lambda: any(future.done() for future in futures), what="the refusal")
        held.go.set()
        errors = [future.exception(10) for future in futures]

    assert {type(error) for error in errors} == {type(None), PasswordHashingBusy}


@pytest.mark.skipif(sys.platform != "linux", reason="by design: only Linux has priorities of threads")
def test_hashing_gives_way_to_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_niceness(*args: object, **options: object) -> bytes:
        return str(os.nice(0)).encode()

    monkeypatch.setattr(hashers, "pbkdf2", read_niceness)

    encoded = BoundedPBKDF2PasswordHasher().encode("a password", "salt")

    niceness = int(base64.b64decode(encoded.rpartition("$")[2]))
    assert niceness == min(os.nice(0) + throttle.NICENESS, 19)


def test_failure_frees_the_turn() -> None:
    hasher = BoundedPBKDF2PasswordHasher()
    for _ in range(3):
        with pytest.raises(ValueError, match="salt"):
            hasher.encode("a password", "")

    assert hasher.verify("a password", hasher.encode("a password", "salt", 10))


def test_hashes_are_those_of_django() -> None:
    encoded = PBKDF2PasswordHasher().encode("a password", "salt", 10)
    argon2 = BoundedArgon2PasswordHasher().encode("a password", "a long salt")

    assert BoundedPBKDF2PasswordHasher().encode("a password", "salt", 10) == encoded
    assert argon2.startswith("argon2$argon2id$v=19$m=19456,t=2,p=1$")
    assert Argon2PasswordHasher().verify("a password", argon2)
    assert BoundedArgon2PasswordHasher().verify("a password", argon2)
    assert not BoundedArgon2PasswordHasher().verify("another one", argon2)


@pytest.mark.parametrize("hasher", [BoundedArgon2PasswordHasher(), BoundedPBKDF2PasswordHasher()])
def test_both_hashers_take_turns(hasher: Any) -> None:
    encoded = hasher.encode("a password", "a long salt")
    places = 1 + throttle.MAX_WAITING
    for _ in range(places):
        assert throttle._places.acquire(blocking=False)
    try:
        for work in (lambda: hasher.encode("x", "a long salt"), lambda: hasher.verify("x", encoded)):
            with pytest.raises(PasswordHashingBusy):
                work()
    finally:
        for _ in range(places):
            throttle._places.release()
