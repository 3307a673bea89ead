"""telemetry: store what the chat service reports about a finished turn. A later report of a turn replaces it."""

from functools import cache
from typing import Any

from analytics.models import ToolSelection
from analytics.rollout import facts
from gateway.callers import Caller
from gateway.envelopes import Trace
from gateway.errors import Denied, Invalid
from gateway.toolset import tokens
from gateway.validation import field_errors
from registry import schemas

Outcome = ToolSelection.Outcome

_NAMES: dict[str, Any] = {
    "type": "array",
    "maxItems": 500,
    "items": {"type": "string", "minLength": 1, "maxLength": 200},
}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}

BODY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "toolset": {"type": "string", "minLength": 1, "description": "The id from POST toolset"},
        "turn": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The turn, as in Gateway-Turn"},
        "tools_loaded": {**_NAMES, "description": "Tools given to the model"},
        "tools_used": {**_NAMES, "description": "Which of those it called"},
        "tool_misses": {**_NAMES, "description": "Tools it called but was not given"},
        "tool_escalations": {**_NAMES, "description": "Tools added during the turn"},
        "tokens": {**_COUNT, "description": "Tokens of the whole turn, in and out, as the provider bills them"},
        "outcome": {"type": "string", "enum": list(Outcome.values), "description": "How the turn ended for the user"},
    },
    "required": ["toolset", "turn"],
    "additionalProperties": False,
}


def tell(body: dict[str, Any], caller: Caller, trace: Trace) -> None:
    """Store the report of a turn.

    Raises Invalid for a malformed body or toolset, Denied for a toolset or turn of another client or subject.
    """
    if errors := field_errors(_validator(), BODY, body):
        raise Invalid(f"The telemetry is malformed. {errors[0].message}", reason="malformed_call", field_errors=errors)
    toolset = tokens.told(body["toolset"], key=caller.key)
    trace.release = toolset.served.release
    turn = {"client": caller.key.client, "session": caller.session, "turn": body["turn"]}
    # Keys of one client may be bound to different subjects: none may overwrite the report of another's turn.
    if ToolSelection.objects.filter(**turn).exclude(subject=toolset.subject).exists():
        raise Denied(
            "The turn belongs to another subject. Send one of the toolset's subject.", reason="toolset_of_another"
        )
    ToolSelection.objects.bulk_create(
        [
            ToolSelection(
                time=trace.at,
                **turn,
                subject=toolset.subject,
                toolset=toolset.name,
                release=toolset.served.release,
                surface=toolset.served.surface,
                cohort=toolset.served.cohort,
                model=facts.family(caller.model)[:40],
                loaded=body.get("tools_loaded", []),
                used=body.get("tools_used", []),
                missed=body.get("tool_misses", []),
                escalated=body.get("tool_escalations", []),
                tokens=body.get("tokens"),
                outcome=body.get("outcome", Outcome.UNKNOWN),
            )
        ],
        update_conflicts=True,
        unique_fields=["client", "session", "turn"],
        update_fields=[
            *("time", "subject", "toolset", "release", "surface", "cohort", "model"),
            *("loaded", "used", "missed", "escalated", "tokens", "outcome"),
        ],
    )


@cache
def _validator() -> schemas.Validator:
    return schemas.Validator(BODY)
