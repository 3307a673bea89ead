"""Render ops as separate tools, as model providers accept them: name, description and a JSON Schema of arguments."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from core.text import token_budget
from registry.catalog.model import Catalog, CatalogOp
from registry.help import lean_definitions
from registry.help.op_names import replace_paths
from registry.jsonschema import arguments, signatures
from registry.jsonschema.dialect import Schema

# Keywords that providers refuse at the top level of a schema. The op still validates them.
_TOP_LEVEL_KEYWORDS = frozenset(
    ("anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else", "dependentSchemas", "$schema")
)
# Keywords that the strict mode of every provider understands. Other keywords only limit values, which the op does
# itself.
_STRICT_KEYWORDS = frozenset(("type", "description", "enum", "const", "properties", "required", "items", "anyOf"))
_STRICT_FORMATS = frozenset(("uuid", "date", "time", "date-time", "email"))
# These say what a value is, so that a schema without them would mean something else.
_NOT_STRICT_KEYWORDS = frozenset(("$ref", "oneOf", "allOf", "not", "if", "patternProperties", "prefixItems", "$defs"))
_NAME = re.compile(r"[\w-]+")


@dataclass(frozen=True)
class LeanDefinition:
    """A definition in few tokens: `named_tools` are those that its description mentions."""

    description: str
    parameters: Schema
    rare_arguments: tuple[str, ...] = ()  # they are only named
    named_tools: frozenset[str] = frozenset()

    def describe(self, shown: Collection[str] | None = None) -> str:
        """Return the description; with the names of the tools that are shown, without sentences about others."""
        description = self.description
        if shown is not None and self.named_tools:
            description = lean_definitions.drop_hidden_tools(description, self.named_tools, shown)
        return lean_definitions.join_sentences(description, lean_definitions.describe_rare(self.rare_arguments))


class NamedTools:
    """The tool names of ops, for texts that have their paths."""

    def __init__(self, ops: Iterable[CatalogOp]) -> None:
        self.by_path = {op.op: op.tool_name for op in ops}
        # A plain lower-case word (search, fetch) in a text is no name.
        self._names = frozenset(name for name in self.by_path.values() if not (name.isalpha() and name.islower()))

    def find_in(self, text: str) -> frozenset[str]:
        """Return the tool names in a text."""
        return self._names.intersection(_NAME.findall(text))


@dataclass(frozen=True)
class TypedTool:
    """An op as a tool. Texts have the tool names of other ops in place of their paths."""

    op: CatalogOp
    names: NamedTools

    @property
    def name(self) -> str:
        """Its tool name."""
        return self.op.tool_name

    @cached_property
    def description(self) -> str:
        """The summary and the description of the op."""
        return replace_paths(f"{self.op.summary.rstrip('.')}. {self.op.description}".strip(), self.names.by_path)

    @cached_property
    def parameters(self) -> Schema:
        """The whole schema of its arguments."""
        return self._replace_paths(make_provider_safe(self.op.schema))

    @cached_property
    def strict_parameters(self) -> dict[str, Any] | None:
        """Its schema for strict mode; None if that would mean something else."""
        return make_strict(self.parameters)

    @cached_property
    def lean(self) -> LeanDefinition:
        """Its definition for surfaces that send it in every request."""
        schema, rare = lean_definitions.make_lean(_flatten(self.op.schema))
        parameters = self._replace_paths(signatures.strip_annotations(schema))
        return LeanDefinition(self.description, parameters, rare, self.names.find_in(self.description) - {self.name})

    @cached_property
    def brief(self) -> LeanDefinition:
        """Its definition for where it is probably not needed: what it is for, and the arguments that it requires."""
        parameters, optional = lean_definitions.make_brief(self.lean.parameters)
        summary = replace_paths(self.op.summary, self.names.by_path)
        return LeanDefinition(summary, parameters, (*optional, *self.lean.rare_arguments))

    @cached_property
    def tokens(self) -> int:
        """The tokens of its lean definition as a function of Chat Completions (o200k_base)."""
        return self._count_tokens(self.lean)

    @cached_property
    def brief_tokens(self) -> int:
        """The tokens of its brief definition."""
        return self._count_tokens(self.brief)

    def _count_tokens(self, definition: LeanDefinition) -> int:
        function = {"name": self.name, "description": definition.describe(), "parameters": definition.parameters}
        return token_budget.count_json({"type": "function", "function": function})

    def _replace_paths(self, schema: Schema) -> Schema:
        replaced: Schema = _replace_paths_in_descriptions(schema, self.names.by_path)
        return replaced


class TypedTools(dict[str, TypedTool]):
    """Each op of a catalog as a tool, by path. Derived from the catalog once."""

    @classmethod
    def of(cls, catalog: Catalog) -> "TypedTools":
        """Return the tools of a catalog."""
        return catalog.get_or_derive(cls, lambda: cls.build(catalog))

    @classmethod
    def build(cls, catalog: Catalog) -> "TypedTools":
        """Build the tools of a catalog."""
        return cls(build_tools(catalog.ops.values(), catalog.ops.values()))


def build_tools(ops: Iterable[CatalogOp], named: Iterable[CatalogOp]) -> dict[str, TypedTool]:
    """Return ops as tools, by path. Where their texts have the path of a named op, they get its tool name."""
    names = NamedTools(named)
    return {op.op: TypedTool(op, names) for op in ops}


def make_provider_safe(schema: Schema) -> dict[str, Any]:
    """Return an argument schema that every provider accepts: an object with all its properties at the top level."""
    return _flatten(signatures.strip_annotations(schema))


def _flatten(schema: Schema) -> dict[str, Any]:
    """Return a schema with its arguments at the top level."""
    properties = list(arguments.iter_arguments(schema))
    other_keywords = {key: value for key, value in schema.items() if key not in _TOP_LEVEL_KEYWORDS and key != "$ref"}
    object_keywords = {"type": "object", "properties": {name: each for name, each, _ in properties}}
    required = [name for name, _, is_required in properties if is_required]
    return other_keywords | object_keywords | ({"required": required} if required else {})


def make_strict(schema: Schema) -> dict[str, Any] | None:
    """Return a schema for strict mode, in which a model sends every argument, and null for one that it leaves out.

    None if null already means something for an optional argument (an update that clears a field), or if the schema
    allows values that strict mode cannot describe.
    """
    try:
        return _make_strict(schema)
    except _NotStrictError:
        return None


def fill_nulls(strict_schema: Schema, value: Any) -> Any:
    """Return a value as strict mode sends it: with null for every argument that it leaves out, at every level."""
    if isinstance(value, list) and "items" in strict_schema:
        return [fill_nulls(strict_schema["items"], item) for item in value]
    if isinstance(value, dict) and "properties" in strict_schema:
        members = strict_schema["properties"]
        return {name: fill_nulls(members[name], value.get(name)) for name in members}
    return value


class _NotStrictError(Exception):
    """Strict mode cannot describe the schema."""


def _make_strict(schema: Any) -> dict[str, Any]:
    if not isinstance(schema, dict) or not schema or _NOT_STRICT_KEYWORDS & schema.keys():
        raise _NotStrictError
    strict = {key: value for key, value in schema.items() if key in _STRICT_KEYWORDS}
    if schema.get("format") in _STRICT_FORMATS:
        strict["format"] = schema["format"]
    if "anyOf" in schema:
        strict["anyOf"] = [_make_strict(each) for each in schema["anyOf"]]
    if "items" in schema:
        strict["items"] = _make_strict(schema["items"])
    if "properties" in schema:
        required = schema.get("required", [])
        strict["properties"] = {
            name: _make_strict(each) if name in required else _make_nullable(_make_strict(each))
            for name, each in schema["properties"].items()
        }
        strict["required"] = list(strict["properties"])
        strict["additionalProperties"] = False
    elif "object" in _list_types(schema):
        raise _NotStrictError  # an object with any members
    if "array" in _list_types(schema) and "items" not in schema:
        raise _NotStrictError
    return strict


def _make_nullable(schema: Schema) -> dict[str, Any]:
    if "type" not in schema or "null" in _list_types(schema) or None in schema.get("enum", ()):
        raise _NotStrictError
    if "enum" in schema or "const" in schema:
        description = {"description": schema["description"]} if "description" in schema else {}
        bare = {key: value for key, value in schema.items() if key != "description"}
        return {**description, "anyOf": [bare, {"type": "null"}]}
    return {**schema, "type": [*_list_types(schema), "null"]}


def _list_types(schema: Schema) -> list[str]:
    types = schema.get("type", [])
    return [types] if isinstance(types, str) else list(types)


def _replace_paths_in_descriptions(node: Any, names: dict[str, str]) -> Any:
    """Return a schema with op paths in its descriptions replaced by tool names."""
    if isinstance(node, dict):
        return {
            key: replace_paths(value, names)
            if key == "description" and isinstance(value, str)
            else _replace_paths_in_descriptions(value, names)
            for key, value in node.items()
        }
    return [_replace_paths_in_descriptions(each, names) for each in node] if isinstance(node, list) else node
