"""What the model is told after a failed call: how to repair it, once for each op, error and fields that are wrong."""

from collections.abc import Mapping
from typing import Any

from chat.context.shortening.clipping import clip
from chat.gateway import envelopes
from core.text import token_budget

RepairKey = tuple[str, ...]

REPAIRABLE_CODES = frozenset({"VALIDATION_ERROR", "NOT_FOUND", "CONFLICT"})
MAX_TOKENS = 100
MAX_OP = 60  # characters
MAX_HELP_PATH = 60
OP_SIZES = (MAX_OP, 50, 20, 5)  # characters of the op's name: the most that fit
MIN_SIZE_WITH_HELP = 50  # with fewer, there is no room for the path of its help

GIVE_UP = "{op} failed again in the same way. Do not call it again. Tell the user what could not be done, and why."


def build_repair_key(op: str, envelope: Mapping[str, Any]) -> RepairKey:
    """Return what makes two failures the same: the op, the error and the fields that are wrong."""
    error = envelopes.get_error(envelope)
    paths = sorted({str(each.get("path", "")) for each in _list_field_errors(error)})
    return op, str(error.get("code", "")), envelopes.get_reason(envelope), *paths


def is_repairable(envelope: Mapping[str, Any]) -> bool:
    """Whether another call may succeed."""
    return (
        envelope.get("ok") is False
        and envelopes.get_error(envelope).get("code") in REPAIRABLE_CODES
        and not envelopes.is_waiting(envelope)
        and envelopes.get_user_action(envelope) is None
    )


def build_repair(op: str, envelope: Mapping[str, Any], *, has_help: bool) -> str:
    """Return the instruction, at most 100 tokens."""
    error = envelopes.get_error(envelope)
    advice, help_path = _choose_advice(error), str(error.get("help_path", ""))
    help_hint = f" tool_help {help_path} tells more." if has_help and 0 < len(help_path) <= MAX_HELP_PATH else ""

    def render(size: int) -> str:
        hint = help_hint if size >= MIN_SIZE_WITH_HELP else ""
        return f"{clip(op, min(size, MAX_OP))} failed. {advice}{hint}"  # its answer says why

    return token_budget.render_to_fit(render, OP_SIZES, budget=MAX_TOKENS)


def build_give_up(op: str) -> str:
    """Return what the model is told about a failure that it was asked to repair before."""
    return token_budget.render_to_fit(
        lambda size: GIVE_UP.format(op=clip(op, size)), (MAX_OP, 20, 5), budget=MAX_TOKENS
    )


def _list_field_errors(error: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    details = error.get("details")
    listed = details.get("field_errors") if isinstance(details, Mapping) else None
    return [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []


def _choose_advice(error: Mapping[str, Any]) -> str:
    details, fields = error.get("details") or {}, _list_field_errors(error)
    if any(each.get("code") == "no_change" for each in fields):
        return "Send one field that changes, or ask the user what to change."
    if details.get("retry_with"):
        return "Send retry_with as it stands if that is what the user wants."
    if error.get("code") == "NOT_FOUND" or any(str(each.get("path", "")).endswith("_id") for each in fields):
        return (
            "Never make up an id. Find it with one list or search; if several rows fit, ask the user with at most "
            "three candidates."
        )
    return "Correct what the error names, once, or ask the user."
