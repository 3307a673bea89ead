"""Find tool definitions that model providers reject. An op shown as a typed tool is sent to them unchanged.

One rejected tool fails the whole request. The limits come from the error messages and guides of the Anthropic API (tool
use) and the OpenAI API (function calling, strict mode).
"""

import re
from collections.abc import Iterator
from typing import Any

from registry import keywords
from registry.checks import places
from registry.checks.finding import Finding, Rule
from registry.checks.places import Reading

MAX_LEVELS = 10  # of nested objects: OpenAI, strict mode
MAX_VALUES = 1_000  # in all enums of a schema: OpenAI, strict mode
MAX_ENUM_TEXT = 15_000  # characters in one enum of more than 250 strings: OpenAI, strict mode
LONG_ENUM = 250

TOOL_NAME = Rule(
    "tool_name_refused",
    "A tool name with characters other than letters, digits, underscores and dashes, or longer than 64.",
    "Rename the tool.",
)
PROPERTY_NAME = Rule(
    "property_name_refused",
    "An argument name with characters other than letters, digits, underscores, dots and dashes, or longer than 64.",
    "Rename the argument, and add its old name to the argument aliases.",
)
TOP_LEVEL = Rule(
    "top_level_union",
    "A schema with anyOf, oneOf, allOf, not, enum or const at the top level.",
    "Say in the notes which arguments go together, and let the op check it.",
)
TOO_DEEP = Rule(
    "schema_too_deep",
    f"Objects nested more than {MAX_LEVELS} levels deep.",
    "Turn members of the inner objects into arguments.",
)
TOO_MANY_VALUES = Rule(
    "enum_too_large",
    f"Enums with more than {MAX_VALUES:,} values in total, or a long enum with more than {MAX_ENUM_TEXT:,} characters.",
    "Use a string, and let another op list the values.",
)
RULES = (TOOL_NAME, PROPERTY_NAME, TOP_LEVEL, TOO_DEEP, TOO_MANY_VALUES)

_TOOL = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_TOP = ("anyOf", "oneOf", "allOf", "not", "enum", "const")


def check(reading: Reading) -> Iterator[Finding]:
    """Yield a finding for everything a provider would reject if the op is shown as a typed tool."""
    op, schema, name = reading.op, reading.schema, reading.entry["tool_name"]
    if not _TOOL.fullmatch(name):
        mended = re.sub(r"[^a-zA-Z0-9_-]+", "_", name)[:64].strip("_")
        yield TOOL_NAME.found(op, "tool_name", f"Providers reject a tool named {name}.", f"Use {mended}.")
    for argument in reading.arguments:
        if not _PROPERTY.fullmatch(argument.name):
            mended = re.sub(r"[^a-zA-Z0-9_.-]+", "_", argument.name)[:64].strip("_")
            message = f"Providers reject an argument named {argument.name[:100]}."
            fix = f"Use {mended}, and add the old name to the argument aliases." if mended else ""
            yield PROPERTY_NAME.found(op, argument.field, message, fix)
    for keyword in _TOP:
        if keyword in schema:
            yield TOP_LEVEL.found(
                op, f"{places.SCHEMA}/{keyword}", f"Providers reject {keyword} at the top level of a schema."
            )
    yield from _sizes(reading)


def _sizes(reading: Reading) -> Iterator[Finding]:
    op = reading.op
    if (levels := _levels(reading.schema)) > MAX_LEVELS:
        yield TOO_DEEP.found(op, places.SCHEMA, f"Its objects are nested {levels} levels deep.")
    enums = [(path, part["enum"]) for part, path in reading.subschemas if isinstance(part.get("enum"), list)]
    if (values := sum(len(enum) for _, enum in enums)) > MAX_VALUES:
        yield TOO_MANY_VALUES.found(op, places.SCHEMA, f"Its enums have {values:,} values in total.")
    for path, enum in enums:
        letters = sum(len(value) for value in enum if isinstance(value, str))
        if len(enum) > LONG_ENUM and letters > MAX_ENUM_TEXT:
            message = f"Its {len(enum)} values have {letters:,} characters in total."
            yield TOO_MANY_VALUES.found(op, f"{path}/enum", message)


def _levels(schema: dict[str, Any]) -> int:
    """Return how many levels of objects are nested, without following references."""
    below = [part for part in [*keywords.any_member(schema), *keywords.named_members(schema)] if isinstance(part, dict)]
    within = max((_levels(part) for part in below), default=0)
    beside = max((_levels(part) for part in keywords.in_place(schema) if isinstance(part, dict)), default=0)
    return max(within + ("properties" in schema), beside)
