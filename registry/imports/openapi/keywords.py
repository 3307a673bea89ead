"""Single keywords of OpenAPI's schemas as those of JSON Schema 2020-12. What no validator could apply is left out."""

import math
from functools import lru_cache
from typing import Any

import jsonschema_rs

from registry.jsonschema import validation_cost
from registry.jsonschema.schema_check import MAX_ENUM, MAX_PATTERN

Schema = dict[str, Any]

_TYPES = frozenset(("object", "array", "string", "number", "integer", "boolean", "null"))
_COUNTS = frozenset(
    ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains")
)
_TEXTS = frozenset(("description", "format", "contentEncoding", "contentMediaType"))
_EXCLUSIVE = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_MAX_PATTERN_NS = 5_000  # per character


def clean_keyword(keyword: str, value: Any, schema: Schema) -> Schema:
    """Return a keyword that holds no schemas, as 2020-12 has it; empty if that has none or cannot apply it."""
    if keyword == "type":
        return _clean_type(value, schema)
    if keyword in _TEXTS:
        return {keyword: value.strip()} if isinstance(value, str) and value.strip() else {}
    if keyword == "enum":
        return _clean_enum(value, schema)
    if keyword in ("minimum", "maximum"):
        return _clean_bound(keyword, value, schema)
    if keyword in _EXCLUSIVE:
        return {keyword: value} if _is_finite(value) else {}
    if keyword == "multipleOf":
        return {keyword: value} if _is_finite(value) and value > 0 else {}
    if keyword in _COUNTS:
        return {keyword: value} if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else {}
    if keyword == "pattern":
        return {keyword: value} if isinstance(value, str) and _is_pattern_usable(value) else {}
    if keyword == "required":
        names = [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
        return {keyword: list(dict.fromkeys(names))} if names else {}
    if keyword == "uniqueItems":
        return {keyword: True} if value is True else {}
    return {keyword: value} if keyword in ("default", "const") else {}


def merge_unions(schema: Schema, converted: Schema) -> Schema:
    """Return the schema with `anyOf` for `oneOf`, and with the values of a discriminator.

    Alternatives of documents often overlap, so that `oneOf` would refuse what the upstream accepts.
    """
    if "oneOf" in converted:
        branches = _apply_discriminator(schema, converted.pop("oneOf"))
        if "anyOf" in converted:
            converted["allOf"] = [*converted.get("allOf", ()), {"anyOf": branches}]
        else:
            converted["anyOf"] = branches
    if schema.get("nullable") is True and "type" not in converted and converted:
        texts = {name: converted.pop(name) for name in ("description",) if name in converted}
        return texts | {"anyOf": [converted, {"type": "null"}]}
    return converted


def _apply_discriminator(schema: Schema, branches: list[Schema]) -> list[Schema]:
    discriminator = schema.get("discriminator")
    mapping = discriminator.get("mapping") if isinstance(discriminator, dict) else None
    name = discriminator.get("propertyName") if isinstance(discriminator, dict) else None
    if not isinstance(mapping, dict) or not isinstance(name, str):
        return branches
    refs = [each.get("$ref") if isinstance(each, dict) else None for each in schema["oneOf"]]
    values = {str(ref).rpartition("/")[2]: value for value, ref in mapping.items()}
    return [
        branch | {"properties": {name: {"const": values[str(ref).rpartition("/")[2]]}}, "required": [name]}
        if list(branch) == ["$ref"] and str(ref).rpartition("/")[2] in values
        else branch
        for branch, ref in zip(branches, refs, strict=True)
    ]


def _clean_type(value: Any, schema: Schema) -> Schema:
    names = value if isinstance(value, list) else [value]
    types = [name for name in names if isinstance(name, str) and name in _TYPES]
    if value == "file":  # Swagger 2.0
        types = ["string"]
    if len(types) != len(names) and value != "file":
        return {}
    if schema.get("nullable") is True and "null" not in types:
        types.append("null")
    return {"type": types[0] if len(types) == 1 else types} if types else {}


def _clean_enum(value: Any, schema: Schema) -> Schema:
    if not isinstance(value, list) or not 0 < len(value) <= MAX_ENUM:
        return {}
    values = list({repr(item): item for item in value}.values())
    if schema.get("nullable") is True and None not in values:
        values.append(None)
    return {"enum": values}


def _clean_bound(keyword: str, value: Any, schema: Schema) -> Schema:
    """Return a bound. OpenAPI 3.0 says with a flag beside it whether the bound itself is excluded."""
    if not _is_finite(value):
        return {}
    exclusive = "exclusiveMinimum" if keyword == "minimum" else "exclusiveMaximum"
    return {exclusive if schema.get(exclusive) is True else keyword: value}


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf


@lru_cache(maxsize=8192)
def _is_pattern_usable(pattern: str) -> bool:
    """Return whether a pattern can be applied in linear time, and cheaply. Lookaround cannot."""
    if len(pattern) > MAX_PATTERN:
        return False
    options = jsonschema_rs.RegexOptions(size_limit=1_000_000, dfa_size_limit=1_000_000)
    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options)
    except Exception:  # invalid, or too large
        return False
    return validation_cost.estimate_character_ns(pattern) <= _MAX_PATTERN_NS
