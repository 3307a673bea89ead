"""Check the argument schemas that admins and imports send, and validate instances against them.

Schemas are untrusted input: one can refer to a remote URL, recurse without end or take exponential time. So a schema
is walked before it is compiled, and compiled before it is published.
"""

import re
from collections.abc import Collection, Iterator
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any, NoReturn

import jsonschema_rs

from registry.jsonschema import keywords, validation_cost

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MAX_DEPTH = 16
MAX_SUBSCHEMAS = 2_000
MAX_ENUM = 500
MAX_PATTERN = 500
CHEAP_APPLICATIONS = 100  # applications; below this, and without patterns, any instance is checked in time

_NOT_JSON = "has text or a number that JSON cannot represent. Delete it."

LOCAL_DATE_TIME = "iso-date-time"  # a date-time whose offset is optional; the name that JSON Schema tools use
_LOCAL_DATE_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,30})?)?([Zz]|[+-][0-9]{2}:[0-9]{2})?"
)

DATE_OR_LOCAL_DATE_TIME = "iso-date-or-date-time"  # the same, or a date for whole days
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NUMERIC_NAME = re.compile(r"\+?[0-9]+")  # a name that jsonschema-rs mistakes for a list index

VALUE_ALIASES = "x-aliases"  # annotation {value sent: value meant}, for words that models send instead of values
VALUE_REFUSALS = "x-refused"  # annotation {value sent: sentence}: what to do instead of sending an unsupported value


class RemoteReference(Exception):
    """A schema refers to a document outside itself."""


class UnusableSchema(Exception):
    """A schema cannot be published. `problems` has one sentence for each reason."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(" ".join(problems))
        self.problems = problems


def no_arguments() -> dict[str, Any]:
    """Return the schema of an op that takes no arguments."""
    return {"type": "object", "properties": {}, "additionalProperties": False}


def compile_schema(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    """Compile a schema: formats are asserted, patterns run in linear time, remote references are refused.

    Raises jsonschema_rs.ValidationError or RemoteReference for a schema that has problems.
    """
    return jsonschema_rs.Draft202012Validator(
        schema,
        validate_formats=True,
        formats={LOCAL_DATE_TIME: _is_local_date_time, DATE_OR_LOCAL_DATE_TIME: _is_date_or_local_date_time},
        retriever=_refuse_remote_reference,
        pattern_options=jsonschema_rs.RegexOptions(
            size_limit=validation_cost.MAX_PATTERN_BYTES, dfa_size_limit=validation_cost.MAX_PATTERN_BYTES
        ),
    )


def _is_local_date_time(text: str) -> bool:
    """Return whether a text is an RFC 3339 date-time; seconds and offset are optional."""
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


class ValidationTooExpensive(Exception):
    """An instance is too large to check, or to explain, in time. The message says what to send."""


class SchemaValidator:
    """A compiled schema that validates any instance in bounded time."""

    def __init__(self, schema: dict[str, Any]) -> None:
        """Raises the same errors as `compile_schema`."""
        self._schema = schema
        self._validator = compile_schema(schema)

    def is_valid(self, instance: object) -> bool:
        """Return whether an instance is valid. Raises ValidationTooExpensive if checking takes too long."""
        if not self._is_cheap and self._cost_meter.estimate(instance).checking_ns > validation_cost.MAX_CHECKING_NS:
            raise ValidationTooExpensive("It is too large to check against its schema. Send less at a time.")
        return self._validator.is_valid(instance)

    def iter_errors(self, instance: object) -> Iterator[jsonschema_rs.ValidationError]:
        """Return all errors of an instance. Raises ValidationTooExpensive if finding them takes too long."""
        if self.is_valid(instance):
            return iter(())
        # The compiled validator collects all errors before it yields the first.
        if self._cost_meter.estimate(instance).reporting_ns > validation_cost.MAX_REPORTING_NS:
            raise ValidationTooExpensive(
                "It does not match its schema and is too large to say where. Send less at a time."
            )
        return self._validator.iter_errors(instance)

    def find_problems(self, instance: object, *, ignoring: Collection[str] = ()) -> list[str]:
        """Return why an instance is invalid: at most 20 errors, one sentence each."""
        if isinstance(instance, dict):
            instance = {name: value for name, value in instance.items() if name not in ignoring}
        try:
            errors = list(islice(self.iter_errors(instance), 20))
        except ValidationTooExpensive as problem:
            return [f"/: {problem}"]
        except ValueError:  # half a surrogate pair
            return [f"/: The value {_NOT_JSON}"]
        return [
            "/" + "/".join(map(str, locate_error(error, instance))) + f": {_shorten_message(error)}."
            for error in errors
        ]

    @cached_property
    def _cost_meter(self) -> validation_cost.CostMeter:
        return validation_cost.CostMeter(self._schema)

    @cached_property
    def _is_cheap(self) -> bool:
        has_patterns = any(
            "pattern" in each or "patternProperties" in each for each, _ in _iter_subschemas(self._schema)
        )
        return not has_patterns and validation_cost.bound_applications(self._schema) <= CHEAP_APPLICATIONS


def build_validator(schema: object) -> SchemaValidator:
    """Return a validator for an untrusted argument schema. Raises UnusableSchema."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise UnusableSchema(['The schema must be an object with "type": "object", because args are an object.'])
    if unsafe := find_hazards(schema):
        raise UnusableSchema(unsafe)
    try:
        return SchemaValidator(schema)
    except jsonschema_rs.ValidationError as error:
        location = "/".join(str(part) for part in error.instance_path) or "the top"
        raise UnusableSchema(
            [f"The schema is not valid JSON Schema 2020-12 at {location}: {_shorten_message(error)}."]
        ) from None
    except (RemoteReference, jsonschema_rs.ReferencingError):
        problem = "The schema refers to something outside itself. Copy that under $defs."
        raise UnusableSchema([problem]) from None
    except ValueError:  # half a surrogate pair
        raise UnusableSchema([f"The schema {_NOT_JSON}"]) from None


def find_problems(schema: object) -> list[str]:
    """Return what is wrong with an argument schema, one sentence each. Empty if it can be published."""
    try:
        build_validator(schema)
    except UnusableSchema as error:
        return error.problems
    return []


def find_hazards(schema: dict[str, Any]) -> list[str]:
    """Return why a schema must not be compiled, one sentence each: its depth, size, references or cost."""
    return _find_shape_problems(schema) or _find_cost_problems(schema)


def find_instance_problems(schema: dict[str, Any], instance: object, *, ignoring: Collection[str] = ()) -> list[str]:
    """Return why `instance` is invalid for a publishable schema: at most 20 errors, one sentence each."""
    return SchemaValidator(schema).find_problems(instance, ignoring=ignoring)


def locate_error(error: jsonschema_rs.ValidationError, instance: Any) -> list[str | int]:
    """Return the path of an error in `instance`. jsonschema-rs reports numeric member names as numbers; undo that."""
    parts: list[str | int] = []
    for part in error.instance_path:
        if isinstance(instance, dict) and part not in instance:
            same_numbers = (name for name in instance if _NUMERIC_NAME.fullmatch(name) and int(name) == part)
            part = str(part) if str(part) in instance else next(same_numbers)
        parts.append(part)
        instance = instance[part]
    return parts


def _refuse_remote_reference(uri: str) -> NoReturn:
    raise RemoteReference(uri)


def _shorten_message(error: jsonschema_rs.ValidationError) -> str:
    return error.message.splitlines()[0][:200].rstrip(".")


def _iter_subschemas(root: object) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield (subschema, depth) for every subschema that is an object, once each and without recursion."""
    stack: list[tuple[object, int]] = [(root, 1)]
    while stack:
        schema, depth = stack.pop()
        if not isinstance(schema, dict):
            continue  # true and false are schemas; the compiler reports anything else
        yield schema, depth
        if keywords.is_leaf(schema):
            continue
        children = [
            *keywords.iter_in_place_subschemas(schema),
            *keywords.iter_member_subschemas(schema),
            *keywords.list_named_member_subschemas(schema),
        ]
        children += keywords.list_subschemas(schema, "$defs") + keywords.list_subschemas(schema, "definitions")
        stack += [(child, depth + 1) for child in children]


def _find_shape_problems(root: dict[str, Any]) -> list[str]:
    """Return problems with the depth, the number of subschemas, references and unsupported keywords."""
    problems_found: list[str] = []
    visited: set[int] = set()
    references: list[str] = []
    for schema, depth in _iter_subschemas(root):
        visited.add(id(schema))
        if depth > MAX_DEPTH:
            return [f"The schema is nested more than {MAX_DEPTH} levels deep. Make it flatter."]
        if len(visited) > MAX_SUBSCHEMAS:
            return [f"The schema has more than {MAX_SUBSCHEMAS} subschemas. Make it smaller."]
        problems_found += _find_keyword_problems(schema)
        if isinstance(ref := schema.get("$ref"), str):
            references.append(ref)
    return problems_found + [problem for ref in references for problem in _find_reference_problems(ref, root, visited)]


def _find_reference_problems(ref: str, root: dict[str, Any], visited: set[int]) -> list[str]:
    if not ref.startswith("#"):
        return ["A $ref points outside the schema. Copy its target under $defs."]
    target = keywords.resolve_ref(root, ref)
    # Only visited subschemas were checked, so a reference must point to one of them.
    if target is None or (isinstance(target, dict) and id(target) not in visited):
        return [f"The reference {ref[:80]} has no target. Define it under $defs."]
    return []


def _find_keyword_problems(schema: dict[str, Any]) -> list[str]:
    problems_found = []
    dialect = schema.get("$schema", DIALECT)
    if dialect not in (DIALECT, DIALECT + "#"):
        problems_found.append(f"The dialect {str(dialect)[:80]} is not supported. Use JSON Schema 2020-12.")
    if any(keyword in schema for keyword in ("$dynamicRef", "$dynamicAnchor", "$id", "$anchor")):
        problems_found.append("$id, $anchor and $dynamicRef are not supported. Use #/$defs/name.")
    if isinstance(enum := schema.get("enum"), list) and len(enum) > MAX_ENUM:
        problems_found.append(
            f"An enum has more than {MAX_ENUM} values. Use a string, and let another op list the values."
        )
    if isinstance(pattern := schema.get("pattern"), str) and len(pattern) > MAX_PATTERN:
        problems_found.append(f"A pattern is longer than {MAX_PATTERN} characters. Make it shorter.")
    return problems_found


def _find_cost_problems(root: dict[str, Any]) -> list[str]:
    try:
        if validation_cost.bound_applications(root) > validation_cost.MAX_APPLICATIONS:
            return ["The schema's references multiply too much to check in time. Refer to each part once."]
    except validation_cost.EndlessReference:
        return ["A reference loops back to itself, or passes through too many others. Refer to an actual schema."]
    return []
