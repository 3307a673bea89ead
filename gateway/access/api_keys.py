"""API keys: shown once when they are issued, stored as a keyed hash, verified from memory."""

import logging
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from audit import audit_log
from audit.models import AuditEntry
from gateway.access import key_verification
from gateway.access.key_verification import PREFIX
from gateway.models import ApiKey, Client, all_scopes

log = logging.getLogger(__name__)

AUDITED_FIELDS = ("name", "subject", "scopes", "rate")

END_OF_TIME = datetime.max.replace(tzinfo=UTC)  # some admins write "never" as the year 9999


class SubjectNotAllowed(ValueError):
    """A key of this client cannot be bound to that subject."""


def issue(
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

    Raises SubjectNotAllowed for a subject that the client cannot speak for, or that a header cannot carry.
    """
    if subject and (refusal := client.explain_subject_refusal(subject)):
        raise SubjectNotAllowed(refusal)
    prefix = PREFIX + secrets.token_hex(4)
    plaintext = key_verification.build_plaintext(prefix, secrets.token_urlsafe(32))
    key = ApiKey.objects.create(
        client=client,
        name=name,
        prefix=prefix,
        secret_hash=key_verification.hash_secret(plaintext),
        scopes=list(scopes) if scopes is not None else all_scopes(),
        subject=subject,
        rate=rate,
        created_by=by,
        expires_at=expires_at,
        rotated_from=rotated_from,
    )
    at = key.created_at
    if rotated_from is None:
        audit_log.record_change("api_key", get_audit_name(key), None, get_audit_values(key), by=by, at=at)
    else:
        changes = {"prefix": [rotated_from.prefix, key.prefix]}
        name = get_audit_name(rotated_from)
        audit_log.record_action("api_key", name, AuditEntry.Action.ROTATED, by=by, at=at, changes=changes)
    return key, plaintext


def rotate(key: ApiKey, *, by: str, at: datetime, overlap: timedelta) -> tuple[ApiKey, str]:
    """Issue a successor with the same rights and lifetime. The old key keeps working for `overlap`.

    Returns the new row and its plaintext key.
    """
    lifetime = key.expires_at - key.created_at if key.expires_at else None
    successor = issue(
        client=key.client,
        by=by,
        name=key.name,
        subject=key.subject,
        scopes=key.scopes,
        rate=key.rate,
        expires_at=None if lifetime is None else at + min(lifetime, END_OF_TIME - at),
        rotated_from=key,
    )
    overlap_ends_at = at + overlap
    key.expires_at = min(key.expires_at, overlap_ends_at) if key.expires_at else overlap_ends_at
    key.save(update_fields=["expires_at", "updated_at"])
    return successor


def revoke(key: ApiKey, *, by: str, at: datetime) -> None:
    """Revoke a key for good. This process refuses it immediately, all others within two seconds."""
    if key.revoked_at is None:
        key.revoked_at = at
        key.save(update_fields=["revoked_at", "updated_at"])
        changes = {"revoked_at": [None, at.isoformat()]}
        audit_log.record_action(
            "api_key", get_audit_name(key), AuditEntry.Action.REVOKED, by=by, at=at, changes=changes
        )
    key_verification.forget_key(key.prefix)


def get_audit_name(key: ApiKey) -> str:
    """Return the name of a key in the audit log: the part that its holder can see, and the owner."""
    return f"{key.prefix} of {key.client}"


def get_audit_values(key: ApiKey) -> dict[str, Any]:
    """Return the audited fields of a key. Its hash is not among them."""
    fields: dict[str, Any] = {name: getattr(key, name) for name in AUDITED_FIELDS}
    return {"client": str(key.client), **fields, "expires_at": key.expires_at and key.expires_at.isoformat()}
