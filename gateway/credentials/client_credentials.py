"""Tokens of the OAuth 2.0 client credentials grant, cached in each process."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from threading import Lock
from typing import NamedTuple

from core.database.deadlines import Deadline
from gateway.credentials import connection_secrets, token_endpoint
from gateway.credentials.errors import build_not_configured_error, build_token_unavailable_error
from gateway.credentials.token_endpoint import TokenRefused, TokenResponse
from gateway.models import ConnectionSecret
from registry.catalog.connections import ConnectionConfig

RENEWED_BEFORE = 60.0  # seconds before a token expires
DEFAULT_LIFETIME = 300.0  # seconds, if the token endpoint does not say


class CachedToken(NamedTuple):
    """A token, and the settings for which it was fetched."""

    settings_hash: str
    access_token: str
    usable_until: float  # on the monotonic clock


_tokens: dict[str, CachedToken] = {}  # by connection
_locks: dict[str, Lock] = {}  # by connection; one thread fetches, the others wait for its token


def get_token(config: ConnectionConfig, *, deadline: Deadline) -> str:
    """Return a token for a connection, from memory if it is valid for another minute.

    The secret is read for each call, so that a changed or deleted one has an effect at once.
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
        response = token_endpoint.request_token(config, fields, client_secret=secret, deadline=deadline)
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
