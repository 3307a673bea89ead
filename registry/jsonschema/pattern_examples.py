"""Show a value instead of the pattern that it matches: a model copies a form sooner than it reads an expression."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

from registry.jsonschema import dialect
from registry.jsonschema.dialect import Schema
from registry.jsonschema.samples import NoSample, build_sample
from registry.jsonschema.validator import SchemaValidator

PATTERN, EXAMPLES = "pattern", "examples"
_SUCH_AS = re.compile(r"(?:such as|for example|e\.g\.|like)[,:]? [“\"'`]?([^\s,;“”\"'`]+)")
_WITH_MARKS = re.compile(r"(?<!\w)[^\W_]++(?:[.:/@_-][^\W_]++)+")  # no word of a sentence: task.review, ada@example.com
_ALTERNATIVES = re.compile(r"\((?:\?:)?([\w.-]+)\|[^()]*\)")
_BEGINNING = re.compile(r"\^((?:\\[^\w\s]|[^\\\[\](){}.*+?|^$])*)")  # before the first part that is no plain text
_ESCAPED = re.compile(r"\\(.)")
_NAMED_SCHEMAS = ("properties", "patternProperties", "$defs")
_VALUES = ("default", "const", "enum", EXAMPLES)


def replace_patterns(schema: Any, known: Sequence[Any] = ()) -> Any:
    """Return a schema with `examples` in place of each pattern. A pattern stays where no value that it takes is found.

    `known` are values of the schema itself, which are then its examples.
    """
    if isinstance(schema, list):
        return [replace_patterns(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    replaced = {
        key: {name: replace_patterns(each) for name, each in value.items()}
        if key in _NAMED_SCHEMAS and isinstance(value, dict)
        else value
        if key in _VALUES
        else replace_patterns(value)
        for key, value in schema.items()
    }
    if isinstance(schema.get(PATTERN), str) and (examples := list(known) or _find_examples(schema)):
        del replaced[PATTERN]
        replaced[EXAMPLES] = examples
    return replaced


def _find_examples(schema: Schema) -> list[str]:
    """Return a value that matches the pattern of a schema: one that it names, else one that is built; [] without."""
    limits = {key: schema[key] for key in (PATTERN, "format", "minLength", "maxLength") if key in schema}
    with suppress(Exception):  # a pattern that cannot be compiled, which the checks of copy report
        validator = SchemaValidator({"type": "string", **limits})
        candidates = chain(_iter_named(schema), _iter_built(schema[PATTERN]))
        if example := next(filter(validator.is_valid, candidates), None):
            return [example]
    with suppress(NoSample):
        return [build_sample({"type": "string", **limits})]
    return []


def _iter_built(pattern: str) -> Iterator[str]:
    """Yield texts that begin as a pattern does, of the first of its alternatives: goal.name for ^goal\\.[a-z]+$."""
    beginning = _BEGINNING.match(_ALTERNATIVES.sub(r"\1", pattern))
    if beginning and beginning[1]:
        text = _ESCAPED.sub(r"\1", beginning[1])
        yield from (text, f"{text}name", f"{text}1")


def _iter_named(schema: Schema) -> Iterator[str]:
    examples = schema.get(EXAMPLES)
    own = [*(examples if isinstance(examples, list) else ()), schema.get("default")]
    yield from (each for each in own if isinstance(each, str))
    note, description = (str(schema.get(key) or "") for key in (dialect.SHORT_NOTE, "description"))
    for text in (note, description):
        for found in (*_SUCH_AS.findall(text), *_WITH_MARKS.findall(text)):
            yield found.rstrip(".:)")
