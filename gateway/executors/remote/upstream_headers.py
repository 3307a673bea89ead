"""Headers that the gateway adds to each request: an idempotency key and the trace. No header of the caller is sent."""

import hashlib
import hmac
import random
import re
import uuid

from django.conf import settings

from gateway.executors.base import UpstreamCall
from registry.catalog.connections import ConnectionConfig

_TRACE_ID = re.compile(r"tr_([0-9a-f]{32})")


def build_headers(work: UpstreamCall, config: ConnectionConfig) -> dict[str, str]:
    """Return the headers of one call. All attempts of the call have the same ones."""
    headers = {}
    if work.op.is_write and config.idempotency_header:
        headers[config.idempotency_header] = derive_idempotency_key(work, config)
    if match := _TRACE_ID.fullmatch(work.trace_id):
        headers["traceparent"] = f"00-{match[1]}-{random.getrandbits(64) or 1:016x}-01"
    return headers


def derive_idempotency_key(work: UpstreamCall, config: ConnectionConfig) -> str:
    """Return a UUID that is the same whenever the same caller sends the same key; random for a call without one.

    The caller's own key is not sent: it may say something about the caller, and two callers may choose the same.
    """
    if not work.idempotency_scope:
        return str(uuid.uuid4())
    message = f"upstream-idempotency\0{config.name}\0{work.idempotency_scope}".encode()
    digest = hmac.digest(settings.GATEWAY_KEY_PEPPER.encode(), message, hashlib.sha256)
    return str(uuid.UUID(bytes=digest[:16], version=4))
