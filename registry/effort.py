"""Limit the cost of validation: bound it for a schema, and estimate it for an instance.

The size of a schema says little. A chain of definitions that each refer to the next one twice doubles at every link. A
recursive schema with two branches doubles at every level of the instance. A pattern walks its text once for each of its
states. So a schema without a bound is never published, and an instance is checked only after its cost is estimated.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jsonschema_rs

from registry import keywords

MAX_APPLICATIONS = 5_000  # of subschemas along one path into an instance of MAX_INSTANCE_DEPTH levels
MAX_INSTANCE_DEPTH = 32
MAX_PATTERN_BYTES = 1_000_000  # of a compiled pattern

# Limits of one check, to keep a request under 250 ms. The estimates below are measured worst cases; most cost less.
CHECKING_NS = 100_000_000
TELLING_NS = 160_000_000

_COUNTING_NS = 1_000  # spent in this module for each schema of a value
_APPLICATION_NS = 100
_ERROR_NS = 20_000  # to report one failed application…
_COPY_NS = 200  # …plus this for each value in it, because an error copies the value it is about
_CHARACTERS = 100  # this many characters of a string cost as much as one value
_CHARACTER_NS = 60  # per character and thousand bytes of the compiled pattern
_PATTERN_BYTES = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000, MAX_PATTERN_BYTES)


@dataclass(frozen=True, slots=True)
class Effort:
    """The most that an instance costs, in nanoseconds: to check it, and to report all its errors."""

    checking: int
    telling: int


@dataclass(frozen=True, slots=True)
class _Place:
    """Everything that one schema applies to a value, by itself and through its in-place subschemas."""

    applications: int
    pattern_ns: int  # for each character of a string
    name_ns: int  # for each character of a member name
    names: tuple[object, ...]
    named: tuple[dict[str, Any], ...]
    first: tuple[list[object], ...]
    any: tuple[object, ...]


class Endless(Exception):
    """A schema applies itself again to the same value, without going one level down."""


def bound(root: dict[str, Any]) -> int:
    """Return how many subschemas apply along one path into the deepest instance, at most MAX_APPLICATIONS + 1.

    Raises EndlessReference.
    """
    known: dict[tuple[int, int], int] = {}
    open_here: set[tuple[int, int]] = set()

    def cost(schema: object, levels: int) -> int:
        if not isinstance(schema, dict) or levels == 0 or keywords.is_leaf(schema):
            return 1
        key = (id(schema), levels)
        if key in known:
            return known[key]
        if key in open_here:
            raise Endless
        open_here.add(key)
        total = 1 + keywords.again(schema) * sum(cost(child, levels) for child in keywords.in_place(schema, root))
        total += sum(cost(child, levels - 1) for child in keywords.any_member(schema))
        total += max((cost(child, levels - 1) for child in keywords.named_members(schema)), default=0)
        open_here.remove(key)
        known[key] = min(total, MAX_APPLICATIONS + 1)
        return known[key]

    try:
        return cost(root, MAX_INSTANCE_DEPTH)
    except RecursionError:
        raise Endless from None


class Meter:
    """Estimates the cost of instances under one schema whose bound was checked."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._places: dict[int, _Place] = {}

    def effort(self, instance: object) -> Effort:
        """Return the cost of an instance, counted until the checking limit is passed."""
        checking = telling = 0
        stack: list[tuple[object, tuple[object, ...], int]] = [(instance, (self._root,), 0)]
        while stack and checking <= CHECKING_NS:
            value, schemas, above = stack.pop()
            places = [self._place(schema) for schema in schemas if isinstance(schema, dict)]
            applied = sum(place.applications for place in places)
            held = above + applied  # errors about this value or one that contains it; each copies this one
            checking += _COUNTING_NS * (1 + len(places)) + _APPLICATION_NS * applied
            telling += _ERROR_NS * applied + _COPY_NS * held
            if isinstance(value, str):
                checking += len(value) * sum(place.pattern_ns for place in places)
                telling += len(value) // _CHARACTERS * held * _COPY_NS
            elif isinstance(value, dict):
                checking += sum(map(len, value)) * sum(place.name_ns for place in places)
                stack += [(item, _of_member(places, name), held) for name, item in value.items()]
                if of_names := tuple(schema for place in places for schema in place.names):
                    stack += [(name, of_names, held) for name in value]
            elif isinstance(value, list):
                stack += [(item, _of_item(places, index), held) for index, item in enumerate(value)]
        return Effort(checking, telling + checking)

    def _place(self, schema: dict[str, Any]) -> _Place:
        place = self._places.get(id(schema))
        if place is None:
            place = self._places[id(schema)] = self._made(schema)
        return place

    def _made(self, schema: dict[str, Any]) -> _Place:
        applied = [(schema, 1)]
        for each, times in applied:  # grows during the loop; `bound_applications` has shown that it ends
            further = times * keywords.again(each)
            applied += [(child, further) for child in keywords.in_place(each, self._root) if isinstance(child, dict)]
        return _Place(
            applications=sum(times for _, times in applied),
            pattern_ns=sum(times * character_ns(each.get("pattern")) for each, times in applied),
            name_ns=sum(times * character_ns(pattern) for each, times in applied for pattern in _of_names(each)),
            names=tuple(
                each["propertyNames"] for each, times in applied for _ in range(times) if "propertyNames" in each
            ),
            named=tuple(each["properties"] for each, _ in applied if isinstance(each.get("properties"), dict)),
            first=tuple(keywords.prefix(each) for each, _ in applied if keywords.prefix(each)),
            any=tuple(child for each, times in applied for child in keywords.any_member(each) for _ in range(times)),
        )


@lru_cache(maxsize=4096)
def character_ns(pattern: object) -> int:
    """Return the most that one character costs under a pattern. Time grows with the size of the compiled pattern."""
    if not isinstance(pattern, str):
        return 0
    for limit in _PATTERN_BYTES:
        options = jsonschema_rs.RegexOptions(size_limit=limit, dfa_size_limit=limit)
        try:
            jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options)
        except jsonschema_rs.ValidationError:
            continue
        return _CHARACTER_NS * limit // 1_000
    return _CHARACTER_NS * MAX_PATTERN_BYTES // 1_000


def _of_names(schema: dict[str, Any]) -> Iterable[object]:
    patterns = schema.get("patternProperties")
    return patterns if isinstance(patterns, dict) else ()


def _of_member(places: list[_Place], name: str) -> tuple[object, ...]:
    named = [properties[name] for place in places for properties in place.named if name in properties]
    return (*named, *(schema for place in places for schema in place.any))


def _of_item(places: list[_Place], index: int) -> tuple[object, ...]:
    first = [schemas[index] for place in places for schemas in place.first if index < len(schemas)]
    return (*first, *(schema for place in places for schema in place.any))
