"""Ops under check, made of a few words."""

from typing import Any

from registry.checks.context import CheckContext
from registry.checks.text_locations import CheckedOp
from tests.support.op_entries import content, op, schema


def reading(path: str = "a.b", /, **fields: Any) -> CheckedOp:
    """Return the reading of an op."""
    return CheckedOp(op(path, **fields))


def arguments(**named: Any) -> CheckedOp:
    """Return the reading of an op with these arguments."""
    return reading(parameters_schema=schema(**named))


def context(*ops: dict[str, Any], imported: tuple[str, ...] = ()) -> CheckContext:
    """Return the context that these ops make."""
    return CheckContext.from_content(content(*ops), imported=imported)
