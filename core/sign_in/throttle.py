"""Limits on wrong passwords (django-axes, ADR 20), and password hashing that yields to requests.

A hash occupies a core and 19 MiB of memory, by purpose. Django also hashes passwords of unknown users, so all sign-ins
take their turn here.
"""

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, TypeVar

from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt, AccessLog
from django.conf import settings
from django.contrib.auth.hashers import Argon2PasswordHasher, PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.db.models import Max, QuerySet, Sum
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from core.server.environ import read_client_address

log = logging.getLogger(__name__)

# Wrong passwords that lock sign-in until AXES_COOLOFF_TIME after the last of them.
PAIR_LIMIT = 5  # of one account from one address
ADDRESS_LIMIT = 20  # from one address, which several people may share
ACCOUNT_LIMIT = 50  # of one account, except for addresses from which its user signed in recently
KNOWN_ADDRESS_AGE = timedelta(days=30)  # since the last sign-in from an address that ACCOUNT_LIMIT exempts
UNKNOWN_USER = "unknown:"  # start of an account without a user; user names contain no colon
T = TypeVar("T")
MAX_WAITING = 1  # requests that wait for their turn, each in one of the two threads that serve pages
MAX_WAIT_SECONDS = 2.0
NICENESS = 10  # gets a tenth of the processor time that another thread gets, if there is not enough for both
_places = threading.Semaphore(1 + MAX_WAITING)


class SignInLocked(Exception):
    """The account or the address has too many wrong passwords. The password was not checked."""

    def __init__(self, until: datetime) -> None:
        super().__init__(f"Sign-in is locked until {until:%H:%M} UTC.")
        self.until = until


class SignInThrottle(AxesDatabaseHandler):  # type: ignore[misc]  # axes has no type hints
    """The handler of axes with three limits instead of one. Raises SignInLocked instead of setting a flag."""

    def get_failures(self, request: Any, credentials: dict[str, Any] | None = None) -> int:
        """Return how many limits are reached. One locks: AXES_FAILURE_LIMIT is 1."""
        request.sign_in_lock_ends = list(self._iter_lock_ends(request, credentials))
        return len(request.sign_in_lock_ends)

    def reset_user_attempts(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """Forget the failures of an account from an address after a sign-in.

        Failures of other accounts from this address stay: else a user could guess the passwords of others.
        """
        pair_attempts, *_ = self.filter_user_attempts(request, credentials)
        count: int = pair_attempts.delete()[0]
        return count

    def user_login_failed(self, sender: Any, credentials: dict[str, Any], request: Any = None, **kwargs: Any) -> None:
        """Store and log a failed sign-in. Raises SignInLocked if sign-in was locked, or is from now on."""
        if request is None:
            return  # not from a page; the backend of axes refuses it
        was_locked = request.axes_locked_out
        if not was_locked:
            super().user_login_failed(sender, credentials, request, **kwargs)
        _log_failure(request, get_account(request, credentials), was_locked=was_locked)
        if request.axes_locked_out:
            raise SignInLocked(until=max(request.sign_in_lock_ends))

    def _iter_lock_ends(self, request: HttpRequest, credentials: dict[str, Any] | None) -> Iterator[datetime]:
        """Yield the end of the lock for each limit that is reached. The limits are those of AXES_LOCKOUT_PARAMETERS."""
        limits = (PAIR_LIMIT, ADDRESS_LIMIT, ACCOUNT_LIMIT)
        for attempts, limit in zip(self.get_user_attempts(request, credentials), limits, strict=True):
            totals = attempts.aggregate(failures=Sum("failures_since_start"), last=Max("attempt_time"))
            is_reached = (totals["failures"] or 0) >= limit
            if is_reached and not (limit == ACCOUNT_LIMIT and _is_known_address(request, credentials)):
                yield totals["last"] + settings.AXES_COOLOFF_TIME


def get_account(_: HttpRequest, credentials: dict[str, Any] | None) -> str:
    """Return the user name of a sign-in, or a keyed hash if no user has it.

    People type passwords into this field, so other names are not stored. They have the limits of accounts, because a
    difference would show which users exist.
    """
    username = str((credentials or {}).get("username") or "")
    if User.objects.filter(username=username).exists():
        return username
    return UNKNOWN_USER + salted_hmac("sign_in.unknown_user", username).hexdigest()


def unlock(attempts: QuerySet[AccessAttempt], *, by: str) -> int:
    """Forget failed sign-ins, so that they no longer lock anything. Return how many rows there were."""
    count: int = attempts.delete()[0]
    log.info("sign_in.unlocked rows=%d by=%s", count, by)
    return count


def count_locks(at: datetime) -> int:
    """Return how many accounts, addresses, and accounts from one address have too many wrong passwords."""
    attempts = AccessAttempt.objects.filter(attempt_time__gte=at - settings.AXES_COOLOFF_TIME).order_by()
    return sum(
        attempts.values(*fields).annotate(failures=Sum("failures_since_start")).filter(failures__gte=limit).count()
        for fields, limit in (
            (["username", "ip_address"], PAIR_LIMIT),
            (["ip_address"], ADDRESS_LIMIT),
            (["username"], ACCOUNT_LIMIT),
        )
    )


def _is_known_address(request: Any, credentials: dict[str, Any] | None) -> bool:
    """Return whether the user signed in from this address recently.

    Without this exemption, somebody with many addresses could lock out the only admin for as long as they like.
    """
    account, since = get_account(request, credentials), request.axes_attempt_time - KNOWN_ADDRESS_AGE
    sign_ins = AccessLog.objects.filter(username=account, ip_address=request.axes_ip_address, attempt_time__gte=since)
    is_known: bool = sign_ins.exists()
    return is_known


def _log_failure(request: HttpRequest, account: str, *, was_locked: bool) -> None:
    address = read_client_address(request.META)
    if account.startswith(UNKNOWN_USER):
        log.warning("sign_in.failed reason=%s address=%s", "locked" if was_locked else "unknown_user", address)
        return
    reason = "locked" if was_locked else "wrong_password"
    name = "".join(character if character.isprintable() else "?" for character in account)
    log.warning("sign_in.failed reason=%s user=%s address=%s", reason, name, address)


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
        """Return the hash of a password. `verify` also calls this."""
        return _take_turn(lambda: super(BoundedPBKDF2PasswordHasher, self).encode(password, salt, iterations))


def _take_turn(work: Callable[[], T]) -> T:
    """Wait for a turn and return the result of the work. Raises PasswordHashingBusy instead of waiting for long."""
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


_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="password-hashing", initializer=_lower_priority)
