"""Convert the schemas of a document to JSON Schema 2020-12, each named schema once."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jsonschema_rs

from core.text import json_pointer
from registry.imports.openapi.references import DanglingReference, OtherHost, References
from registry.jsonschema import validation_cost
from registry.jsonschema.fitting_values import (
    MAY_REFUSE_NULL,
    NO_VALUE,
    fit_enum,
    fit_value,
    is_nullable,
    list_types,
    move_list_enum,
)
from registry.jsonschema.schema_check import MAX_ENUM, MAX_PATTERN
from registry.text.tool_name_words import NumberedNames

Schema = dict[str, Any]
_TYPES = frozenset(("object", "array", "string", "number", "integer", "boolean", "null"))
_COUNTS = frozenset(
    ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains")
)
_TEXTS = frozenset(("description", "format", "contentEncoding", "contentMediaType"))
_VALUES = frozenset(("enum", "const", "default"))
_EXCLUSIVE = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_MAX_PATTERN_NS = 5_000  # per character
MAX_INLINE_DEPTH = 11  # levels of one schema; what is deeper accepts anything
_MAX_PARTS_DEPTH = 6  # parts of allOf, and references in them
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
    if keyword in ("const", "default"):
        fitted = fit_value(value, list_types(schema))
        return {keyword: value if fitted is NO_VALUE else fitted}
    return {}


def merge_unions(schema: Schema, converted: Schema) -> Schema:
    """Return the schema with `anyOf` for `oneOf`, with the values of a discriminator, and with null if it is nullable.

    Alternatives of documents often overlap, so that `oneOf` would refuse what the upstream accepts.
    """
    for keyword in ("oneOf", "anyOf"):
        if keyword in converted:
            converted[keyword] = _apply_discriminator(schema, keyword, converted[keyword])
    if "oneOf" in converted:
        branches = converted.pop("oneOf")
        if "anyOf" in converted:
            converted["allOf"] = [*converted.get("allOf", ()), {"anyOf": branches}]
        else:
            converted["anyOf"] = branches
    if is_nullable(schema) and converted and ("type" not in converted or not MAY_REFUSE_NULL.isdisjoint(converted)):
        texts = {name: converted.pop(name) for name in ("description", "default") if name in converted}
        return texts | {"anyOf": [converted, {"type": "null"}]}
    return converted


def merge_parts(parts: list[Schema]) -> Schema:
    """Return one schema for a value that several schemas describe: all of them hold."""
    merged: Schema = {}
    others: list[Schema] = []
    for part in parts:
        if choices := _intersect_choices(merged.get("enum"), part.get("enum")):  # only what both parts accept
            merged, part = {**merged, "enum": choices}, {**part, "enum": choices}
        if any(key in merged and merged[key] != value for key, value in part.items() if key != "description"):
            others.append(part)
        else:
            merged |= part
    return merged | {"allOf": [*merged.get("allOf", ()), *others]} if others else merged


def _intersect_choices(first: Any, second: Any) -> list[Any]:
    """Return the values of an enum that another one has, too. Empty if one is missing, or has lists or objects."""
    lists = [each if isinstance(each, list) else [] for each in (first, second)]
    if not all(isinstance(value, str | int | float | None) for each in lists for value in each):
        return []
    known = {(isinstance(value, bool), value) for value in lists[1]}  # in Python, True is 1
    return [value for value in lists[0] if (isinstance(value, bool), value) in known]


def _apply_discriminator(schema: Schema, keyword: str, branches: list[Schema]) -> list[Schema]:
    """Return the alternatives, each with the values that the discriminator has for it."""
    discriminator = schema.get("discriminator")
    mapping = discriminator.get("mapping") if isinstance(discriminator, dict) else None
    name = discriminator.get("propertyName") if isinstance(discriminator, dict) else None
    if not isinstance(discriminator, dict) or not isinstance(mapping, dict) or not isinstance(name, str):
        return branches
    refs = [str(each.get("$ref")) if isinstance(each, dict) else "" for each in schema[keyword]]
    values: dict[str, list[str]] = {}
    for value, target in mapping.items():
        same = [ref for ref in refs if ref == target] or [ref for ref in refs if _get_last(ref) == _get_last(target)]
        for ref in dict.fromkeys(same):
            values.setdefault(ref, []).append(value)
    fallback = str(discriminator.get("defaultMapping", ""))  # OpenAPI 3.2: of an object without the property
    return [
        branch | _build_discriminator(name, values[ref], is_required=_get_last(ref) != _get_last(fallback))
        if list(branch) == ["$ref"] and ref in values
        else branch
        for branch, ref in zip(branches, refs, strict=True)
    ]


def _build_discriminator(name: str, values: list[str], *, is_required: bool) -> Schema:
    value: Schema = {"const": values[0]} if len(values) == 1 else {"enum": values}
    return {"properties": {name: value}} | ({"required": [name]} if is_required else {})


def _get_last(ref: Any) -> str:
    return str(ref).rpartition("/")[2]


def _clean_type(value: Any, schema: Schema) -> Schema:
    names = value if isinstance(value, list) else [value]
    types = [name for name in names if isinstance(name, str) and name in _TYPES]
    if value == "file":  # Swagger 2.0
        types = ["string"]
    if len(types) != len(names) and value != "file":
        return {}
    if is_nullable(schema) and "null" not in types:
        types.append("null")
    return {"type": types[0] if len(types) == 1 else types} if types else {}


def _clean_enum(value: Any, schema: Schema) -> Schema:
    if not isinstance(value, list) or not 0 < len(value) <= MAX_ENUM:
        return {}
    values = fit_enum(value, list_types(schema)) or value  # if none fits, the import reports it
    if is_nullable(schema) and None not in values:
        values.append(None)
    return {"enum": values}


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
        self._read_only: dict[tuple[str, str], bool] = {}  # by reference and file
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
        schema = dict(schema)
        move_list_enum(schema)
        typed = self._add_type(schema, url)
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
                converted |= clean_keyword(keyword, value, typed if keyword in _VALUES else schema)
        self._drop_read_only(schema, url, converted, uses)
        _describe_required(converted)
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
        if is_reference := list(other) == ["$ref"]:
            name = other["$ref"].removeprefix("#/$defs/")
            other = self._definitions.get(name, {})
            if other.get("type") != "object":
                return schema
        if not isinstance(other.get("type"), str) or not MAY_REFUSE_NULL.isdisjoint(other):
            return schema
        if schema.keys() - {"anyOf", "description", "default"}:  # more than the alternatives
            return schema
        if is_reference:
            uses |= self._uses[name]
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

    def _add_type(self, schema: Schema, url: str) -> Schema:
        """Return a schema with the type of its reference or of a part, so that its values can be made to fit it."""
        if "type" in schema or _VALUES.isdisjoint(schema) or ("$ref" not in schema and "allOf" not in schema):
            return schema
        parts = schema.get("allOf")
        for part in [{"$ref": schema.get("$ref")}, *(parts if isinstance(parts, list) else ())]:
            try:
                value = self._references.follow(part, url).value
            except (DanglingReference, OtherHost):
                continue
            if isinstance(value, dict) and "type" in value:
                return schema | {"type": value["type"]}
        return schema

    def is_read_only(self, schema: Any, url: str) -> bool:
        """Return whether only answers have a property, also if its reference or a part of it says so."""
        ref = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(ref, str) or schema.get("readOnly") is True:
            return self._is_read_only(schema, url, 0)
        if (ref, url) not in self._read_only:
            self._read_only[(ref, url)] = self._is_read_only(schema, url, 0)
        return self._read_only[(ref, url)]

    def _is_read_only(self, schema: Any, url: str, depth: int) -> bool:
        if not isinstance(schema, dict) or depth > _MAX_PARTS_DEPTH:
            return False
        if schema.get("readOnly") is True:
            return True
        if schema.keys().isdisjoint(("$ref", "allOf", "anyOf", "oneOf")):
            return False
        try:
            value, url = self._references.follow(schema, url)
        except (DanglingReference, OtherHost):
            return False
        if not isinstance(value, dict):
            return False
        if value.get("readOnly") is True:
            return True
        for keyword, holds in (("allOf", any), ("anyOf", all), ("oneOf", all)):
            parts = value.get(keyword)
            listed = [part for part in parts if part != {"type": "null"}] if isinstance(parts, list) else []
            if listed and holds(self._is_read_only(part, url, depth + 1) for part in listed):
                return True
        return False

    def _drop_read_only(self, schema: Schema, url: str, converted: Schema, uses: set[str]) -> None:
        """Drop the properties that only answers have, in place: a request must not send them, nor require them."""
        names = self._list_read_only(schema, url, 0)
        if not names:
            return
        properties = converted.get("properties", {})
        for name in names & properties.keys():
            del properties[name]
        converted |= self._drop_required(converted, names, uses, 0)
        if not converted.get("required", True):
            del converted["required"]

    def _list_read_only(self, schema: Any, url: str, depth: int) -> set[str]:
        """Return the names of the read-only properties of a schema and of the parts of its allOf."""
        properties, parts = schema.get("properties"), schema.get("allOf")
        names = {
            str(name)
            for name, each in (properties.items() if isinstance(properties, dict) else ())
            if self.is_read_only(each, url)
        }
        for part in parts if isinstance(parts, list) and depth < _MAX_PARTS_DEPTH else ():
            try:
                value, part_url = self._references.follow(part, url)
            except (DanglingReference, OtherHost):
                continue
            if isinstance(value, dict):
                names |= self._list_read_only(value, part_url, depth + 1)
        return names

    def _drop_required(self, schema: Schema, names: set[str], uses: set[str], depth: int) -> Schema:
        """Return a converted schema in which none of these properties is required, by it or by a part of its allOf.

        A definition that requires one is copied into its place, because it is also used elsewhere.
        """
        ref = schema.get("$ref")
        name = ref.removeprefix("#/$defs/") if isinstance(ref, str) else ""
        if depth > _MAX_PARTS_DEPTH:
            return schema
        if definition := self._definitions.get(name):
            changed = self._drop_required(definition, names, uses, depth + 1)
            if changed is definition:
                return schema
            uses |= self._uses[name]
            return merge_parts([changed, {key: value for key, value in schema.items() if key != "$ref"}])
        required = schema.get("required", ())
        parts = schema.get("allOf", ())
        changed_parts = [self._drop_required(part, names, uses, depth + 1) for part in parts]
        is_same = all(new is old for new, old in zip(changed_parts, parts, strict=True))
        if is_same and names.isdisjoint(required):
            return schema
        changed = {key: value for key, value in schema.items() if key != "required"}
        if kept := [each for each in required if each not in names]:
            changed["required"] = kept
        elif depth == 0 and required:
            changed["required"] = []
        return changed | ({"allOf": changed_parts} if parts else {})

    def _choose_name(self, address: str) -> str:
        last = address.rpartition("/")[2] or "schema"
        base = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in last)[:60] or "schema"
        if base not in self._definitions:
            return base
        return self._numbered.find_free(base, lambda name: name not in self._definitions)


def _describe_required(converted: Schema) -> None:
    """Let a closed schema accept the properties that it requires and does not describe, in place."""
    if converted.get("additionalProperties") is False and "patternProperties" not in converted:
        properties = converted.get("properties", {})
        if undescribed := [name for name in converted.get("required", ()) if name not in properties]:
            converted["properties"] = {**properties, **{name: {} for name in undescribed}}


def _cut(definition: Schema) -> Schema:
    """Return what a definition accepts without looking into it."""
    return {"type": definition["type"]} if "type" in definition else {}
