"""Idempotency keys: a repeated write takes effect once.

A key is unique per client and subject. The first call claims it in the transaction of its write. A second call with the
key waits on that row and then gets the same response. The statements are raw SQL because every keyed write runs them
and the ORM has no INSERT … ON CONFLICT … RETURNING.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection

from core.database.deadlines import Statement, execute_together
from core.text import json_text
from gateway.contracts.envelopes import Envelope
from gateway.contracts.errors import ConflictError
from gateway.models import IdempotencyRecord

_TABLE = IdempotencyRecord._meta.db_table


@dataclass(frozen=True, slots=True)
class KeyedCall:
    """A call with an idempotency key: whose key, which key, and the fingerprint of the call."""

    client_id: int
    subject: str
    key: str
    op: str
    fingerprint: str

    @property
    def scope(self) -> str:
        """What makes a key one key, as one text."""
        return json_text.canonicalize([self.client_id, self.subject, self.key, self.op]).decode()


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """The response to the first call with a key."""

    status: int
    envelope: Envelope


def compute_fingerprint(op: str, args: Any) -> str:
    """Return the SHA-256 of the op's canonical path and the args as sent, as canonical JSON (RFC 8785)."""
    return json_text.hash_canonically({"op": op, "args": args})


def find_stored_response(call: KeyedCall, *, at: datetime) -> StoredResponse | None:
    """Return the stored response of an earlier call with this key, or None if the key is free.

    Raises ConflictError: 422 if the key was used for another call, 409 if the first call has not ended or its outcome
    is unknown.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT fingerprint, state, status, answer, doubtful_at <= %s FROM {_TABLE}"  # noqa: S608
            " WHERE client_id = %s AND subject = %s AND key = %s AND (expires_at > %s OR state <> 'done')",
            [_adapt_time(at), call.client_id, call.subject, call.key, _adapt_time(at)],
        )
        row = cursor.fetchone()
    if row is None:
        return None
    known_fingerprint, state, status, answer, is_doubtful = row
    if known_fingerprint != call.fingerprint:
        raise ConflictError(
            "This idempotency key was used for another call. Send a new key with a new call.",
            status=422,
            reason="idempotency_key_reused",
            help_path=call.op,
        )
    if state == IdempotencyRecord.State.UNKNOWN or (state == IdempotencyRecord.State.CLAIMED and is_doubtful):
        raise build_outcome_unknown_error(call.op)
    if state == IdempotencyRecord.State.CLAIMED:
        raise build_in_progress_error(call.op)
    return StoredResponse(status, json_text.load(answer))


def claim_key(
    call: KeyedCall,
    *,
    trace_id: str,
    at: datetime,
    doubtful_at: datetime | None = None,
    after: Sequence[Statement] = (),
) -> int | None:
    """Claim the key in the open transaction and return the claim's id; None if another call holds it.

    Waits while the claim of another call is uncommitted: on PostgreSQL at the unique index, on SQLite at BEGIN.
    An expired record is taken over, but not one whose outcome is unknown. `doubtful_at` is for a claim that is
    committed before its write: the time from which a missing outcome counts as unknown. The statements `after` which
    the claim comes are sent with it.
    """
    row = execute_together(
        *after,
        (
            f"INSERT INTO {_TABLE}"  # noqa: S608 - the table's name is ours
            " (client_id, subject, key, op, fingerprint, state, status, answer, trace_id, created_at, expires_at,"
            " doubtful_at) VALUES (%s, %s, %s, %s, %s, 'claimed', 0, '', %s, %s, %s, %s)"
            " ON CONFLICT (client_id, subject, key) DO UPDATE SET op = excluded.op, fingerprint = excluded.fingerprint,"
            " state = 'claimed', status = 0, answer = '', trace_id = excluded.trace_id,"
            " created_at = excluded.created_at, expires_at = excluded.expires_at, doubtful_at = excluded.doubtful_at"
            f" WHERE {_TABLE}.expires_at <= excluded.created_at AND {_TABLE}.state = 'done' RETURNING id",
            [
                call.client_id,
                call.subject,
                call.key,
                call.op,
                call.fingerprint,
                trace_id,
                _adapt_time(at),
                _adapt_time(at + timedelta(hours=settings.GATEWAY_IDEMPOTENCY_HOURS)),
                _adapt_time(doubtful_at) if doubtful_at else None,
            ],
        ),
    )
    return int(row[0]) if row else None


def store_response(claim_id: int, *, status: int, envelope: Envelope) -> None:
    """Store the response of the claiming call, in its transaction."""
    execute_together(build_store_statement(claim_id, status=status, envelope=envelope))


def build_store_statement(claim_id: int, *, status: int, envelope: Envelope) -> Statement:
    """Return the statement of `store_response`, to be sent with others."""
    sql = f"UPDATE {_TABLE} SET state = 'done', status = %s, answer = %s WHERE id = %s"  # noqa: S608
    return sql, [status, json_text.dump(envelope).decode(), claim_id]


def release_claim(claim_id: int) -> None:
    """Release a committed claim, because nothing was done under it."""
    IdempotencyRecord.objects.filter(pk=claim_id, state=IdempotencyRecord.State.CLAIMED).delete()


def mark_outcome_unknown(claim_id: int) -> None:
    """Mark the outcome of a committed claim as unknown: no call with its key will run again."""
    IdempotencyRecord.objects.filter(pk=claim_id).update(state=IdempotencyRecord.State.UNKNOWN)


def build_outcome_unknown_error(op: str) -> ConflictError:
    """Return the error for a key whose first call may or may not have taken effect."""
    return ConflictError(
        "A call with this idempotency key was sent, but it is not known whether it took effect. It is not sent again. "
        "Check with a list, search or get op, and send a new key only if nothing was done.",
        reason="outcome_unknown",
        help_path=op,
    )


def build_in_progress_error(op: str) -> ConflictError:
    """Return the error for a key whose first call is still running."""
    return ConflictError(
        "A call with this idempotency key is still running. Send the same call again in a second.",
        reason="in_progress",
        retryable=True,
        help_path=op,
        headers={"Retry-After": "1"},
    )


def _adapt_time(moment: datetime) -> Any:
    return connection.ops.adapt_datetimefield_value(moment)
