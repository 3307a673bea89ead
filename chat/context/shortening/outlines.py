"""What is kept of an answer longest: its op, how it ended, and the ids of its rows.

A write always says that it was done. Nothing here asks to repeat a call that changed something.
"""

from collections.abc import Mapping
from typing import Any

from chat.context.shortening.clipping import clip
from chat.context.shortening.columns import NAMES
from chat.context.shortening.json_text import dump
from core.text import token_budget

MAX_NAME_CHARS = 60
MAX_MESSAGE_CHARS = 200
MAX_CORRECTION_TOKENS = 150
MAX_DEPTH = 12
USER_DETAILS = ("requires_user_action", "how_to_connect")  # what only the user can do, and the link for it
FACTS = ("op", "ok", "path", "query", "type", "batch_id")
DONE = "done"
NAMES_ONLY, IDS_ONLY = "ids and names only", "ids only"
LEFT_OUT = "left out to save room"


def build_read_outline(answer: Mapping[str, Any], *, has_names: bool) -> str:
    """Return what a read was and the ids of all its rows, with their names or without."""
    parts = {name: _outline(answer.get(name), has_names=has_names) for name in ("result", "items")}
    kept = {name: part for name, part in parts.items() if part}
    shown = (NAMES_ONLY if has_names else IDS_ONLY) if kept else LEFT_OUT
    return dump({**get_facts(answer), **kept, "shown": shown})


def build_write_outline(answer: Mapping[str, Any], operation: Mapping[str, Any]) -> str:
    """Return that a write was done, the ids and names of all rows in its result, and how to undo it."""
    result = _outline(answer.get("result"), has_names=True)
    if not _find_row(answer.get("result")):
        return build_outcome(answer, operation)
    meta = answer.get("meta")
    undo = {"meta": {"undo": meta["undo"]}} if isinstance(meta, Mapping) and meta.get("undo") else {}
    return dump({**get_facts(answer), "result": result, **undo, "shown": DONE})


def build_outcome(answer: Mapping[str, Any], operation: Mapping[str, Any]) -> str:
    """Return op, id and name of a write that was done, and nothing else."""
    row = _find_row(answer.get("result"))
    id = operation.get("entity_id") or row.get("id")
    name = operation.get("entity_name") or next((row[name] for name in NAMES if name in row), None)
    named = {key: clip(value, MAX_NAME_CHARS) for key, value in (("id", id), ("name", name)) if value}
    return dump({**get_facts(answer), **named, "shown": DONE})


def build_left_out(answer: Mapping[str, Any]) -> str:
    """Return only what a read was. Its ids do not fit."""
    return dump({**get_facts(answer), "shown": LEFT_OUT})


def build_short_error(answer: Mapping[str, Any]) -> str:
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


def build_failed(answer: Mapping[str, Any]) -> str:
    """Return only that a call failed, and why in a word."""
    error = answer.get("error")
    code = error.get("code") if isinstance(error, Mapping) else None
    named = {"code": clip(code, MAX_NAME_CHARS)} if isinstance(code, str) else {}
    return dump({**get_facts(answer), "ok": False, **named, "shown": "the error is left out"})


def build_bare(answer: Mapping[str, Any]) -> str:
    """Return only whether a call succeeded."""
    facts = {"ok": answer["ok"]} if isinstance(answer.get("ok"), bool) else {}
    return dump({**facts, "shown": "outcome only"})


def get_facts(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an answer was: its op, whether it succeeded, or the path of a page of the help."""
    facts = {name: answer[name] for name in FACTS if isinstance(answer.get(name), str | bool)}
    return {name: clip(each, MAX_NAME_CHARS) if isinstance(each, str) else each for name, each in facts.items()}


def _outline(value: Any, *, has_names: bool, depth: int = 0) -> Any:
    """Return the ids of all rows inside a value, where they stand: rows as {id, name}, or only their ids."""
    if isinstance(value, list) and depth <= MAX_DEPTH:
        rows = [row for each in value if (row := _outline(each, has_names=has_names, depth=depth + 1))]
        return rows if has_names else [row["id"] if _is_id_only(row) else row for row in rows]
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        return None
    inner = {name: _outline(each, has_names=has_names, depth=depth + 1) for name, each in value.items()}
    named = _name_row(value, has_names=has_names, is_result=not depth)
    return named | {name: each for name, each in inner.items() if each}


def _name_row(value: Mapping[str, Any], *, has_names: bool, is_result: bool) -> dict[str, Any]:
    """Return the id and the name of a row; of a result without, the ids of what it is about and its message."""
    if isinstance(value.get("id"), str | int):
        named = {name: clip(value[name], MAX_NAME_CHARS) for name in NAMES if has_names and value.get(name)}
        return {"id": _clip_id(value["id"]), **named}
    if not is_result:
        return {}
    ids = {name: _clip_id(each) for name, each in value.items() if name.endswith("_id") and isinstance(each, str)}
    message = value.get("message")
    return ids | ({"message": clip(message, MAX_MESSAGE_CHARS)} if has_names and isinstance(message, str) else {})


def _is_id_only(row: Any) -> bool:
    return isinstance(row, dict) and set(row) == {"id"}


def _clip_id(value: str | int) -> str | int:
    return clip(value, MAX_NAME_CHARS) if isinstance(value, str) else value


def _find_row(result: Any) -> Mapping[str, Any]:
    """Return the row that a result is about; nothing if it is a list."""
    if not isinstance(result, dict):
        return {}
    rows = (each for each in (result, *result.values()) if isinstance(each, dict) and "id" in each)
    return next(rows, {})
