"""What the model is told after a failed call: how to repair it, once for each op and error."""

from collections.abc import Mapping
from typing import Any

from chat.gateway import envelopes

REPAIRABLE_CODES = frozenset({"VALIDATION_ERROR", "NOT_FOUND", "CONFLICT"})
MAX_MESSAGE = 200  # characters of the error that are repeated

GIVE_UP = "{op} failed again in the same way. Do not call it again. Tell the user what could not be done, and why."


def build_repair_key(op: str, envelope: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return what makes two failures the same."""
    return op, str(envelopes.get_error(envelope).get("code", "")), envelopes.get_reason(envelope)


def is_repairable(envelope: Mapping[str, Any]) -> bool:
    """Whether another call may succeed."""
    return (
        envelope.get("ok") is False
        and envelopes.get_error(envelope).get("code") in REPAIRABLE_CODES
        and envelopes.get_reason(envelope) != envelopes.CONFIRMATION_REQUIRED
    )


def build_repair(op: str, envelope: Mapping[str, Any], *, has_help: bool) -> str:
    """Return the instruction, at most 100 tokens."""
    error = envelopes.get_error(envelope)
    message = " ".join(str(error.get("message", "")).split())
    shortened = message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]}…"
    help_path = str(error.get("help_path", ""))
    help_hint = f" tool_help {help_path} tells more." if has_help and 0 < len(help_path) <= 60 else ""
    return f"{op} failed: {shortened} {_choose_advice(error)}{help_hint}"


def _choose_advice(error: Mapping[str, Any]) -> str:
    details = error.get("details") or {}
    fields = [each for each in details.get("field_errors", ()) if isinstance(each, Mapping)]
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
