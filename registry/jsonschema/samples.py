"""Build a value that a schema accepts, or show that there is none: for calls that try an op without a model."""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from registry.jsonschema import dialect
from registry.jsonschema.dialect import Schema
from registry.jsonschema.schema_check import MAX_ENUM
from registry.jsonschema.validator import SchemaValidator, ValidationTooExpensive

MAX_FULL_DEPTH = 2  # levels of objects whose optional members are added
MAX_DEPTH = 12  # of references and nested values
MAX_BRANCHES = 20  # alternatives that are tried
MAX_ITEMS = 20
_FORMATS = {
    "uuid": "3fa85f64-5717-4562-b3fc-2c963f66afa6",
    "date": "2026-01-31",
    "date-time": "2026-01-31T09:30:00Z",
    "time": "09:30:00Z",
    "duration": "P1D",
    "email": "ada@example.com",
    "idn-email": "ada@example.com",
    "hostname": "www.example.com",
    "idn-hostname": "www.example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/a",
    "uri-reference": "https://example.com/a",
    "iri": "https://example.com/a",
    "iri-reference": "https://example.com/a",
    "json-pointer": "/a",
    "relative-json-pointer": "0",
    "regex": "a",
}
# Texts that many patterns take. Others are left unknown.
_TEXTS = tuple(
    """
    a A 1 0 ab abc ABC a1 A1 12 123 1234 12345 123456 1.0 1.2.3 v1 a-b a_b a.b a/b a:b #ffffff ffffff EUR en en-US US
    2026-01-31 2026-01-31T09:30:00Z 2026-01 2026 09:30 09:30:00 +15555550100 ada@example.com https://example.com/a
    example.com 192.0.2.1 192.0.2.0/24 3fa85f64-5717-4562-b3fc-2c963f66afa6 0x1f projects/a a=b A-1 a1b2c3d4 true * /a
    sha256:0000000000000000000000000000000000000000000000000000000000000000 $.a
    """.split()
)
_LENGTHS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 20, 22, 24, 26, 27, 28, 32, 36, 40, 64)


class NoSample(Exception):
    """No value was found. `is_certain`: there is none. The message says why, in words that follow a name."""

    def __init__(self, reason: str, *, is_certain: bool = True) -> None:
        super().__init__(reason)
        self.is_certain = is_certain


def build_sample(schema: Schema, *, root: Schema | None = None) -> Any:
    """Return a value that a schema accepts, with its required members only. Raises NoSample."""
    whole = schema if root is None else root
    value = _Sampler(whole).build(schema, 0)
    if _is_valid(schema, value, whole):
        return value
    raise NoSample("has no value that could be found", is_certain=False)


def build_rough_sample(schema: Schema, *, is_full: bool = False) -> Any:
    """Return a value of the form that a schema describes; its texts need not match their patterns. Raises NoSample.

    `is_full`: with optional members.
    """
    return _Sampler(schema, is_rough=True, is_full=is_full).build(schema, 0)


def _is_valid(schema: Any, value: Any, root: Schema) -> bool:
    return _compile(schema, root)(value)


def _compile(schema: Any, root: Schema) -> Callable[[Any], bool]:
    """Return a function that says whether a schema accepts a value."""
    if not isinstance(schema, dict):
        return lambda _: schema is not False
    if schema is not root and not dialect.is_leaf(schema):
        schema = schema | dialect.collect_definitions(root, schema)
    try:
        compiled = SchemaValidator(schema)
    except Exception:  # it cannot be compiled; other checks say why
        return lambda _: False

    def is_valid(value: Any) -> bool:
        try:
            return compiled.is_valid(value)
        except (ValidationTooExpensive, ValueError):
            return False

    return is_valid


@dataclass(frozen=True, slots=True)
class _Sampler:
    root: Schema
    is_rough: bool = False
    is_full: bool = False

    def build(self, schema: Any, depth: int) -> Any:
        if schema is False or (isinstance(schema, dict) and schema.get("not") == {}):
            raise NoSample("accepts no value")
        if not isinstance(schema, dict):
            return "text"
        if depth > MAX_DEPTH:
            raise NoSample("is nested too deeply to try", is_certain=False)
        schema = self._flatten(schema, depth)
        if "const" in schema:
            return self._choose([schema["const"]], schema)
        if isinstance(schema.get("enum"), list):
            return self._choose(schema["enum"], schema)
        for keyword in ("anyOf", "oneOf"):
            if isinstance(schema.get(keyword), list) and schema[keyword]:
                return self._build_branch(schema, keyword, depth)
        return self._build_typed(schema, depth)

    def _flatten(self, schema: Schema, depth: int) -> Schema:
        """Return a schema with its reference and the parts of its allOf put into it."""
        if "$ref" not in schema and "allOf" not in schema:
            return schema
        merged = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
        parts = list(schema.get("allOf", ()))
        if isinstance(ref := schema.get("$ref"), str):
            parts.append(dialect.resolve_ref(self.root, ref))
        for part in parts:
            if part is False:
                raise NoSample("accepts no value")
            if not isinstance(part, dict):
                continue
            if depth > MAX_DEPTH:
                raise NoSample("is nested too deeply to try", is_certain=False)
            merged = _combine(merged, self._flatten(part, depth + 1))
        return merged

    def _choose(self, values: list[Any], schema: Schema) -> Any:
        is_valid = _compile(schema, self.root)
        for value in values[:MAX_ENUM]:
            if is_valid(value):
                return value
        raise NoSample("accepts none of its own values")

    def _build_branch(self, schema: Schema, keyword: str, depth: int) -> Any:
        rest = {key: value for key, value in schema.items() if key != keyword}
        branches = schema[keyword]
        errors = []
        for branch in branches[:MAX_BRANCHES]:
            try:
                combined = _combine(rest, self._flatten(branch, depth + 1)) if isinstance(branch, dict) else rest
                value = self.build(combined, depth + 1)
                if self.is_rough or _is_valid(schema, value, self.root):
                    return value
                errors.append(NoSample("has no value that could be found", is_certain=False))
            except NoSample as error:
                errors.append(error)
        is_certain = len(branches) <= MAX_BRANCHES and all(error.is_certain for error in errors)
        raise NoSample("accepts none of its alternatives", is_certain=is_certain)

    def _build_typed(self, schema: Schema, depth: int) -> Any:
        kinds = schema.get("type")
        listed = [kinds] if isinstance(kinds, str) else list(kinds or ())
        if not listed and kinds is not None:
            raise NoSample("has parts of different types")
        kind = next((each for each in listed if each != "null"), "null") if listed else _guess_type(schema)
        match kind:
            case "object":
                return self._build_object(schema, depth)
            case "array":
                return self._build_list(schema, depth)
            case "integer" | "number":
                return _build_number(schema, is_integer=kind == "integer")
            case "boolean":
                return True
            case "null":
                return None
        return _build_text(schema, is_rough=self.is_rough)

    def _build_object(self, schema: Schema, depth: int) -> dict[str, Any]:
        properties, value = schema.get("properties", {}), {}
        other = schema.get("additionalProperties", True)
        patterns = schema.get("patternProperties", {})
        for name in schema.get("required", ()):
            if name not in properties and other is False and not patterns:
                raise NoSample(f"requires {name[:60]}, which it does not describe or accept")
            try:
                value[name] = self.build(properties.get(name, other), depth + 1)
            except NoSample as error:
                raise NoSample(f"requires {name[:60]}, which {error}", is_certain=error.is_certain) from None
        if self.is_full and depth <= MAX_FULL_DEPTH:
            self._add_optional(value, properties, other, depth)
        for name in properties:
            if len(value) >= schema.get("minProperties", 0):
                break
            if name not in value:
                value[name] = self.build(properties[name], depth + 1)
        for number in range(schema.get("minProperties", 0) if other is not False else 0):
            if len(value) >= schema["minProperties"] or number > MAX_ITEMS:
                break
            value[f"key{number}"] = self.build(other, depth + 1)
        return value

    def _add_optional(self, value: dict[str, Any], properties: dict[str, Any], other: Any, depth: int) -> None:
        for name in properties:
            if name not in value:
                with suppress(NoSample):
                    value[name] = self.build(properties[name], depth + 1)
        if not value and other is not False:
            with suppress(NoSample):
                value["key"] = self.build(other, depth + 1)

    def _build_list(self, schema: Schema, depth: int) -> list[Any]:
        value = [self.build(each, depth + 1) for each in schema.get("prefixItems", ())]
        least, items = schema.get("minItems", 0), schema.get("items", True)
        if least > MAX_ITEMS:
            raise NoSample("needs too many items to try", is_certain=False)
        if schema.get("maxItems", math.inf) < least:
            raise NoSample("has bounds that no list fits")
        if not value and schema.get("maxItems", 1) > 0:
            least = max(least, 1)
        while len(value) < least:
            try:
                item = self.build(items, depth + 1)
            except NoSample:
                if len(value) >= schema.get("minItems", 0):
                    break
                raise
            value.append(_vary(item, len(value), items) if schema.get("uniqueItems") and item in value else item)
        return value


def _combine(first: Schema, second: Schema) -> Schema:
    """Return one schema for both."""
    merged = first | second
    if "properties" in first and "properties" in second:
        merged["properties"] = {**first["properties"], **second["properties"]}
        for name in first["properties"].keys() & second["properties"].keys():
            if first["properties"][name] != second["properties"][name]:
                merged["properties"][name] = {"allOf": [first["properties"][name], second["properties"][name]]}
    if "required" in first and "required" in second:
        merged["required"] = list(dict.fromkeys([*first["required"], *second["required"]]))
    for keyword in ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"):
        if keyword in first and keyword in second:
            merged[keyword] = max(first[keyword], second[keyword])
    for keyword in ("maximum", "exclusiveMaximum", "maxLength", "maxItems"):
        if keyword in first and keyword in second:
            merged[keyword] = min(first[keyword], second[keyword])
    if "type" in first and "type" in second:
        merged["type"] = _intersect_types(first["type"], second["type"])
    if isinstance(first.get("enum"), list) and isinstance(second.get("enum"), list):
        merged["enum"] = [value for value in first["enum"] if value in second["enum"]] or first["enum"]
    unions = [
        {keyword: schema[keyword]} for schema in (first, second) for keyword in ("anyOf", "oneOf") if keyword in schema
    ]
    if len(unions) > 1:  # one at a time: the value is checked against the others afterwards
        merged = {key: value for key, value in merged.items() if key not in ("anyOf", "oneOf")} | unions[0]
    if first.get("additionalProperties") is False or second.get("additionalProperties") is False:
        merged["additionalProperties"] = False
    return merged


def _intersect_types(first: Any, second: Any) -> Any:
    one, other = ([each] if isinstance(each, str) else list(each) for each in (first, second))
    if "number" in one and "integer" in other:
        one.append("integer")
    if "number" in other and "integer" in one:
        other.append("integer")
    return [each for each in one if each in other]


def _guess_type(schema: Schema) -> str:
    if schema.keys() & {"properties", "required", "additionalProperties", "minProperties", "patternProperties"}:
        return "object"
    if schema.keys() & {"items", "prefixItems", "minItems"}:
        return "array"
    if schema.keys() & {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}:
        return "number"
    return "string"


def _build_number(schema: Schema, *, is_integer: bool) -> int | float:
    step = schema.get("multipleOf", 1 if is_integer else 0)
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    above, below = schema.get("exclusiveMinimum", -math.inf), schema.get("exclusiveMaximum", math.inf)
    if max(low, above) > min(high, below) or (above >= low and above >= min(high, below) and above > -math.inf):
        raise NoSample("has bounds that no number fits")
    candidates: list[int | float] = [1, 0, low, high]
    candidates += [math.floor(each) + 1 for each in (low, above) if each > -math.inf]
    candidates += [math.ceil(each) - 1 for each in (high, below) if each < math.inf]
    if above > -math.inf and below < math.inf and not is_integer:
        candidates.append((above + below) / 2)
    if step:
        candidates += [math.ceil(each / step) * step for each in (low, above, 1) if each > -math.inf]
        candidates += [(math.floor(above / step) + 1) * step] if above > -math.inf else []
    is_step = _compile({"multipleOf": step} if step else {}, {})
    for value in candidates:
        if low <= value <= high and above < value < below and abs(value) < math.inf:
            if is_integer and not float(value).is_integer():
                continue
            if is_step(value):
                return int(value) if is_integer else value
    raise NoSample("has bounds for which no number was found", is_certain=False)


def _build_text(schema: Schema, *, is_rough: bool) -> str:
    least, most = schema.get("minLength", 0), schema.get("maxLength", math.inf)
    if least > most:
        raise NoSample("has bounds that no text fits")
    if least > 100_000:
        raise NoSample("needs too long a text to try", is_certain=False)
    checked = {key: schema[key] for key in ("pattern", "format", "minLength", "maxLength") if key in schema}
    first = _FORMATS.get(schema.get("format", ""), "text")
    texts = [first, "text".ljust(least, "a") if least <= 100_000 else first, *_TEXTS]
    texts = [text if most == math.inf else text[: int(most)] for text in texts]
    if "pattern" in schema:
        texts += [letter * length for length in _LENGTHS for letter in "0aA1"]
    is_valid = _compile(checked, {})
    for text in texts:
        if least <= len(text) <= most and text and is_valid(text):
            return text
    if "pattern" not in schema and least <= 1 <= most and "format" not in schema:
        return "a"
    if most == 0 and "pattern" not in schema:
        return ""
    if is_rough:
        return "text"
    raise NoSample("has a pattern or a format for which no text was found", is_certain=False)


def _vary(item: Any, number: int, items: Any) -> Any:
    """Return another item, for a list whose items differ."""
    if isinstance(items, dict) and isinstance(items.get("enum"), list) and number < len(items["enum"]):
        return items["enum"][number]
    if isinstance(item, str):
        return f"{item}{number}"
    return item + number if isinstance(item, int | float) and not isinstance(item, bool) else item
