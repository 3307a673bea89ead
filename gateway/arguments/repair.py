"""Repair an invalid call, if the correction is certain: the model then needs no further call of help."""

import copy
import json
from typing import Any

from core import strict_json, suggestions
from gateway.arguments import normalise
from gateway.contracts.errors import FieldError
from gateway.contracts.validation import find_field_errors, get_subschema
from gateway.request_context import UserContext, is_uuid
from registry.catalog.model import CatalogOp

# Minimum similarity before one spelling is taken for another. It is high: `position` must not become `description`.
MIN_NAME_SIMILARITY, MIN_VALUE_SIMILARITY = 0.78, 0.85
MAX_CALL_CHARACTERS = 4_000  # of a retry_with; a longer one costs more tokens than it saves


_PYTHON_TYPES: dict[str, Any] = {"integer": int, "number": (int, float), "boolean": bool, "object": dict, "array": list}


def repair_call(
    op: CatalogOp, args: dict[str, Any], errors: list[FieldError], context: UserContext
) -> dict[str, Any] | None:
    """Return a valid `{op, args}` if every error has one certain correction, else None.

    Certain are: a misspelt argument name, a misspelt enum value, a number or boolean in quotes (also inside a list), a
    single value instead of a list, null for an optional argument, and a malformed project_id if the context has one.
    """
    repaired_args = copy.deepcopy(args)
    for error in errors:
        if not _repair_argument(op, repaired_args, error, context):
            return None
    if find_field_errors(op.validator, repaired_args) or normalise.is_empty_update(op, repaired_args):
        return None
    return drop_if_too_long({"op": op.op, "args": repaired_args})


def drop_if_too_long(call: dict[str, Any]) -> dict[str, Any] | None:
    """Return the call if it is small enough for retry_with, else None."""
    return call if len(json.dumps(call, ensure_ascii=False)) <= MAX_CALL_CHARACTERS else None


def _repair_argument(op: CatalogOp, args: dict[str, Any], error: FieldError, context: UserContext) -> bool:
    name, _, item_path = error.path.removeprefix("/").partition("/")
    if name not in args:
        return False
    if item_path:
        return _repair_item(get_subschema(op.schema, [name]), args[name], item_path, error)
    if error.code == "unknown_argument":
        if (
            error.expected is None
            or error.expected in args
            or not suggestions.find_similar(name, [error.expected], cutoff=MIN_NAME_SIMILARITY)
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
    repaired_value = _repair_value(get_subschema(op.schema, [name]), args[name], error.code)
    if repaired_value is None:
        return False
    args[name] = repaired_value
    return True


def _repair_item(argument: dict[str, Any], items: Any, item_path: str, error: FieldError) -> bool:
    """Correct one value of a list. Deeper levels are not corrected: a guess there is no longer certain."""
    schema = argument.get("items")
    if not (isinstance(items, list) and isinstance(schema, dict) and item_path.isdecimal()):
        return False
    repaired_value = _repair_value(schema, items[int(item_path)], error.code)
    if repaired_value is None or isinstance(repaired_value, list):
        return False
    items[int(item_path)] = repaired_value
    return True


def _repair_value(argument: dict[str, Any], value: Any, code: str) -> Any:
    if code == "enum" and isinstance(value, str):
        matches = suggestions.find_similar(
            value, [str(option) for option in argument.get("enum", [])], limit=1, cutoff=MIN_VALUE_SIMILARITY
        )
        return matches[0] if matches else None
    if code != "type":
        return None
    kinds = argument.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    parsed_value = _parse_json(value) if isinstance(value, str) else None
    if any(_is_instance(parsed_value, _PYTHON_TYPES.get(str(kind), ())) for kind in kinds):
        return parsed_value
    return [value] if "array" in kinds and not isinstance(value, dict | list) else None


def _parse_json(text: str) -> Any:
    try:
        return strict_json.loads(text.encode())
    except strict_json.NotStrictJSON:
        return None


def _is_instance(value: Any, types: Any) -> bool:
    return isinstance(value, types) and (not isinstance(value, bool) or types is bool)
