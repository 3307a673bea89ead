"""Repair an invalid call, if the correction is certain: the model then needs no further call of help."""

import copy
import json
from typing import Any

from core import nearest, strictjson
from gateway import normalise
from gateway.callers import Context, is_uuid
from gateway.errors import FieldError
from gateway.validation import field_errors, schema_at
from registry.catalogs import CatalogOp

# Minimum similarity before one spelling is taken for another. It is high: `position` must not become `description`.
SURE_NAME, SURE_VALUE = 0.78, 0.85
MAX_CHARACTERS = 4_000  # of a retry_with; a longer one costs more tokens than it saves


_TYPES: dict[str, Any] = {"integer": int, "number": (int, float), "boolean": bool, "object": dict, "array": list}


def corrected(op: CatalogOp, args: dict[str, Any], errors: list[FieldError], context: Context) -> dict[str, Any] | None:
    """Return a valid `{op, args}` if every error has one certain correction, else None.

    Certain are: a misspelt argument name, a misspelt enum value, a number or boolean in quotes (also inside a list), a
    single value instead of a list, null for an optional argument, and a malformed project_id if the context has one.
    """
    mended = copy.deepcopy(args)
    for error in errors:
        if not _mend(op, mended, error, context):
            return None
    if field_errors(op.validator, op.schema, mended) or normalise.changes_nothing(op, mended):
        return None
    return fitting({"op": op.op, "args": mended})


def fitting(call: dict[str, Any]) -> dict[str, Any] | None:
    """Return the call if it is small enough for retry_with, else None."""
    return call if len(json.dumps(call, ensure_ascii=False)) <= MAX_CHARACTERS else None


def _mend(op: CatalogOp, args: dict[str, Any], error: FieldError, context: Context) -> bool:
    name, _, place = error.path.removeprefix("/").partition("/")
    if name not in args:
        return False
    if place:
        return _mend_item(schema_at(op.schema, [name]), args[name], place, error)
    if error.code == "unknown_argument":
        if (
            error.expected is None
            or error.expected in args
            or not nearest.close(name, [error.expected], cutoff=SURE_NAME)
        ):
            return False
        args[error.expected] = args.pop(name)
        return True
    if name == "project_id" and error.code == "format" and is_uuid(context.project_id):
        args[name] = context.project_id
        return True
    if error.code in ("type", "enum") and args[name] is None and name not in op.required:
        del args[name]  # strict tool modes send null for omitted arguments
        return True
    mend = _value(schema_at(op.schema, [name]), args[name], error.code)
    if mend is None:
        return False
    args[name] = mend
    return True


def _mend_item(argument: dict[str, Any], items: Any, place: str, error: FieldError) -> bool:
    """Correct one value of a list. Deeper levels are not corrected: a guess there is no longer certain."""
    schema = argument.get("items")
    if not (isinstance(items, list) and isinstance(schema, dict) and place.isdecimal()):
        return False
    mend = _value(schema, items[int(place)], error.code)
    if mend is None or isinstance(mend, list):
        return False
    items[int(place)] = mend
    return True


def _value(argument: dict[str, Any], value: Any, code: str) -> Any:
    if code == "enum" and isinstance(value, str):
        close = nearest.close(value, [str(option) for option in argument.get("enum", [])], limit=1, cutoff=SURE_VALUE)
        return close[0] if close else None
    if code != "type":
        return None
    kinds = argument.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    read = _read(value) if isinstance(value, str) else None
    if any(_is(read, _TYPES.get(str(kind), ())) for kind in kinds):
        return read
    return [value] if "array" in kinds and not isinstance(value, dict | list) else None


def _read(text: str) -> Any:
    try:
        return strictjson.loads(text.encode())
    except strictjson.NotStrictJSON:
        return None


def _is(value: Any, types: Any) -> bool:
    return isinstance(value, types) and (not isinstance(value, bool) or types is bool)
