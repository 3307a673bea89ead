"""telemetry: store what the chat service reports about a finished turn. A later report of a turn replaces it."""

from functools import cache
from typing import Any

from analytics.rollout import evaluation
from analytics.turns.models import ToolSelection
from gateway.access import release_routing
from gateway.access.request_context import Caller
from gateway.contracts.envelopes import Trace
from gateway.contracts.errors import InvalidRequestError, PermissionDeniedError
from gateway.contracts.validation import find_field_errors
from gateway.toolset import feedback
from registry.jsonschema.validator import SchemaValidator

TurnOutcome = ToolSelection.Outcome

_NAMES_SCHEMA: dict[str, Any] = {
    "type": "array",
    "maxItems": 500,
    "items": {"type": "string", "minLength": 1, "maxLength": 200},
}
_COUNT_SCHEMA: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}

TELEMETRY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "toolset": {"type": "string", "minLength": 1, "description": "The id from POST toolset"},
        "turn": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The turn, as in Gateway-Turn"},
        "tools_loaded": {**_NAMES_SCHEMA, "description": "Tools given to the model"},
        "tools_used": {**_NAMES_SCHEMA, "description": "Which of those it called"},
        "tool_misses": {**_NAMES_SCHEMA, "description": "Tools it called but was not given"},
        "tool_escalations": {**_NAMES_SCHEMA, "description": "Tools added during the turn"},
        "tokens": {**_COUNT_SCHEMA, "description": "Tokens of the whole turn, in and out, as the provider bills them"},
        "outcome": {
            "type": "string",
            "enum": list(TurnOutcome.values),
            "description": "How the turn ended for the user",
        },
    },
    "required": ["toolset", "turn"],
    "additionalProperties": False,
}


def record_turn(body: dict[str, Any], caller: Caller, trace: Trace) -> None:
    """Store the report of a turn.

    Raises InvalidRequestError for a malformed body or toolset, PermissionDeniedError for a toolset or turn of another
    client or subject.
    """
    if errors := find_field_errors(_get_validator(), body):
        raise InvalidRequestError(
            f"The telemetry is malformed. {errors[0].message}", reason="malformed_call", field_errors=errors
        )
    toolset = release_routing.verify_for_telemetry(body["toolset"], key=caller.key)
    trace.release = toolset.served.release
    turn_key = {"client": caller.key.client, "session": caller.session, "turn": body["turn"]}
    # Keys of one client can be bound to different subjects: none must overwrite the report of another's turn.
    if ToolSelection.objects.filter(**turn_key).exclude(subject=toolset.subject).exists():
        raise PermissionDeniedError(
            "The turn belongs to another subject. Send a turn of the toolset's subject.", reason="toolset_of_another"
        )
    selection = toolset.legacy.selection if toolset.legacy else {}
    report = ToolSelection(
        time=trace.at,
        **turn_key,
        subject=toolset.subject,
        toolset=toolset.name,
        release=toolset.served.release,
        surface=toolset.served.surface,
        cohort=toolset.served.cohort,
        model=evaluation.get_model_family(caller.model)[:40],
        selection_kind=selection.get("kind", ""),
        selection=selection or None,
        loaded=body.get("tools_loaded", []),
        used=body.get("tools_used", []),
        missed=body.get("tool_misses", []),
        escalated=body.get("tool_escalations", []),
        tokens=body.get("tokens"),
        outcome=body.get("outcome", TurnOutcome.UNKNOWN),
    )
    ToolSelection.objects.bulk_create(
        [report],
        update_conflicts=True,
        unique_fields=["client", "session", "turn"],
        update_fields="""
    time subject toolset release surface cohort model selection_kind selection loaded used missed escalated
    tokens outcome
""".split(),
    )
    feedback.note_what_served(report)


@cache
def _get_validator() -> SchemaValidator:
    return SchemaValidator(TELEMETRY_SCHEMA)
