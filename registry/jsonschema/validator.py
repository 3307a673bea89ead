"""Compile schemas, and validate instances in bounded time.

This module hides what is peculiar to the errors of jsonschema-rs.
"""

import re
from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import islice
from typing import Any, NoReturn

import jsonschema_rs

from core.text import json_text
from registry.jsonschema import dialect, validation_cost
from registry.jsonschema.dialect import Schema

CHEAP_APPLICATIONS = 100  # applications; below this, and without patterns, any instance is checked in time
MAX_SHARED = 500  # compiled schemas, of 6 kB each
NOT_JSON = "has text or a number that JSON cannot represent. Delete it."

_TEXTS = dialect.ANNOTATIONS | {"title", "description", "default", "examples"}  # keywords that validate nothing
_NUMERIC_NAME = re.compile(r"\+?[0-9]+")  # a name that jsonschema-rs mistakes for a list index


class RemoteReference(Exception):
    """A schema refers to a document outside itself."""


class ValidationTooExpensive(Exception):
    """An instance is too large to check, or to explain, in time. The message says what to send."""


class SchemaViolation:
    """One error of an instance: the path of the value, and the keyword that it violates."""

    def __init__(self, error: jsonschema_rs.ValidationError, instance: object) -> None:
        self._error = error
        self.path = locate_error(error, instance)
        self.kind: Any = error.kind  # `name` is the keyword; other attributes depend on it, such as `limit`

    @property
    def message(self) -> str:
        """The message of jsonschema-rs, shortened. It can contain the value."""
        return shorten_message(self._error)


class SchemaValidator:
    """A compiled schema that validates any instance in bounded time."""

    def __init__(self, schema: Schema, *, is_checked: bool = False) -> None:
        """Raises the same errors as `compile_schema`. A schema that was checked by it before takes less memory."""
        self.schema = schema
        self._validator = _compile_shared(schema) if is_checked else compile_schema(schema)

    def is_valid(self, instance: object) -> bool:
        """Return whether an instance is valid. Raises ValidationTooExpensive if checking takes too long."""
        if not (self._is_cheap or self._cost_meter.is_small(instance)) and (
            self._cost_meter.estimate(instance).checking_ns > validation_cost.MAX_CHECKING_NS
        ):
            raise ValidationTooExpensive("It is too large to check against its schema. Send less at a time.")
        return self._validator.is_valid(instance)

    def iter_errors(self, instance: object) -> Iterator[SchemaViolation]:
        """Return all errors of an instance. Raises ValidationTooExpensive if finding them takes too long."""
        if self.is_valid(instance):
            return iter(())
        # The compiled validator collects all errors before it yields the first.
        if self._cost_meter.estimate(instance).reporting_ns > validation_cost.MAX_REPORTING_NS:
            raise ValidationTooExpensive(
                "It does not match its schema and is too large to say where. Send less at a time."
            )
        return (SchemaViolation(error, instance) for error in self._validator.iter_errors(instance))

    def find_problems(self, instance: object, *, ignoring: Collection[str] = ()) -> list[str]:
        """Return why an instance is invalid: at most 20 errors, one sentence each."""
        if isinstance(instance, dict):
            instance = {name: value for name, value in instance.items() if name not in ignoring}
        try:
            errors = list(islice(self.iter_errors(instance), 20))
        except ValidationTooExpensive as problem:
            return [str(problem)]
        except ValueError:  # half a surrogate pair
            return [f"The value {NOT_JSON}"]
        return [_locate_message(error) for error in errors]

    @cached_property
    def _cost_meter(self) -> validation_cost.CostMeter:
        return validation_cost.CostMeter(self.schema)

    @cached_property
    def _is_cheap(self) -> bool:
        has_patterns = any(
            "pattern" in each or "patternProperties" in each for each, _ in dialect.iter_subschemas(self.schema)
        )
        return not has_patterns and validation_cost.bound_applications(self.schema) <= CHEAP_APPLICATIONS


def compile_schema(schema: Schema) -> jsonschema_rs.Draft202012Validator:
    """Compile a schema: formats are asserted, patterns run in linear time, remote references are refused.

    Raises jsonschema_rs.ValidationError or RemoteReference for a schema that has problems.
    """
    return jsonschema_rs.Draft202012Validator(
        schema,
        validate_formats=True,
        formats=dialect.FORMATS,
        retriever=_refuse_remote_reference,
        pattern_options=jsonschema_rs.RegexOptions(
            size_limit=validation_cost.MAX_PATTERN_BYTES, dfa_size_limit=validation_cost.MAX_PATTERN_BYTES
        ),
    )


_shared: dict[bytes, jsonschema_rs.Draft202012Validator] = {}


def _compile_shared(schema: Schema) -> jsonschema_rs.Draft202012Validator:
    """Return a compiled schema without its texts. Schemas that differ in nothing else have the same one.

    Texts are half of the memory of a compiled schema, and many ops of a catalog differ in nothing else.
    """
    try:
        plain = _drop_texts(schema)
        key = json_text.dump(plain)
    except (TypeError, RecursionError):
        return compile_schema(schema)  # which says what is wrong
    compiled = _shared.get(key)
    if compiled is None:
        compiled = compile_schema(plain)
        if len(_shared) >= MAX_SHARED:
            _shared.clear()
        _shared[key] = compiled
    return compiled


def _drop_texts(schema: Any) -> Any:
    """Return a schema without what validates nothing, in its properties and items as well."""
    if not isinstance(schema, dict):
        return schema
    plain = {name: value for name, value in schema.items() if name not in _TEXTS}
    if isinstance(properties := plain.get("properties"), dict):
        plain["properties"] = {name: _drop_texts(each) for name, each in properties.items()}
    if "items" in plain:
        plain["items"] = _drop_texts(plain["items"])
    return plain


def find_instance_problems(schema: Schema, instance: object, *, ignoring: Collection[str] = ()) -> list[str]:
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


def shorten_message(error: jsonschema_rs.ValidationError) -> str:
    """Return the first line of an error's message, at most 200 characters, without its full stop."""
    first_line = error.message.splitlines()[0][:200].rstrip(".")
    subject = first_line.removesuffix("is a required property")
    return first_line if subject == first_line else f"{subject}is missing"


def _locate_message(error: SchemaViolation) -> str:
    """Return the message after the path of the value, if the value is not the whole instance."""
    pointer = "".join(f"/{part}" for part in error.path)
    return f"{pointer}: {error.message}." if pointer else f"{error.message}."


def _refuse_remote_reference(uri: str) -> NoReturn:
    raise RemoteReference(uri)
