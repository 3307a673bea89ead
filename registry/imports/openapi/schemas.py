"""Convert the schemas of a document to JSON Schema 2020-12, each named schema once."""

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs

from core.text import json_pointer, json_text
from registry.imports.openapi.references import DanglingReference, OtherHost, References
from registry.jsonschema import validation_cost
from registry.jsonschema.schema_check import MAX_ENUM, MAX_PATTERN
from registry.text.tool_name_words import NumberedNames

Schema = dict[str, Any]
_TYPES = frozenset(("object", "array", "string", "number", "integer", "boolean", "null"))
_COUNTS = frozenset(
    ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains")
)
_TEXTS = frozenset(("description", "format", "contentEncoding", "contentMediaType"))
_NUMBER_CLASSES: dict[str, tuple[type, ...]] = {"boolean": (bool,), "integer": (int,), "number": (int, float)}
_EXCLUSIVE = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_MAX_PATTERN_NS = 5_000  # per character
MAX_INLINE_DEPTH = 11  # levels of one schema; what is deeper accepts anything
MAX_BUNDLED = 400  # subschemas that an op's definitions may have together
Note = Callable[[str], None]
_SCHEMA_KEYWORDS = ("not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames")
_LIST_KEYWORDS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAP_KEYWORDS = ("properties", "patternProperties", "dependentSchemas")


def clean_keyword(keyword: str, value: Any, schema: Schema) -> Schema:
    """Return a keyword without schemas in the form of 2020-12; empty if 2020-12 lacks it or cannot apply it."""
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
    if keyword == "default":
        return _clean_default(value, schema)
    return {keyword: value} if keyword == "const" else {}


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


def _clean_default(value: Any, schema: Schema) -> Schema:
    """Return a default of the type that its schema has. Documents write false and 10 as texts; others are dropped."""
    declared = schema.get("type")
    types = {declared} if isinstance(declared, str) else set(declared if isinstance(declared, list) else ())
    if isinstance(value, str) and types and not types & {"string", "file"}:
        try:
            value = json_text.parse(value.lower().encode("utf-8", "surrogatepass"))
        except json_text.NotStrictJSON:
            return {}
        if not any(isinstance(value, _NUMBER_CLASSES.get(name, ())) for name in types) or (
            isinstance(value, bool) and "boolean" not in types
        ):
            return {}
    allowed = schema.get("enum")
    return {} if isinstance(allowed, list) and value is not None and value not in allowed else {"default": value}


def _clean_bound(keyword: str, value: Any, schema: Schema) -> Schema:
    """Return a bound. In OpenAPI 3.0, a separate flag says whether the bound itself is excluded."""
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


class SchemaConverter:
    """Converts schemas, and collects the definitions that they refer to."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._names: dict[str, str] = {}  # address of a definition -> its name
        self._numbered = NumberedNames()
        self._definitions: dict[str, Schema] = {}
        self._uses: dict[str, set[str]] = {}  # name of a definition -> those it refers to
        self._sizes: dict[str, int] = {}  # name of a definition -> its subschemas
        self._unread: dict[str, OtherHost] = {}  # name of a definition -> why it could not be read

    def convert(self, schema: Any, url: str, uses: set[str]) -> Schema:
        """Return the schema in 2020-12. The names of the definitions that it refers to are added to `uses`."""
        return self._convert(schema, url, uses, 0)[0]

    def bundle(self, schema: Schema, uses: set[str]) -> tuple[Schema, bool]:
        """Return a schema with its definitions under $defs, and whether the far ones were cut to any value.

        A definition that many others refer to can lead to thousands: the nearest ones are whole. Raises OtherHost if
        one of them is in a file that was not fetched.
        """
        included: dict[str, Schema] = {}
        level, size, is_cut = set(uses), 0, False
        while level:
            for name in level & self._unread.keys():
                raise self._unread[name]
            size += sum(self._sizes.get(name, 1) for name in level)
            if is_cut := size > MAX_BUNDLED and bool(included):
                included |= {name: _cut(self._definitions[name]) for name in level}
                break
            included |= {name: self._definitions[name] for name in level}
            level = {name for each in level for name in self._uses[each]} - included.keys()
        return (schema | {"$defs": {name: included[name] for name in sorted(included)}} if included else schema), is_cut

    def _convert(self, schema: Any, url: str, uses: set[str], depth: int) -> tuple[Schema, int]:
        """Return the schema and the number of its subschemas."""
        if schema is False:
            return {"not": {}}, 1
        if not isinstance(schema, dict) or depth > MAX_INLINE_DEPTH:
            return {}, 1
        converted, size = self._convert_reference(schema, url, uses), 1
        for keyword, value in schema.items():
            if keyword in _SCHEMA_KEYWORDS:
                part: Any = value
                if not isinstance(value, bool):
                    part, count = self._convert(value, url, uses, depth + 1)
                    size += count
                converted[keyword] = part
            elif keyword in _LIST_KEYWORDS and isinstance(value, list) and value:
                parts = [self._convert(each, url, uses, depth + 1) for each in value]
                converted[keyword] = [each for each, _ in parts]
                size += sum(count for _, count in parts)
            elif keyword in _MAP_KEYWORDS and isinstance(value, dict) and value:
                named = {str(name): self._convert(each, url, uses, depth + 1) for name, each in value.items()}
                converted[keyword] = {name: each for name, (each, _) in named.items()}
                size += sum(count for _, count in named.values())
            else:
                converted |= clean_keyword(keyword, value, schema)
        _drop_read_only(schema, converted)
        return self._fold_null(merge_unions(schema, converted), uses), size

    def _fold_null(self, schema: Schema, uses: set[str]) -> Schema:
        """Return a schema that allows null and one other type, as a type list.

        An error about alternatives can only say that none fits. With a list, it can say what is wrong inside of the
        other one.
        """
        branches = schema.get("anyOf", ())
        others = [each for each in branches if each != {"type": "null"}]
        if len(branches) != 2 or len(others) != 1:
            return schema
        (other,) = others
        if list(other) == ["$ref"]:
            name = other["$ref"].removeprefix("#/$defs/")
            other = self._definitions.get(name, {})
            if other.get("type") != "object":
                return schema
            uses |= self._uses[name]
        if not isinstance(other.get("type"), str):
            return schema
        folded = {**other, "type": [other["type"], "null"]}
        if "enum" in folded:
            folded["enum"] = [*folded["enum"], None]
        return folded | {key: value for key, value in schema.items() if key != "anyOf"}

    def _convert_reference(self, schema: Schema, url: str, uses: set[str]) -> Schema:
        ref = schema.get("$ref")
        if not isinstance(ref, str):
            return {}
        try:
            name = self._define(ref, url)
        except DanglingReference:
            return {}  # any value: the upstream knows what it takes
        uses.add(name)
        return {"$ref": f"#/$defs/{json_pointer.escape(name)}"}

    def _define(self, ref: str, url: str) -> str:
        address = self._references.locate(ref, url)
        if address in self._names:
            return self._names[address]
        target = self._references.resolve(ref, url)
        name = self._names[address] = self._choose_name(address)
        self._definitions[name], self._uses[name] = {}, set()  # for references back to it
        try:
            self._definitions[name], self._sizes[name] = self._convert(target.value, target.url, self._uses[name], 0)
        except OtherHost as error:  # for the operations that need it: others may refer to definitions around it
            self._unread[name] = error
        return name

    def _choose_name(self, address: str) -> str:
        last = address.rpartition("/")[2] or "schema"
        base = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in last)[:60] or "schema"
        if base not in self._definitions:
            return base
        return self._numbered.find_free(base, lambda name: name not in self._definitions)


def _drop_read_only(schema: Mapping[str, Any], converted: Schema) -> None:
    """Drop the properties that only answers have: a request must not send them."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return
    read_only = {name for name, each in properties.items() if isinstance(each, dict) and each.get("readOnly") is True}
    for name in read_only:
        converted.get("properties", {}).pop(name, None)
    if required := [name for name in converted.get("required", ()) if name not in read_only]:
        converted["required"] = required
    else:
        converted.pop("required", None)


def _cut(definition: Schema) -> Schema:
    """Return what a definition accepts without looking into it."""
    return {"type": definition["type"]} if "type" in definition else {}
