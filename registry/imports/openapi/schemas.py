"""Convert the schemas of a document to JSON Schema 2020-12, each named schema once."""

from collections.abc import Callable, Mapping
from typing import Any

from core.text import json_pointer
from registry.imports.openapi.keywords import clean_keyword, merge_unions
from registry.imports.openapi.references import DanglingReference, OtherHost, References
from registry.text.numbered_names import NumberedNames

MAX_INLINE_DEPTH = 11  # levels of one schema; what is deeper accepts anything
MAX_BUNDLED = 400  # subschemas that an op's definitions may have together

Schema = dict[str, Any]
Note = Callable[[str], None]

_SCHEMA_KEYWORDS = ("not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames")
_LIST_KEYWORDS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAP_KEYWORDS = ("properties", "patternProperties", "dependentSchemas")


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
        """Return a schema that allows null beside one other, as a type list.

        Of alternatives, an error can only say that none fits. So it can say what is wrong inside of the other one.
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
