"""Turn the parameters of imported functions into valid argument schemas.

Older drafts, Python type names and keywords with invalid values are repaired and reported. What providers reject (anyOf
at the top level, $ref, recursion) is kept. What would break serving is refused.
"""

import copy
import json
import math
from typing import Any

import jsonschema_rs

from registry.jsonschema import fitting_values, schema_check, validator
from registry.jsonschema.dialect import DIALECT, Schema
from registry.jsonschema.fitting_values import NO_VALUE

MAX_CHARACTERS = 200_000  # of the schema as JSON
MAX_DROPPED = 50  # invalid keywords to drop, before the schema is given up


def _split_to_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TYPE_ALIASES = {
    **dict.fromkeys(("dict", "map", "struct", "hashmap", "record"), "object"),
    **dict.fromkeys(("list", "tuple", "set", "arraylist"), "array"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("int", "long", "short", "bigint"), "integer"),
    **dict.fromkeys(("str", "text", "char"), "string"),
    **dict.fromkeys(("bool",), "boolean"),
    **dict.fromkeys(("none", "nonetype"), "null"),
}
_JSON_TYPES = _split_to_set("object array number integer string boolean null")
_BOUND_KEYWORDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_SINGLE_SCHEMA_KEYWORDS = tuple(
    """
    not if then else items contains additionalItems additionalProperties propertyNames contentSchema
    unevaluatedItems unevaluatedProperties
""".split()
)
_SCHEMA_LIST_KEYWORDS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMA_OBJECT_KEYWORDS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SCHEMA_KEYWORDS = _split_to_set(
    """
    type properties required anyOf oneOf allOf $ref enum const not if items description
    """
)


class UnusableParameters(Exception):
    """These parameters cannot become an op. The message says why."""


def repair_parameters(parameters: Any) -> tuple[dict[str, Any], list[str]]:
    """Return (argument schema, one sentence for each kind of repair) for a function's parameters.

    Raises UnusableParameters. `parameters` is not changed. The parser of the document limits its depth.
    """
    if parameters in (None, [], {}):
        return {"type": "object", "properties": {}}, []
    if not isinstance(parameters, dict):
        raise UnusableParameters("Its parameters are not an object. Send a JSON Schema of type object.")
    _check_size(parameters)
    repairs: list[str] = []
    schema = _repair_root(copy.deepcopy(parameters), repairs)
    if not schema_check.find_hazards(schema):
        _drop_invalid_keywords(schema, repairs)
        repairs += fitting_values.drop_unfit_defaults(schema)
    if problems := schema_check.find_problems(schema):
        raise UnusableParameters(" ".join(dict.fromkeys(problems)))
    return schema, list(dict.fromkeys(repairs))


def _check_size(parameters: Schema) -> None:
    if len(json.dumps(parameters)) > MAX_CHARACTERS:
        raise UnusableParameters(f"Its parameters have more than {MAX_CHARACTERS} characters. Make them smaller.")


def _repair_root(schema: Schema, repairs: list[str]) -> dict[str, Any]:
    if not _SCHEMA_KEYWORDS & schema.keys() and all(isinstance(value, dict) for value in schema.values()):
        repairs.append("Its parameters were read as a map of arguments.")
        schema = {"type": "object", "properties": schema}
    for name in ("$id", "id"):
        if isinstance(schema.get(name), str):
            del schema[name]  # an address; references must be local anyway
    _repair_schema(schema, repairs)
    kinds = schema.get("type", "object")
    if kinds != "object" and kinds != ["object"] and not (isinstance(kinds, list) and "object" in kinds):
        raise UnusableParameters(f"Its parameters have the type {str(kinds)[:40]}, but args are an object.")
    schema["type"] = "object"
    return schema


def _repair_schema(schema: Any, repairs: list[str]) -> None:
    """Repair a schema and its subschemas in place."""
    if not isinstance(schema, dict):
        return
    _repair_dialect(schema, repairs)
    _repair_type(schema, repairs)
    _repair_items(schema)
    _repair_bounds(schema, repairs)
    _repair_values(schema, repairs)
    for name in ("properties", "required", "enum"):
        if name in schema and schema[name] in (None, [], {}):
            del schema[name]
    if isinstance(arguments := schema.get("properties"), dict):
        _repair_properties(schema, arguments, repairs)
    for keyword in _SINGLE_SCHEMA_KEYWORDS:
        _repair_schema(schema.get(keyword), repairs)
    for keyword in _SCHEMA_LIST_KEYWORDS:
        for each in schema[keyword] if isinstance(schema.get(keyword), list) else ():
            _repair_schema(each, repairs)
    for keyword in _SCHEMA_OBJECT_KEYWORDS:
        for each in schema[keyword].values() if isinstance(schema.get(keyword), dict) else ():
            _repair_schema(each, repairs)
    _allow_null(schema)


def _allow_null(schema: Schema) -> None:
    """Let a schema accept null, in place, if a flag of OpenAPI says so and its type does not do it alone."""
    is_nullable = fitting_values.is_nullable(schema)
    for flag in fitting_values.NULLABLE:
        schema.pop(flag, None)
    if is_nullable and schema and ("type" not in schema or not fitting_values.MAY_REFUSE_NULL.isdisjoint(schema)):
        outside = {key: schema.pop(key) for key in ("description", "default") if key in schema}
        inside = dict(schema)
        schema.clear()
        schema |= outside | {"anyOf": [inside, {"type": "null"}]}


def _repair_dialect(schema: Schema, repairs: list[str]) -> None:
    dialect = schema.get("$schema")
    if isinstance(dialect, str) and "json-schema.org/" in dialect and dialect.rstrip("#") != DIALECT:
        del schema["$schema"]
        repairs.append("An older draft of JSON Schema was read as 2020-12.")


def _repair_type(schema: Schema, repairs: list[str]) -> None:
    if "type" not in schema:
        return
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    json_types = [_TYPE_ALIASES.get(kind.lower(), kind.lower()) if isinstance(kind, str) else kind for kind in kinds]
    if json_types != kinds:
        repairs.append("Type names were replaced with those of JSON Schema.")
    if not all(kind in _JSON_TYPES for kind in json_types):
        del schema["type"]
        repairs.append("Types unknown to JSON Schema were removed.")
        return
    if fitting_values.is_nullable(schema):
        json_types.append("null")
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"].append(None)
    json_types = list(dict.fromkeys(json_types))
    schema["type"] = json_types[0] if len(json_types) == 1 else json_types


def _repair_items(schema: Schema) -> None:
    """Rewrite a tuple of older drafts as in 2020-12."""
    if isinstance(schema.get("items"), list):
        schema["prefixItems"] = schema.pop("items")
        if "additionalItems" in schema:
            schema["items"] = schema.pop("additionalItems")


def _repair_bounds(schema: Schema, repairs: list[str]) -> None:
    for inclusive, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        is_draft_4 = isinstance(schema.get(exclusive), bool)
        if is_draft_4 and schema.pop(exclusive) and inclusive in schema:
            schema[exclusive] = schema.pop(inclusive)
    for keyword in _BOUND_KEYWORDS:
        bound = schema.get(keyword)
        if isinstance(bound, float) and not math.isfinite(bound):
            del schema[keyword]
            repairs.append("Infinite bounds were removed.")


def _repair_values(schema: Schema, repairs: list[str]) -> None:
    """Make the values of an enum or a const fit the type beside them, such as "1.1" for 1.1 if it is a string."""
    fitting_values.move_list_enum(schema)
    types = fitting_values.list_types(schema)
    if isinstance(enum := schema.get("enum"), list) and (fitted := fitting_values.fit_enum(enum, types)):
        if fitted != enum or list(map(type, fitted)) != list(map(type, enum)):
            repairs.append("Values of an enum were made to fit its type.")
        schema["enum"] = fitted
    if "const" in schema and (const := fitting_values.fit_value(schema["const"], types)) is not NO_VALUE:
        schema["const"] = const


def _repair_properties(schema: Schema, arguments: dict[str, Any], repairs: list[str]) -> None:
    required = schema["required"] if isinstance(schema.get("required"), list) else []
    flagged: list[str] = []
    for name, argument in arguments.items():
        if isinstance(argument, str):
            kind = _TYPE_ALIASES.get(argument.lower(), argument.lower())
            arguments[name] = {"type": kind} if kind in _JSON_TYPES else {"description": argument}
            repairs.append("Arguments given as text were read as types or descriptions.")
        elif argument is None or argument is True:
            arguments[name] = {}
        elif argument is False:
            arguments[name] = {"not": {}}
        elif isinstance(argument, dict) and isinstance(argument.get("required"), bool):  # draft 3
            if argument.pop("required"):
                flagged.append(name)
            repairs.append("`required` flags of arguments were moved to the list of required arguments.")
    listed = {name for name in required if isinstance(name, str)}
    required += [name for name in flagged if name not in listed]
    if required:
        schema["required"] = required
    undescribed = [name for name in required if isinstance(name, str) and name not in arguments]
    if undescribed and schema.get("additionalProperties") is False:
        arguments |= {name: {} for name in undescribed}
        repairs.append("Required arguments that it does not describe accept any value.")


def _drop_invalid_keywords(schema: Schema, repairs: list[str]) -> None:
    """Remove keywords with invalid values, such as a pattern with lookahead. Validators cannot apply them."""
    for _ in range(MAX_DROPPED):
        try:
            validator.compile_schema(schema)
        except jsonschema_rs.ValidationError as error:
            if not error.instance_path:
                return
            *parents, last = path = validator.locate_error(error, schema)
            if last in ("$ref", "$dynamicRef"):
                return
            holder: Any = schema
            for part in parents:
                holder = holder[part]
            if parents and parents[-1] in _SCHEMA_OBJECT_KEYWORDS:
                holder[last] = {}
            else:
                del holder[last]
            repairs.append(f"An invalid keyword was removed: {'/'.join(map(str, path))[:80]}.")
        except Exception:  # cannot be repaired; the checks that follow report it and refuse the function
            return
        else:
            return
