"""feedback: store what an end user thinks of a turn. If they say it again, the last time counts."""

from functools import cache
from typing import Any

from analytics.events import stored_contents
from analytics.events.models import OperationEvent
from analytics.events.redaction_patterns import redact_text
from analytics.turns.models import Feedback, ToolSelection
from gateway.access.request_context import Caller
from gateway.contracts.envelopes import Trace
from gateway.contracts.errors import InvalidRequestError, PermissionDeniedError
from gateway.contracts.validation import find_field_errors
from registry.jsonschema.validator import SchemaValidator

SERVED_FIELDS = ("release", "surface", "cohort", "model")  # of Feedback, ToolSelection and OperationEvent
UNKNOWN_TURN = (
    "Nothing is known of this turn yet, so reports do not count it for a cohort or release. Send the Gateway-Session "
    "and the turn of its calls."
)

FEEDBACK_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "turn": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The turn, as in Gateway-Turn"},
        "thumb": {"type": "string", "enum": list(Feedback.Thumb.values), "description": "What the end user thinks"},
        "reason": {"type": "string", "maxLength": 2_000, "description": "Why, in the end user's words"},
    },
    "required": ["turn", "thumb"],
    "additionalProperties": False,
}


def record_feedback(body: dict[str, Any], caller: Caller, trace: Trace) -> list[str]:
    """Store what the caller's subject thinks of a turn of their session. Return warnings.

    Raises InvalidRequestError for a malformed body, PermissionDeniedError for a turn of another subject.
    """
    if errors := find_field_errors(_get_validator(), body):
        raise InvalidRequestError(
            f"The feedback is malformed. {errors[0].message}", reason="malformed_call", field_errors=errors
        )
    turn_key = {"client": caller.key.client, "session": caller.session, "turn": body["turn"]}
    known = _find_turn(turn_key)
    if known is not None and known.subject != caller.subject:
        raise PermissionDeniedError(
            "The turn belongs to another subject. Send the Gateway-Subject of the turn.", reason="turn_of_another"
        )
    served = {name: getattr(known, name) for name in SERVED_FIELDS} if known else {}
    row = Feedback(
        time=trace.at,
        **turn_key,
        subject=caller.subject,
        thumb=body["thumb"],
        reason=redact_text(body.get("reason", "").strip(), stored_contents.get_rules().redacted),
        **served,
    )
    Feedback.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=[*turn_key, "subject"],
        # What served the turn may be known only from an earlier time: events are written a moment after their calls.
        update_fields=["time", "thumb", "reason", *served],
    )
    return [] if served else [UNKNOWN_TURN]


def note_what_served(report: ToolSelection) -> None:
    """Write what served a turn on the feedback that came before the turn was reported."""
    turn_key = {name: getattr(report, name) for name in ("client", "session", "turn", "subject")}
    Feedback.objects.filter(**turn_key).update(**{name: getattr(report, name) for name in SERVED_FIELDS})


def _find_turn(turn_key: dict[str, str]) -> ToolSelection | OperationEvent | None:
    """Return the report of a turn, else its last event."""
    report = ToolSelection.objects.filter(**turn_key).first()
    return report or OperationEvent.objects.filter(**turn_key).order_by("time").last()


@cache
def _get_validator() -> SchemaValidator:
    return SchemaValidator(FEEDBACK_SCHEMA)
