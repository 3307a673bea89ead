"""The rows of questions to end users: who was asked what, and what is needed to go on with the call.

The token that is given out encrypts the row's content and is not stored. It is valid once, for ten minutes, for the
client and subject that were asked.
"""

import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from core import encryption
from core.encryption import DecryptionFailed
from core.text import json_text
from gateway.access.request_context import Caller
from gateway.contracts.errors import ConflictError
from gateway.contracts.user_questions import EXPIRES_IN, UserAnswer, UserQuestion
from gateway.models import PendingInput
from gateway.models.pending_input import digest_secret

PREFIX = "input_"


@dataclass(frozen=True, slots=True, repr=False)  # no repr: it holds the call and answers
class PendingCall:
    """A call that asked its user: what was sent, under which release and context, and where its upstream stands."""

    body: dict[str, Any]
    release: str
    context: dict[str, Any]
    questions: dict[str, dict[str, Any]]
    agent: str = ""
    key: str | None = None
    state: str | None = None
    waiting_call: str = ""
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def open_questions(self) -> dict[str, UserQuestion]:
        """The questions without an answer, by their names."""
        return {name: UserQuestion(**each) for name, each in self.questions.items() if name not in self.answers}

    def add_answers(self, answers: Mapping[str, UserAnswer]) -> dict[str, dict[str, Any]]:
        """Return all answers so far."""
        return self.answers | {name: asdict(each) for name, each in answers.items()}


def ask(
    pending: PendingCall, caller: Caller, *, op: str, trace_id: str, at: datetime, batch_entry: int | None = None
) -> ConflictError:
    """Store a call that has open questions, and return the error that asks the first of them."""
    token = PREFIX + secrets.token_urlsafe(32)
    PendingInput.objects.create(
        digest=digest_secret(token),
        client_id=caller.key.client_id,
        subject=caller.subject,
        op=op[:200],
        trace_id=trace_id,
        state=encryption.seal(json_text.dump(asdict(pending)).decode(), token),
        batch_entry=batch_entry,
        waiting_call=digest_secret(pending.waiting_call) if pending.waiting_call else "",
        created_at=at,
        expires_at=at + timedelta(seconds=EXPIRES_IN),
    )
    question = next(iter(pending.open_questions.values()))
    return build_error(op, {"token": token, "expires_in": EXPIRES_IN, **question.as_dict()})


def build_error(op: str, details: Mapping[str, Any]) -> ConflictError:
    """Return the error that asks the end user. Without a token in its details, nobody can answer it."""
    error = ConflictError(
        "The service asks the end user for input before it goes on. Ask them, then send what they answer and the token "
        "to answers. Do not send the call again.",
        reason="input_required",
        help_path=op,
        details=details,
    )
    error.is_final = False
    return error


def load(token: str, caller: Caller, *, at: datetime) -> tuple[PendingInput, PendingCall]:
    """Return the row of a token and its content, used or not. Raises ConflictError if the token is not valid."""
    rows = PendingInput.objects.filter(client_id=caller.key.client_id, subject=caller.subject, expires_at__gt=at)
    row = rows.filter(digest=digest_secret(token)).first()
    try:
        if row is not None:
            return row, PendingCall(**json_text.load(encryption.unseal(row.state, token)))
    except DecryptionFailed:
        pass
    raise build_expired_error()


def build_expired_error() -> ConflictError:
    """Return the error for a token that is not valid, or no longer."""
    return ConflictError(
        "This token is not valid: it is unknown, has expired, or is of another client or end user. Send the call "
        "again to ask the end user again.",
        reason="input_expired",
    )


def claim(row: PendingInput, *, at: datetime) -> None:
    """Use up a token. Raises ConflictError if it was used before."""
    if not PendingInput.objects.filter(pk=row.pk, answered_at=None).update(answered_at=at):
        raise ConflictError(
            "This question was answered before. Send the call again if its answer was lost.",
            reason="input_answered",
            help_path=row.op,
        )


def release_claim(row: PendingInput) -> None:
    """Make a token valid again, because nothing was done with it."""
    PendingInput.objects.filter(pk=row.pk).update(answered_at=None)
