"""Which ops can be shown as tools of their own."""

from collections.abc import Iterable

from registry.catalog.model import Catalog, CatalogOp
from registry.checks import providers
from registry.checks.text_locations import CheckedOp
from registry.help.typed_tools import TypedTools

__all__ = ["MAX_TOOLS", "TypedTools", "split_refused"]

MAX_TOOLS = 128  # tools per request (limit of OpenAI Chat Completions)


class _RefusedOps(frozenset[str]):
    """Paths of ops that a provider would refuse even with a provider-safe top level. Derived once per catalog."""


def split_refused(catalog: Catalog, ops: Iterable[CatalogOp]) -> tuple[list[CatalogOp], list[CatalogOp]]:
    """Return the ops that providers accept as tools, and those that they refuse."""
    refused = catalog.get_or_derive(
        _RefusedOps, lambda: _RefusedOps(op.op for op in catalog.ops.values() if _is_refused(op))
    )
    listed = list(ops)
    return [op for op in listed if op.op not in refused], [op for op in listed if op.op in refused]


def _is_refused(op: CatalogOp) -> bool:
    reading = CheckedOp({"op": op.op, "tool_name": op.tool_name, "parameters_schema": op.schema})
    return any(finding.rule != providers.TOP_LEVEL.name for finding in providers.check(reading))
