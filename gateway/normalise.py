"""Normalise args: correct what models habitually get wrong, with a warning. No value is invented."""

import copy
import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from core import nearest, strictjson
from gateway import nested
from gateway.callers import Context
from registry.catalogs import CatalogOp
from registry.schemas import VALUE_ALIASES

# Arguments that say how to update, not what to update.
STRATEGY = frozenset({"update_strategy", "merge_instructions"})

MAX_NAME = 100  # characters; a longer name is never read as another spelling of an argument

_DATE_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ].{2,40}")


@dataclass
class Normalised:
    """The args to validate, and what was changed from the args as sent."""

    args: dict[str, Any]
    without_defaults: dict[str, Any] = field(default_factory=dict)  # the base of a corrected call
    warnings: list[str] = field(default_factory=list)
    applied_defaults: dict[str, Any] = field(default_factory=dict)


def normalise(op: CatalogOp, sent: dict[str, Any], context: Context) -> Normalised:
    """Return the args of a call in canonical form, with context and schema defaults. Does not change `raw_args`.

    In this order: unwrap nested objects named by dotted aliases, drop blank optional strings, rename arguments
    (aliases, camelCase), drop display-only names, wrap single values of lists, trim ids, translate value aliases and
    cut the time of day from dates, take `project_id` from the context if it is absent or blank, fill in schema
    defaults.
    """
    found = Normalised(args=copy.deepcopy(sent))
    found.warnings += nested.take_apart(op, found.args)
    _drop_blanks(op, found)
    _rename(op, found)
    for name in op.display_only:
        found.args.pop(name, None)
    _wrap_single_values(op.schema, found.args)
    _trim_ids(op.schema, found.args)
    _translate(op.schema, found.args, found)
    found.args = whole_numbers(op.schema, found.args)
    if "project_id" in op.arguments and context.project_id and "project_id" not in found.args:
        found.args["project_id"] = found.applied_defaults["project_id"] = context.project_id
    found.without_defaults = dict(found.args)
    fill_defaults(op.schema, found.args)
    return found


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


def whole_numbers(schema: dict[str, Any], value: Any) -> Any:
    """Convert 5.0 to 5 wherever the schema has an integer: JSON has one number type, Python has two."""
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) <= strictjson.MAX_INTEGER and "integer" in str(schema.get("type"))
        return int(value) if whole else value
    if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        return [whole_numbers(items, item) for item in value]
    if isinstance(value, dict):
        known = {name: found for name, found in schema.get("properties", {}).items() if isinstance(found, dict)}
        return {name: whole_numbers(known[name], item) if name in known else item for name, item in value.items()}
    return value


def changes_nothing(op: CatalogOp, args: dict[str, Any]) -> bool:
    """Whether an update has no field to change: only ids, update options, or empty objects and lists."""
    if op.action != "update":
        return False
    named = set(args) - op.required - STRATEGY
    return all(args[name] in ({}, []) for name in named)


def _rename(op: CatalogOp, found: Normalised) -> None:
    for name in list(found.args):
        meant = _meant_name(op, name)
        if meant != name and meant not in found.args:
            found.args[meant] = found.args.pop(name)
            found.warnings.append(f"Read {name} as {meant}.")


def _meant_name(op: CatalogOp, name: str) -> str:
    """Return the argument that a name stands for, or the name itself if it stands for none."""
    if name in op.arguments or name in op.display_only or len(name) > MAX_NAME:
        return name
    spelt = nearest.snake_case(name)
    meant = op.argument_aliases.get(name) or op.argument_aliases.get(spelt) or spelt
    return meant if meant in op.arguments else name


def _wrap_single_values(schema: dict[str, Any], args: dict[str, Any]) -> None:
    """Wrap a single value in a list where the schema has a list of enum values."""
    for name, argument in schema.get("properties", {}).items():
        value = args.get(name)
        single = isinstance(value, int | float) or (isinstance(value, str) and not value.lstrip().startswith("["))
        if single and isinstance(argument, dict) and _lists_choices(argument):
            args[name] = [value]


def _lists_choices(argument: dict[str, Any]) -> bool:
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


def _drop_blanks(op: CatalogOp, found: Normalised) -> None:
    for name, value in list(found.args.items()):
        meant = _meant_name(op, name)
        if isinstance(value, str) and not value.strip() and meant in op.arguments:
            optional = meant not in op.required
            if optional or meant.endswith("_id"):  # a blank id counts as missing; the context may have it
                del found.args[name]
            if optional and meant != "project_id":
                found.warnings.append(f"Ignored the blank {name}.")


def _translate(schema: dict[str, Any], value: Any, found: Normalised, within: str = "") -> None:
    """Replace alternative spellings of values at every level: completed becomes done, a date-time becomes a date."""
    if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        for index in range(len(value)):
            _translate_one(items, value, index, within, found)
    if not isinstance(value, dict):
        return
    for name, argument in schema.get("properties", {}).items():
        if name in value and isinstance(argument, dict):
            _translate_one(argument, value, name, name, found)


def _translate_one(argument: dict[str, Any], holder: Any, key: Any, name: str, found: Normalised) -> None:
    """Translate the value at one key of an object or list; `name` is the argument's name for the warning."""
    meant = _meant(argument, holder[key])
    if meant is not None:
        holder[key] = meant
        found.warnings.append(f"Read {name} as {meant}.")
    _translate(argument, holder[key], found, within=name)


def _meant(argument: dict[str, Any], value: Any) -> Any:
    if not isinstance(value, str):
        return None
    return _meant_date(value) if argument.get("format") == "date" else _meant_option(argument, value)


def _meant_date(value: str) -> str | None:
    """Return the date part of a date-time, without applying its offset: the day is meant in that offset."""
    if not _DATE_TIME.fullmatch(value):
        return None
    try:
        return datetime.fromisoformat(value.upper()).date().isoformat()
    except ValueError:
        return None


def _meant_option(argument: dict[str, Any], value: str) -> Any:
    """Return the option that a value means: by another spelling, or by the schema's x-aliases."""
    aliases = argument.get(VALUE_ALIASES)
    if not isinstance(aliases, dict):
        return None
    folded = nearest.snake_case(value[:100])
    options = [option for option in argument.get("enum", []) if isinstance(option, str)]
    if value not in options and folded in options:
        return folded
    return aliases.get(folded)
