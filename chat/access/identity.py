"""The subject of a request, and the key that speaks for it."""

from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest
from django.middleware.csrf import CsrfViewMiddleware

from chat.access import service_keys
from chat.errors import ApiError
from chat.gateway.client import Credentials
from chat.models import MAX_SUBJECT, Profile


@dataclass(frozen=True, slots=True, repr=False)
class Identity:
    """Whom a request is for."""

    credentials: Credentials

    @property
    def subject(self) -> str:
        """The subject whose conversations the request may see."""
        return self.credentials.subject


def identify(request: HttpRequest) -> Identity:
    """Return who sends a request. Raises ApiError.

    A service sends its key and `Gateway-Subject`, which the gateway judges. A person has a session, and the chat's own
    key speaks for the subject of their profile.
    """
    authorization = request.headers.get("Authorization", "")
    if authorization:
        return Identity(_identify_service(request, authorization))
    user_id = _find_signed_in_user(request)
    if user_id is None:
        message = "Sign in at /chat/, or send an API key: Authorization: Bearer <key>."
        raise ApiError(401, "not_signed_in", message)
    if request.method not in ("GET", "HEAD") and (reason := _find_csrf_problem(request)):
        raise ApiError(403, "csrf_failed", f"Reload the page and try again. {reason}")
    return Identity(Credentials(settings.CHAT_GATEWAY_KEY, get_subject(user_id)))


def get_subject(user_id: int) -> str:
    """Return the subject of a user. Raises ApiError if they have no profile."""
    subject = Profile.objects.filter(user_id=user_id).values_list("subject", flat=True).first()
    if not subject:
        message = "You have no chat profile. Ask an administrator to add one in the admin under Chat."
        raise ApiError(403, "no_profile", message)
    return subject


def _identify_service(request: HttpRequest, authorization: str) -> Credentials:
    scheme, _, key = authorization.partition(" ")
    subject = request.headers.get("Gateway-Subject", "")
    if scheme.lower() != "bearer" or not key.strip().isascii() or not key.strip():
        raise ApiError(401, "not_signed_in", "Send the header Authorization: Bearer <key>.")
    if not subject or len(subject) > MAX_SUBJECT or not (subject.isascii() and subject.isprintable()):
        raise ApiError(400, "invalid_request", "Send the header Gateway-Subject: whom you speak for, in ASCII.")
    credentials = Credentials(key.strip(), subject)
    service_keys.check_with_gateway(credentials)
    return credentials


def _find_signed_in_user(request: HttpRequest) -> int | None:
    """Return the user of the request's session, as Django's middleware does."""
    request.session = SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    user = get_user(request)
    return user.pk if user.is_authenticated else None


class _CsrfCheck(CsrfViewMiddleware):
    """Django's check, which returns the reason instead of a page."""

    def _reject(self, request: HttpRequest, reason: str) -> str:
        return reason


def _find_csrf_problem(request: HttpRequest) -> str | None:
    check = _CsrfCheck(lambda _: None)  # type: ignore[arg-type]
    check.process_request(request)
    reason: str | None = check.process_view(request, None, (), {})  # type: ignore[assignment, arg-type]
    return reason
