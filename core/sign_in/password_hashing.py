"""Password hashing in one thread of each process, which gives way to the threads that serve requests.

A hash occupies a core and 19 MiB of memory, by purpose. Django hashes a password of an unknown user, too, so all
sign-ins take their turn here.
"""

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from django.contrib.auth.hashers import Argon2PasswordHasher, PBKDF2PasswordHasher

T = TypeVar("T")

MAX_WAITING = 1  # requests that wait for their turn, each in one of the two threads that serve pages
MAX_WAIT_SECONDS = 2.0
NICENESS = 10  # gets a tenth of the processor time that another thread gets, if there is not enough for both


class PasswordHashingBusy(Exception):
    """Other requests are hashing passwords. Nothing was checked or changed; try again."""


class BoundedArgon2PasswordHasher(Argon2PasswordHasher):
    """Django's hasher with the least parameters that OWASP recommends. Raises PasswordHashingBusy."""

    time_cost = 2
    memory_cost = 19_456  # KiB. Django's default, 100 MiB, is half of what a worker needs
    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        """Return the hash of a password."""
        return _take_turn(lambda: super(BoundedArgon2PasswordHasher, self).encode(password, salt))

    def verify(self, password: str, encoded: str) -> bool:
        """Return whether a password has a hash."""
        return _take_turn(lambda: super(BoundedArgon2PasswordHasher, self).verify(password, encoded))


class BoundedPBKDF2PasswordHasher(PBKDF2PasswordHasher):
    """For hashes from before Argon2, which Django replaces when their users sign in. Raises PasswordHashingBusy."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """Return the hash of a password. `verify` calls this, too."""
        return _take_turn(lambda: super(BoundedPBKDF2PasswordHasher, self).encode(password, salt, iterations))


def _take_turn(work: Callable[[], T]) -> T:
    """Return what the work returns once it is its turn. Raises PasswordHashingBusy instead of waiting for long."""
    if not _places.acquire(blocking=False):
        raise PasswordHashingBusy
    hashing = _thread.submit(work)
    hashing.add_done_callback(_leave_place)
    with suppress(TimeoutError):
        return hashing.result(MAX_WAIT_SECONDS)
    if hashing.cancel():  # it has not started
        raise PasswordHashingBusy
    return hashing.result()


def _leave_place(_: Future[T]) -> None:
    _places.release()


def _lower_priority() -> None:
    if sys.platform == "linux":  # elsewhere it would apply to the process
        os.nice(NICENESS)


_places = threading.Semaphore(1 + MAX_WAITING)
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="password-hashing", initializer=_lower_priority)
