"""Find the texts of an entry that a model reads, and the arguments at every level of its schema, with their paths."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from registry import keywords
from registry.checks.finding import pointer

SCHEMA = "parameters_schema"
MAX_FORMS = 50  # schemas of one argument; references may be circular

_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not", "if", "then", "else", "contains")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument, or a member of one: its name, its schema and its path in the entry."""

    name: str
    schema: dict[str, Any]
    field: str

    @property
    def description(self) -> str:
        """The description, on one line."""
        said = self.schema.get("description", "")
        return " ".join(said.split()) if isinstance(said, str) else ""

    def forms(self, root: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the schemas of its value and list items: alternatives listed separately, references followed."""
        found: list[dict[str, Any]] = []
        left: list[Any] = [self.schema]
        while left and len(found) < MAX_FORMS:
            schema = keywords.resolved(root, left.pop())
            found.append(schema)
            left += [schema["items"]] if isinstance(schema.get("items"), dict) else []
            for keyword in ("anyOf", "oneOf", "allOf"):
                left += schema[keyword] if isinstance(schema.get(keyword), list) else []
        return found

    def types(self, root: dict[str, Any]) -> set[str]:
        """Return the types of its value, including the types of list items."""
        said = [form.get("type", []) for form in self.forms(root)]
        return {kind for each in said for kind in ([each] if isinstance(each, str) else each)}


@dataclass(frozen=True)
class Reading:
    """An op prepared for checks: its entry, whose schema is valid, and its parts, each computed once."""

    entry: dict[str, Any]

    @property
    def op(self) -> str:
        return str(self.entry["op"])

    @property
    def schema(self) -> dict[str, Any]:
        found: dict[str, Any] = self.entry[SCHEMA]
        return found

    @cached_property
    def subschemas(self) -> list[tuple[dict[str, Any], str]]:
        """(subschema, path) of each subschema, the schema itself first."""
        return list(subschemas(self.schema))

    @cached_property
    def arguments(self) -> list[Argument]:
        """Every argument, at every level, in schema order."""
        return list(_arguments(self.subschemas))

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name that a call may send, as in `collect_argument_names`."""
        return _names(self.entry, self.arguments)

    @cached_property
    def prose(self) -> list[tuple[str, str]]:
        """(field, text) of all prose that a model reads about the op, schema descriptions last."""
        return list(_prose(self.entry, self.subschemas))


def argument_names(entry: dict[str, Any]) -> frozenset[str]:
    """Return every name that a call of an op may send, at any level, aliases and display-only names included."""
    return _names(entry, _arguments(subschemas(entry[SCHEMA])))


def _names(entry: dict[str, Any], arguments: Iterable[Argument]) -> frozenset[str]:
    aliases = (part for alias in entry.get("argument_aliases", {}) for part in alias.split("."))
    return frozenset([*(argument.name for argument in arguments), *aliases, *entry.get("display_only", [])])


def _arguments(parts: Iterable[tuple[dict[str, Any], str]]) -> Iterator[Argument]:
    for part, path in parts:
        named = part.get("properties", {})
        for name, member in named.items() if isinstance(named, dict) else ():
            yield Argument(name, member if isinstance(member, dict) else {}, f"{path}/{pointer('properties', name)}")


def subschemas(schema: dict[str, Any], path: str = SCHEMA) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield (subschema, path), the schema itself first. The schema must be valid, so that the recursion ends."""
    yield schema, path
    if keywords.is_leaf(schema):
        return
    for keyword in schema:
        below: list[tuple[str, Any]] = []
        if keyword in _NAMED and isinstance(schema[keyword], dict):
            below = [(pointer(keyword, name), part) for name, part in schema[keyword].items()]
        elif keyword in _LISTED and isinstance(schema[keyword], list):
            below = [(pointer(keyword, index), part) for index, part in enumerate(schema[keyword])]
        elif keyword in _SINGLE:
            below = [(keyword, schema[keyword])]
        for step, part in below:
            if isinstance(part, dict):
                yield from subschemas(part, f"{path}/{step}")


def _prose(entry: dict[str, Any], parts: list[tuple[dict[str, Any], str]]) -> Iterator[tuple[str, str]]:
    for field in ("summary", "description", "notes"):
        if text := entry.get(field):
            yield field, text
    yield from rules(entry)
    for index, example in enumerate(entry.get("examples", [])):
        for name in ("title", "note"):
            if text := example.get(name):
                yield pointer("examples", index, name), text
    for part, path in parts:
        if isinstance(text := part.get("description"), str):
            yield f"{path}/description", text


def rules(entry: dict[str, Any], *kinds: str) -> Iterator[tuple[str, str]]:
    """Yield (field, text) of each policy rule of an op, of these kinds or of all kinds."""
    for kind, texts in entry.get("policy", {}).items():
        if not kinds or kind in kinds:
            yield from ((pointer("policy", kind, index), text) for index, text in enumerate(texts))


def strings(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, text) of every string in a JSON value. A member name has the path of its member."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from strings(item, f"{path}/{index}" if path else str(index))
    elif isinstance(value, dict):
        for name, item in value.items():
            step = pointer(name)
            below = f"{path}/{step}" if path else step
            yield below, name
            yield from strings(item, below)
