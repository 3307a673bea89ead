"""Make the values of a schema (enum, const, default) fit its types: documents write 1.0 for "1.0", and "10" for 10.

YAML reads many texts as numbers, so an enum of texts often holds numbers that no argument could ever have.
"""

import json
from collections.abc import Iterator
from typing import Any

from core.text import json_text
from registry.jsonschema import dialect, validator
from registry.jsonschema.dialect import Schema

NO_VALUE = object()  # a value that cannot be made to fit
NULLABLE = ("nullable", "x-nullable")  # flags of OpenAPI 3.0, and of many Swagger 2.0 documents
# Keywords with which a schema can refuse null although its type allows it.
MAY_REFUSE_NULL = frozenset(("$ref", "allOf", "anyOf", "oneOf", "not", "const", "if", "then", "else"))
MAX_SHOWN = 40  # characters of a name in a remark
_CLASSES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "object": (dict,),
    "array": (list,),
}


def list_types(schema: Schema) -> frozenset[str]:
    """Return the types that a schema allows by its `type`; empty if it says nothing."""
    kinds = schema.get("type")
    listed = kinds if isinstance(kinds, list) else [kinds]
    types = {"string" if kind == "file" else kind for kind in listed if isinstance(kind, str)}
    return frozenset(types & _CLASSES.keys())


def is_nullable(schema: Schema) -> bool:
    """Return whether a flag says that a schema accepts null."""
    return any(schema.get(flag) is True for flag in NULLABLE)


def has_type(value: Any, types: frozenset[str]) -> bool:
    """Return whether a value has one of the types. 2.0 is an integer, and true is not a number."""
    if isinstance(value, bool):
        return "boolean" in types
    if isinstance(value, float) and value.is_integer() and "integer" in types:
        return True
    return any(isinstance(value, _CLASSES[kind]) for kind in types)


def fit_value(value: Any, types: frozenset[str]) -> Any:
    """Return a value as one of the types: a number as text, or a text as a number. NO_VALUE if it is neither."""
    if isinstance(value, float) and value.is_integer() and "integer" in types and "number" not in types:
        return int(value)  # 10.0, which would be sent as it is
    if not types or has_type(value, types):
        return value
    if "string" in types and isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, str) and types & {"integer", "number", "boolean"}:
        try:
            read = json_text.parse(value.strip().lower().encode("utf-8", "surrogatepass"), json_text.CONTENT_LIMITS)
        except json_text.NotStrictJSON:
            return NO_VALUE
        if not isinstance(read, dict | list | type(None)) and has_type(read, types):
            return read
    return NO_VALUE


def fit_enum(values: list[Any], types: frozenset[str]) -> list[Any]:
    """Return the values of an enum as its types, without those that no value of these types can equal."""
    fitted = (fit_value(value, types) for value in values)
    return list(
        {json_text.try_digest(value) or repr(value): value for value in fitted if value is not NO_VALUE}.values()
    )


def move_list_enum(schema: Schema) -> None:
    """Move an enum beside `items` into them, in place, if its values are items and not whole lists."""
    values = schema.get("enum")
    if list_types(schema) - {"null"} != {"array"} or not isinstance(values, list):
        return
    items = schema.get("items", {})
    scalars = [value for value in values if value is not None]
    if not scalars or any(isinstance(value, list) for value in scalars) or not isinstance(items, dict):
        return
    del schema["enum"]
    if "enum" not in items:
        schema["items"] = {**items, "enum": scalars}


def drop_unfit_defaults(schema: Schema, root: Schema | None = None) -> list[str]:
    """Delete the defaults that must not be sent, in place, wherever calls would be filled in with them.

    These are empty texts, null, and values that their own schema refuses. Return a remark for each of the last.
    """
    root = schema if root is None else root
    remarks: list[str] = []
    if isinstance(items := schema.get("items"), dict):
        remarks += drop_unfit_defaults(items, root)
    properties = schema.get("properties")
    for name, each in properties.items() if isinstance(properties, dict) else ():
        if not isinstance(each, dict):
            continue
        remarks += _drop_default(name, each, root)
        remarks += drop_unfit_defaults(each, root)
    return remarks


def _drop_default(name: str, schema: Schema, root: Schema) -> Iterator[str] | list[str]:
    if "default" not in schema:
        return []
    default = fit_value(schema["default"], list_types(schema))
    rest = {key: value for key, value in schema.items() if key != "default"}
    if default is not NO_VALUE and not find_problems(rest, default, root):
        schema["default"] = default
        if default in ("", None):
            del schema["default"]
        return []
    written = schema.pop("default")
    return (
        []
        if written is None
        else [f"The default of {name[:MAX_SHOWN]} does not fit its own schema, so it is not sent."]
    )


def find_problems(schema: Schema, value: Any, root: Schema) -> list[str]:
    """Return why a schema refuses a value; empty if it takes it, or if nobody can tell."""
    if not dialect.is_leaf(schema):
        schema = schema | dialect.collect_definitions(root, schema)
    try:
        return validator.find_instance_problems(schema, value)
    except Exception:  # a schema that cannot be compiled is refused elsewhere, with the reason
        return []
