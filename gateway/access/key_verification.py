"""Verify API keys, which stay in memory until they change, and limit their rate."""

import hmac
import secrets
import time
from collections.abc import Container, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from hashlib import blake2b, sha256
from threading import Lock
from typing import TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from core.overload import RateLimitBuckets, RateLimitDecision
from gateway.models import ApiKey
from registry.catalog.model import Visibility
from registry.models import Op

T = TypeVar("T")
PREFIX = "gw_"
PREFIX_LENGTH = len(PREFIX) + 8
MAX_LENGTH = 100  # characters of a key
MISS_CACHED_SECONDS = 1.0  # seconds; how long an invalid key of ours is refused without a query
CHECK_LENGTH = 8  # characters of a key that only we can compute
LAST_USED_INTERVAL = timedelta(minutes=1)  # between two writes of when a key was last used
KEYS_A_QUERY = 1_000
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
    """Record that a key was used now, for a request that did not send it. `save_last_used` saves it."""
    _cache.last_used[key.id] = time.time()


def refresh_verified_keys() -> None:
    """Drop verified keys that were changed or revoked. Takes one query for a thousand keys."""
    _cache.take_unchecked()
    _drop_changed({key.prefix for key in list(_cache.verified.values())})


def check_new_keys() -> None:
    """Try invalid keys again, and drop keys that were changed while this process verified them.

    No query if none was verified since the last poll.
    """
    _cache.misses.clear()
    if prefixes := _cache.take_unchecked():
        _drop_changed(prefixes)


def _drop_changed(prefixes: set[str]) -> None:
    stamps: dict[str, tuple[datetime, datetime]] = {}
    for some in _split(list(prefixes)):
        rows = ApiKey.objects.filter(prefix__in=some).values_list("prefix", "updated_at", "client__updated_at")
        stamps |= {prefix: (changed_at, client_changed_at) for prefix, changed_at, client_changed_at in rows}
    keys = [key for key in list(_cache.verified.values()) if key.prefix in prefixes]
    if changed := {key.prefix for key in keys if stamps.get(key.prefix) != key.stamp}:
        _cache.drop(changed)


def save_last_used() -> None:
    """Save when keys were last used, each at most once a minute. No query if none is due.

    Keys that were used since the last poll get the same time, that of the first use.
    """
    for some in _split(_cache.take_due_uses()):
        at = datetime.fromtimestamp(min(used_at for _, used_at in some), tz=timezone.get_default_timezone())
        is_due = Q(last_used_at=None) | Q(last_used_at__lte=at - LAST_USED_INTERVAL)
        with transaction.atomic():
            # Another process may save some of them at the same time: then it has them, and nobody waits.
            rows = ApiKey.objects.filter(is_due, pk__in=[id for id, _ in some]).select_for_update(skip_locked=True)
            if ids := list(rows.order_by("pk").values_list("pk", flat=True)):
                ApiKey.objects.filter(pk__in=ids).update(last_used_at=at)


def _split(items: list[T]) -> Iterator[list[T]]:
    for start in range(0, len(items), KEYS_A_QUERY):
        yield items[start : start + KEYS_A_QUERY]


def forget_key(prefix: str) -> None:
    """Make this process verify a key again, because its row has changed."""
    _cache.drop({prefix})


def clear_cache() -> None:
    """Empty the memory, as in a new process."""
    _cache.clear()


class _KeyCache:
    def __init__(self) -> None:
        self.salt = secrets.token_bytes(32)
        self.verified: dict[bytes, VerifiedKey] = {}  # by hash: no plaintext key stays in memory
        self.misses: dict[bytes, float] = {}
        self.last_used: dict[int, float] = {}  # by the ids of keys that were used since the last poll
        self._saved_uses: dict[int, float] = {}
        self._unchecked: set[str] = set()  # prefixes of keys that were verified since the last poll
        self._lock = Lock()

    def hash_token(self, plaintext: str) -> bytes:
        """Return the hash by which this process knows a key. It is faster to compute than the stored one."""
        return blake2b(plaintext.encode(), key=self.salt, digest_size=32).digest()

    def drop(self, prefixes: Container[str]) -> None:
        with self._lock:
            self.verified = {token_hash: key for token_hash, key in self.verified.items() if key.prefix not in prefixes}

    def add(self, token_hash: bytes, key: VerifiedKey) -> None:
        with self._lock:
            self.verified[token_hash] = key
            self._unchecked.add(key.prefix)

    def take_unchecked(self) -> set[str]:
        with self._lock:
            prefixes, self._unchecked = self._unchecked, set()
        return prefixes

    def take_due_uses(self) -> list[tuple[int, float]]:
        """Return (id of a key, time of its use in seconds since 1970) of those not taken within the last minute."""
        uses, self.last_used = self.last_used, {}
        seconds = LAST_USED_INTERVAL.total_seconds()
        # A list: a thread that read the attribute a moment ago may still add to it.
        due = {id: used_at for id, used_at in list(uses.items()) if used_at - self._saved_uses.get(id, 0.0) >= seconds}
        self._saved_uses |= due
        return list(due.items())

    def clear(self) -> None:
        with self._lock:
            self.verified, self.misses, self.last_used = {}, {}, {}
            self._saved_uses, self._unchecked = {}, set()


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


def take_call(key: VerifiedKey) -> RateLimitDecision:
    """Take one call from the current budget of a key."""
    return _buckets.take(key.prefix, key.rate)


def charge_calls(key: VerifiedKey, count: int) -> None:
    """Charge a key for further calls of the same request; its next request waits until the budget has refilled."""
    _buckets.charge(key.prefix, key.rate, count)
