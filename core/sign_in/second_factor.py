"""Second factors and sessions of users: authenticator apps, passkeys, recovery codes (ADR 29).

After the password of a user with a second factor, the session is signed in but reaches only the page that asks for the
factor. The session says what was shown, so no page needs the database for this.
"""

import logging
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from allauth.account.authentication import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.account.internal.flows.login import record_authentication
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authentication_failed, authenticator_added
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser, User
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse

ASKED_FOR = "second_factor"  # in a session: the kinds that its user had when the password was entered
PASSWORD, SECOND_FACTOR, SINGLE_SIGN_ON = "password", "mfa", "socialaccount"

# Pages for users who have not shown it yet: to show it, to sign out, to sign in as somebody else.
OPEN_PAGES = frozenset(
    """
    mfa_reauthenticate mfa_reauthenticate_webauthn admin:logout admin:login oauth2_provider:sign-in chat_sign_in
    chat_sign_out openid_connect_login openid_connect_callback
""".split()
)
STAFF_PAGES = "/admin/"
log = logging.getLogger(__name__)


def connect() -> None:
    """Connect the receivers."""
    user_logged_in.connect(note_password, dispatch_uid=f"{__name__}.note_password")
    user_logged_in.connect(list_session, dispatch_uid=f"{__name__}.list_session")
    authenticator_added.connect(note_new_factor, dispatch_uid=f"{__name__}.note_new_factor")
    authentication_failed.connect(count_wrong_code, dispatch_uid=f"{__name__}.count_wrong_code")


def list_session(request: HttpRequest, user: AbstractBaseUser, **_: Any) -> None:
    """Add the session to those that its user sees and can end (user_logged_in)."""
    if hasattr(request, "session"):
        request.user = user  # type: ignore[assignment]
        UserSession.objects.create_from_request(request)


def note_password(request: HttpRequest, user: AbstractBaseUser, **_: Any) -> None:
    """Record in the session that a password was entered, and what else to ask for (user_logged_in)."""
    if hasattr(request, "session") and not _find_methods(request.session):  # single sign-on has noted itself
        record_authentication(request, user, PASSWORD, reauthenticated=True)
        request.session[ASKED_FOR] = find_kinds(user)


def note_new_factor(request: HttpRequest, user: AbstractBaseUser, authenticator: Any, **_: Any) -> None:
    """Let a session continue after a second factor was added: it has just been shown (authenticator_added)."""
    if authenticator.type != Authenticator.Type.RECOVERY_CODES:
        record_authentication(request, user, SECOND_FACTOR, id=authenticator.pk, type=authenticator.type)


def count_wrong_code(request: HttpRequest, user: Any, **_: Any) -> None:
    """Count a wrong code like a wrong password (authentication_failed). Raises SignInLocked if that locks sign-in."""
    user_login_failed.send(sender=__name__, credentials={"username": user.get_username()}, request=request)


def find_kinds(user: AbstractBaseUser) -> list[str]:
    """Return the kinds of a user's second factors. Recovery codes alone do not count."""
    found = Authenticator.objects.filter(user_id=user.pk).exclude(type=Authenticator.Type.RECOVERY_CODES)
    return sorted(set(found.values_list("type", flat=True)))


def used_single_sign_on(session: SessionBase) -> bool:
    """Return whether the user of a session used single sign-on."""
    return SINGLE_SIGN_ON in _find_methods(session)


def is_pending(session: SessionBase) -> bool:
    """Return whether the user of a session has a second factor and has not shown it."""
    return bool(session.get(ASKED_FOR)) and not _has_shown(session)


class SecondFactorMiddleware:
    """Sends users to the page that asks for their second factor, and staff who need one to the page that adds it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_: Any) -> HttpResponseBase | None:
        """Return the redirect, or None to go on."""
        user: Any = request.user
        match = request.resolver_match
        if not user.is_authenticated or match is None or match.view_name in OPEN_PAGES:
            return None
        if is_pending(request.session):
            return _redirect(request, _get_page(request.session[ASKED_FOR]))
        is_required = settings.GATEWAY_REQUIRE_SECOND_FACTOR and user.is_staff
        if is_required and request.path_info.startswith(STAFF_PAGES) and not _has_shown(request.session):
            request.session[ASKED_FOR] = kinds = find_kinds(user)  # the session may be older than the second factor
            if kinds:
                return _redirect(request, _get_page(kinds))
            messages.info(request, "Your role needs a second factor. Add an authenticator app or a passkey.")
            return _redirect(request, "mfa_index")
        return None


def _has_shown(session: SessionBase) -> bool:
    """Whether a second factor was shown. Providers of single sign-on ask for their own."""
    return bool({SECOND_FACTOR, SINGLE_SIGN_ON} & _find_methods(session))


def _find_methods(session: SessionBase) -> set[str]:
    return {record["method"] for record in session.get(AUTHENTICATION_METHODS_SESSION_KEY, [])}


def _get_page(kinds: list[str]) -> str:
    return "mfa_reauthenticate" if Authenticator.Type.TOTP in kinds else "mfa_reauthenticate_webauthn"


def _redirect(request: HttpRequest, page: str) -> HttpResponseRedirect:
    target = request.get_full_path() if request.method in ("GET", "HEAD") else request.META.get("SCRIPT_NAME") or "/"
    return HttpResponseRedirect(f"{reverse(page)}?{urlencode({'next': target})}")


def end_sessions(user: User, *, by: str) -> int:
    """End all sessions of a user. Return how many there were."""
    sessions = UserSession.objects.purge_and_list(user)
    for session in sessions:
        session.end()
    log.info("sign_in.sessions_ended user=%s sessions=%d by=%s", user.pk, len(sessions), by)
    return len(sessions)


def remove_second_factors(user: User, *, by: str) -> int:
    """Remove the second factors and recovery codes of a user, who lost them. Return how many there were."""
    count: int = Authenticator.objects.filter(user=user).delete()[0]
    log.info("sign_in.second_factors_removed user=%s count=%d by=%s", user.pk, count, by)
    return count


def unlink_identities(user: User, *, by: str) -> int:
    """Unlink a user from the identities at the provider of single sign-on. Return how many there were."""
    from allauth.socialaccount.models import SocialAccount  # installed only if GATEWAY_SSO_ISSUER is set

    count: int = SocialAccount.objects.filter(user=user).delete()[0]
    log.info("sign_in.identities_unlinked user=%s count=%d by=%s", user.pk, count, by)
    return count
