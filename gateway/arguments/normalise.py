"""Normalise args: correct what models habitually get wrong, with a warning. No value is invented."""

import copy
import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from core import strict_json, suggestions
from gateway.arguments import unwrap_args
from gateway.request_context import UserContext
from registry.catalog.model import CatalogOp
from registry.jsonschema.schemas import VALUE_ALIASES

# Arguments that say how to update, not what to update.
UPDATE_OPTIONS = frozenset({"update_strategy", "merge_instructions"})

MAX_NAME_LENGTH = 100  # characters; a longer name is never read as another spelling of an argument

_DATE_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ].{2,40}")


@dataclass
class NormalisedArgs:
    """The args to validate, and what was changed from the args as sent."""

    args: dict[str, Any]
    without_defaults: dict[str, Any] = field(default_factory=dict)  # the base of a corrected call
    warnings: list[str] = field(default_factory=list)
    applied_defaults: dict[str, Any] = field(default_factory=dict)


def normalise_args(op: CatalogOp, raw_args: dict[str, Any], context: UserContext) -> NormalisedArgs:
    """Return the args of a call in canonical form, with context and schema defaults. Does not change `raw_args`.

    In this order: unwrap nested objects named by dotted aliases, drop blank optional strings, rename arguments
    (aliases, camelCase), drop display-only names, wrap single values of lists, trim ids, translate value aliases and
    cut the time of day from dates, take `project_id` from the context if it is absent or blank, fill in schema
    defaults.
    """
    result = NormalisedArgs(args=copy.deepcopy(raw_args))
    result.warnings += unwrap_args.unwrap_nested(op, result.args)
    _drop_blanks(op, result)
    _rename_arguments(op, result)
    for name in op.display_only:
        result.args.pop(name, None)
    _wrap_single_values(op.schema, result.args)
    _trim_ids(op.schema, result.args)
    _translate_values(op.schema, result.args, result)
    result.args = convert_whole_numbers(op.schema, result.args)
    if "project_id" in op.arguments and context.project_id and "project_id" not in result.args:
        result.args["project_id"] = result.applied_defaults["project_id"] = context.project_id
    result.without_defaults = dict(result.args)
    fill_defaults(op.schema, result.args)
    return result


def fill_defaults(schema: dict[str, Any], instance: Any) -> None:
    """Fill in the defaults of a schema, in place, at every level that already exists in the instance."""
    if isinstance(instance, list) and isinstance(items := schema.get("items"), dict):
        for item in instance:
            fill_defaults(items, item)
    if not isinstance(instance, dict):
        return
    for name, argument in schema.get("properties", {}).items():
        if not isinstance(argument, dict):
            continue
        if name not in instance and "default" in argument:
            instance[name] = copy.deepcopy(argument["default"])
        elif name in instance:
            fill_defaults(argument, instance[name])


def convert_whole_numbers(schema: dict[str, Any], value: Any) -> Any:
    """Convert 5.0 to 5 wherever the schema has an integer: JSON has one number type, Python has two."""
    if isinstance(value, float):
        is_whole = value.is_integer() and abs(value) <= strict_json.MAX_INTEGER and "integer" in str(schema.get("type"))
        return int(value) if is_whole else value
    if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        return [convert_whole_numbers(items, item) for item in value]
    if isinstance(value, dict):
        subschemas = {
            name: subschema for name, subschema in schema.get("properties", {}).items() if isinstance(subschema, dict)
        }
        return {
            name: convert_whole_numbers(subschemas[name], item) if name in subschemas else item
            for name, item in value.items()
        }
    return value


def is_empty_update(op: CatalogOp, args: dict[str, Any]) -> bool:
    """Whether an update has no field to change: only ids, update options, or empty objects and lists."""
    if op.action != "update":
        return False
    changed_names = set(args) - op.required - UPDATE_OPTIONS
    return all(args[name] in ({}, []) for name in changed_names)


def _rename_arguments(op: CatalogOp, result: NormalisedArgs) -> None:
    for name in list(result.args):
        argument = _resolve_name(op, name)
        if argument != name and argument not in result.args:
            result.args[argument] = result.args.pop(name)
            result.warnings.append(f"Read {name} as {argument}.")


def _resolve_name(op: CatalogOp, name: str) -> str:
    """Return the argument that a name stands for, or the name itself if it stands for none."""
    if name in op.arguments or name in op.display_only or len(name) > MAX_NAME_LENGTH:
        return name
    snake_name = suggestions.to_snake_case(name)
    argument = op.argument_aliases.get(name) or op.argument_aliases.get(snake_name) or snake_name
    return argument if argument in op.arguments else name


def _wrap_single_values(schema: dict[str, Any], args: dict[str, Any]) -> None:
    """Wrap a single value in a list where the schema has a list of enum values."""
    for name, argument in schema.get("properties", {}).items():
        value = args.get(name)
        is_single = isinstance(value, int | float) or (isinstance(value, str) and not value.lstrip().startswith("["))
        if is_single and isinstance(argument, dict) and _is_enum_list(argument):
            args[name] = [value]


def _is_enum_list(argument: dict[str, Any]) -> bool:
    items = argument.get("items")
    return argument.get("type") == "array" and isinstance(items, dict) and "enum" in items


def _trim_ids(schema: dict[str, Any], value: Any) -> None:
    """Trim ids that the schema names. Ids inside free-form objects such as props are left as sent."""
    if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        for item in value:
            _trim_ids(items, item)
    if not isinstance(value, dict):
        return
    for name, argument in schema.get("properties", {}).items():
        item = value.get(name)
        if isinstance(item, str) and (name == "id" or name.endswith("_id")):
            value[name] = item.strip()
        elif isinstance(argument, dict):
            _trim_ids(argument, item)


def _drop_blanks(op: CatalogOp, result: NormalisedArgs) -> None:
    for name, value in list(result.args.items()):
        argument = _resolve_name(op, name)
        if isinstance(value, str) and not value.strip() and argument in op.arguments:
            is_optional = argument not in op.required
            if is_optional or argument.endswith("_id"):  # a blank id counts as missing; the context may have it
                del result.args[name]
            if is_optional and argument != "project_id":
                result.warnings.append(f"Ignored the blank {name}.")


def _translate_values(schema: dict[str, Any], value: Any, result: NormalisedArgs, within: str = "") -> None:
    """Replace alternative spellings of values at every level: completed becomes done, a date-time becomes a date."""
    if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        for index in range(len(value)):
            _translate_value(items, value, index, within, result)
    if not isinstance(value, dict):
        return
    for name, argument in schema.get("properties", {}).items():
        if name in value and isinstance(argument, dict):
            _translate_value(argument, value, name, name, result)


def _translate_value(argument: dict[str, Any], holder: Any, key: Any, name: str, result: NormalisedArgs) -> None:
    """Translate the value at one key of an object or list; `name` is the argument's name for the warning."""
    translation = _find_translation(argument, holder[key])
    if translation is not None:
        holder[key] = translation
        result.warnings.append(f"Read {name} as {translation}.")
    _translate_values(argument, holder[key], result, within=name)


def _find_translation(argument: dict[str, Any], value: Any) -> Any:
    if not isinstance(value, str):
        return None
    return _cut_to_date(value) if argument.get("format") == "date" else _match_option(argument, value)


def _cut_to_date(value: str) -> str | None:
    """Return the date part of a date-time, without applying its offset: the day is meant in that offset."""
    if not _DATE_TIME.fullmatch(value):
        return None
    try:
        return datetime.fromisoformat(value.upper()).date().isoformat()
    except ValueError:
        return None


def _match_option(argument: dict[str, Any], value: str) -> Any:
    """Return the option that a value means: by another spelling, or by the schema's x-aliases."""
    aliases = argument.get(VALUE_ALIASES)
    if not isinstance(aliases, dict):
        return None
    snake_value = suggestions.to_snake_case(value[:100])
    options = [option for option in argument.get("enum", []) if isinstance(option, str)]
    if value not in options and snake_value in options:
        return snake_value
    return aliases.get(snake_value)
