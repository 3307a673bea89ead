"""Password hashing in one thread of each process, which gives way to the threads that serve requests.

A hash occupies a core for a third of a second. Django hashes a password of an unknown user, too, so all sign-ins take
their turn here, and take equally long.
"""

import os
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from django.contrib.auth.hashers import PBKDF2PasswordHasher

MAX_WAITING = 1  # requests that wait for their turn, each in one of the two threads that serve pages
MAX_WAIT_SECONDS = 2.0
NICENESS = 10  # gets a tenth of the processor time that another thread gets, if there is not enough for both


class PasswordHashingBusy(Exception):
    """Other requests are hashing passwords. Nothing was checked or changed; try again."""


class BoundedPasswordHasher(PBKDF2PasswordHasher):
    """Django's hasher, with the same hashes. Raises PasswordHashingBusy instead of waiting for long."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """Return the hash of a password. `verify` calls this, too."""
        if not _places.acquire(blocking=False):
            raise PasswordHashingBusy
        hashing = _thread.submit(super().encode, password, salt, iterations)
        hashing.add_done_callback(_leave_place)
        with suppress(TimeoutError):
            return hashing.result(MAX_WAIT_SECONDS)
        if hashing.cancel():  # it has not started
            raise PasswordHashingBusy
        return hashing.result()


def _leave_place(_: Future[str]) -> None:
    _places.release()


def _lower_priority() -> None:
    if sys.platform == "linux":  # elsewhere it would apply to the process
        os.nice(NICENESS)


_places = threading.Semaphore(1 + MAX_WAITING)
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="password-hashing", initializer=_lower_priority)
