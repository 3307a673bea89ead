"""API keys of services. The gateway judges them; its answer is remembered for some seconds."""

import asyncio
import hashlib
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import BoundedSemaphore

from chat.errors import ApiError
from chat.gateway.client import Credentials, GatewayClient, GatewayRefused, GatewayUnavailable

# The gateway notices within two seconds that a key was revoked, and we two seconds after that: then the key reads
# nothing more. It may begin turns for longer, which fail: each of their calls shows the key to the gateway.
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
    future.add_done_callback(lambda _: _free_checks.release())  # also if the caller has gone meanwhile
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
    """Return what the gateway says about a key, or that it says nothing about it."""
    if code := _CODES.get(refusal.status):
        return ApiError(refusal.status, code, refusal.message, retry_after=refusal.retry_after)
    message = "The gateway cannot check this API key now. Try again soon."
    return ApiError(503, "gateway_unavailable", message, retry_after=refusal.retry_after or RETRY_AFTER)
