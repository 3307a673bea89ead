"""Confirmation: an op that requires it runs only after the end user has agreed to exactly this call.

The first call returns what would happen and a token. The chat service sends the token back in a header, which a model
cannot write. A token is valid once, for one op with one set of args, one client and one subject, for five minutes.
"""

import secrets
from hashlib import sha256
from typing import Any

from django.core import signing

from core import canonical_json
from gateway.contracts.errors import ConflictError
from gateway.executors.base import UpstreamCall
from gateway.models import UsedConfirmation
from gateway.request_context import Caller

MAX_AGE = 300  # seconds
SALT = "gateway.confirmation"


class TokenUsed(Exception):
    """Another call has used the token. Roll back, and answer with `build_used_error`."""


def issue_token(caller: Caller, work: UpstreamCall) -> str:
    """Return a new token that confirms this call."""
    return signing.dumps(f"{_hash_call(caller, work)}.{secrets.token_urlsafe(8)}", salt=SALT)


def is_confirmed(caller: Caller, work: UpstreamCall) -> bool:
    """Whether the call carries a valid token for exactly this op, args, client and subject, used or not."""
    if not caller.confirmation:
        return False
    try:
        payload: str = signing.loads(caller.confirmation, salt=SALT, max_age=MAX_AGE)
    except signing.BadSignature:
        return False
    return payload.partition(".")[0] == _hash_call(caller, work)


def use_token(caller: Caller, work: UpstreamCall, *, trace_id: str) -> None:
    """Use up the call's token, in the open transaction. Raises TokenUsed if another call has used it.

    Waits while the transaction of another call with the token is open: if it is rolled back, the token is unused.
    """
    _, is_new = UsedConfirmation.objects.get_or_create(
        digest=sha256(caller.confirmation.encode()).hexdigest(),
        defaults={"client_id": caller.key.client_id, "op": work.op.op, "trace_id": trace_id, "used_at": work.at},
    )
    if not is_new:
        raise TokenUsed


def build_used_error(work: UpstreamCall) -> ConflictError:
    """Return the error for a call whose token another call has used."""
    return ConflictError(
        f"The token in Gateway-Confirm has confirmed another call of {work.op.op} already; nothing was done. "
        "Send the call without it to ask the end user again.",
        reason="confirmation_used",
        help_path=work.op.op,
    )


def build_required_error(caller: Caller, work: UpstreamCall, rehearsal: dict[str, Any]) -> ConflictError:
    """Return the error for a call that the end user has not agreed to yet; `rehearsal` is the envelope of a dry run."""
    operation = rehearsal["meta"].get("operation", {})
    about = f"{operation.get('entity', 'row')} “{name}”" if (name := operation.get("entity_name")) else ""
    effect = f" It would {work.op.action} the {about}." if about else ""
    token_hint = "The token is for another call or expired. " if caller.confirmation else ""
    return ConflictError(
        f"{token_hint}{work.op.op} needs the end user's agreement; nothing was done.{effect} "
        "Ask them, then repeat the call with the token in Gateway-Confirm.",
        reason="confirmation_required",
        help_path=work.op.op,
        details={
            "confirmation": {
                "token": issue_token(caller, work),
                "expires_in": MAX_AGE,
                "operation": operation,
                "would": rehearsal["result"],
            }
        },
    )


def _hash_call(caller: Caller, work: UpstreamCall) -> str:
    return canonical_json.digest(
        {"op": work.op.op, "args": work.args, "client": caller.key.client_id, "subject": caller.subject}
    )
