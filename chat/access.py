"""Who asks: the end user of a request, and the keys of services."""

import asyncio
import hashlib
import math
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import BoundedSemaphore

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.middleware.csrf import CsrfViewMiddleware

from chat.errors import ApiError
from chat.gateway.client import Credentials, GatewayClient, GatewayRefused, GatewayUnavailable
from chat.models import Profile, validate_subject
from core.sign_in import second_factor

_KEY = re.compile(r"[\x21-\x7e]+")

# The gateway notices within two seconds that a key was revoked, and the chat two seconds later. From then on the key
# reads nothing. It can begin turns for longer, but they fail: each of their calls sends the key to the gateway.
REMEMBERED_SECONDS = 2.0
REMEMBERED_FOR_TURNS_SECONDS = 30.0
MAX_REMEMBERED = 10_000

# A slow gateway holds these threads, so people and keys that are remembered do not wait for it.
THREADS = 16
MAX_CHECKS = 32  # that run or wait for a thread
RETRY_AFTER = 2
_threads = ThreadPoolExecutor(THREADS, thread_name_prefix="chat-keys")
_free_checks = BoundedSemaphore(MAX_CHECKS)
_accepted: dict[bytes, float] = {}  # when the gateway was asked, by a hash of key and subject
_CODES = {401: "not_signed_in", 403: "forbidden", 429: "rate_limited"}


@dataclass(frozen=True, slots=True, repr=False)
class Identity:
    """The user that a request is for."""

    credentials: Credentials

    @property
    def subject(self) -> str:
        """The subject whose conversations the request can see."""
        return self.credentials.subject


def read_credentials(request: HttpRequest) -> Credentials | None:
    """Return the key and the subject that a service sends, None for a person's request. Raises ApiError.

    The gateway judges whether the key is valid and may speak for the subject (`service_keys`).
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
        message = f"Send the header Gateway-Subject: the user that you speak for. {error.message}"
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
        message = "You have no chat profile. Ask an administrator to add one in the console under Chat profiles."
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


async def check_with_gateway(credentials: Credentials, *, starts_turn: bool) -> None:
    """Return if the gateway lets this key serve this subject. Raises ApiError."""
    digest = hashlib.sha256(f"{credentials.key}\n{credentials.subject}".encode()).digest()
    asked_at = time.monotonic()
    remembered_seconds = REMEMBERED_FOR_TURNS_SECONDS if starts_turn else REMEMBERED_SECONDS
    if asked_at - _accepted.get(digest, -math.inf) < remembered_seconds:
        return
    try:
        await run_in_thread(partial(_ask_gateway, credentials))
    except ApiError as error:
        if error.status in (401, 403):
            _accepted.pop(digest, None)
        raise
    if len(_accepted) >= MAX_REMEMBERED:
        _accepted.clear()
    _accepted[digest] = asked_at


async def run_in_thread(check: Callable[[], None]) -> None:
    """Run a check in one of the threads for keys. Raises ApiError if too many wait for one."""
    if not _free_checks.acquire(blocking=False):
        message = "Too many API keys are being checked. Try again soon."
        raise ApiError(503, "gateway_unavailable", message, retry_after=RETRY_AFTER)
    future = _threads.submit(check)
    future.add_done_callback(lambda _: _free_checks.release())  # also if the caller has closed the connection
    await asyncio.wrap_future(future)


def clear_cache() -> None:
    """Forget what the gateway said, as in a new process."""
    _accepted.clear()


def _ask_gateway(credentials: Credentials) -> None:
    try:
        GatewayClient(credentials).check_access()
    except GatewayRefused as refusal:
        raise _explain_refusal(refusal) from None
    except GatewayUnavailable:
        message = "The gateway cannot be reached. Try again soon."
        raise ApiError(503, "gateway_unavailable", message, retry_after=RETRY_AFTER) from None


def _explain_refusal(refusal: GatewayRefused) -> ApiError:
    """Return what the gateway says about a key, or that it cannot check it."""
    if code := _CODES.get(refusal.status):
        return ApiError(refusal.status, code, refusal.message, retry_after=refusal.retry_after)
    message = "The gateway cannot check this API key now. Try again soon."
    return ApiError(503, "gateway_unavailable", message, retry_after=refusal.retry_after or RETRY_AFTER)
