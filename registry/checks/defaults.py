"""Defaults that the argument itself would refuse: a model that reads one sends it."""

from collections.abc import Iterator
from typing import Any

from core import nearest
from registry import keywords, schemas, signatures
from registry.checks.finding import Finding, Rule
from registry.checks.places import Reading

OUTSIDE_ENUM = Rule(
    "default_outside_enum", "A default that is none of the argument's values.", "Take one of the values, or add it."
)
REFUSED = Rule(
    "default_refused", "A default that the argument's own schema refuses.", "Take a default that the schema allows."
)
RULES = (OUTSIDE_ENUM, REFUSED)

MAX_SHOWN = 100  # characters of a default


def check(reading: Reading) -> Iterator[Finding]:
    """Yield a finding for each default, at every level, that its schema refuses."""
    op, root = reading.op, reading.schema
    for argument in reading.arguments:
        if "default" not in argument.schema:
            continue
        value, field = argument.schema["default"], f"{argument.field}/default"
        allowed = keywords.resolved(root, argument.schema).get("enum")
        if isinstance(allowed, list) and value not in allowed and not isinstance(value, list):
            yield _outside(op, field, argument.name, value, allowed)
        elif refusals := _refusals(argument.schema, value, root):
            message = f"{_shown(value)} is no {argument.name}: {refusals[0].removeprefix('/v: ')}"
            yield REFUSED.found(op, field, message)


def _outside(op: str, field: str, name: str, value: Any, allowed: list[Any]) -> Finding:
    known = ", ".join(signatures.literal(each) for each in allowed[: signatures.MAX_ENUM_SHOWN])
    message = f"{_shown(value)} is none of the values of {name}: {known}."
    close = nearest.close(str(value), map(str, allowed), limit=1)
    return OUTSIDE_ENUM.found(op, field, message, f"Write {close[0]}." if close else "")


def _shown(value: Any) -> str:
    return signatures.literal(value)[:MAX_SHOWN]


def _refusals(schema: dict[str, Any], value: Any, root: dict[str, Any]) -> list[str]:
    held = {"type": "object", "properties": {"v": schema}} | keywords.definitions(root, schema)
    return schemas.instance_problems(held, {"v": value})
