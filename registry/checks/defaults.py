"""Find defaults that are invalid for their own argument. A model that reads such a default sends it."""

from collections.abc import Iterator
from typing import Any

from core import nearest
from registry import keywords, schemas, signatures
from registry.checks.finding import Finding, Rule
from registry.checks.places import Reading

OUTSIDE_ENUM = Rule(
    "default_outside_enum", "A default that is not one of the argument's values.", "Use one of the values."
)
REFUSED = Rule(
    "default_refused", "A default that is invalid for the argument's schema.", "Use a default that the schema allows."
)
RULES = (OUTSIDE_ENUM, REFUSED)

MAX_SHOWN = 100  # characters of a default


def check(reading: Reading) -> Iterator[Finding]:
    """Yield a finding for each default, at every level, that is invalid for its schema."""
    op, root = reading.op, reading.schema
    for argument in reading.arguments:
        if "default" not in argument.schema:
            continue
        value, field = argument.schema["default"], f"{argument.field}/default"
        allowed = keywords.resolved(root, argument.schema).get("enum")
        if isinstance(allowed, list) and value not in allowed and not isinstance(value, list):
            yield _outside(op, field, argument.name, value, allowed)
        elif refusals := _refusals(argument.schema, value, root):
            message = f"{_shown(value)} is not a valid {argument.name}: {refusals[0].removeprefix('/v: ')}"
            yield REFUSED.found(op, field, message)


def _outside(op: str, field: str, name: str, value: Any, allowed: list[Any]) -> Finding:
    known = ", ".join(signatures.literal(each) for each in allowed[: signatures.MAX_ENUM_SHOWN])
    message = f"{_shown(value)} is not one of the values of {name}: {known}."
    close = nearest.close(str(value), map(str, allowed), limit=1)
    return OUTSIDE_ENUM.found(op, field, message, f"Use {close[0]}." if close else "")


def _shown(value: Any) -> str:
    return signatures.literal(value)[:MAX_SHOWN]


def _refusals(schema: dict[str, Any], value: Any, root: dict[str, Any]) -> list[str]:
    held = {"type": "object", "properties": {"v": schema}} | keywords.definitions(root, schema)
    return schemas.instance_problems(held, {"v": value})
