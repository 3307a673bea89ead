"""Find tool definitions that model providers reject. An op shown as a typed tool is sent to them unchanged.

One rejected tool fails the whole request. The limits come from the error messages and guides of the Anthropic API (tool
use) and the OpenAI API (function calling, strict mode).
"""

import re
from collections.abc import Iterator

from registry.checks import text_locations
from registry.checks.finding import CheckRule, Finding
from registry.checks.text_locations import CheckedOp
from registry.jsonschema import dialect
from registry.jsonschema.dialect import Schema

MAX_LEVELS = 10  # of nested objects: OpenAI, strict mode
MAX_VALUES = 1_000  # in all enums of a schema: OpenAI, strict mode
MAX_ENUM_TEXT = 15_000  # characters in one enum of more than 250 strings: OpenAI, strict mode
LONG_ENUM = 250

TOOL_NAME = CheckRule(
    "tool_name_refused",
    "A tool name with characters other than letters, digits, underscores and dashes, or longer than 64.",
    "Rename the tool.",
)
PROPERTY_NAME = CheckRule(
    "property_name_refused",
    "An argument name with characters other than letters, digits, underscores, dots and dashes, or longer than 64.",
    "Rename the argument, and add its old name to the argument aliases.",
)
TOP_LEVEL = CheckRule(
    "top_level_union",
    "A schema with anyOf, oneOf, allOf, not, enum or const at the top level.",
    "Say in the notes which arguments go together, and let the op check it.",
)
TOO_DEEP = CheckRule(
    "schema_too_deep",
    f"Objects nested more than {MAX_LEVELS} levels deep.",
    "Turn members of the inner objects into arguments.",
)
TOO_MANY_VALUES = CheckRule(
    "enum_too_large",
    f"Enums with more than {MAX_VALUES:,} values in total, or a long enum with more than {MAX_ENUM_TEXT:,} characters.",
    "Use a string, and let another op list the values.",
)
RULES = (TOOL_NAME, PROPERTY_NAME, TOP_LEVEL, TOO_DEEP, TOO_MANY_VALUES)

_NOT_IN_TOOL_NAMES = re.compile(r"[^a-zA-Z0-9_-]+")
_NOT_IN_PROPERTY_NAMES = re.compile(r"[^a-zA-Z0-9_.-]+")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PROPERTY_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_TOP_LEVEL_KEYWORDS = ("anyOf", "oneOf", "allOf", "not", "enum", "const")


def check(reading: CheckedOp) -> Iterator[Finding]:
    """Yield a finding for everything a provider would reject if the op is shown as a typed tool."""
    op, schema, name = reading.op, reading.schema, reading.entry["tool_name"]
    if not _TOOL_NAME.fullmatch(name):
        suggestion = _NOT_IN_TOOL_NAMES.sub("_", name)[:64].strip("_")
        yield TOOL_NAME.make_finding(
            op, "tool_name", f"Providers reject a tool named {name}.", f"For example: {suggestion}."
        )
    for argument in reading.arguments:
        if not _PROPERTY_NAME.fullmatch(argument.name):
            suggestion = _NOT_IN_PROPERTY_NAMES.sub("_", argument.name)[:64].strip("_")
            message = f"Providers reject an argument named {argument.name[:100]}."
            fix = f"For example: {suggestion}, with the old name as an argument alias." if suggestion else ""
            yield PROPERTY_NAME.make_finding(op, argument.field, message, fix)
    for keyword in _TOP_LEVEL_KEYWORDS:
        if keyword in schema:
            yield TOP_LEVEL.make_finding(
                op, f"{text_locations.SCHEMA}/{keyword}", f"Providers reject {keyword} at the top level of a schema."
            )
    yield from _check_sizes(reading)


def _check_sizes(reading: CheckedOp) -> Iterator[Finding]:
    op = reading.op
    if (levels := _count_object_levels(reading.schema)) > MAX_LEVELS:
        yield TOO_DEEP.make_finding(op, text_locations.SCHEMA, f"Its objects are nested {levels} levels deep.")
    enums = [(path, part["enum"]) for part, path in reading.subschemas if isinstance(part.get("enum"), list)]
    if (values := sum(len(enum) for _, enum in enums)) > MAX_VALUES:
        yield TOO_MANY_VALUES.make_finding(op, text_locations.SCHEMA, f"Its enums have {values:,} values in total.")
    for path, enum in enums:
        letters = sum(len(value) for value in enum if isinstance(value, str))
        if len(enum) > LONG_ENUM and letters > MAX_ENUM_TEXT:
            message = f"Its {len(enum)} values have {letters:,} characters in total."
            yield TOO_MANY_VALUES.make_finding(op, f"{path}/enum", message)


def _count_object_levels(schema: Schema) -> int:
    """Return how many levels of objects are nested, without following references."""
    member_schemas = [
        part
        for part in [*dialect.iter_member_subschemas(schema), *dialect.list_named_member_subschemas(schema)]
        if isinstance(part, dict)
    ]
    member_levels = max((_count_object_levels(part) for part in member_schemas), default=0)
    in_place_levels = max(
        (_count_object_levels(part) for part in dialect.iter_in_place_subschemas(schema) if isinstance(part, dict)),
        default=0,
    )
    return max(member_levels + ("properties" in schema), in_place_levels)
