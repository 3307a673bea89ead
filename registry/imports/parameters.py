"""Parameters as lists have them, made into schemas that can be served: kept for validation, mended where they are off.

What a provider refuses (anyOf at the top, $ref, recursion) is no fault here. Older drafts, Python's names of types
and keywords with values that no schema can have are mended and told; what would break serving is refused.
"""

import copy
import json
import math
from typing import Any

import jsonschema_rs

from registry import schemas

MAX_CHARACTERS = 200_000  # of the schema as JSON
MAX_MENDED = 50  # keywords that say nothing valid, before the schema is held for something else


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
    """No op can be made of these parameters; the text says why."""


def settle(parameters: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the argument schema of a function's parameters, and a sentence for each kind of mend that it took.

    Raises Unservable. The parameters are not changed, and are nested no deeper than documents lets in.
    """
    if parameters in (None, [], {}):
        return {"type": "object", "properties": {}}, []
    if not isinstance(parameters, dict):
        raise Unservable("Its parameters are not an object. Send a JSON Schema of the type object.")
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
        mended.append("Read its parameters as a map of arguments.")
        schema = {"type": "object", "properties": schema}
    for name in ("$id", "id"):
        if isinstance(schema.get(name), str):
            del schema[name]  # where it was found; its references are local ones, or refused
    _settle(schema, mended)
    kinds = schema.get("type", "object")
    if kinds != "object" and kinds != ["object"] and not (isinstance(kinds, list) and "object" in kinds):
        raise Unservable(f"Its parameters are of the type {str(kinds)[:40]}. Args are an object.")
    schema["type"] = "object"
    return schema


def _settle(schema: Any, mended: list[str]) -> None:
    """Mend a schema and all below it in place."""
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
        mended.append("Read an older draft of JSON Schema as 2020-12.")


def _settle_type(schema: dict[str, Any], mended: list[str]) -> None:
    if "type" not in schema:
        return
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    meant = [_TYPES.get(kind.lower(), kind.lower()) if isinstance(kind, str) else kind for kind in kinds]
    if meant != kinds:
        mended.append("Read types by the names that JSON Schema has for them.")
    if not all(kind in _KNOWN for kind in meant):
        del schema["type"]
        mended.append("Left out types that JSON Schema does not have.")
        return
    if schema.pop("nullable", None) is True:  # OpenAPI 3.0
        meant.append("null")
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"].append(None)
    meant = list(dict.fromkeys(meant))
    schema["type"] = meant[0] if len(meant) == 1 else meant


def _settle_items(schema: dict[str, Any]) -> None:
    """Write a tuple as 2020-12 does."""
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
        if isinstance(bound, int) and abs(bound) >= 2**53:  # the whole range of int64, for one
            try:
                schema[keyword] = bound = float(bound)
            except OverflowError:
                bound = math.inf
        if isinstance(bound, float) and not math.isfinite(bound):
            del schema[keyword]
            mended.append("Left out bounds beyond any number.")


def _settle_properties(schema: dict[str, Any], named: dict[str, Any], mended: list[str]) -> None:
    required = schema["required"] if isinstance(schema.get("required"), list) else []
    for name, argument in named.items():
        if isinstance(argument, str):
            kind = _TYPES.get(argument.lower(), argument.lower())
            named[name] = {"type": kind} if kind in _KNOWN else {"description": argument}
            mended.append("Read arguments that are text as their types or descriptions.")
        elif argument is None or argument is True:
            named[name] = {}
        elif argument is False:
            named[name] = {"not": {}}
        elif isinstance(argument, dict) and isinstance(argument.get("required"), bool):  # draft 3
            if argument.pop("required") and name not in required:
                required.append(name)
            mended.append("Read `required` of single arguments as the list of required ones.")
    if required:
        schema["required"] = required


def _drop_invalid(schema: dict[str, Any], mended: list[str]) -> None:
    """Drop keywords whose values no schema can have, such as a pattern that looks ahead: they check nothing here."""
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
            mended.append(f"Left out what says nothing valid: {'/'.join(map(str, path))[:80]}.")
        except Exception:  # not to be mended here: the checks that follow say what it is, and leave the function out
            return
        else:
            return
