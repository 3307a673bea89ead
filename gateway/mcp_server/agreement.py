"""Ask the end user to agree to a call, through a client that can ask: the elicitation of MCP."""

from dataclasses import dataclass
from typing import Any

from mcp_types import (
    ClientCapabilities,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    InputResponseRequestParams,
)

from gateway.contracts.errors import PermissionDeniedError

REQUEST = "agreement"  # the name of the question and of its answer
FIELD = "agree"
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {FIELD: {"type": "boolean", "title": "Do it", "default": False}},
    "required": [FIELD],
}


@dataclass(frozen=True, slots=True)
class Agreement:
    """What the end user answered. `token` confirms the call that they were asked about."""

    has_agreed: bool
    token: str


def can_ask(capabilities: ClientCapabilities | None) -> bool:
    """Return whether a client can show its user a form. A client that names no kind can do so (2025-06-18)."""
    elicitation = capabilities.elicitation if capabilities else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def build_question(confirmation: dict[str, Any], tool: str) -> ElicitRequestFormParams:
    """Return the question for the end user. `confirmation` is that of the error's details."""
    operation = confirmation["operation"]
    name = f" “{operation['entity_name']}”" if operation.get("entity_name") else ""
    action = operation.get("action") or "run"
    entity = operation.get("entity") or tool
    args = f" {args_text[:1].upper()}{args_text[1:]}" if (args_text := confirmation.get("args_text")) else ""
    question = f"Really {action.replace('_', ' ')} {entity.replace('_', ' ')}{name}?{args}"
    return ElicitRequestFormParams(message=question, requested_schema=FORM)


def request_input(confirmation: dict[str, Any], tool: str) -> InputRequiredResult:
    """Return the result that makes a client of 2026-07-28 ask its user and then send the call again."""
    return InputRequiredResult(
        input_requests={REQUEST: ElicitRequest(params=build_question(confirmation, tool))},
        request_state=confirmation["token"],
    )


def read_response(params: InputResponseRequestParams) -> Agreement | None:
    """Return the user's answer that a repeated call carries; None if it carries none."""
    answer = (params.input_responses or {}).get(REQUEST)
    if not isinstance(answer, ElicitResult) or params.request_state is None:
        return None
    return Agreement(has_agreed(answer), params.request_state)


def has_agreed(answer: ElicitResult) -> bool:
    """Return whether the user sent the form with a yes."""
    return answer.action == "accept" and (answer.content or {}).get(FIELD) is True


def build_declined_error() -> PermissionDeniedError:
    """Return the error for a call to which the end user did not agree."""
    return PermissionDeniedError(
        "The end user did not agree; nothing was done. Do not send the call again unless they ask for it.",
        reason="confirmation_declined",
    )
