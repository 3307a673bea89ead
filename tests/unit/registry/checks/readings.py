"""Ops under check, made of a few words."""

from typing import Any

from registry.checks.context import Context
from registry.checks.places import Reading
from tests.unit.registry.entries import content, op, schema


def reading(path: str = "a.b", /, **fields: Any) -> Reading:
    """Return the reading of an op."""
    return Reading(op(path, **fields))


def arguments(**named: Any) -> Reading:
    """Return the reading of an op with these arguments."""
    return reading(parameters_schema=schema(**named))


def context(*ops: dict[str, Any], imported: tuple[str, ...] = ()) -> Context:
    """Return the context that these ops make."""
    return Context.of(content(*ops), imported=imported)
