"""Group the JSON Schema keywords by what they apply to: the same value, one named member, or any member."""

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
    """Return whether a schema has no subschemas and no references. Most have none and need not be walked."""
    return _BELOW.isdisjoint(schema)


def in_place(schema: dict[str, Any], root: dict[str, Any] | None = None) -> Iterator[object]:
    """Yield the subschemas that apply to the same value. With `root`, include the target of a $ref."""
    yield from (schema[keyword] for keyword in _IN_PLACE if keyword in schema)
    for keyword in _IN_PLACE_LISTS:
        if isinstance(many := schema.get(keyword), list):
            yield from many
    yield from values(schema, "dependentSchemas")
    yield from values(schema, "dependencies")  # replaced in 2019-09, but the compiler still applies it
    if root is not None and isinstance(ref := schema.get("$ref"), str):
        yield resolve(root, ref)


def any_member(schema: dict[str, Any]) -> Iterator[object]:
    """Yield the subschemas that may apply to any member or member name of a value."""
    yield from (schema[keyword] for keyword in _ANY_MEMBER if keyword in schema)
    yield from values(schema, "patternProperties")


def named_members(schema: dict[str, Any]) -> list[object]:
    """Return the subschemas that apply to one member, chosen by its name or its list index."""
    return values(schema, "properties") + prefix(schema)


def prefix(schema: dict[str, Any]) -> list[object]:
    """Return the subschemas of `prefixItems`."""
    return items if isinstance(items := schema.get("prefixItems"), list) else []


def values(schema: dict[str, Any], keyword: str) -> list[object]:
    """Return the subschemas under a keyword whose value is an object of schemas."""
    named = schema.get(keyword)
    return list(named.values()) if isinstance(named, dict) else []


def again(schema: dict[str, Any]) -> int:
    """Return how many times the in-place subschemas are applied.

    `unevaluatedProperties` and `unevaluatedItems` apply them twice more, to find what they left unevaluated.
    """
    return 3 if "unevaluatedProperties" in schema or "unevaluatedItems" in schema else 1


def resolve(root: dict[str, Any], ref: str) -> object:
    """Return the target of a local reference such as #/$defs/name, or None."""
    start, *parts = unquote(ref.removeprefix("#")).split("/")
    target: object = root if not start else None  # an anchor is not supported
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
    """Return the target of a schema's reference, or the schema itself. Empty if that is not an object."""
    target = resolve(root, ref) if isinstance(schema, dict) and isinstance(ref := schema.get("$ref"), str) else schema
    return target if isinstance(target, dict) else {}


def definitions(root: dict[str, Any], part: object) -> dict[str, dict[str, object]]:
    """Return {"$defs": {name: schema} …} with every definition that a part refers to, directly or indirectly."""
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
