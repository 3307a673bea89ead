"""API keys: shown once when they are issued, stored as a keyed hash, verified from memory."""

import hmac
import logging
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from hashlib import blake2b, sha256
from threading import Lock

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from core.ratelimit import Buckets
from gateway.models import ApiKey, Client, all_scopes
from registry.catalogs import Visibility
from registry.models import Op

log = logging.getLogger(__name__)

PREFIX = "gw_"
PREFIX_LENGTH = len(PREFIX) + 8
MAX_LENGTH = 100
MISSES_PER_SECOND = 50  # lookups of unknown keys: limits what guessing costs the database
FORGET_MISS_AFTER = 1.0  # seconds; a key that another process just issued works after that
END_OF_TIME = datetime.max.replace(tzinfo=UTC)  # some admins write "never" as the year 9999
USE_WRITTEN_EVERY = timedelta(minutes=1)


class TooManyMisses(Exception):
    """Unknown keys are sent faster than MISSES_PER_SECOND: someone may be guessing keys."""


class SubjectNotAllowed(ValueError):
    """A key of this client cannot be bound to that subject."""


@dataclass(frozen=True, slots=True)
class VerifiedKey:
    """A key that may be used, with everything needed to decide about its calls."""

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

    def may_speak_for(self, subject: str) -> bool:
        """Whether this key may act for a subject: it must match the bound subject, if any, and the pattern."""
        return self.bound_subject in ("", subject) and fnmatchcase(subject, self.subject_pattern)


def create(
    *,
    client: Client,
    by: str,
    name: str = "",
    subject: str = "",
    scopes: Sequence[str] | None = None,
    rate: int = 50,
    expires_at: datetime | None = None,
    rotated_from: ApiKey | None = None,
) -> tuple[ApiKey, str]:
    """Issue a key of 256 random bits. Returns its row and the plaintext key, which cannot be shown again.

    Raises SubjectNotAllowed for a subject that the client may not speak for, or that a header cannot carry.
    """
    if subject and (refusal := client.refusal_of(subject)):
        raise SubjectNotAllowed(refusal)
    prefix = PREFIX + secrets.token_hex(4)
    plaintext = f"{prefix}_{secrets.token_urlsafe(32)}"
    key = ApiKey.objects.create(
        client=client,
        name=name,
        prefix=prefix,
        secret_hash=_hash(plaintext),
        scopes=list(scopes) if scopes is not None else all_scopes(),
        subject=subject,
        rate=rate,
        created_by=by,
        expires_at=expires_at,
        rotated_from=rotated_from,
    )
    return key, plaintext


def rotate(key: ApiKey, *, by: str, at: datetime, overlap: timedelta) -> tuple[ApiKey, str]:
    """Issue a successor with the same rights and lifetime. The old key keeps working for `overlap`.

    Returns the new row and its plaintext key.
    """
    life = key.expires_at - key.created_at if key.expires_at else None
    made = create(
        client=key.client,
        by=by,
        name=key.name,
        subject=key.subject,
        scopes=key.scopes,
        rate=key.rate,
        expires_at=None if life is None else at + min(life, END_OF_TIME - at),
        rotated_from=key,
    )
    ends = at + overlap
    key.expires_at = min(key.expires_at, ends) if key.expires_at else ends
    key.save(update_fields=["expires_at", "updated_at"])
    return made


def revoke(key: ApiKey, *, at: datetime) -> None:
    """Revoke a key for good. This process refuses it at once, all others within two seconds."""
    key.revoked_at = key.revoked_at or at
    key.save(update_fields=["revoked_at", "updated_at"])
    _memory.drop(key.prefix)


def verify(plaintext: str) -> VerifiedKey | None:
    """Return the key of a bearer token, or None if it is not valid. Queries only on first use in this process.

    Raises TooManyMisses if unknown keys come faster than 50 a second.
    """
    if len(plaintext) > MAX_LENGTH or not plaintext.startswith(PREFIX) or not plaintext.isprintable():
        return None
    name = _memory.name(plaintext)
    key = _memory.verified.get(name)
    if key is None:
        key = _look_up(plaintext, name)
    if key is None or (key.expires_at is not None and key.expires_at <= timezone.now()):
        return None
    _memory.used[key.id] = time.time()
    return key


def by_id(id: int) -> VerifiedKey | None:
    """Return a usable key by the id of its row, or None. For work that the key sent earlier. At most one query."""
    known = next((key for key in list(_memory.verified.values()) if key.id == id), None)
    if known is None:
        row = ApiKey.objects.select_related("client").filter(pk=id, revoked_at=None, client__is_active=True).first()
        known = _verified(row) if row else None
        if known is not None:
            _memory.add(f"id {id}".encode(), known)  # no hash collides with this name; refreshed like any verified key
    if known is None or (known.expires_at is not None and known.expires_at <= timezone.now()):
        return None
    return known


def follow() -> None:
    """Drop verified keys that were changed or revoked, and save when keys were last used. One query to read."""
    _memory.misses.clear()
    known = list(_memory.verified.values())
    if not known:
        return
    rows = ApiKey.objects.filter(prefix__in={key.prefix for key in known}).annotate(
        client_changed_at=F("client__updated_at")
    )
    stamps = {row.prefix: (row.updated_at, row.client_changed_at) for row in rows}
    for key in known:
        if stamps.get(key.prefix) != key.stamp:
            _memory.drop(key.prefix)
    _write_use(list(rows))


def forget() -> None:
    """Empty the memory, as in a new process."""
    _memory.clear()


class _Memory:
    def __init__(self) -> None:
        self.salt = secrets.token_bytes(32)
        self.verified: dict[bytes, VerifiedKey] = {}  # by hash: no plaintext key stays in memory
        self.misses: dict[bytes, float] = {}
        self.used: dict[int, float] = {}
        self.lookups = Buckets()
        self.lock = Lock()

    def name(self, plaintext: str) -> bytes:
        """Return the hash by which this process knows a key. It is faster to compute than the stored one."""
        return blake2b(plaintext.encode(), key=self.salt, digest_size=32).digest()

    def drop(self, prefix: str) -> None:
        with self.lock:
            self.verified = {name: key for name, key in self.verified.items() if key.prefix != prefix}

    def add(self, name: bytes, key: VerifiedKey) -> None:
        with self.lock:
            self.verified = {**self.verified, name: key}

    def clear(self) -> None:
        with self.lock:
            self.verified, self.misses, self.used, self.lookups = {}, {}, {}, Buckets()


_memory = _Memory()


def _hash(plaintext: str) -> str:
    return hmac.digest(settings.GATEWAY_KEY_PEPPER.encode(), plaintext.encode(), sha256).hex()


def _look_up(plaintext: str, name: bytes) -> VerifiedKey | None:
    if time.monotonic() - _memory.misses.get(name, 0.0) < FORGET_MISS_AFTER:
        return None
    if not _memory.lookups.take("misses", MISSES_PER_SECOND).allowed:
        raise TooManyMisses
    row = ApiKey.objects.select_related("client").filter(prefix=plaintext[:PREFIX_LENGTH]).first()
    if (
        row is None
        or not hmac.compare_digest(row.secret_hash, _hash(plaintext))
        or row.revoked_at is not None
        or not row.client.is_active
    ):
        _memory.misses[name] = time.monotonic()
        return None
    key = _verified(row)
    _memory.add(name, key)
    return key


def _verified(row: ApiKey) -> VerifiedKey:
    kinds = {kind for kind in Op.Kind.values if f"exec:{kind}" in row.scopes}
    return VerifiedKey(
        id=row.pk,
        prefix=row.prefix,
        client_id=row.client_id,
        client=row.client.name,
        scopes=frozenset(row.scopes),
        bound_subject=row.subject,
        subject_pattern=row.client.subject_pattern,
        # A key without an exec scope sees the help of all kinds; a key that may only run reads does not see writes.
        visibility=Visibility(tuple(row.client.op_patterns), frozenset(kinds or Op.Kind.values)),
        confirms=row.client.confirms,
        rate=row.rate,
        expires_at=row.expires_at,
        stamp=(row.updated_at, row.client.updated_at),
    )


def _write_use(rows: list[ApiKey]) -> None:
    for row in rows:
        used = _memory.used.pop(row.pk, None)
        if used is None:
            continue
        at = datetime.fromtimestamp(used, tz=timezone.get_default_timezone())
        if row.last_used_at is None or at - row.last_used_at >= USE_WRITTEN_EVERY:
            ApiKey.objects.filter(pk=row.pk).update(last_used_at=at)
