"""Verify API keys, which stay in memory until they change, and limit their rate."""

import hmac
import secrets
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from functools import lru_cache
from hashlib import blake2b, sha256
from threading import Lock
from typing import Any

from django.conf import settings
from django.db.models import F
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from core.background.poller import PolledQuery, Row
from core.overload import RateLimitBuckets, RateLimitDecision
from gateway.models import ApiKey
from registry.catalog.model import Visibility
from registry.models import Op

PREFIX = "gw_"
PREFIX_LENGTH = len(PREFIX) + 8
MAX_LENGTH = 100  # characters of a key
MISS_CACHED_SECONDS = 1.0  # seconds; how long an invalid key of ours is refused without a query
CHECK_LENGTH = 8  # characters of a key that only we can compute
LAST_USED_INTERVAL = timedelta(minutes=1)  # between two writes of when a key was last used
_buckets = RateLimitBuckets()


@dataclass(frozen=True, slots=True)
class VerifiedKey:
    """A key that can be used, with everything needed to decide about its calls."""

    id: int
    prefix: str
    client_id: int
    client: str
    scopes: frozenset[str]
    bound_subject: str
    subject_pattern: str
    visibility: Visibility
    confirms: bool
    rate: int
    expires_at: datetime | None
    stamp: tuple[datetime, datetime]  # when key and client were last changed
    flow_mode: str = ""  # empty: as the gateway
    flow_rules: str = ""  # empty: those of the gateway

    def may_act_for(self, subject: str) -> bool:
        """Whether this key may act for a subject: it must match the bound subject, if any, and the pattern."""
        return self.bound_subject in ("", subject) and fnmatchcase(subject, self.subject_pattern)


def verify(plaintext: str) -> VerifiedKey | None:
    """Return the key of a bearer token, or None if it is not valid. Queries only on first use in this process.

    Guessing costs no queries: only we can compute the end of a key.
    """
    if len(plaintext) > MAX_LENGTH or not plaintext.startswith(PREFIX) or not plaintext.isprintable():
        return None
    token_hash = _cache.hash_token(plaintext)
    key = _cache.verified.get(token_hash)
    if key is None:
        key = _load_key(plaintext, token_hash)
    if key is None or (key.expires_at is not None and key.expires_at <= timezone.now()):
        return None
    _cache.last_used[key.id] = time.time()
    return key


def get_by_id(id: int) -> VerifiedKey | None:
    """Return a usable key by the id of its row, or None. For work that the key sent earlier. At most one query."""
    verified_key = next((key for key in list(_cache.verified.values()) if key.id == id), None)
    if verified_key is None:
        row = ApiKey.objects.select_related("client").filter(pk=id, revoked_at=None, client__is_active=True).first()
        verified_key = _build_verified_key(row) if row else None
        if verified_key is not None:
            _cache.add(
                f"id {id}".encode(), verified_key
            )  # no hash collides with this name; refreshed like any verified key
    if verified_key is None or (verified_key.expires_at is not None and verified_key.expires_at <= timezone.now()):
        return None
    return verified_key


def record_use(key: VerifiedKey) -> None:
    """Record that a key was used now, for a request that did not send it. `refresh_verified_keys` saves it."""
    _cache.last_used[key.id] = time.time()


def refresh_verified_keys() -> None:
    """Drop verified keys that were changed or revoked, and save when keys were last used.

    Takes one query if nothing happened.
    """
    _cache.misses.clear()
    verified_by_hash = _cache.verified
    verified_keys = list(verified_by_hash.values())
    if not verified_keys:
        return
    stamp_rows = _build_stamp_query(frozenset(key.prefix for key in verified_keys)).fetch_rows()
    # Adding or dropping a key makes a new dict, so the same dict means the same keys.
    is_unchanged = verified_by_hash is _cache.checked and stamp_rows == _cache.stamp_rows
    if is_unchanged and not any(key.id in _cache.last_used for key in verified_keys):
        return
    rows = ApiKey.objects.filter(prefix__in={key.prefix for key in verified_keys}).annotate(
        client_changed_at=F("client__updated_at")
    )
    stamps = {row.prefix: (row.updated_at, row.client_changed_at) for row in rows}
    for key in verified_keys:
        if stamps.get(key.prefix) != key.stamp:
            _cache.drop(key.prefix)
    _cache.checked, _cache.stamp_rows = verified_by_hash, stamp_rows
    _save_last_used(list(rows))


@lru_cache(maxsize=2)
def _build_stamp_query(prefixes: frozenset[str]) -> PolledQuery:
    keys = ApiKey.objects.filter(prefix__in=prefixes).order_by("pk")
    return PolledQuery(lambda: keys.values_list("prefix", "updated_at", "client__updated_at"))


def forget_key(prefix: str) -> None:
    """Make this process verify a key again, because its row has changed."""
    _cache.drop(prefix)


def clear_cache() -> None:
    """Empty the memory, as in a new process."""
    _cache.clear()


class _KeyCache:
    def __init__(self) -> None:
        self.salt = secrets.token_bytes(32)
        self.verified: dict[bytes, VerifiedKey] = {}  # by hash: no plaintext key stays in memory
        self.misses: dict[bytes, float] = {}
        self.last_used: dict[int, float] = {}
        self.checked: dict[bytes, VerifiedKey] | None = None  # the keys at the last check, and what their rows said
        self.stamp_rows: list[Row] = []
        self.lock = Lock()

    def hash_token(self, plaintext: str) -> bytes:
        """Return the hash by which this process knows a key. It is faster to compute than the stored one."""
        return blake2b(plaintext.encode(), key=self.salt, digest_size=32).digest()

    def drop(self, prefix: str) -> None:
        with self.lock:
            self.verified = {token_hash: key for token_hash, key in self.verified.items() if key.prefix != prefix}

    def add(self, token_hash: bytes, key: VerifiedKey) -> None:
        with self.lock:
            self.verified = {**self.verified, token_hash: key}

    def clear(self) -> None:
        with self.lock:
            self.verified, self.misses, self.last_used = {}, {}, {}


_cache = _KeyCache()


def hash_secret(plaintext: str) -> str:
    """Return the keyed hash of a key that the database stores, in hex."""
    return hmac.digest(settings.GATEWAY_KEY_PEPPER.encode(), plaintext.encode(), sha256).hex()


def build_plaintext(prefix: str, secret: str) -> str:
    """Return a key: its prefix, its secret, and a check that only we can compute."""
    return f"{prefix}_{secret}{_compute_check(f'{prefix}_{secret}')}"


def is_ours(plaintext: str) -> bool:
    """Return whether a text was made by `build_plaintext`. Costs no query."""
    check = _compute_check(plaintext[:-CHECK_LENGTH])
    return hmac.compare_digest(check.encode(), plaintext[-CHECK_LENGTH:].encode())


def _compute_check(text: str) -> str:
    return hash_secret(f"check {text}")[:CHECK_LENGTH]


def _load_key(plaintext: str, token_hash: bytes) -> VerifiedKey | None:
    if not is_ours(plaintext) or time.monotonic() - _cache.misses.get(token_hash, 0.0) < MISS_CACHED_SECONDS:
        return None
    row = ApiKey.objects.select_related("client").filter(prefix=plaintext[:PREFIX_LENGTH]).first()
    if (
        row is None
        or not hmac.compare_digest(row.secret_hash, hash_secret(plaintext))
        or row.revoked_at is not None
        or not row.client.is_active
    ):
        _cache.misses[token_hash] = time.monotonic()
        return None
    key = _build_verified_key(row)
    _cache.add(token_hash, key)
    return key


def _build_verified_key(row: ApiKey) -> VerifiedKey:
    kinds = {kind for kind in Op.Kind.values if f"exec:{kind}" in row.scopes}
    return VerifiedKey(
        id=row.pk,
        prefix=row.prefix,
        client_id=row.client_id,
        client=row.client.name,
        scopes=frozenset(row.scopes),
        bound_subject=row.subject,
        subject_pattern=row.client.subject_pattern,
        # A key without an exec scope sees the help of all kinds; a key that can only run reads does not see writes.
        visibility=Visibility(
            tuple(row.client.op_patterns), frozenset(kinds or Op.Kind.values), scopes=frozenset(row.scopes)
        ),
        confirms=row.client.confirms,
        rate=row.rate,
        expires_at=row.expires_at,
        stamp=(row.updated_at, row.client.updated_at),
        flow_mode=row.client.data_flow,
        flow_rules=row.client.data_flow_rules,
    )


def _save_last_used(rows: list[ApiKey]) -> None:
    for row in rows:
        last_used = _cache.last_used.pop(row.pk, None)
        if last_used is None:
            continue
        at = datetime.fromtimestamp(last_used, tz=timezone.get_default_timezone())
        if row.last_used_at is None or at - row.last_used_at >= LAST_USED_INTERVAL:
            ApiKey.objects.filter(pk=row.pk).update(last_used_at=at)


class KeyThrottle(BaseThrottle):
    """Limits each key to its rate. Stores the decision on the view, for the RateLimit header."""

    rate_limit: RateLimitDecision | None = None

    def allow_request(self, request: Request, view: Any) -> bool:
        key: VerifiedKey = request.auth  # type: ignore[assignment]  # DRF's stubs know only its own Token
        self.rate_limit = view.rate_limit = take_call(key)
        return self.rate_limit.allowed

    def wait(self) -> float | None:
        return self.rate_limit.retry_after if self.rate_limit else None


def take_call(key: VerifiedKey) -> RateLimitDecision:
    """Take one call from the current budget of a key."""
    return _buckets.take(key.prefix, key.rate)


def charge_calls(key: VerifiedKey, count: int) -> None:
    """Charge a key for further calls of the same request; its next request waits until the budget has refilled."""
    _buckets.charge(key.prefix, key.rate, count)
