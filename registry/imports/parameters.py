"""Turn the parameters of imported functions into valid argument schemas.

Older drafts, Python type names and keywords with invalid values are repaired and reported. What providers reject (anyOf
at the top level, $ref, recursion) is kept. What would break serving is refused.
"""

import copy
import json
import math
from typing import Any

import jsonschema_rs

from registry import schemas

MAX_CHARACTERS = 200_000  # of the schema as JSON
MAX_MENDED = 50  # invalid keywords to drop, before the schema is given up


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TYPES = {
    **dict.fromkeys(("dict", "map", "struct", "hashmap", "record"), "object"),
    **dict.fromkeys(("list", "tuple", "set", "arraylist"), "array"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("int", "long", "short", "bigint"), "integer"),
    **dict.fromkeys(("str", "text", "char"), "string"),
    **dict.fromkeys(("bool",), "boolean"),
    **dict.fromkeys(("none", "nonetype"), "null"),
}
_KNOWN = _set("object array number integer string boolean null")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_ONE = (
    *("not", "if", "then", "else", "items", "contains", "additionalItems", "additionalProperties", "propertyNames"),
    *("contentSchema", "unevaluatedItems", "unevaluatedProperties"),
)
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_IS_SCHEMA = _set(
    """
    type properties required anyOf oneOf allOf $ref enum const not if items description
    """
)


class Unservable(Exception):
    """These parameters cannot become an op. The message says why."""


def settle(parameters: Any) -> tuple[dict[str, Any], list[str]]:
    """Return (argument schema, one sentence for each kind of repair) for a function's parameters.

    Raises UnusableParameters. `parameters` is not changed. The parser of the document limits its depth.
    """
    if parameters in (None, [], {}):
        return {"type": "object", "properties": {}}, []
    if not isinstance(parameters, dict):
        raise Unservable("Its parameters are not an object. Send a JSON Schema of type object.")
    _check_size(parameters)
    mended: list[str] = []
    schema = _root(copy.deepcopy(parameters), mended)
    if not schemas.hazards(schema):
        _drop_invalid(schema, mended)
    if problems := schemas.problems(schema):
        raise Unservable(" ".join(dict.fromkeys(problems)))
    return schema, list(dict.fromkeys(mended))


def _check_size(parameters: dict[str, Any]) -> None:
    if len(json.dumps(parameters)) > MAX_CHARACTERS:
        raise Unservable(f"Its parameters have more than {MAX_CHARACTERS} characters. Make them smaller.")


def _root(schema: dict[str, Any], mended: list[str]) -> dict[str, Any]:
    if not _IS_SCHEMA & schema.keys() and all(isinstance(value, dict) for value in schema.values()):
        mended.append("Its parameters were read as a map of arguments.")
        schema = {"type": "object", "properties": schema}
    for name in ("$id", "id"):
        if isinstance(schema.get(name), str):
            del schema[name]  # an address; references must be local anyway
    _settle(schema, mended)
    kinds = schema.get("type", "object")
    if kinds != "object" and kinds != ["object"] and not (isinstance(kinds, list) and "object" in kinds):
        raise Unservable(f"Its parameters have the type {str(kinds)[:40]}, but args are an object.")
    schema["type"] = "object"
    return schema


def _settle(schema: Any, mended: list[str]) -> None:
    """Repair a schema and its subschemas in place."""
    if not isinstance(schema, dict):
        return
    _settle_dialect(schema, mended)
    _settle_type(schema, mended)
    _settle_items(schema)
    _settle_bounds(schema, mended)
    for name in ("properties", "required", "enum"):
        if name in schema and schema[name] in (None, [], {}):
            del schema[name]
    if isinstance(named := schema.get("properties"), dict):
        _settle_properties(schema, named, mended)
    for keyword in _ONE:
        _settle(schema.get(keyword), mended)
    for keyword in _MANY:
        for each in schema[keyword] if isinstance(schema.get(keyword), list) else ():
            _settle(each, mended)
    for keyword in _NAMED:
        for each in schema[keyword].values() if isinstance(schema.get(keyword), dict) else ():
            _settle(each, mended)


def _settle_dialect(schema: dict[str, Any], mended: list[str]) -> None:
    dialect = schema.get("$schema")
    if isinstance(dialect, str) and "json-schema.org/" in dialect and dialect.rstrip("#") != schemas.DIALECT:
        del schema["$schema"]
        mended.append("An older draft of JSON Schema was read as 2020-12.")


def _settle_type(schema: dict[str, Any], mended: list[str]) -> None:
    if "type" not in schema:
        return
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    meant = [_TYPES.get(kind.lower(), kind.lower()) if isinstance(kind, str) else kind for kind in kinds]
    if meant != kinds:
        mended.append("Type names were replaced with those of JSON Schema.")
    if not all(kind in _KNOWN for kind in meant):
        del schema["type"]
        mended.append("Types unknown to JSON Schema were removed.")
        return
    if schema.pop("nullable", None) is True:  # OpenAPI 3.0
        meant.append("null")
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"].append(None)
    meant = list(dict.fromkeys(meant))
    schema["type"] = meant[0] if len(meant) == 1 else meant


def _settle_items(schema: dict[str, Any]) -> None:
    """Rewrite a tuple of older drafts as in 2020-12."""
    if isinstance(schema.get("items"), list):
        schema["prefixItems"] = schema.pop("items")
        if "additionalItems" in schema:
            schema["items"] = schema.pop("additionalItems")


def _settle_bounds(schema: dict[str, Any], mended: list[str]) -> None:
    for inclusive, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        is_draft_4 = isinstance(schema.get(exclusive), bool)
        if is_draft_4 and schema.pop(exclusive) and inclusive in schema:
            schema[exclusive] = schema.pop(inclusive)
    for keyword in _BOUNDS:
        bound = schema.get(keyword)
        if isinstance(bound, int) and abs(bound) >= 2**53:  # such as the limits of int64
            try:
                schema[keyword] = bound = float(bound)
            except OverflowError:
                bound = math.inf
        if isinstance(bound, float) and not math.isfinite(bound):
            del schema[keyword]
            mended.append("Infinite bounds were removed.")


def _settle_properties(schema: dict[str, Any], named: dict[str, Any], mended: list[str]) -> None:
    required = schema["required"] if isinstance(schema.get("required"), list) else []
    for name, argument in named.items():
        if isinstance(argument, str):
            kind = _TYPES.get(argument.lower(), argument.lower())
            named[name] = {"type": kind} if kind in _KNOWN else {"description": argument}
            mended.append("Arguments given as text were read as types or descriptions.")
        elif argument is None or argument is True:
            named[name] = {}
        elif argument is False:
            named[name] = {"not": {}}
        elif isinstance(argument, dict) and isinstance(argument.get("required"), bool):  # draft 3
            if argument.pop("required") and name not in required:
                required.append(name)
            mended.append("`required` flags of arguments were moved to the list of required arguments.")
    if required:
        schema["required"] = required


def _drop_invalid(schema: dict[str, Any], mended: list[str]) -> None:
    """Remove keywords with invalid values, such as a pattern with lookahead. Validators cannot apply them."""
    for _ in range(MAX_MENDED):
        try:
            schemas.compiled(schema)
        except jsonschema_rs.ValidationError as error:
            if not error.instance_path:
                return
            *parents, last = path = schemas.place(error, schema)
            if last in ("$ref", "$dynamicRef"):
                return
            holder: Any = schema
            for part in parents:
                holder = holder[part]
            if parents and parents[-1] in _NAMED:
                holder[last] = {}
            else:
                del holder[last]
            mended.append(f"An invalid keyword was removed: {'/'.join(map(str, path))[:80]}.")
        except Exception:  # cannot be repaired; the checks that follow report it and refuse the function
            return
        else:
            return
