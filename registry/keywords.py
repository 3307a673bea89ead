"""What JSON Schema's keywords apply where: to the same value, to one named member of it, or to any of its members."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

_IN_PLACE = ("not", "if", "then", "else")
_IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_ANY_MEMBER = (
    *("items", "contains", "additionalProperties", "propertyNames", "contentSchema"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
_BELOW = frozenset(
    [
        *(*_IN_PLACE, *_IN_PLACE_LISTS, *_ANY_MEMBER, "properties", "patternProperties", "prefixItems"),
        *("dependentSchemas", "dependencies", "$ref", "$defs", "definitions"),
    ]
)


def is_leaf(schema: dict[str, Any]) -> bool:
    """Whether no subschema stands in a schema and none is referred to: most are such, and need not be walked."""
    return _BELOW.isdisjoint(schema)


def in_place(schema: dict[str, Any], root: dict[str, Any] | None = None) -> Iterator[object]:
    """Yield the subschemas that apply to the same value; with `root` also what a $ref leads to in it."""
    yield from (schema[keyword] for keyword in _IN_PLACE if keyword in schema)
    for keyword in _IN_PLACE_LISTS:
        if isinstance(many := schema.get(keyword), list):
            yield from many
    yield from values(schema, "dependentSchemas")
    yield from values(schema, "dependencies")  # of drafts before 2019-09, but the compiler still applies it
    if root is not None and isinstance(ref := schema.get("$ref"), str):
        yield resolve(root, ref)


def any_member(schema: dict[str, Any]) -> Iterator[object]:
    """Yield the subschemas that may apply to any member or member name of a value."""
    yield from (schema[keyword] for keyword in _ANY_MEMBER if keyword in schema)
    yield from values(schema, "patternProperties")


def named_members(schema: dict[str, Any]) -> list[object]:
    """Return the subschemas that apply to one member each: by its name, or by its place in a list."""
    return values(schema, "properties") + prefix(schema)


def prefix(schema: dict[str, Any]) -> list[object]:
    """Return the subschemas of the first items of a list."""
    return items if isinstance(items := schema.get("prefixItems"), list) else []


def values(schema: dict[str, Any], keyword: str) -> list[object]:
    """Return the subschemas that a keyword holds by name."""
    named = schema.get(keyword)
    return list(named.values()) if isinstance(named, dict) else []


def again(schema: dict[str, Any]) -> int:
    """Return how often what applies in place is applied.

    To tell what its neighbours left unevaluated, an unevaluated… applies all of them again, twice.
    """
    return 3 if "unevaluatedProperties" in schema or "unevaluatedItems" in schema else 1


def resolve(root: dict[str, Any], ref: str) -> object:
    """Return what a local reference such as #/$defs/name refers to in a schema, or None."""
    start, *parts = unquote(ref.removeprefix("#")).split("/")
    target: object = root if not start else None  # else an anchor
    for part in parts:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(target, dict) and key in target:
            target = target[key]
        elif isinstance(target, list) and key.isascii() and key.isdigit() and int(key) < len(target):
            target = target[int(key)]
        else:
            return None
    return target


def resolved(root: dict[str, Any], schema: object) -> dict[str, Any]:
    """Return what a schema's reference leads to, or the schema itself; empty where that is no object."""
    target = resolve(root, ref) if isinstance(schema, dict) and isinstance(ref := schema.get("$ref"), str) else schema
    return target if isinstance(target, dict) else {}


def definitions(root: dict[str, Any], part: object) -> dict[str, dict[str, object]]:
    """Return {"$defs": {name: schema} …} of all that the references in a part lead to, directly or not."""
    found: dict[str, dict[str, object]] = {}
    stack = [part]
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack += value
        elif isinstance(value, dict):
            stack += value.values()
            holder, _, name = str(value.get("$ref", "")).removeprefix("#/").partition("/")
            if holder in ("$defs", "definitions") and "/" not in name and name not in found.get(holder, ()):
                target = resolve(root, f"#/{holder}/{name}")
                found.setdefault(holder, {})[name] = target
                stack.append(target)
    return found
