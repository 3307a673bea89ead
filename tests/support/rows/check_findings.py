"""Short ways to build ops and contexts for the catalog checks."""

from typing import Any

from registry.checks.context import CheckContext
from registry.checks.text_locations import CheckedOp
from tests.support.rows.op_entries import build_content, build_op_entry, build_schema


def build_checked_op(path: str = "a.b", /, **fields: Any) -> CheckedOp:
    """Return an op as the checks see it."""
    return CheckedOp(build_op_entry(path, **fields))


def build_op_with_arguments(**named: Any) -> CheckedOp:
    return build_checked_op(parameters_schema=build_schema(**named))


def build_check_context(*ops: dict[str, Any], imported: tuple[str, ...] = ()) -> CheckContext:
    return CheckContext.from_content(build_content(*ops), imported=imported)
