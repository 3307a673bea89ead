"""The subject of a request, and the key that speaks for it."""

import re
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.middleware.csrf import CsrfViewMiddleware

from chat.errors import ApiError
from chat.gateway.client import Credentials
from chat.models import Profile, validate_subject
from core.sign_in import second_factor

_KEY = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True, repr=False)
class Identity:
    """Whom a request is for."""

    credentials: Credentials

    @property
    def subject(self) -> str:
        """The subject whose conversations the request may see."""
        return self.credentials.subject


def read_credentials(request: HttpRequest) -> Credentials | None:
    """Return the key and the subject that a service sends, None for a person's request. Raises ApiError.

    Whether the key is valid and may speak for the subject, the gateway judges (`service_keys`).
    """
    authorization = request.headers.get("Authorization", "")
    if not authorization:
        return None
    scheme, _, key = authorization.partition(" ")
    if scheme.lower() != "bearer" or not _KEY.fullmatch(key.strip()):
        raise ApiError(401, "not_signed_in", "Send the header Authorization: Bearer <key>.")
    subject = request.headers.get("Gateway-Subject", "").strip()
    try:
        validate_subject(subject)
    except ValidationError as error:
        message = f"Send the header Gateway-Subject: whom you speak for. {error.message}"
        raise ApiError(400, "invalid_request", message) from None
    return Credentials(key.strip(), subject)


def identify_person(request: HttpRequest) -> Identity:
    """Return who has signed in. The chat's own key speaks for the subject of their profile. Raises ApiError."""
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
        message = "You have no chat profile. Ask an administrator to add one in the admin under Chat profiles."
        raise ApiError(403, "no_profile", message)
    return subject


def _find_signed_in_user(request: HttpRequest) -> int | None:
    """Return the user of the request's session, as Django's middleware does; None while a second factor is missing."""
    request.session = SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    user = get_user(request)
    return user.pk if user.is_authenticated and not second_factor.is_pending(request.session) else None


class _CsrfCheck(CsrfViewMiddleware):
    """Django's check, which returns the reason instead of a page."""

    def _reject(self, request: HttpRequest, reason: str) -> str:
        return reason


def _find_csrf_problem(request: HttpRequest) -> str | None:
    check = _CsrfCheck(lambda _: None)  # type: ignore[arg-type]
    check.process_request(request)
    reason: str | None = check.process_view(request, None, (), {})  # type: ignore[assignment, arg-type]
    return reason
