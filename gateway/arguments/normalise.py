"""Normalise args: correct what models habitually get wrong, with a warning. No value is invented."""

import copy
from dataclasses import dataclass, field
from typing import Any

from core.text import english
from gateway.access import policies
from gateway.access.request_context import Caller, UserContext
from gateway.arguments import coercion, unwrap_args
from gateway.contracts.validation import get_subschema
from registry.catalog.model import Catalog, CatalogOp
from registry.jsonschema.dialect import ALIAS_ARGS, VALUE_OMISSIONS, Schema

CREATE = "create"  # the action of ops whose rows have nothing to clear yet


def drop_nulls(schema: Schema, value: Any) -> None:
    """Delete the nulls of optional arguments, in place, from objects that name all their arguments, at every level.

    An argument that can be null keeps it: there it means something. So does a call that leaves arguments out, because
    its null was meant: it is an error.
    """
    if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        for item in value:
            drop_nulls(items, item)
    arguments = schema.get("properties")
    if not isinstance(value, dict) or not isinstance(arguments, dict):
        return
    if arguments.keys() <= value.keys():
        required = frozenset(schema.get("required", ()))
        for name, argument in arguments.items():
            if value[name] is None and name not in required and not _allows_null(argument):
                del value[name]
    for name, argument in arguments.items():
        if isinstance(argument, dict):
            drop_nulls(argument, value.get(name))


def _copy_json(value: Any) -> Any:
    """Return a copy of a JSON value, as copy.deepcopy does in ten times the time."""
    if isinstance(value, dict):
        return {name: _copy_json(each) for name, each in value.items()}
    return [_copy_json(each) for each in value] if isinstance(value, list) else value


def _allows_null(argument: Any) -> bool:
    if not isinstance(argument, dict):
        return argument is True
    types = argument.get("type")
    is_typed = types is not None or "enum" in argument or "anyOf" in argument
    return (
        not is_typed
        or "null" in ([types] if isinstance(types, str) else types or ())
        or None in argument.get("enum", ())
        or any(_allows_null(part) for part in argument.get("anyOf", ()))
    )


@dataclass
class NormalisedArgs:
    """The args to validate, and what was changed from the args as sent."""

    args: dict[str, Any]
    without_defaults: dict[str, Any] = field(default_factory=dict)  # the base of a corrected call
    warnings: list[str] = field(default_factory=list)
    applied_defaults: dict[str, Any] = field(default_factory=dict)


def normalise_args(op: CatalogOp, raw_args: dict[str, Any], context: UserContext, *, name: str = "") -> NormalisedArgs:
    """Return the args of a call in canonical form, with context and schema defaults. Does not change `raw_args`.

    In this order: drop the nulls of strict mode, unwrap nested objects named by dotted aliases, drop blank optional
    strings and values that say too little, rename arguments (aliases, camelCase), drop nulls that stand for arguments
    that were not given, drop display-only names, wrap single values of lists, trim ids, translate value aliases and cut
    the time of day from dates, take the args that the op's alias `name` stands for, take `project_id` from the context
    if it is absent or blank and no list of ids says which rows are meant, fill in schema defaults.
    """
    result = NormalisedArgs(dict(raw_args)) if _is_canonical(op, raw_args) else _correct(op, raw_args)
    _add_alias_args(op, name, result)
    if context.project_id and _lacks_project(op, result.args):
        result.args["project_id"] = result.applied_defaults["project_id"] = context.project_id
    result.without_defaults = dict(result.args)
    coercion.fill_defaults(op.schema, result.args)
    return result


def _is_canonical(op: CatalogOp, args: dict[str, Any]) -> bool:
    """Return whether no step would change the args: names and values have one spelling, and no text is blank."""
    types = op.plain_types
    return not (op.display_only and op.display_only & args.keys()) and all(
        types.get(name) is type(value) and (value.__class__ is not str or (value and value == value.strip()))
        for name, value in args.items()
    )


def _correct(op: CatalogOp, raw_args: dict[str, Any]) -> NormalisedArgs:
    result = NormalisedArgs(args=_copy_json(raw_args))
    drop_nulls(op.schema, result.args)
    result.warnings += unwrap_args.unwrap_nested(op, result.args)
    _drop_blanks(op, result)
    _drop_vague_values(op, result)
    _rename_arguments(op, result)
    _drop_unset_nulls(op, result)
    for name in op.display_only:
        result.args.pop(name, None)
    coercion.wrap_single_values(op.schema, result.args)
    coercion.trim_ids(op.schema, result.args)
    result.warnings += coercion.translate_values(op.schema, result.args)
    result.args = coercion.convert_whole_numbers(op.schema, result.args)
    return result


def is_empty_update(op: CatalogOp, args: dict[str, Any]) -> bool:
    """Whether an update has no field to change: only ids, options, or empty objects and lists."""
    if op.action != "update" or not list_updated_fields(op):
        return False
    sent = [value for name, value in args.items() if name not in _get_ids(op) | op.options]
    return not sent if op.request else all(value in ({}, []) for value in sent)


def list_updated_fields(op: CatalogOp) -> list[str]:
    """Return the arguments that an update can change."""
    return [name for name in op.arguments if name not in _get_ids(op) | op.options]


def _get_ids(op: CatalogOp) -> frozenset[str]:
    """Return the arguments that say which row is meant.

    They are required, and in a request also part of its path: a PUT also requires fields of its body.
    """
    if op.request_mapping is None:
        return op.required
    return frozenset(each.argument for each in op.request_mapping.parameters if each.location == "path")


def _lacks_project(op: CatalogOp, args: dict[str, Any]) -> bool:
    """Whether the project of the context is meant. Ids of rows mean these rows, whatever project they are in."""
    return "project_id" in op.arguments and "project_id" not in args and f"{op.entity}_ids" not in args


def _drop_blanks(op: CatalogOp, result: NormalisedArgs) -> None:
    for name, value in list(result.args.items()):
        argument = _resolve_name(op, name)
        if isinstance(value, str) and not value.strip() and argument in op.arguments:
            # Without a list that must not be empty, such as ids, a call would mean more rows than the caller named.
            is_optional = argument not in op.required and "minItems" not in get_subschema(op.schema, [argument])
            if is_optional or argument.endswith("_id"):  # a blank id counts as missing; the context may have it
                del result.args[name]
            if is_optional and argument != "project_id":
                result.warnings.append(f"Ignored the blank {name}.")


def _add_alias_args(op: CatalogOp, name: str, result: NormalisedArgs) -> None:
    """Add the args that an alias of the op stands for, such as the type of a document for an alias about notes."""
    args_by_alias = op.schema.get(ALIAS_ARGS)
    args = args_by_alias.get(name) if isinstance(args_by_alias, dict) else None
    for argument, value in args.items() if isinstance(args, dict) else ():
        if argument in op.arguments and argument not in result.args:
            result.args[argument] = result.applied_defaults[argument] = copy.deepcopy(value)


def _drop_vague_values(op: CatalogOp, result: NormalisedArgs) -> None:
    """Leave out values that say too little, such as that a task repeats; with a warning if no other value says more."""
    for name, value in list(result.args.items()):
        argument = _resolve_name(op, name)
        warnings = get_subschema(op.schema, [argument]).get(VALUE_OMISSIONS)
        if not isinstance(warnings, dict) or not isinstance(value, str) or argument in op.required:
            continue
        if warning := warnings.get(english.to_snake_case(value[:100])):
            del result.args[name]
            if not any(_resolve_name(op, other) == argument for other in result.args):
                result.warnings.append(str(warning))


def _rename_arguments(op: CatalogOp, result: NormalisedArgs) -> None:
    for name in list(result.args):
        argument = _resolve_name(op, name)
        if argument != name and argument not in result.args:
            result.args[argument] = result.args.pop(name)
            result.warnings.append(f"Read {name} as {argument}.")


def _drop_unset_nulls(op: CatalogOp, result: NormalisedArgs) -> None:
    """Leave out the nulls of optional arguments that cannot be null, with a warning.

    Only one such null in a change may be meant, to clear a field: it is an error. So is a null in place of a list of
    rows that a write changes, because without it the call would mean more rows.
    """
    nulls = [name for name, value in result.args.items() if value is None and _stands_for_nothing(op, name)]
    if nulls and (not op.is_write or op.action == CREATE or len(nulls) > 1):
        for name in nulls:
            del result.args[name]
        result.warnings.append(f"Ignored null in {', '.join(nulls)}.")


def _stands_for_nothing(op: CatalogOp, name: str) -> bool:
    argument = get_subschema(op.schema, [name])
    is_selection = op.is_write and "minItems" in argument
    return name in op.arguments and not (name in op.required or is_selection or _allows_null(argument))


def _resolve_name(op: CatalogOp, name: str) -> str:
    """Return the argument that a name stands for, or the name itself if it stands for none."""
    if name in op.arguments or name in op.display_only or len(name) > unwrap_args.MAX_NAME_LENGTH:
        return name
    snake_name = english.to_snake_case(name)
    argument = op.argument_aliases.get(name) or op.argument_aliases.get(snake_name) or snake_name
    return argument if argument in op.arguments else name


def fall_back_to_list(
    op: CatalogOp, result: NormalisedArgs, *, catalog: Catalog, caller: Caller
) -> tuple[CatalogOp, NormalisedArgs] | None:
    """Return the op that runs instead of this one and its args; None if the requested op itself is to run.

    `without_id` of the requested op names the other op. It must be active, allowed for the caller, switched on, and
    accept the args that were sent. Args that only the requested op has are left out with a warning.
    """
    list_op = catalog.ops.get(op.without_id)
    missing = [name for name in sorted(op.required) if result.args.get(name) is None]
    if list_op is None or not missing or not list_op.is_active or not policies.may_run(caller, list_op).allowed:
        return None
    if list_op.op in catalog.view_for(caller.visibility).off_reasons:
        return None
    args, ignored = _select_shared_args(op, result, list_op)
    list_args = normalise_args(list_op, args, caller.context)
    if not list_args.args.keys() <= list_op.arguments.keys():
        return None  # a name is misspelt, perhaps the id: the requested op reports it
    message = f"{missing[0]} is missing, so {list_op.op} ran instead; send {missing[0]} for one complete row."
    ignored_warnings = [f"Ignored {name}: it applies to one row." for name in ignored]
    list_args.warnings = [message, *result.warnings, *ignored_warnings, *list_args.warnings]
    return list_op, list_args


def _select_shared_args(op: CatalogOp, result: NormalisedArgs, list_op: CatalogOp) -> tuple[dict[str, Any], list[str]]:
    """Return the sent args that the other op can take, and the names of those that were left out."""
    explicit_args = {
        name: value for name, value in result.without_defaults.items() if name not in result.applied_defaults
    }
    ignored = [name for name in explicit_args if name in op.arguments and name not in list_op.arguments]
    args = {name: value for name, value in explicit_args.items() if name not in ignored}
    return args, [name for name in ignored if name not in op.required]
