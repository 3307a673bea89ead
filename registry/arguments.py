"""List the arguments that a schema names directly, through references, or in its allOf, anyOf and oneOf parts."""

from collections.abc import Iterable, Iterator
from typing import Any

from registry import keywords

MAX_DEPTH = 8  # of references and nested parts; deeper arguments are validated, but not shown
MAX_WAYS = 50  # different schemas for one argument

_EITHER = ("anyOf", "oneOf")
_PARTED = frozenset(("$ref", "allOf", *_EITHER, "then", "else", "dependentSchemas"))

Found = dict[str, list[dict[str, Any]]]


def is_plain(schema: dict[str, Any]) -> bool:
    """Return whether a schema names all its arguments directly."""
    return _PARTED.isdisjoint(schema)


def properties(
    schema: dict[str, Any], root: dict[str, Any] | None = None
) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield (name, schema, required) for each argument, required ones first.

    `root` is the document that references point into: the schema itself, unless it is part of another one. If several
    parts describe one argument, its schemas are joined under `anyOf`. It is required if all alternatives require it.
    """
    if is_plain(schema):
        named, required = _own(schema)
    else:
        found, required = _collected(schema, root or schema, 0)
        named = {name: _joined(each) for name, each in found.items()}
    named = named | {name: {} for name in required if name not in named}
    for name in sorted(named, key=lambda name: name not in required):
        yield name, named[name] if isinstance(named[name], dict) else {}, name in required


def choices(schema: dict[str, Any]) -> list[list[str]]:
    """Return the alternative sets of required arguments, of which a call must send one. Empty if there is no choice."""
    for keyword in _EITHER:
        parts = [keywords.resolved(schema, part) for part in _parts(schema, keyword)]
        wanted = [sorted(_own(part)[1]) for part in parts]
        if len(wanted) > 1 and all(wanted) and len({tuple(each) for each in wanted}) == len(wanted):
            return wanted
    return []


def _own(schema: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    named, required = schema.get("properties", {}), schema.get("required", [])
    return named if isinstance(named, dict) else {}, required if isinstance(required, list) else []


def _collected(schema: Any, root: dict[str, Any], depth: int) -> tuple[Found, list[str]]:
    """Return the schemas of each argument in a schema and its parts, and the names that are required."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return {}, []
    named, required = _own(schema)
    found: Found = {name: [each if isinstance(each, dict) else {}] for name, each in named.items()}
    wanted = dict.fromkeys(required)
    both = [*_parts(schema, "allOf"), *([keywords.resolved(root, schema)] if "$ref" in schema else [])]
    for part in both:
        more, also = _collected(part, root, depth + 1)
        _add(found, more, only_new=True)
        wanted |= dict.fromkeys(also)
    for keyword in _EITHER:
        if branches := [_collected(part, root, depth + 1) for part in _parts(schema, keyword)]:
            alternatives: Found = {}
            for more, _ in branches:
                _add(alternatives, more)
            _add(found, alternatives, only_new=True)
            wanted |= {name: None for name in branches[0][1] if all(name in also for _, also in branches)}
    for part in [schema.get("then"), schema.get("else"), *keywords.values(schema, "dependentSchemas")]:
        _add(found, _collected(part, root, depth + 1)[0], only_new=True)
    return found, list(wanted)


def _parts(schema: dict[str, Any], keyword: str) -> list[Any]:
    return parts if isinstance(parts := schema.get(keyword), list) else []


def _add(found: Found, more: Found, *, only_new: bool = False) -> None:
    """Add schemas of arguments in place. With `only_new`, skip arguments that already have a non-empty schema."""
    for name, said in more.items():
        there = found.setdefault(name, [])
        if not only_new or not any(there):
            there[:] = _distinct([*there, *said])


def _joined(said: list[dict[str, Any]]) -> dict[str, Any]:
    if len(said) < 2:
        return said[0] if said else {}
    told = next((each["description"] for each in said if each.get("description")), None)
    return {"anyOf": said} | ({"description": told} if told else {})


def _distinct(said: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for each in said:
        if each and len(found) < MAX_WAYS and each not in found:
            found.append(each)
    return found
