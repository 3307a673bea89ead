"""Argument schemas: what an admin or an import may send us, and how instances are held against it.

Schemas are input like any other: one can be remote, endless or exponential. Nothing is compiled that was not walked
first, and nothing is published that was not compiled.
"""

import re
from collections.abc import Collection, Iterator
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any, NoReturn

import jsonschema_rs

from registry import effort, keywords

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MAX_DEPTH = 16
MAX_SUBSCHEMAS = 2_000
MAX_ENUM = 500
MAX_PATTERN = 500
PLAIN = 100  # a schema of so little effort, without patterns, checks any instance in time

_UNSENDABLE = "holds text or a number that JSON cannot carry. Delete it."

LOCAL_DATE_TIME = "iso-date-time"  # a date-time that may lack its offset; the name that JSON Schema tools know it by
_LOCAL_DATE_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,30})?)?([Zz]|[+-][0-9]{2}:[0-9]{2})?"
)

DAY_OR_TIME = "iso-date-or-date-time"  # such a date-time or, for whole days, a date
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DIGITS = re.compile(r"\+?[0-9]+")  # a name that jsonschema-rs takes for a place in a list

VALUE_ALIASES = "x-aliases"  # annotation {value sent: value meant}, for what models like to spell in words
VALUE_REFUSALS = "x-refused"  # annotation {value sent: sentence}, for what models expect here, and is not: what to do


class RemoteReference(Exception):
    """A schema refers to something outside itself."""


class Unusable(Exception):
    """A schema cannot be published. `problems` says why, a sentence each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(" ".join(problems))
        self.problems = problems


def no_arguments() -> dict[str, Any]:
    """Return the schema of an op that takes no arguments."""
    return {"type": "object", "properties": {}, "additionalProperties": False}


def compiled(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    """Return a schema compiled: formats asserted, linear-time patterns, no reference followed out of it.

    Raises jsonschema_rs.ValidationError or RemoteReference for a schema in which `problems` finds some.
    """
    return jsonschema_rs.Draft202012Validator(
        schema,
        validate_formats=True,
        formats={LOCAL_DATE_TIME: _is_local_date_time, DAY_OR_TIME: _is_day_or_time},
        retriever=_refuse,
        pattern_options=jsonschema_rs.RegexOptions(
            size_limit=effort.MAX_PATTERN_BYTES, dfa_size_limit=effort.MAX_PATTERN_BYTES
        ),
    )


def _is_local_date_time(text: str) -> bool:
    """Whether a text is a date-time of RFC 3339 whose seconds and offset may be left out."""
    return bool(_LOCAL_DATE_TIME.fullmatch(text)) and _is_there(text)


def _is_day_or_time(text: str) -> bool:
    """Whether a text is a date, or a date-time whose seconds and offset may be left out."""
    return _is_local_date_time(text) or (bool(_DAY.fullmatch(text)) and _is_there(text))


def _is_there(text: str) -> bool:
    """Whether the calendar has such a day, and the clock such a time."""
    try:
        datetime.fromisoformat(text.upper())
    except ValueError:
        return False
    return True


class TooMuchWork(Exception):
    """An instance is too large for its schema to be checked, or explained, in time. Its text says what to send."""


class Validator:
    """A compiled schema that answers in time, whatever it is held against."""

    def __init__(self, schema: dict[str, Any]) -> None:
        """Raise as `compiled` does."""
        self._schema = schema
        self._compiled = compiled(schema)

    def is_valid(self, instance: object) -> bool:
        """Return whether an instance satisfies the schema. Raises TooMuchWork where that takes too long to tell."""
        if not self._is_plain and self._meter.effort(instance).checking > effort.CHECKING_NS:
            raise TooMuchWork("It is too large for what its schema asks of each part. Send less at a time.")
        return self._compiled.is_valid(instance)

    def errors(self, instance: object) -> Iterator[jsonschema_rs.ValidationError]:
        """Return all errors of an instance. Raises TooMuchWork where they take too long to tell."""
        if self.is_valid(instance):
            return iter(())
        # The compiled validator finds all errors before it hands out the first.
        if self._meter.effort(instance).telling > effort.TELLING_NS:
            raise TooMuchWork("It does not match its schema, and is too large to say where. Send less at a time.")
        return self._compiled.iter_errors(instance)

    def problems(self, instance: object, *, ignoring: Collection[str] = ()) -> list[str]:
        """Return why an instance does not satisfy the schema, a sentence an error, at most 20."""
        if isinstance(instance, dict):
            instance = {name: value for name, value in instance.items() if name not in ignoring}
        try:
            errors = list(islice(self.errors(instance), 20))
        except TooMuchWork as problem:
            return [f"/: {problem}"]
        except ValueError:  # half a surrogate pair
            return [f"/: The value {_UNSENDABLE}"]
        return ["/" + "/".join(map(str, place(error, instance))) + f": {_first_line(error)}." for error in errors]

    @cached_property
    def _meter(self) -> effort.Meter:
        return effort.Meter(self._schema)

    @cached_property
    def _is_plain(self) -> bool:
        patterned = any("pattern" in each or "patternProperties" in each for each, _ in _subschemas(self._schema))
        return not patterned and effort.bound(self._schema) <= PLAIN


def checked(schema: object) -> Validator:
    """Return the validator of an argument schema that anybody may have written. Raises Unusable."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise Unusable(['The schema must be an object with "type": "object", since args are an object.'])
    if found := hazards(schema):
        raise Unusable(found)
    try:
        return Validator(schema)
    except jsonschema_rs.ValidationError as error:
        where = "/".join(str(part) for part in error.instance_path) or "the top"
        raise Unusable([f"The schema is not valid JSON Schema 2020-12 at {where}: {_first_line(error)}."]) from None
    except (RemoteReference, jsonschema_rs.ReferencingError):
        problem = "The schema refers to something outside itself. Copy what it refers to under $defs."
        raise Unusable([problem]) from None
    except ValueError:  # half a surrogate pair
        raise Unusable([f"The schema {_UNSENDABLE}"]) from None


def problems(schema: object) -> list[str]:
    """Return what is wrong with an argument schema, a sentence each; empty when it can be published."""
    try:
        checked(schema)
    except Unusable as error:
        return error.problems
    return []


def hazards(schema: dict[str, Any]) -> list[str]:
    """Return why a schema must not even be compiled, a sentence each: its depth, size, references and cost."""
    return _shape_problems(schema) or _cost_problems(schema)


def instance_problems(schema: dict[str, Any], instance: object, *, ignoring: Collection[str] = ()) -> list[str]:
    """Return why `instance` does not satisfy a schema that has no problems, a sentence an error, at most 20."""
    return Validator(schema).problems(instance, ignoring=ignoring)


def place(error: jsonschema_rs.ValidationError, instance: Any) -> list[str | int]:
    """Return where in `instance` an error is, names as text: jsonschema-rs tells a name of digits as a number."""
    parts: list[str | int] = []
    for part in error.instance_path:
        if isinstance(instance, dict) and part not in instance:
            same = (name for name in instance if _DIGITS.fullmatch(name) and int(name) == part)
            part = str(part) if str(part) in instance else next(same)
        parts.append(part)
        instance = instance[part]
    return parts


def _refuse(uri: str) -> NoReturn:
    raise RemoteReference(uri)


def _first_line(error: jsonschema_rs.ValidationError) -> str:
    return error.message.splitlines()[0][:200].rstrip(".")


def _subschemas(root: object) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield every subschema that is an object once, without recursion, and how deep it stands."""
    stack: list[tuple[object, int]] = [(root, 1)]
    while stack:
        schema, depth = stack.pop()
        if not isinstance(schema, dict):
            continue  # true and false are schemas; anything else the compiler names
        yield schema, depth
        if keywords.is_leaf(schema):
            continue
        children = [*keywords.in_place(schema), *keywords.any_member(schema), *keywords.named_members(schema)]
        children += keywords.values(schema, "$defs") + keywords.values(schema, "definitions")
        stack += [(child, depth + 1) for child in children]


def _shape_problems(root: dict[str, Any]) -> list[str]:
    """Return what is wrong with depth, number, and keywords that we do not take."""
    found: list[str] = []
    places: set[int] = set()
    references: list[str] = []
    for schema, depth in _subschemas(root):
        places.add(id(schema))
        if depth > MAX_DEPTH:
            return [f"The schema is nested more than {MAX_DEPTH} levels deep. Make it flatter."]
        if len(places) > MAX_SUBSCHEMAS:
            return [f"The schema has more than {MAX_SUBSCHEMAS} subschemas. Make it smaller."]
        found += _keyword_problems(schema)
        if isinstance(ref := schema.get("$ref"), str):
            references.append(ref)
    return found + [problem for ref in references for problem in _reference_problems(ref, root, places)]


def _reference_problems(ref: str, root: dict[str, Any], places: set[int]) -> list[str]:
    if not ref.startswith("#"):
        return ["A $ref leads outside the schema. Copy what it refers to under $defs."]
    target = keywords.resolve(root, ref)
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
    try:
        if effort.bound(root) > effort.MAX_APPLICATIONS:
            return ["The schema's references multiply beyond what can be checked in time. Refer to each part once."]
    except effort.Endless:
        return ["A reference leads back to itself, or through too many others. Refer to a schema that says something."]
    return []
