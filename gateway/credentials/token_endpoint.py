"""Requests to OAuth 2.0 token endpoints (RFC 6749), and cached client credentials tokens."""

import math
import re
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import quote_plus, urlencode

import orjson

from core import http
from core.database.deadlines import Deadline
from gateway.contracts.errors import GatewayError
from gateway.credentials import connection_secrets
from gateway.credentials.connection_secrets import build_not_configured_error, build_token_unavailable_error
from gateway.models import ConnectionSecret
from registry.catalog.connections import ConnectionConfig

MAX_BYTES = 100_000
MAX_LIFETIME = 10 * 365 * 86_400  # seconds; a later date may not fit into a column
_TOKEN = re.compile(r"[\x21-\x7e]{1,20000}")
_ERROR_CODE = re.compile(r"[a-z_]{1,60}")
_REFUSED_STATUSES = (400, 401, 403)
_NOT_FIXED_BY_WAITING = (http.BadUrl, http.BadRequest, http.AddressRefused, http.Untrusted)
RENEWED_BEFORE = 60.0  # seconds before a token expires
DEFAULT_LIFETIME = 300.0  # seconds, if the token endpoint does not say
_locks: dict[str, Lock] = {}  # by connection; one thread fetches, the others wait for its token


@dataclass(frozen=True, slots=True, repr=False)  # no repr: tokens must not end up in logs
class TokenResponse:
    """The answer of a token endpoint. `lifetime` is in seconds, None if unknown."""

    access_token: str
    refresh_token: str = ""
    lifetime: float | None = None
    scope: str = ""


class TokenRefused(Exception):
    """The token endpoint refused to issue a token. `code` is one of RFC 6749, or empty."""

    def __init__(self, code: str) -> None:
        super().__init__(code or "refused")
        self.code = code


def request_token(
    config: ConnectionConfig, fields: Mapping[str, str], *, client_secret: str, deadline: Deadline
) -> TokenResponse:
    """Request a token. A client without a secret sends its id in the body.

    Raises TokenRefused, UpstreamUnreachableError, or InternalError (503 not_configured).
    """
    headers = {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"}
    if client_secret:
        headers["authorization"] = build_basic_header(quote_plus(config.client_id), quote_plus(client_secret))
    else:
        fields = {**fields, "client_id": config.client_id}
    try:
        response = http.request(
            "POST",
            config.token_url,
            headers=headers,
            body=urlencode(fields).encode(),
            deadline=deadline,
            max_bytes=MAX_BYTES,
            follow_redirects=False,  # a redirect would leak the secret or lose the body
            allow=http.get_upstream_networks(),
        )
    except http.OutgoingError as error:
        raise _to_api_error(config, error) from None
    return _parse_response(config, response)


def build_basic_header(username: str, password: str) -> str:
    """Return the value of an Authorization header (RFC 7617)."""
    return f"Basic {b64encode(f'{username}:{password}'.encode()).decode()}"


def _to_api_error(config: ConnectionConfig, error: http.OutgoingError) -> GatewayError:
    if isinstance(error, _NOT_FIXED_BY_WAITING):
        return build_not_configured_error(config, "its token URL cannot be called")
    return build_token_unavailable_error(config, str(error))


def _parse_response(config: ConnectionConfig, response: http.Response) -> TokenResponse:
    payload = _parse_object(response.body)
    if response.status == 200 and "access_token" in payload:
        return _parse_token(config, payload)
    if response.status in _REFUSED_STATUSES or (response.status == 200 and "error" in payload):
        code = payload.get("error")
        raise TokenRefused(code if isinstance(code, str) and _ERROR_CODE.fullmatch(code) else "")
    if response.status == 429 or response.status >= 500:
        raise build_token_unavailable_error(config, f"its token endpoint answered with status {response.status}.")
    raise build_not_configured_error(config, f"its token URL answered with status {response.status} and no token")


def _parse_object(body: bytes) -> dict[str, Any]:
    try:
        payload = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return payload if isinstance(payload, dict) else {}


def _parse_token(config: ConnectionConfig, payload: dict[str, Any]) -> TokenResponse:
    access_token, token_type = payload["access_token"], payload.get("token_type", "bearer")
    if not isinstance(access_token, str) or not _TOKEN.fullmatch(access_token):
        raise build_not_configured_error(config, "its token endpoint issued a token that a header cannot carry")
    if not isinstance(token_type, str) or token_type.lower() != "bearer":
        raise build_not_configured_error(config, "its token endpoint issued a token that is not a bearer token")
    refresh_token, scope = payload.get("refresh_token"), payload.get("scope")
    return TokenResponse(
        access_token=access_token,
        refresh_token=refresh_token if isinstance(refresh_token, str) else "",
        lifetime=_parse_lifetime(payload.get("expires_in")),
        scope=scope if isinstance(scope, str) else "",
    )


def _parse_lifetime(value: Any) -> float | None:
    """Return the seconds of `expires_in`. Some servers send them as a string."""
    try:
        seconds = float(value) if isinstance(value, int | float | str) else None
    except ValueError:
        return None
    return None if seconds is None or math.isnan(seconds) else min(max(seconds, 0.0), MAX_LIFETIME)


class CachedToken(NamedTuple):
    """A token, and the settings for which it was fetched."""

    settings_hash: str
    access_token: str
    usable_until: float  # on the monotonic clock


_tokens: dict[str, CachedToken] = {}  # by connection


def get_token(config: ConnectionConfig, *, deadline: Deadline) -> str:
    """Return a token for a connection, from memory if it is valid for another minute.

    The secret is read for each call, so that a change or deletion takes effect immediately.
    """
    secret = connection_secrets.read_secret(config, ConnectionSecret.Name.CLIENT_SECRET)
    settings_hash = _hash_settings(config, secret)
    if token := _find_cached(config.name, settings_hash):
        return token
    with _hold_lock(config, deadline):
        return _find_cached(config.name, settings_hash) or _fetch_token(config, secret, settings_hash, deadline)


def forget_token(config: ConnectionConfig) -> None:
    """Drop the cached token of a connection: the upstream refused it."""
    _tokens.pop(config.name, None)


def clear_tokens() -> None:
    """Drop all cached tokens, as in a new process."""
    _tokens.clear()


def _find_cached(connection: str, settings_hash: str) -> str:
    cached = _tokens.get(connection)
    is_usable = cached and cached.settings_hash == settings_hash and time.monotonic() < cached.usable_until
    return cached.access_token if cached and is_usable else ""


def _fetch_token(config: ConnectionConfig, secret: str, settings_hash: str, deadline: Deadline) -> str:
    fields = {"grant_type": "client_credentials"} | ({"scope": config.scopes} if config.scopes else {})
    try:
        response = request_token(config, fields, client_secret=secret, deadline=deadline)
    except TokenRefused as refusal:
        why = f"its token endpoint refuses the client ({refusal.code or 'no reason given'})"
        raise build_not_configured_error(config, why) from None
    _tokens[config.name] = CachedToken(settings_hash, response.access_token, time.monotonic() + _get_seconds(response))
    return response.access_token


def _get_seconds(response: TokenResponse) -> float:
    """Return how long to use a token. One that lives shorter than two minutes is used for half of its life."""
    lifetime = DEFAULT_LIFETIME if response.lifetime is None else response.lifetime
    return max(lifetime - RENEWED_BEFORE, lifetime / 2)


def _hash_settings(config: ConnectionConfig, secret: str) -> str:
    parts = (config.base_url, config.token_url, config.client_id, config.scopes, secret)
    return sha256("\0".join(parts).encode()).hexdigest()


@contextmanager
def _hold_lock(config: ConnectionConfig, deadline: Deadline) -> Iterator[None]:
    lock = _locks.setdefault(config.name, Lock())
    if not lock.acquire(timeout=deadline.get_remaining_ms() / 1000):
        raise build_token_unavailable_error(config, "its token endpoint did not respond in time.")
    try:
        yield
    finally:
        lock.release()
