"""Limit the cost of validation: bound it for a schema, and estimate it for an instance.

The size of a schema says little. A chain of definitions that each refer to the next one twice doubles at every link. A
recursive schema with two branches doubles at every level of the instance. A pattern walks its text once for each of its
states. So a schema without a bound is never published, and an instance is checked only after its cost is estimated.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import jsonschema_rs
import orjson

from registry.jsonschema import dialect
from registry.jsonschema.dialect import Schema

MAX_APPLICATIONS = 5_000  # of subschemas along one path into an instance of MAX_INSTANCE_DEPTH levels
MAX_INSTANCE_DEPTH = 32
MAX_PATTERN_BYTES = 1_000_000  # of a compiled pattern

# Limits of one check, to keep a request under 250 ms. The estimates below are measured worst cases; most cost less.
MAX_CHECKING_NS = 100_000_000
MAX_REPORTING_NS = 160_000_000

_METERING_NS = 1_000  # spent in this module for each schema of a value
_APPLICATION_NS = 100
_ERROR_NS = 20_000  # to report one failed application…
_COPY_NS = 200  # …plus this for each value in it, because an error copies the value it is about
_CHARACTERS_PER_VALUE = 100  # this many characters of a string cost as much as one value
_CHARACTER_NS_PER_1000_BYTES = 60  # per character and thousand bytes of the compiled pattern
_PATTERN_BYTES = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000, MAX_PATTERN_BYTES)


@dataclass(frozen=True, slots=True)
class ValidationCost:
    """The most that an instance costs, in nanoseconds: to check it, and to report all its errors."""

    checking_ns: int
    reporting_ns: int


@dataclass(frozen=True, slots=True)
class _ValueRules:
    """Everything that one schema applies to a value, by itself and through its in-place subschemas."""

    applications: int
    pattern_ns: int  # for each character of a string
    name_ns: int  # for each character of a member name
    name_schemas: tuple[object, ...]
    properties: tuple[dict[str, Any], ...]
    prefix_items: tuple[list[object], ...]
    member_schemas: tuple[object, ...]


class EndlessReference(Exception):
    """A schema applies itself again to the same value, without going one level down."""


def bound_applications(root: Schema) -> int:
    """Return how many subschemas apply along one path into the deepest instance, at most MAX_APPLICATIONS + 1.

    Raises EndlessReference.
    """
    try:
        return _ApplicationCounter(root).count_applications(root, MAX_INSTANCE_DEPTH)
    except RecursionError:
        raise EndlessReference from None


class _ApplicationCounter:
    """Counts applications, each schema once for each number of levels.

    It is a class because a nested function that calls itself is a reference cycle. That would hold the schema until a
    full garbage collection, and those are rare in a process that holds a catalog.
    """

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._counts: dict[tuple[int, int], int] = {}
        self._in_progress: set[tuple[int, int]] = set()

    def count_applications(self, schema: object, levels: int) -> int:
        """Return how many subschemas apply along one path into an instance of this many levels."""
        if not isinstance(schema, dict) or levels == 0 or dialect.is_leaf(schema):
            return 1
        key = (id(schema), levels)
        if key in self._counts:
            return self._counts[key]
        if key in self._in_progress:
            raise EndlessReference
        self._in_progress.add(key)
        count = self.count_applications
        total = 1 + dialect.count_in_place_applications(schema) * sum(
            count(child, levels) for child in dialect.iter_in_place_subschemas(schema, self._root)
        )
        total += sum(count(child, levels - 1) for child in dialect.iter_member_subschemas(schema))
        total += max((count(child, levels - 1) for child in dialect.list_named_member_subschemas(schema)), default=0)
        self._in_progress.remove(key)
        self._counts[key] = min(total, MAX_APPLICATIONS + 1)
        return self._counts[key]


class CostMeter:
    """Estimates the cost of instances under one schema whose bound was checked."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._rules_by_schema: dict[int, _ValueRules] = {}

    def is_small(self, instance: object) -> bool:
        """Return whether an instance is so small that checking it is in time, whatever it holds.

        This is certain in a microsecond, where the estimate takes ten for each value.
        """
        try:
            return len(orjson.dumps(instance)) <= self._small_bytes
        except TypeError:  # numbers of more than 64 bits, or text that is not Unicode
            return False

    @cached_property
    def _small_bytes(self) -> int:
        """The most bytes of JSON that are checked in time if each is a value and a character under every schema."""
        applications = bound_applications(self._root)
        character_ns = sum(_estimate_pattern_ns(each) for each, _ in dialect.iter_subschemas(self._root))
        return MAX_CHECKING_NS // ((_METERING_NS + _APPLICATION_NS + character_ns) * (1 + applications))

    def estimate(self, instance: object) -> ValidationCost:
        """Return the cost of an instance, counted until the checking limit is passed."""
        checking = reporting = 0
        stack: list[tuple[object, tuple[object, ...], int]] = [(instance, (self._root,), 0)]
        while stack and checking <= MAX_CHECKING_NS:
            value, schemas, containing = stack.pop()
            rules = [self._get_value_rules(schema) for schema in schemas if isinstance(schema, dict)]
            applications = sum(rule.applications for rule in rules)
            copies = containing + applications  # errors about this value or one that contains it; each copies this one
            checking += _METERING_NS * (1 + len(rules)) + _APPLICATION_NS * applications
            reporting += _ERROR_NS * applications + _COPY_NS * copies
            if isinstance(value, str):
                checking += len(value) * sum(rule.pattern_ns for rule in rules)
                reporting += len(value) // _CHARACTERS_PER_VALUE * copies * _COPY_NS
            elif isinstance(value, dict):
                checking += sum(map(len, value)) * sum(rule.name_ns for rule in rules)
                stack += [(item, _select_member_schemas(rules, name), copies) for name, item in value.items()]
                if name_schemas := tuple(schema for rule in rules for schema in rule.name_schemas):
                    stack += [(name, name_schemas, copies) for name in value]
            elif isinstance(value, list):
                stack += [(item, _select_item_schemas(rules, index), copies) for index, item in enumerate(value)]
        return ValidationCost(checking, reporting + checking)

    def _get_value_rules(self, schema: Schema) -> _ValueRules:
        rules = self._rules_by_schema.get(id(schema))
        if rules is None:
            rules = self._rules_by_schema[id(schema)] = self._build_value_rules(schema)
        return rules

    def _build_value_rules(self, schema: Schema) -> _ValueRules:
        applications = [(schema, 1)]
        for each, times in applications:  # grows during the loop; `bound_applications` has shown that it ends
            child_times = times * dialect.count_in_place_applications(each)
            applications += [
                (child, child_times)
                for child in dialect.iter_in_place_subschemas(each, self._root)
                if isinstance(child, dict)
            ]
        return _ValueRules(
            applications=sum(times for _, times in applications),
            pattern_ns=sum(times * estimate_character_ns(each.get("pattern")) for each, times in applications),
            name_ns=sum(
                times * estimate_character_ns(pattern)
                for each, times in applications
                for pattern in _get_name_patterns(each)
            ),
            name_schemas=tuple(
                each["propertyNames"] for each, times in applications for _ in range(times) if "propertyNames" in each
            ),
            properties=tuple(
                each["properties"] for each, _ in applications if isinstance(each.get("properties"), dict)
            ),
            prefix_items=tuple(
                dialect.get_prefix_items(each) for each, _ in applications if dialect.get_prefix_items(each)
            ),
            member_schemas=tuple(
                child
                for each, times in applications
                for child in dialect.iter_member_subschemas(each)
                for _ in range(times)
            ),
        )


def _estimate_pattern_ns(schema: Schema) -> int:
    patterns = [schema.get("pattern"), *_get_name_patterns(schema)]
    return sum(map(estimate_character_ns, patterns))


@lru_cache(maxsize=4096)
def estimate_character_ns(pattern: object) -> int:
    """Return the most that one character costs under a pattern. Time grows with the size of the compiled pattern."""
    if not isinstance(pattern, str):
        return 0
    for limit in _PATTERN_BYTES:
        options = jsonschema_rs.RegexOptions(size_limit=limit, dfa_size_limit=limit)
        try:
            jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options)
        except jsonschema_rs.ValidationError:
            continue
        return _CHARACTER_NS_PER_1000_BYTES * limit // 1_000
    return _CHARACTER_NS_PER_1000_BYTES * MAX_PATTERN_BYTES // 1_000


def _get_name_patterns(schema: Schema) -> Iterable[object]:
    patterns = schema.get("patternProperties")
    return patterns if isinstance(patterns, dict) else ()


def _select_member_schemas(rules: list[_ValueRules], name: str) -> tuple[object, ...]:
    property_schemas = [properties[name] for rule in rules for properties in rule.properties if name in properties]
    return (*property_schemas, *(schema for rule in rules for schema in rule.member_schemas))


def _select_item_schemas(rules: list[_ValueRules], index: int) -> tuple[object, ...]:
    item_schemas = [schemas[index] for rule in rules for schemas in rule.prefix_items if index < len(schemas)]
    return (*item_schemas, *(schema for rule in rules for schema in rule.member_schemas))
