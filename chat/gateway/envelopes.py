"""Read envelopes of the gateway, and write the context header."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import http_sf

from chat.context.layers import TASK, Place
from chat.context.shortening.answers import is_write
from chat.models import ToolCall
from core.text import english

__all__ = ["is_write"]
Status = ToolCall.Status
CONFIRMATION_REQUIRED = "confirmation_required"
INPUT_REQUIRED = "input_required"  # a service asks the user before it goes on
WAITING_REASONS = frozenset({CONFIRMATION_REQUIRED, INPUT_REQUIRED})
ALREADY_DONE = "already_done"  # the beginning of the chat's warning about a write that it sent twice

# Reasons for which someone must do something outside the conversation, also if the details do not say so.
USER_ACTION_REASONS = frozenset({"not_connected", "not_configured", "subject_required"})
USER_ACTION = "requires_user_action"  # the detail that says it: true, or an object with the link
HOW_TO_CONNECT = "how_to_connect"  # the detail that tells the user what to do
_ENTRIES, _ROWS = _LISTS = ("results", "items")  # of a batch, of a loop
LINK_SCHEMES = ("https://", "http://")


@dataclass(frozen=True, slots=True)
class UserAction:
    """What only the user can do about a failure: a text for them and, if there is one, the link for it."""

    text: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class AskedInput:
    """What a service asks the user: a form, or a page to open. The texts are the service's."""

    op: str
    message: str
    schema: Mapping[str, Any] | None = None
    url: str = ""


def build_error(op: str, code: str, message: str, reason: str) -> dict[str, Any]:
    """Return an error envelope of the chat itself."""
    return {"op": op, "ok": False, "error": {"code": code, "message": message, "details": {"reason": reason}}}


def get_error(envelope: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the error, empty if there is none."""
    error = envelope.get("error")
    return error if isinstance(error, Mapping) else {}


def get_reason(envelope: Mapping[str, Any]) -> str:
    """Return the reason of an error, empty if there is none."""
    details = get_error(envelope).get("details")
    return str(details.get("reason", "")) if isinstance(details, Mapping) else ""


def iter_envelopes(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the envelopes of an answer: the results of a batch, the rows of a loop in it, or the answer itself."""
    for name in _LISTS:
        if _is_list_of_envelopes(answer, name):
            for each in answer[name]:
                if isinstance(each, Mapping):
                    yield from iter_envelopes(each if name == _ENTRIES else _add_operation(each, answer))
            return
    yield answer


def _add_operation(row: Mapping[str, Any], loop: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the envelope of a row with its operation, which leaves out what its loop and its result tell."""
    meta, operation = row.get("meta") or {}, (loop.get("meta") or {}).get("operation") or {}
    result = (row.get("result") or {}).get(operation.get("entity", ""))
    if "operation" in meta or not operation or not isinstance(result, Mapping):
        return row
    told = {"entity_id": result.get("id"), "entity_name": result.get("title") or result.get("name")}
    known = {name: value for name, value in told.items() if value}
    return {**row, "meta": {**meta, "operation": {**operation, **known}}}


def map_envelopes(
    answer: Mapping[str, Any], change: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> dict[str, Any]:
    """Return an answer in which each of its envelopes is changed."""
    for name in _LISTS:
        if _is_list_of_envelopes(answer, name):
            parts = [map_envelopes(each, change) if isinstance(each, Mapping) else each for each in answer[name]]
            return {**answer, name: parts}
    return dict(change(answer))


def _is_list_of_envelopes(answer: Mapping[str, Any], name: str) -> bool:
    """Whether an answer is a batch, or the answer of a loop in one, which has no result of its own."""
    is_list = isinstance(answer.get(name), list)
    return is_list and ("batch_id" in answer if name == _ENTRIES else "result" not in answer and "op" in answer)


def add_warning(envelope: Mapping[str, Any], warning: str) -> dict[str, Any]:
    """Return an envelope with another warning."""
    meta = envelope.get("meta") or {}
    return {**envelope, "meta": {**meta, "warnings": [*meta.get("warnings", ()), warning]}}


def is_without_effect(envelope: Mapping[str, Any]) -> bool:
    """Whether a write that succeeded changed nothing: the stored values were sent, or it was done before."""
    warnings = (envelope.get("meta") or {}).get("warnings") or ()
    return any(str(each) == "unchanged" or str(each).startswith(f"{ALREADY_DONE}:") for each in warnings)


def identify_row(envelope: Mapping[str, Any]) -> str:
    """Return the row that a call is about, in words with its id: task “Find a venue”, 0d9a…; empty if it says none."""
    operation = (envelope.get("meta") or {}).get("operation") or {}
    name = operation.get("entity_name")
    row = " ".join(filter(None, (str(operation.get("entity") or ""), f"“{name}”" if name else "")))
    return ", ".join(filter(None, (row, str(operation.get("entity_id") or ""))))


def get_status(answer: Mapping[str, Any]) -> Status:
    """Return how a call went. Answers of help and discovery have no `ok` and are successes."""
    if any(is_waiting(each) for each in iter_envelopes(answer)):
        return Status.CONFIRM
    return Status.SUCCESS if answer.get("ok", "error" not in answer) else Status.ERROR


def is_waiting(envelope: Mapping[str, Any]) -> bool:
    """Whether a call waits for the user: for their agreement, or for what they answer its service."""
    return get_reason(envelope) in WAITING_REASONS


def find_input(answer: Mapping[str, Any]) -> tuple[AskedInput, str] | None:
    """Return what a service asks the user about a call, and the token of their answer, if the page still has it.

    None if no service asks, or the user must first agree to a call of the same answer.
    """
    if any(iter_waiting(answer)):
        return None
    for envelope in iter_envelopes(answer):
        if get_reason(envelope) == INPUT_REQUIRED:
            details = get_error(envelope)["details"]
            schema, url = details.get("schema"), str(details.get("url") or "")
            asked = AskedInput(
                str(envelope.get("op") or ""),
                str(details.get("message") or ""),
                schema if isinstance(schema, Mapping) else None,
                url if url.startswith(LINK_SCHEMES) else "",
            )
            return asked, str(details.get("token") or "")
    return None


def iter_waiting(answer: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the calls of an answer that need the user's agreement: their place in it, and what the gateway asks."""
    for index, envelope in enumerate(iter_envelopes(answer)):
        if get_reason(envelope) == CONFIRMATION_REQUIRED:
            yield index, _get_confirmation(envelope)


def _get_confirmation(envelope: Mapping[str, Any]) -> dict[str, Any]:
    confirmation = get_error(envelope)["details"].get("confirmation") or {}
    operation = confirmation.get("operation")
    op = str(envelope.get("op") or "")
    return {**confirmation, "operation": name_operation(operation, op)} if operation else dict(confirmation)


def name_operation(operation: Mapping[str, Any], op: str) -> dict[str, Any]:
    """Return an operation with the verb of its op as action, if that says more: cancel, for an op that deletes."""
    words = english.to_snake_case(op.rpartition(".")[2][:100]).split("_")
    verb = next((each for each in words if english.REQUEST_VERBS.get(each) == operation.get("action")), None)
    return {**operation, "action": verb} if verb else dict(operation)


def get_tokens(answer: Mapping[str, Any]) -> dict[int, str]:
    """Return the tokens of the calls that need the user's agreement, by their place in the answer."""
    return {index: str(confirmation.get("token", "")) for index, confirmation in iter_waiting(answer)}


def describe_confirmation(confirmation: Mapping[str, Any], *, op: str = "") -> str:
    """Return what a call would do, in words: delete the task “Find a venue” (scope: all)."""
    operation = confirmation.get("operation") or {}
    action = str(operation.get("action") or "").replace("_", " ")
    entity, name = str(operation.get("entity") or "row").replace("_", " "), operation.get("entity_name")
    text = f"{action} the {entity}" + (f" “{name}”" if name else "") if action else f"run {op}".strip()
    args = confirmation.get("args_text")
    return f"{text} ({args})" if args else text


def close_waiting(answer: Mapping[str, Any], describe: Callable[[str], str], reason: str) -> dict[str, Any]:
    """Return an answer in which each call that waits for the user has failed instead. The others keep their outcome.

    `describe` gets what the call would do, and returns the message.
    """

    def close(envelope: Mapping[str, Any]) -> Mapping[str, Any]:
        if not is_waiting(envelope):
            return envelope
        op = str(envelope.get("op") or "")
        if get_reason(envelope) == INPUT_REQUIRED:
            asked = f"answer what the service of {op} asked"
        else:
            asked = describe_confirmation(_get_confirmation(envelope), op=op)
        error = build_error(op, "CONFLICT", describe(asked), reason)
        return {name: envelope[name] for name in ("index", "type") if name in envelope} | error

    return map_envelopes(answer, close)


def get_user_action(answer: Mapping[str, Any]) -> UserAction | None:
    """Return what only the user can do about the first failure that needs it; None if no failure does."""
    for envelope in iter_envelopes(answer):
        error = get_error(envelope)
        details = error.get("details")
        details = details if isinstance(details, Mapping) else {}
        action = details.get(USER_ACTION)
        if action or get_reason(envelope) in USER_ACTION_REASONS:
            url = action.get("url") if isinstance(action, Mapping) else None
            text = details.get(HOW_TO_CONNECT) or error.get("message") or ""
            return UserAction(str(text), url if isinstance(url, str) and url.startswith(LINK_SCHEMES) else "")
    return None


def get_deleted_project(envelope: Mapping[str, Any]) -> str:
    """Return the id of the project that a call has deleted, empty if it has not."""
    operation = (envelope.get("meta") or {}).get("operation") or {}
    is_deletion = envelope.get("ok") and (operation.get("entity"), operation.get("action")) == ("project", "delete")
    return str(operation.get("entity_id", "")) if is_deletion else ""


def remove_tokens(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer without tokens of the user, for the model and the page. Only the chat sends them back."""
    return map_envelopes(answer, _remove_token)


def _remove_token(envelope: Mapping[str, Any]) -> Mapping[str, Any]:
    if not is_waiting(envelope):
        return envelope
    error = get_error(envelope)
    details = {name: value for name, value in error["details"].items() if name != "token"}
    if get_reason(envelope) == INPUT_REQUIRED:
        return {**envelope, "error": {**error, "details": details}}
    confirmation = {name: value for name, value in details.get("confirmation", {}).items() if name != "token"}
    return {**envelope, "error": {**error, "details": {**details, "confirmation": confirmation}}}


def format_context_header(place: Place) -> str:
    """Return the header's value. A task is sent with its project, if that is known."""
    fields: dict[str, Any] = {"type": http_sf.Token(place.type)}
    if place.project_id:
        fields["project_id"] = place.project_id
    if place.type == TASK and place.entity_id:
        fields |= {"entity_type": http_sf.Token("task"), "entity_id": place.entity_id}
    return str(http_sf.ser(fields))
