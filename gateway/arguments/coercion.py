"""Coerce values to what the schema asks for, where the meaning is certain.

Objects without `properties` in the schema, such as props, are left as sent.
"""

import copy
import re
from datetime import datetime
from typing import Any

from core.text import english, json_text
from registry.jsonschema import dialect
from registry.jsonschema.dialect import VALUE_ALIASES, Schema

_DATE_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ].{2,40}")

_DIGITS = re.compile(r"-?[0-9]{16,}", re.ASCII)
_MAX_PARTS_DEPTH = 4
_SEPARATOR = re.compile(r"[,;|&]|\band\b")  # of values in one text


def wrap_single_values(schema: Schema, args: dict[str, Any]) -> None:
    """Wrap a single value in a list where the schema has a list of enum values."""
    for name, argument in schema.get("properties", {}).items():
        value = args.get(name)
        is_single = isinstance(value, int | float) or (isinstance(value, str) and not value.lstrip().startswith("["))
        if is_single and isinstance(argument, dict) and _is_enum_list(argument):
            args[name] = [part.strip() for part in _SEPARATOR.split(value)] if isinstance(value, str) else [value]


def trim_ids(schema: Schema, value: Any) -> None:
    """Trim ids that the schema names. Ids inside free-form objects such as props are left as sent."""
    if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        for item in value:
            trim_ids(items, item)
    if not isinstance(value, dict):
        return
    for name, argument in schema.get("properties", {}).items():
        item = value.get(name)
        if isinstance(item, str) and (name == "id" or name.endswith("_id")):
            value[name] = item.strip()
        elif isinstance(argument, dict):
            trim_ids(argument, item)


def translate_values(schema: Schema, value: Any, within: str = "") -> list[str]:
    """Replace alternative spellings of values, in place, at every level. Return a warning for each.

    For example, completed becomes done, and a date-time becomes a date. `within` is the argument that holds the value.
    """
    warnings: list[str] = []
    if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        for index in range(len(value)):
            warnings += _translate_value(items, value, index, within)
    if not isinstance(value, dict):
        return warnings
    for name, argument in schema.get("properties", {}).items():
        if name in value and isinstance(argument, dict):
            warnings += _translate_value(argument, value, name, name)
    return warnings


def convert_whole_numbers(schema: Schema, value: Any, root: Schema | None = None) -> Any:
    """Convert 5.0 to 5 wherever the schema has an integer: JSON has one number type, Python has two.

    Integers over 2^53 - 1 can also be sent as text: many clients cannot write them as numbers without losing digits.
    """
    root = schema if root is None else root
    if isinstance(value, float):
        is_whole = value.is_integer() and abs(value) <= json_text.MAX_INTEGER and "integer" in str(schema.get("type"))
        return int(value) if is_whole else value
    if isinstance(value, str):
        return _read_large_integer(value) if _takes_numbers_only(dialect.dereference(root, schema), root) else value
    if not isinstance(value, dict | list):
        return value
    schema = dialect.dereference(root, schema)
    if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        return [convert_whole_numbers(items, item, root) for item in value]
    if isinstance(value, dict):
        subschemas = {
            name: subschema for name, subschema in schema.get("properties", {}).items() if isinstance(subschema, dict)
        }
        return {
            name: convert_whole_numbers(subschemas[name], item, root) if name in subschemas else item
            for name, item in value.items()
        }
    return value


def _takes_numbers_only(schema: Schema, root: Schema) -> bool:
    """Return whether a schema takes numbers and no texts, by its type or by the types of its parts."""
    types = _list_types(schema, root)
    return bool(types & {"integer", "number"}) and "string" not in types


def _list_types(schema: Schema, root: Schema, depth: int = 0) -> frozenset[str]:
    kinds = schema.get("type")
    types = {kinds} if isinstance(kinds, str) else set(kinds or ())
    for part in dialect.iter_in_place_subschemas(schema) if not types and depth < _MAX_PARTS_DEPTH else ():
        types |= _list_types(dialect.dereference(root, part), root, depth + 1) or {"string"}  # unknown: any type
    return frozenset(types)


def _read_large_integer(text: str) -> str | int:
    if not _DIGITS.fullmatch(text) or len(text) > json_text.MAX_DIGITS:
        return text
    return number if abs(number := int(text)) > json_text.MAX_INTEGER else text


def fill_defaults(schema: Schema, instance: Any) -> None:
    """Fill in the defaults of a schema, in place, at every level that already exists in the instance."""
    if isinstance(instance, list) and isinstance(items := schema.get("items"), dict):
        for item in instance:
            fill_defaults(items, item)
    if not isinstance(instance, dict):
        return
    for name, argument in schema.get("properties", {}).items():
        if not isinstance(argument, dict):
            continue
        # An empty text says nothing, and many services read it as a search for nothing.
        if name not in instance and argument.get("default") not in (None, ""):
            instance[name] = copy.deepcopy(argument["default"])
        elif name in instance:
            fill_defaults(argument, instance[name])


def _is_enum_list(argument: Schema) -> bool:
    items = argument.get("items")
    return argument.get("type") == "array" and isinstance(items, dict) and "enum" in items


def _translate_value(argument: Schema, holder: Any, key: Any, name: str) -> list[str]:
    """Translate the value at one key of an object or list; `name` is the argument's name for the warning."""
    translation = _find_translation(argument, holder[key])
    warnings = []
    if translation is not holder[key]:
        holder[key] = translation
        warnings.append(f"Read {name} as {'null' if translation is None else translation}.")
    return warnings + translate_values(argument, holder[key], within=name)


def _find_translation(argument: Schema, value: Any) -> Any:
    """Return what a value means: the value itself, or another one, which may be null."""
    if not isinstance(value, str):
        return value
    return _cut_to_date(value) if argument.get("format") == "date" else _match_option(argument, value)


def _cut_to_date(value: str) -> str:
    """Return the date part of a date-time, without applying its offset: the day is meant in that offset."""
    if not _DATE_TIME.fullmatch(value):
        return value
    try:
        return datetime.fromisoformat(value.upper()).date().isoformat()
    except ValueError:
        return value


def _match_option(argument: Schema, value: str) -> Any:
    """Return the option that a value means: by another spelling, or by the schema's x-aliases."""
    aliases = argument.get(VALUE_ALIASES)
    if not isinstance(aliases, dict):
        return value
    snake_value = english.to_snake_case(value[:100])
    options = [option for option in argument.get("enum", []) if isinstance(option, str)]
    if value in options:
        return value
    if snake_value in options:
        return snake_value
    return aliases.get(snake_value, value)
