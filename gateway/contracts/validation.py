"""Validate a value by a schema: all field errors at once, each with what to send instead."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from core.text import english, json_pointer
from gateway.contracts.errors import FieldError
from registry.jsonschema import dialect, signatures
from registry.jsonschema.dialect import VALUE_REFUSALS, Schema
from registry.jsonschema.validator import SchemaValidator, SchemaViolation, ValidationTooExpensive

IdSourceFinder = Callable[[str], str | None]

MAX_ERRORS = 50
MIN_SIMILARITY = 0.75  # of an unknown name or value to the one that is suggested: archived must not become active

_FORMAT_HINTS = {
    "uuid": "a UUID",
    "date-time": "an RFC 3339 date-time with an offset, such as 2026-03-01T17:00:00Z",
    "iso-date-time": "a date-time such as 2026-03-01T17:00 in the user's time zone, or with an offset",
    "iso-date-or-date-time": "a date-time such as 2026-03-01T17:00 or, for whole days, a date such as 2026-03-01",
    "date": "a date such as 2026-03-01",
    "time": "an RFC 3339 time such as 17:00:00Z",
    "email": "an email address",
    "uri": "an absolute URI such as https://example.com/page",
}
_TYPE_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "list"}
_SHORTENED_ID = re.compile(r"\A[0-9a-fA-F]{8}\Z|\.\.\.|…")
_HEXADECIMAL = re.compile(r"(?:urn:uuid:)?[0-9a-fA-F-]{6,}")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_PLACEHOLDER_ID = re.compile(r"\A(?:\W*|(?:your|my|the|some|example)?[_\- ]?\w*id)\Z|[<>{}\[\]]", re.IGNORECASE)


def find_field_errors(
    validator: SchemaValidator, instance: Any, *, find_id_source: IdSourceFinder = lambda _: None
) -> list[FieldError]:
    """Return the field errors of an instance, at most 50, in the order of the schema.

    `find_id_source` gets an id argument and returns the op that lists such ids, which the message names.
    """
    result: list[FieldError] = []
    try:
        errors = validator.iter_errors(instance)
    except ValidationTooExpensive as problem:
        return [FieldError("", "too_large", str(problem))]
    for error in errors:
        result += _to_field_errors(error, validator.schema, instance, find_id_source)
        if len(result) >= MAX_ERRORS:
            break
    mistyped_paths = {error.path for error in result if error.code == "type"}  # the type error already lists the values
    return [error for error in result if error.code != "enum" or error.path not in mistyped_paths][:MAX_ERRORS]


def describe_type(value: Any) -> str:
    """Describe a value by its JSON type, without the value itself: it may be a secret."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return f"string of {len(value)} character{'' if len(value) == 1 else 's'}"
    return _TYPE_NAMES.get(type(value), "value")


def build_pointer(parts: Iterable[str | int]) -> str:
    """Return a JSON Pointer (RFC 6901), cut at 200 characters."""
    return json_pointer.build(parts)[:200]


def is_title(value: Any) -> bool:
    """Return whether a value where an id belongs could be a title: it is not a cut, invented or misspelt id."""
    if not isinstance(value, str) or not _LETTERS.search(value):
        return False
    return not (_HEXADECIMAL.fullmatch(value) or _SHORTENED_ID.search(value) or _PLACEHOLDER_ID.search(value))


def _to_field_errors(
    error: SchemaViolation, schema: Schema, instance: Any, find_id_source: IdSourceFinder
) -> list[FieldError]:
    path, kind = error.path, error.kind
    if kind.name == "required":
        return [_build_required_error(path, kind.property, schema)]
    if kind.name in ("additionalProperties", "unevaluatedProperties"):
        return [_build_unknown_error(path, name, schema) for name in kind.unexpected[:MAX_ERRORS]]
    value = _get_value(instance, path)
    argument = get_subschema(schema, path)
    name = _format_name(path)
    expected = signatures.format_expected_value(argument, schema)
    message = _build_message(kind, name, value, argument, expected, find_id_source)
    return [FieldError(build_pointer(path), kind.name, message, expected=expected, got=describe_type(value))]


def _format_name(path: list[str | int]) -> str:
    """Return how a message refers to a path: its last name, with the index for a list item: types/0."""
    start = next((at for at in range(len(path) - 1, -1, -1) if isinstance(path[at], str)), 0)
    return "/".join(map(str, path[start:])) or "The value"


def _build_required_error(path: list[str | int], name: str, schema: Schema) -> FieldError:
    expected = signatures.format_expected_value(get_subschema(schema, [*path, name]), schema)
    return FieldError(build_pointer([*path, name]), "required", f"{name} is required: {expected}.", expected=expected)


def _build_unknown_error(path: list[str | int], name: str, schema: Schema) -> FieldError:
    known = list(get_subschema(schema, path).get("properties", {}))
    matches = english.find_similar(name, known, limit=1, cutoff=MIN_SIMILARITY)
    hint = f"Did you mean {matches[0]}?" if matches else f"Send only {', '.join(known)}." if known else "Send none."
    shown = name if len(name) <= 60 else name[:60] + "…"
    return FieldError(
        build_pointer([*path, name]),
        "unknown_argument",
        f"Unknown argument {shown}. {hint}",
        expected=matches[0] if matches else None,
    )


def _build_message(
    kind: Any, name: str, value: Any, argument: Schema, expected: str, find_id_source: IdSourceFinder
) -> str:
    if kind.name == "format" and kind.format == "uuid":
        return _build_id_message(name, str(value), find_id_source)
    if kind.name == "format":
        return f"{name} must be {_FORMAT_HINTS.get(kind.format, f'a valid {kind.format}')}."
    if kind.name == "enum" and isinstance(value, str):
        refusals = argument.get(VALUE_REFUSALS)
        if isinstance(refusals, dict) and value in refusals:
            return f"{name}: {refusals[value]}"
        matches = english.find_similar(
            value, [option for option in kind.options if isinstance(option, str)], limit=1, cutoff=MIN_SIMILARITY
        )
        hint = f" Did you mean {matches[0]}?" if matches else ""
        return f"{name} must be one of {_format_options(kind.options)}.{hint}"
    if kind.name == "enum":
        return f"{name} must be one of {_format_options(kind.options)}."
    if kind.name == "type" and argument.get("enum"):  # the values say more than their type
        return f"{name} must be one of {_format_options(argument['enum'])}."
    if kind.name in ("minLength", "maxLength"):
        end = "at least" if kind.name == "minLength" else "at most"
        return f"{name} must have {end} {kind.limit} character{'' if kind.limit == 1 else 's'}."
    if kind.name in ("minItems", "maxItems", "minProperties", "maxProperties"):
        end = "at least" if kind.name.startswith("min") else "at most"
        noun = "item" if kind.name.endswith("Items") else "member"
        return f"{name} must have {end} {kind.limit} {noun}{'' if kind.limit == 1 else 's'}."
    if kind.name == "uniqueItems":
        return f"{name} must not repeat an item."
    if kind.name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        limit_words = {"minimum": "at least", "maximum": "at most", "exclusiveMinimum": "more than"}
        return f"{name} must be {limit_words.get(kind.name, 'less than')} {kind.limit}."
    if kind.name == "pattern":
        description = str(argument.get("description", "")).rstrip(".")
        return f"{name} must match {kind.pattern}." + (f" Description: {description}." if description else "")
    return f"{name} must be of type {expected}."


def _build_id_message(name: str, value: str, find_id_source: IdSourceFinder) -> str:
    source, value = find_id_source(name), value[:200]
    hint = f"Take the whole id from {source}." if source else "Send the whole 36-character id; never guess one."
    if _SHORTENED_ID.search(value):
        return f"{name} is a shortened id. {hint}"
    if _PLACEHOLDER_ID.search(value):
        return f"{name} is a placeholder, not an id. {hint}"
    return f"{name} must be a UUID. {hint}"


def _format_options(options: list[Any]) -> str:
    shown = ", ".join(signatures.format_literal(option) for option in options[:20])
    return shown if len(options) <= 20 else f"{shown} … ({len(options)} in all)"


def _get_value(instance: Any, path: list[str | int]) -> Any:
    for part in path:
        instance = instance[part]
    return instance


def get_subschema(schema: Schema, path: list[str | int]) -> dict[str, Any]:
    """Return the subschema for a path in the instance, {} if there is none.

    Follows properties, additionalProperties, items and $ref.
    """
    subschema: Any = schema
    for part in path:
        subschema = dialect.dereference(schema, subschema)
        if isinstance(part, str):
            child = subschema.get("properties", {}).get(part, subschema.get("additionalProperties"))
        else:
            child = subschema.get("items")
        subschema = child if isinstance(child, dict) else {}
    return dialect.dereference(schema, subschema)
