"""The dialect of argument schemas (JSON Schema 2020-12) and what each keyword applies to."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from core.text import json_pointer

Schema = dict[str, Any]  # an object schema; a boolean one is not an argument
DIALECT = "https://json-schema.org/draft/2020-12/schema"
LOCAL_DATE_TIME = "iso-date-time"  # a date-time whose offset is optional; the name that JSON Schema tools use
DATE_OR_LOCAL_DATE_TIME = "iso-date-or-date-time"  # the same, or a date for whole days

# How signatures name these formats: in fewer tokens.
FORMAT_NAMES = {LOCAL_DATE_TIME: "date-time", DATE_OR_LOCAL_DATE_TIME: "date or date-time"}
VALUE_ALIASES = "x-aliases"  # annotation {value sent: value meant}, for words that models send instead of values
VALUE_REFUSALS = "x-refused"  # annotation {value sent: sentence}: what to do instead of sending an unsupported value
VALUE_OMISSIONS = "x-omitted"  # annotation {value sent: warning}: values that say too little, and are left out
SHORT_NOTE = "x-note"  # annotation: a few words that short help shows after the type, instead of bounds
OPTION = "x-option"  # annotation, true: the argument of an update says how to do it or what to answer, not what changes
RARE = "x-rare"  # annotation, true: few calls send the argument, so lean definitions of tools only name it
ALIAS_ARGS = "x-alias-args"  # annotation of a whole schema, {alias: {argument: value}}: what an alias stands for
# No model is shown these keywords.
ANNOTATIONS = frozenset({VALUE_ALIASES, VALUE_REFUSALS, VALUE_OMISSIONS, SHORT_NOTE, OPTION, RARE, ALIAS_ARGS})
_LOCAL_DATE_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,30})?)?([Zz]|[+-][0-9]{2}:[0-9]{2})?"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_IN_PLACE_KEYWORDS = ("not", "if", "then", "else")
_IN_PLACE_LIST_KEYWORDS = ("allOf", "anyOf", "oneOf")
_MEMBER_KEYWORDS = tuple(
    """
    items contains additionalProperties propertyNames contentSchema unevaluatedItems unevaluatedProperties
""".split()
)
_SUBSCHEMA_KEYWORDS = frozenset(
    [
        *_IN_PLACE_KEYWORDS,
        *_IN_PLACE_LIST_KEYWORDS,
        *_MEMBER_KEYWORDS,
        "properties",
        "patternProperties",
        "prefixItems",
        "dependentSchemas",
        "dependencies",
        "$ref",
        "$defs",
        "definitions",
    ]
)


def build_empty_schema() -> dict[str, Any]:
    """Return the schema of an op that takes no arguments."""
    return {"type": "object", "properties": {}, "additionalProperties": False}


def _is_local_date_time(text: str) -> bool:
    """Return whether a text is an RFC 3339 date-time; seconds and offset are optional, and a space may be the T."""
    return bool(_LOCAL_DATE_TIME.fullmatch(text)) and _exists_in_calendar(text)


def _is_date_or_local_date_time(text: str) -> bool:
    """Return whether a text is a date, or a date-time whose seconds and offset are optional."""
    return _is_local_date_time(text) or (bool(_DATE.fullmatch(text)) and _exists_in_calendar(text))


def _exists_in_calendar(text: str) -> bool:
    """Return whether the day and the time exist."""
    try:
        datetime.fromisoformat(text.upper())
    except ValueError:
        return False
    return True


FORMATS: dict[str, Callable[[str], bool]] = {
    LOCAL_DATE_TIME: _is_local_date_time,
    DATE_OR_LOCAL_DATE_TIME: _is_date_or_local_date_time,
}


def is_leaf(schema: Schema) -> bool:
    """Return whether a schema has no subschemas and no references. Most have none and need not be walked."""
    return _SUBSCHEMA_KEYWORDS.isdisjoint(schema)


def iter_subschemas(root: object) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield (subschema, depth) for every subschema that is an object, once each and without recursion."""
    stack: list[tuple[object, int]] = [(root, 1)]
    while stack:
        schema, depth = stack.pop()
        if not isinstance(schema, dict):
            continue  # true and false are schemas; the compiler reports anything else
        yield schema, depth
        if is_leaf(schema):
            continue
        children = [
            *iter_in_place_subschemas(schema),
            *iter_member_subschemas(schema),
            *list_named_member_subschemas(schema),
        ]
        children += list_subschemas(schema, "$defs") + list_subschemas(schema, "definitions")
        stack += [(child, depth + 1) for child in children]


def iter_in_place_subschemas(schema: Schema, root: Schema | None = None) -> Iterator[object]:
    """Yield the subschemas that apply to the same value. With `root`, include the target of a $ref."""
    yield from (schema[keyword] for keyword in _IN_PLACE_KEYWORDS if keyword in schema)
    for keyword in _IN_PLACE_LIST_KEYWORDS:
        if isinstance(subschemas := schema.get(keyword), list):
            yield from subschemas
    yield from list_subschemas(schema, "dependentSchemas")
    yield from list_subschemas(schema, "dependencies")  # replaced in 2019-09, but the compiler still applies it
    if root is not None and isinstance(ref := schema.get("$ref"), str):
        yield resolve_ref(root, ref)


def iter_member_subschemas(schema: Schema) -> Iterator[object]:
    """Yield the subschemas that may apply to any member or member name of a value."""
    yield from (schema[keyword] for keyword in _MEMBER_KEYWORDS if keyword in schema)
    yield from list_subschemas(schema, "patternProperties")


def list_named_member_subschemas(schema: Schema) -> list[object]:
    """Return the subschemas that apply to one member, chosen by its name or its list index."""
    return list_subschemas(schema, "properties") + get_prefix_items(schema)


def get_prefix_items(schema: Schema) -> list[object]:
    """Return the subschemas of `prefixItems`."""
    return items if isinstance(items := schema.get("prefixItems"), list) else []


def list_subschemas(schema: Schema, keyword: str) -> list[object]:
    """Return the subschemas under a keyword whose value is an object of schemas."""
    subschemas = schema.get(keyword)
    return list(subschemas.values()) if isinstance(subschemas, dict) else []


def count_in_place_applications(schema: Schema) -> int:
    """Return how many times the in-place subschemas are applied.

    `unevaluatedProperties` and `unevaluatedItems` apply them twice more, to find what they left unevaluated.
    """
    return 3 if "unevaluatedProperties" in schema or "unevaluatedItems" in schema else 1


def resolve_ref(root: Schema, ref: str) -> object:
    """Return the target of a local reference such as #/$defs/name, or None."""
    pointer = unquote(ref.removeprefix("#"))
    if pointer and not pointer.startswith("/"):
        return None  # an anchor is not supported
    try:
        target: object = json_pointer.resolve(root, pointer)
    except LookupError:
        return None
    return target


def dereference(root: Schema, schema: object) -> dict[str, Any]:
    """Return the target of a schema's reference, or the schema itself. Empty if that is not an object."""
    target = (
        resolve_ref(root, ref) if isinstance(schema, dict) and isinstance(ref := schema.get("$ref"), str) else schema
    )
    return target if isinstance(target, dict) else {}


def collect_definitions(root: Schema, part: object) -> dict[str, dict[str, object]]:
    """Return {"$defs": {name: schema} …} with every definition that a part refers to, directly or indirectly."""
    collected: dict[str, dict[str, object]] = {}
    stack = [part]
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack += value
        elif isinstance(value, dict):
            stack += value.values()
            keyword, _, name = str(value.get("$ref", "")).removeprefix("#/").partition("/")
            if keyword in ("$defs", "definitions") and "/" not in name and name not in collected.get(keyword, ()):
                target = resolve_ref(root, f"#/{keyword}/{name}")
                collected.setdefault(keyword, {})[name] = target
                stack.append(target)
    return collected
