"""Find the texts that a model reads with their paths, and hidden characters or injection in them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from core.text import json_text
from registry.checks.finding import CheckRule, Finding, join_pointer
from registry.jsonschema import dialect
from registry.jsonschema.dialect import Schema
from registry.snapshot.copy_kinds import Kind
from registry.snapshot.entries import OpEntry
from registry.text import cleanup

SCHEMA = "parameters_schema"
MAX_VALUE_SCHEMAS = 50  # schemas of one argument; references may be circular
_OBJECT_KEYWORDS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LIST_KEYWORDS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE_KEYWORDS = ("items", "additionalProperties", "not", "if", "then", "else", "contains")
HIDDEN = CheckRule(
    "hidden_characters",
    "Control, direction or other invisible characters: a reviewer cannot see what the model reads.",
    "Delete them.",
)
INSTRUCTION = CheckRule(
    "instructs_the_model",
    "A sentence in imported text that reads like an instruction to the model.",
    "Delete the sentence, or describe the op in your own words.",
)
PROMPT_INJECTION_RULES = (HIDDEN, INSTRUCTION)
MAX_FIX_CHARACTERS = 400  # characters; the fix of a longer text does not repeat it


@dataclass(frozen=True, slots=True)
class CheckedArgument:
    """One argument, or a member of one: its name, its schema and its path in the entry."""

    name: str
    schema: Schema
    field: str

    @property
    def description(self) -> str:
        """The description, on one line."""
        raw_description = self.schema.get("description", "")
        return " ".join(raw_description.split()) if isinstance(raw_description, str) else ""

    def list_value_schemas(self, root: Schema) -> list[Schema]:
        """Return the schemas of its value and list items: alternatives listed separately, references followed."""
        schemas: list[Schema] = []
        pending: list[Any] = [self.schema]
        while pending and len(schemas) < MAX_VALUE_SCHEMAS:
            schema = dialect.dereference(root, pending.pop())
            schemas.append(schema)
            pending += [schema["items"]] if isinstance(schema.get("items"), dict) else []
            for keyword in ("anyOf", "oneOf", "allOf"):
                pending += schema[keyword] if isinstance(schema.get(keyword), list) else []
        return schemas

    def collect_types(self, root: Schema) -> set[str]:
        """Return the types of its value, including the types of list items."""
        declared = [form.get("type", []) for form in self.list_value_schemas(root)]
        return {kind for each in declared for kind in ([each] if isinstance(each, str) else each)}


@dataclass(frozen=True)
class CheckedOp:
    """An op prepared for checks: its entry, whose schema is valid, and its parts, each computed once."""

    entry: OpEntry

    @property
    def op(self) -> str:
        return self.entry["op"]

    @property
    def schema(self) -> dict[str, Any]:
        return self.entry["parameters_schema"]

    @cached_property
    def subschemas(self) -> list[tuple[Schema, str]]:
        """(subschema, path) of each subschema, the schema itself first."""
        return list(iter_subschemas(self.schema))

    @cached_property
    def arguments(self) -> list[CheckedArgument]:
        """Every argument, at every level, in schema order."""
        return list(_iter_arguments(self.subschemas))

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name that a call may send, as in `collect_argument_names`."""
        return _collect_names(self.entry, self.arguments)

    @cached_property
    def prose(self) -> list[tuple[str, str]]:
        """(field, text) of all prose that a model reads about the op, schema descriptions last."""
        return list(_iter_prose(self.entry, self.subschemas))


def collect_argument_names(entry: OpEntry) -> frozenset[str]:
    """Return every name that a call of an op may send, at any level, aliases and display-only names included."""
    return _collect_names(entry, _iter_arguments(iter_subschemas(entry["parameters_schema"])))


def _collect_names(entry: OpEntry, arguments: Iterable[CheckedArgument]) -> frozenset[str]:
    aliases = (part for alias in entry.get("argument_aliases", {}) for part in alias.split("."))
    return frozenset([*(argument.name for argument in arguments), *aliases, *entry.get("display_only", [])])


def _iter_arguments(parts: Iterable[tuple[Schema, str]]) -> Iterator[CheckedArgument]:
    for part, path in parts:
        members = part.get("properties", {})
        for name, member in members.items() if isinstance(members, dict) else ():
            yield CheckedArgument(
                name, member if isinstance(member, dict) else {}, f"{path}/{join_pointer('properties', name)}"
            )


def iter_subschemas(schema: Schema, path: str = SCHEMA) -> Iterator[tuple[Schema, str]]:
    """Yield (subschema, path), the schema itself first. The schema must be valid, so that the recursion ends."""
    yield schema, path
    if dialect.is_leaf(schema):
        return
    for keyword in schema:
        children: list[tuple[str, Any]] = []
        if keyword in _OBJECT_KEYWORDS and isinstance(schema[keyword], dict):
            children = [(join_pointer(keyword, name), part) for name, part in schema[keyword].items()]
        elif keyword in _LIST_KEYWORDS and isinstance(schema[keyword], list):
            children = [(join_pointer(keyword, index), part) for index, part in enumerate(schema[keyword])]
        elif keyword in _SINGLE_KEYWORDS:
            children = [(keyword, schema[keyword])]
        for step, part in children:
            if isinstance(part, dict):
                yield from iter_subschemas(part, f"{path}/{step}")


def _iter_prose(entry: OpEntry, parts: list[tuple[Schema, str]]) -> Iterator[tuple[str, str]]:
    for field in ("summary", "description", "notes"):
        if text := str(entry.get(field, "")):
            yield field, text
    yield from iter_policy_rules(entry)
    for index, example in enumerate(entry.get("examples", [])):
        for name in ("title", "note"):
            if text := str(example.get(name, "")):
                yield join_pointer("examples", index, name), text
    for part, path in parts:
        for name in ("description", dialect.SHORT_NOTE):
            if isinstance(prose := part.get(name), str):
                yield f"{path}/{name}", prose


def iter_policy_rules(entry: OpEntry, *kinds: str) -> Iterator[tuple[str, str]]:
    """Yield (field, text) of each policy rule of an op, of these kinds or of all kinds."""
    for kind, texts in entry.get("policy", {}).items():
        if not kinds or kind in kinds:
            yield from ((join_pointer("policy", kind, index), text) for index, text in enumerate(texts))


def iter_strings(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, text) of every string in a JSON value. A member name has the path of its member."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from iter_strings(item, f"{path}/{index}" if path else str(index))
    elif isinstance(value, dict):
        for name, item in value.items():
            step = join_pointer(name)
            member_path = f"{path}/{step}" if path else step
            yield member_path, name
            yield from iter_strings(item, member_path)


def find_hidden_characters(name: str, value: Any, *, kind: Kind = Kind.OP) -> Iterator[Finding]:
    """Yield a finding for each string with invisible characters, at any depth of an entry."""
    for field, text in iter_strings(value) if _can_hide_characters(value) else ():
        if letters := cleanup.find_hidden_characters(text):
            codes = ", ".join(f"U+{ord(letter):04X}" for letter in letters[:5])
            cleaned = (
                "".join(letter for letter in text if letter not in letters) if len(text) <= MAX_FIX_CHARACTERS else ""
            )
            message = f"It has invisible characters: {codes}."
            yield HIDDEN.make_finding(name, field, message, f"Without them: {cleaned}" if cleaned else "", kind=kind)


def find_instructions(entry: OpEntry) -> Iterator[Finding]:
    """Yield a finding for each text of an imported op that instructs the model."""
    texts = [(field, text) for field, text in iter_strings(entry) if field.startswith(f"{SCHEMA}/")]
    for field in ("summary", "description", "notes"):
        texts += iter_strings(entry.get(field, ""), field)
    for field, text in texts:
        if instruction := cleanup.find_instruction(text):
            yield INSTRUCTION.make_finding(
                entry["op"],
                field,
                f"It reads like an instruction to the model: “{cleanup.escape_for_terminal(instruction)}”.",
            )


def _can_hide_characters(value: Any) -> bool:
    """Return whether checking each string can find anything. This test is twenty times faster."""
    text = json_text.dump(value)
    return not text.isascii() or any(sign in text for sign in (b"\\u", b"\\b", b"\\f", b"\x7f"))
