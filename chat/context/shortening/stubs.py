"""The minimum that is sent of an answer: what it was, which row it is about, and that the rest is missing."""

from collections.abc import Mapping
from typing import Any

from chat.context.shortening.clipping import clip
from chat.context.shortening.json_text import dump
from core.text import token_budget

NOTHING_SHOWN = "nothing; call again for less at once"
MAX_NAME_CHARS = 60
MAX_MESSAGE_CHARS = 200
MAX_CORRECTION_TOKENS = 150
USER_DETAILS = ("requires_user_action", "how_to_connect")  # what only the user can do, and the link for it
SCALARS = ("op", "ok", "path", "type", "batch_id")


def build(answer: Mapping[str, Any], budget: int) -> str:
    """Return the longest stub of an answer that fits the budget, or the shortest one."""
    facts = {name: _shorten_scalar(answer[name]) for name in SCALARS if isinstance(answer.get(name), str | bool)}
    result = answer.get("result")
    row = _find_row(result)
    message = result.get("message") if isinstance(result, dict) else None
    said = {"message": clip(message, MAX_MESSAGE_CHARS)} if isinstance(message, str) else {}
    forms: list[dict[str, Any]] = [{**facts, "result": {**row, **said}}] if row or said else []
    forms += [{**facts, "result": row}] if row else []
    forms.append(facts)
    return token_budget.render_to_fit(lambda form: dump({**form, "shown": NOTHING_SHOWN}), forms, budget=budget)


def build_error(answer: Mapping[str, Any]) -> str:
    """Return an error in short, with the reason, what the user must do, and the corrected call if that is small."""
    error = answer.get("error")
    error = error if isinstance(error, Mapping) else {"message": error}
    details = error.get("details")
    details = details if isinstance(details, Mapping) else {}
    kept: dict[str, Any] = {"reason": clip(details["reason"], MAX_NAME_CHARS)} if "reason" in details else {}
    kept |= {name: details[name] for name in USER_DETAILS if details.get(name)}
    correction = details.get("retry_with")
    if correction and token_budget.fits(dump(correction), MAX_CORRECTION_TOKENS):
        kept |= {"retry_with": correction}
    named = {name: clip(error[name], MAX_NAME_CHARS) for name in ("code", "help_path") if error.get(name)}
    short = {**named, "message": clip(error.get("message"), MAX_MESSAGE_CHARS), **({"details": kept} if kept else {})}
    facts = {"op": clip(answer["op"], MAX_NAME_CHARS)} if answer.get("op") else {}
    return dump({**facts, "ok": False, "error": short, "shown": "the error in short"})


def build_empty(answer: Mapping[str, Any]) -> str:
    """Return only whether the call succeeded."""
    facts = {"ok": answer["ok"]} if isinstance(answer.get("ok"), bool) else {}
    return dump({**facts, "shown": "nothing"})


def _find_row(result: Any) -> dict[str, Any]:
    """Return id and name of the row that a result is about; nothing if it is a list."""
    values = result.values() if isinstance(result, dict) else ()
    row = next((each for each in values if isinstance(each, dict) and "id" in each), {})
    return {name: clip(row[name], MAX_NAME_CHARS) for name in ("id", "name", "title") if name in row}


def _shorten_scalar(value: str | bool) -> str | bool:
    return clip(value, MAX_NAME_CHARS) if isinstance(value, str) else value
