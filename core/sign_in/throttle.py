"""Limits of wrong passwords. django-axes keeps the failures in the database, for all processes (ADR 20)."""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt, AccessLog
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Max, QuerySet, Sum
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from core.client_address import read_client_address

log = logging.getLogger(__name__)

# Wrong passwords that lock sign-in until AXES_COOLOFF_TIME after the last of them.
PAIR_LIMIT = 5  # of one account from one address
ADDRESS_LIMIT = 20  # from one address, which several people may share
ACCOUNT_LIMIT = 50  # of one account, except for addresses from which its user signed in lately

KNOWN_ADDRESS_AGE = timedelta(days=30)  # since the last sign-in from an address that ACCOUNT_LIMIT exempts

UNKNOWN_USER = "unknown:"  # start of an account without a user; user names contain no colon


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
        """Yield for each limit that is reached when its lock ends. The limits are those of AXES_LOCKOUT_PARAMETERS."""
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
    """Forget failed sign-ins, so that they lock nothing any more. Return how many rows there were."""
    count: int = attempts.delete()[0]
    log.info("sign_in.unlocked rows=%d by=%s", count, by)
    return count


def _is_known_address(request: Any, credentials: dict[str, Any] | None) -> bool:
    """Return whether the user signed in from this address lately.

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
