"""Find defaults that are invalid for their own argument. A model that reads such a default sends it."""

from collections.abc import Iterator
from typing import Any

from core.text import english
from registry.checks.finding import CheckRule, Finding
from registry.checks.text_locations import CheckedOp
from registry.jsonschema import keywords, signatures, validator

OUTSIDE_ENUM = CheckRule(
    "default_outside_enum", "A default that is not one of the argument's values.", "Use one of the values."
)
REFUSED = CheckRule(
    "default_refused", "A default that is invalid for the argument's schema.", "Use a default that the schema allows."
)
RULES = (OUTSIDE_ENUM, REFUSED)

MAX_SHOWN = 100  # characters of a default


def check(reading: CheckedOp) -> Iterator[Finding]:
    """Yield a finding for each default, at every level, that is invalid for its schema."""
    op, root = reading.op, reading.schema
    for argument in reading.arguments:
        if "default" not in argument.schema:
            continue
        value, field = argument.schema["default"], f"{argument.field}/default"
        allowed = keywords.dereference(root, argument.schema).get("enum")
        if isinstance(allowed, list) and value not in allowed and not isinstance(value, list):
            yield _build_enum_finding(op, field, argument.name, value, allowed)
        elif refusals := _find_refusals(argument.schema, value, root):
            message = f"{_format_default(value)} is not a valid {argument.name}: {refusals[0].removeprefix('/v: ')}"
            yield REFUSED.make_finding(op, field, message)


def _build_enum_finding(op: str, field: str, name: str, value: Any, allowed: list[Any]) -> Finding:
    allowed_text = ", ".join(signatures.format_literal(each) for each in allowed[: signatures.MAX_ENUM_SHOWN])
    message = f"{_format_default(value)} is not one of the values of {name}: {allowed_text}."
    close_values = english.find_similar(str(value), map(str, allowed), limit=1)
    return OUTSIDE_ENUM.make_finding(op, field, message, f"Did you mean {close_values[0]}?" if close_values else "")


def _format_default(value: Any) -> str:
    return signatures.format_literal(value)[:MAX_SHOWN]


def _find_refusals(schema: dict[str, Any], value: Any, root: dict[str, Any]) -> list[str]:
    wrapper = {"type": "object", "properties": {"v": schema}} | keywords.collect_definitions(root, schema)
    return validator.find_instance_problems(wrapper, {"v": value})
