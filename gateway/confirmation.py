"""Confirmation: an op that requires it runs only after the end user has agreed to exactly this call.

The first call returns what would happen and a token. The chat service sends the token back in a header, which a model
cannot write. A token is valid for one op with one set of args, one client and one subject, for five minutes.
"""

from typing import Any

from django.core import signing

from core import canonical
from gateway.callers import Caller
from gateway.errors import Conflict
from gateway.executors.base import Work

MAX_AGE = 300  # seconds
SALT = "gateway.confirmation"


def token(caller: Caller, work: Work) -> str:
    """Return the token that confirms this call."""
    return signing.dumps(_digest(caller, work), salt=SALT)


def is_given(caller: Caller, work: Work) -> bool:
    """Whether the call carries a valid token for exactly this op, args, client and subject."""
    if not caller.confirmation:
        return False
    try:
        confirmed: str = signing.loads(caller.confirmation, salt=SALT, max_age=MAX_AGE)
    except signing.BadSignature:
        return False
    return confirmed == _digest(caller, work)


def required(caller: Caller, work: Work, rehearsal: dict[str, Any]) -> Conflict:
    """Return the error for a call that the end user has not agreed to yet; `rehearsal` is the envelope of a dry run."""
    operation = rehearsal["meta"].get("operation", {})
    about = f"{operation.get('entity', 'row')} “{name}”" if (name := operation.get("entity_name")) else ""
    what = f" It would {work.op.action} the {about}." if about else ""
    again = "The token is for another call or expired. " if caller.confirmation else ""
    return Conflict(
        f"{again}{work.op.op} needs the end user's agreement; nothing was done.{what} Ask them, then repeat the call "
        "with the token in Gateway-Confirm.",
        reason="confirmation_required",
        help_path=work.op.op,
        details={
            "confirmation": {
                "token": token(caller, work),
                "expires_in": MAX_AGE,
                "operation": operation,
                "would": rehearsal["result"],
            }
        },
    )


def _digest(caller: Caller, work: Work) -> str:
    return canonical.digest(
        {"op": work.op.op, "args": work.args, "client": caller.key.client_id, "subject": caller.subject}
    )
