"""Failed and refused sign-ins: the list, its log, and unlocking an account."""

import logging
import math
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Any

from allauth.mfa.models import Authenticator
from axes.models import AccessAttempt
from django.contrib import admin
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.defaultfilters import pluralize
from django.template.loader import render_to_string
from django.utils import timezone

from audit import audit_log
from audit.models import AuditEntry
from core.admin import base
from core.server.environ import read_client_address
from core.sign_in import throttle
from core.sign_in.second_factor import used_single_sign_on
from core.sign_in.throttle import MAX_WAIT_SECONDS, PasswordHashingBusy, SignInLocked

# Not "access attempt" as in axes, whose rows are failures only.
AccessAttempt._meta.verbose_name, AccessAttempt._meta.verbose_name_plural = "failed sign-in", "failed sign-ins"
log = logging.getLogger(__name__)
TOO_MANY_REQUESTS = 429


@admin.register(AccessAttempt)
class FailedSignInAdmin(base.ReadOnlyMixin, base.ModelAdmin[AccessAttempt]):
    empty = "No wrong passwords in the last 15 minutes. Older ones are in the log, as sign_in.failed."
    list_display = ["account", "address", "failures", "last_failure", "browser"]
    search_fields = ["username", "ip_address"]
    fields = ["account", "address", "failures", "last_failure", "browser"]  # not what was posted
    ordering = ["-attempt_time"]
    actions = ["unlock"]

    @admin.action(description="Unlock: delete these failures", permissions=["unlock"])
    def unlock(self, request: HttpRequest, queryset: QuerySet[AccessAttempt]) -> None:
        count = throttle.unlock(queryset, by=str(request.user))
        self.message_user(request, f"Unlocked: {count} row{pluralize(count)} of failures deleted.")

    def has_unlock_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("axes.delete_accessattempt")

    @admin.display(description="User", ordering="username")
    def account(self, attempt: AccessAttempt) -> str:
        """Return the user name. Names that no user has are not stored."""
        return "No such user" if attempt.username.startswith(throttle.UNKNOWN_USER) else str(attempt.username)

    @admin.display(description="Address", ordering="ip_address")
    def address(self, attempt: AccessAttempt) -> str:
        return str(attempt.ip_address or "")

    @admin.display(description="Failures", ordering="failures_since_start")
    def failures(self, attempt: AccessAttempt) -> int:
        return int(attempt.failures_since_start)

    @admin.display(description="Last failure", ordering="attempt_time")
    def last_failure(self, attempt: AccessAttempt) -> datetime:
        at: datetime = attempt.attempt_time
        return at

    @admin.display(description="Browser")
    def browser(self, attempt: AccessAttempt) -> str:
        return str(attempt.user_agent)


class RefusalMiddleware:
    """Answers with a page if a view raises SignInLocked or PasswordHashingBusy. API calls do not come here."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Return the page for the exception, or None for others."""
        if isinstance(exception, SignInLocked):
            return _build_locked_response(exception)
        if isinstance(exception, PasswordHashingBusy):
            return _build_busy_response(request)
        return None


def _build_locked_response(lock: SignInLocked) -> HttpResponse:
    seconds = max(1, math.ceil((lock.until - timezone.now()).total_seconds()))
    minutes = math.ceil(seconds / 60)
    sentences = (
        f"There were too many wrong passwords. Try again after {lock.until:%H:%M} UTC, "
        f"in {minutes} minute{pluralize(minutes)}.",
        "An Admin can unlock it sooner under Failed sign-ins, an operator with manage.py axes_reset.",
    )
    return _build_response("Sign-in is locked", sentences, retry_after=seconds)


def _build_busy_response(request: HttpRequest) -> HttpResponse:
    log.warning("sign_in.busy path=%s address=%s", request.path, read_client_address(request.META))
    sentences = ("The server is checking other passwords. Nothing was changed. Go back and try again.",)
    return _build_response("The server is busy", sentences, retry_after=math.ceil(MAX_WAIT_SECONDS))


def _build_response(title: str, sentences: tuple[str, ...], *, retry_after: int) -> HttpResponse:
    response = HttpResponse(_render_page(title, sentences), status=TOO_MANY_REQUESTS)
    response.headers["Retry-After"] = str(retry_after)
    return response


@lru_cache(maxsize=20)
def _render_page(title: str, sentences: tuple[str, ...]) -> str:
    """Return the page, the same for everybody. Cached: attacks request it often, and rendering takes longest."""
    request = HttpRequest()
    request.user = AnonymousUser()
    request.META["SCRIPT_NAME"] = ""
    context = admin.site.each_context(request) | {"title": title, "sentences": sentences}
    return render_to_string("console/access/sign_in_refused.html", context)


def record_sign_in(*, request: HttpRequest | None, user: User, **_: Any) -> None:
    """Receiver of Django's user_logged_in."""
    _record(AuditEntry.Action.SIGNED_IN, request, user)


def record_sign_out(*, request: HttpRequest | None, user: User | None, **_: Any) -> None:
    """Receiver of Django's user_logged_out. There is no user if the session had ended before."""
    if user is not None:
        _record(AuditEntry.Action.SIGNED_OUT, request, user)


def _record(action: AuditEntry.Action, request: HttpRequest | None, user: User) -> None:
    if request is None or request.method is None:
        return  # a script made the session: nobody sent a password
    name = user.get_username()
    address = read_client_address(request.META)
    way = "by single sign-on" if hasattr(request, "session") and used_single_sign_on(request.session) else ""
    note = " ".join(filter(None, [way, f"from {address}" if address else ""]))
    audit_log.record_action("sign_in", name, action, by=name, at=timezone.now(), note=note)


def record_added_factor(user: User, authenticator: Authenticator, **_: Any) -> None:
    """Receiver of allauth's authenticator_added."""
    _record_factor(user, f"Added a second factor: {authenticator.get_type_display()}")


def record_removed_factor(user: User, authenticator: Authenticator, **_: Any) -> None:
    """Receiver of allauth's authenticator_removed."""
    _record_factor(user, f"Removed a second factor: {authenticator.get_type_display()}")


def _record_factor(user: User, note: str) -> None:
    kind, action, name = "user", AuditEntry.Action.CHANGED, user.get_username()
    audit_log.record_action(kind, name, action, by=name, at=timezone.now(), note=note)
