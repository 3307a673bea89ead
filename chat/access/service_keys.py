"""API keys of services. The gateway judges them; its answer is remembered for some seconds."""

import hashlib
import time

from chat.errors import ApiError
from chat.gateway.client import Credentials, GatewayClient, GatewayRefused, GatewayUnavailable

REMEMBERED_SECONDS = 30.0
MAX_REMEMBERED = 10_000

_accepted: dict[bytes, float] = {}  # until when, by a hash of key and subject


def check_with_gateway(credentials: Credentials) -> None:
    """Return if the gateway lets this key speak for this subject. Raises ApiError."""
    digest = hashlib.sha256(f"{credentials.key}\n{credentials.subject}".encode()).digest()
    if _accepted.get(digest, 0.0) > time.monotonic():
        return
    try:
        GatewayClient(credentials).check_access()
    except GatewayRefused as refusal:
        code = "not_signed_in" if refusal.status == 401 else "forbidden"
        raise ApiError(401 if refusal.status == 401 else 403, code, refusal.message) from None
    except GatewayUnavailable:
        raise ApiError(503, "gateway_unavailable", "The gateway cannot be reached. Try again soon.") from None
    if len(_accepted) >= MAX_REMEMBERED:
        _accepted.clear()
    _accepted[digest] = time.monotonic() + REMEMBERED_SECONDS


def clear_cache() -> None:
    """Forget what the gateway said, as in a new process."""
    _accepted.clear()
