"""Definitions of tools in few tokens, for surfaces that send them in every request.

The op checks arguments by its whole schema and says what to send instead. So a lean definition has only what a model
needs for its first try: limits of lengths are left out, and arguments marked as rare are only named. A brief one, for a
tool that is probably not needed, only names all arguments that are not required.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from registry.jsonschema import dialect
from registry.jsonschema.dialect import Schema

# They limit values and say nothing about them.
_LIMITS = frozenset(("minLength", "maxLength", "minItems", "maxItems", "uniqueItems"))
_LEAST, _MOST = 1, 1_000  # bounds beyond them are no advice: no model asks for fewer rows than one
_ID_FORMAT = "uuid"  # models copy ids from results
_FORMATS = {
    dialect.LOCAL_DATE_TIME: "date-time",
    dialect.DATE_OR_LOCAL_DATE_TIME: "date-time",
}  # names that models know
_NAMED_SCHEMAS = ("properties", "patternProperties", "$defs")
_ALTERNATIVES = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAME = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<=\.)\s+")


def make_lean(schema: Schema) -> tuple[Schema, tuple[str, ...]]:
    """Return the lean form of a schema that still has its annotations, and the names of its rare arguments.

    Required arguments are never rare. Rare members of an object in it are named in the object's description.
    """
    lean: Schema = {}
    rare: tuple[str, ...] = ()
    for key, value in schema.items():
        if _is_left_out(key, value):
            continue
        if key in _NAMED_SCHEMAS and isinstance(value, dict):
            if key == "properties":
                rare = tuple(name for name, each in value.items() if _is_rare(each) and name not in _required(schema))
            lean[key] = {name: _make_lean_part(each) for name, each in value.items() if name not in rare}
        elif key in _ALTERNATIVES and isinstance(value, list):
            lean[key] = [_make_lean_part(each) for each in value]
        elif key == "items":
            lean[key] = _make_lean_part(value)
        else:
            lean[key] = _FORMATS.get(value, value) if key == "format" and isinstance(value, str) else value
    return lean, rare


def make_brief(lean: Schema) -> tuple[Schema, tuple[str, ...]]:
    """Return the required arguments of a lean schema without descriptions, and the names of its other arguments."""
    properties, required = lean.get("properties", {}), _required(lean)
    brief = {**lean, "properties": {name: each for name, each in properties.items() if name in required}}
    return _drop_descriptions(brief), tuple(name for name in properties if name not in required)


def describe_rare(names: Iterable[str]) -> str:
    """Return the sentence that names rare arguments; empty without any."""
    listed = ", ".join(names)
    return f"Also takes {listed}." if listed else ""


def drop_hidden_tools(description: str, names: Collection[str], shown: Collection[str]) -> str:
    """Return a description without the sentences that name a tool that is not shown. `names` are those of all tools."""
    if all(name in shown for name in names):
        return description
    hidden = {name for name in names if name not in shown}
    sentences = _SENTENCE_END.split(description)
    return " ".join(each for each in sentences if hidden.isdisjoint(_NAME.findall(each)))


def join_sentences(*parts: str) -> str:
    """Return parts as sentences of one text, without the empty ones."""
    return " ".join(part if part.endswith(".") else f"{part}." for part in parts if part)


def _make_lean_part(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    lean, rare = make_lean(schema)
    if rare:
        lean["description"] = join_sentences(lean.get("description", ""), describe_rare(rare))
    return lean


def _drop_descriptions(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_drop_descriptions(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _drop_descriptions(each) for name, each in value.items()}
        if key in _NAMED_SCHEMAS and isinstance(value, dict)
        else _drop_descriptions(value)
        for key, value in schema.items()
        if key != "description"
    }


def _is_left_out(key: str, value: Any) -> bool:
    if key == "additionalProperties":
        return value is False  # what else it says is about values
    if key == "minimum":
        return isinstance(value, int | float) and 0 <= value <= _LEAST
    if key == "maximum":
        return isinstance(value, int | float) and value > _MOST
    return key in _LIMITS or (key == "format" and value == _ID_FORMAT)


def _required(schema: Mapping[str, Any]) -> Collection[str]:
    required = schema.get("required")
    return required if isinstance(required, list) else ()


def _is_rare(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get(dialect.RARE) is True
