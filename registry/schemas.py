"""Argument schemas: what an admin or an import may send us, and how instances are held against it.

Schemas are input like any other: one can be remote, endless or exponential. Nothing is compiled that was not walked
first, and nothing is published that was not compiled.
"""

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, NoReturn
from urllib.parse import unquote

import jsonschema_rs

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MAX_DEPTH = 16
MAX_SUBSCHEMAS = 2_000
MAX_ENUM = 500
MAX_PATTERN = 500
MAX_APPLICATIONS = 5_000  # of subschemas along one path into an instance of MAX_INSTANCE_DEPTH levels
MAX_INSTANCE_DEPTH = 32

_UNSENDABLE = "holds text or a number that JSON cannot carry. Delete it."

VALUE_ALIASES = "x-aliases"  # annotation {value sent: value meant}, for what models like to spell in words

# Applicators by where they apply: to the same instance, to one named member of it, or to any of its members.
_IN_PLACE = ("not", "if", "then", "else")
_IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_ANY_MEMBER = (
    *("items", "contains", "additionalProperties", "propertyNames", "contentSchema"),
    *("unevaluatedItems", "unevaluatedProperties"),
)


class RemoteReference(Exception):
    """A schema refers to something outside itself."""


def no_arguments() -> dict[str, Any]:
    """Return the schema of an op that takes no arguments."""
    return {"type": "object", "properties": {}, "additionalProperties": False}


def compiled(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    """Return a validator: formats asserted, linear-time patterns, no reference followed out of the schema.

    Raises jsonschema_rs.ValidationError or RemoteReference for a schema in which `problems` finds some.
    """
    return jsonschema_rs.Draft202012Validator(
        schema,
        validate_formats=True,
        retriever=_refuse,
        pattern_options=jsonschema_rs.RegexOptions(size_limit=1_000_000, dfa_size_limit=1_000_000),
    )


def problems(schema: object) -> list[str]:
    """Return what is wrong with an argument schema, a sentence each; empty when it can be published."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return ['The schema must be an object with "type": "object", since args are an object.']
    found = _shape_problems(schema) or _cost_problems(schema)
    if found:
        return found
    try:
        compiled(schema)
    except jsonschema_rs.ValidationError as error:
        where = "/".join(str(part) for part in error.instance_path) or "the top"
        return [f"The schema is not valid JSON Schema 2020-12 at {where}: {_first_line(error)}."]
    except (RemoteReference, jsonschema_rs.ReferencingError):
        return ["The schema refers to something outside itself. Copy what it refers to under $defs."]
    except ValueError:  # half a surrogate pair
        return [f"The schema {_UNSENDABLE}"]
    return []


def instance_problems(schema: dict[str, Any], instance: object, *, ignoring: Collection[str] = ()) -> list[str]:
    """Return why `instance` does not satisfy a schema that has no problems, a sentence an error, at most 20."""
    if isinstance(instance, dict):
        instance = {name: value for name, value in instance.items() if name not in ignoring}
    try:
        errors = list(islice(compiled(schema).iter_errors(instance), 20))
    except ValueError:  # half a surrogate pair
        return [f"/: The value {_UNSENDABLE}"]
    return ["/" + "/".join(map(str, error.instance_path)) + f": {_first_line(error)}." for error in errors]


def _refuse(uri: str) -> NoReturn:
    raise RemoteReference(uri)


def _first_line(error: jsonschema_rs.ValidationError) -> str:
    return error.message.splitlines()[0][:200].rstrip(".")


def _shape_problems(root: dict[str, Any]) -> list[str]:
    """Visit every subschema once, without recursion: depth, number, and keywords that we do not take."""
    found: list[str] = []
    places: set[int] = set()
    references: list[str] = []
    stack: list[tuple[object, int]] = [(root, 1)]
    visited = 0
    while stack:
        schema, depth = stack.pop()
        if not isinstance(schema, dict):
            continue  # true and false are schemas; anything else the compiler names
        visited += 1
        if depth > MAX_DEPTH:
            return [f"The schema is nested more than {MAX_DEPTH} levels deep. Make it flatter."]
        if visited > MAX_SUBSCHEMAS:
            return [f"The schema has more than {MAX_SUBSCHEMAS} subschemas. Make it smaller."]
        found += _keyword_problems(schema)
        places.add(id(schema))
        if isinstance(ref := schema.get("$ref"), str):
            references.append(ref)
        children = [*_in_place(schema), *_any_member(schema), *_named_members(schema)]
        children += _values(schema, "$defs") + _values(schema, "definitions")
        stack += [(child, depth + 1) for child in children]
    return found + [problem for ref in references for problem in _reference_problems(ref, root, places)]


def _reference_problems(ref: str, root: dict[str, Any], places: set[int]) -> list[str]:
    if not ref.startswith("#"):
        return ["A $ref leads outside the schema. Copy what it refers to under $defs."]
    target = resolve(root, ref)
    # What was not visited was not checked, so a reference may only lead to a subschema that was.
    if target is None or (isinstance(target, dict) and id(target) not in places):
        return [f"The reference {ref[:80]} leads nowhere. Define it under $defs."]
    return []


def _keyword_problems(schema: dict[str, Any]) -> list[str]:
    found = []
    dialect = schema.get("$schema", DIALECT)
    if dialect not in (DIALECT, DIALECT + "#"):
        found.append(f"The dialect {str(dialect)[:80]} is not supported; write JSON Schema 2020-12.")
    if any(keyword in schema for keyword in ("$dynamicRef", "$dynamicAnchor", "$id", "$anchor")):
        found.append("$id, $anchor and $dynamicRef are not supported; refer by #/$defs/name.")
    if isinstance(enum := schema.get("enum"), list) and len(enum) > MAX_ENUM:
        found.append(f"An enum has more than {MAX_ENUM} values. Take a string, and let an op list the values.")
    if isinstance(pattern := schema.get("pattern"), str) and len(pattern) > MAX_PATTERN:
        found.append(f"A pattern is longer than {MAX_PATTERN} characters. Make it shorter.")
    return found


def _cost_problems(root: dict[str, Any]) -> list[str]:
    """Bound how many subschemas a validator applies along one path into the deepest instance we take.

    A chain of definitions that each refer to the next one twice doubles at every link, and a recursive schema with
    two branches doubles at every level of the instance: short to write, endless to check.
    """
    known: dict[tuple[int, int], int] = {}
    open_here: set[tuple[int, int]] = set()

    def cost(schema: object, levels: int) -> int:
        if not isinstance(schema, dict) or levels == 0:
            return 1
        key = (id(schema), levels)
        if key in known:
            return known[key]
        if key in open_here:
            raise RecursionError  # back at itself without having gone one level down
        open_here.add(key)
        # To tell what its neighbours left unevaluated, an unevaluated… applies all of them again, twice.
        again = 3 if "unevaluatedProperties" in schema or "unevaluatedItems" in schema else 1
        total = 1 + again * sum(cost(child, levels) for child in _in_place(schema, root))
        total += sum(cost(child, levels - 1) for child in _any_member(schema))
        total += max((cost(child, levels - 1) for child in _named_members(schema)), default=0)
        open_here.remove(key)
        known[key] = min(total, MAX_APPLICATIONS + 1)
        return known[key]

    try:
        if cost(root, MAX_INSTANCE_DEPTH) > MAX_APPLICATIONS:
            return ["The schema's references multiply beyond what can be checked in time. Refer to each part once."]
    except RecursionError:
        return ["A reference leads back to itself, or through too many others. Refer to a schema that says something."]
    return []


def _in_place(schema: dict[str, Any], root: dict[str, Any] | None = None) -> Iterator[object]:
    yield from (schema[keyword] for keyword in _IN_PLACE if keyword in schema)
    for keyword in _IN_PLACE_LISTS:
        if isinstance(many := schema.get(keyword), list):
            yield from many
    yield from _values(schema, "dependentSchemas")
    yield from _values(schema, "dependencies")  # of drafts before 2019-09, but the compiler still applies it
    if root is not None and isinstance(ref := schema.get("$ref"), str):
        yield resolve(root, ref)


def _any_member(schema: dict[str, Any]) -> Iterator[object]:
    yield from (schema[keyword] for keyword in _ANY_MEMBER if keyword in schema)
    yield from _values(schema, "patternProperties")


def _named_members(schema: dict[str, Any]) -> list[object]:
    return _values(schema, "properties") + (items if isinstance(items := schema.get("prefixItems"), list) else [])


def _values(schema: dict[str, Any], keyword: str) -> list[object]:
    named = schema.get(keyword)
    return list(named.values()) if isinstance(named, dict) else []


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
