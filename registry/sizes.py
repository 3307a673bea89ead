"""Count the tokens of each op's help as sent."""

from typing import Any

from registry import budget, catalogs, help
from registry.catalogs import Catalog, CatalogOp
from registry.help import HelpQuery


def token_counts(catalog: Catalog) -> dict[str, list[int]]:
    """Return {op: [tokens of short help, tokens of full help]}, without retired ops, which have no help."""
    return {path: _counts(op) for path, op in catalog.ops.items() if op.is_active}


def of_entry(entry: dict[str, Any]) -> dict[str, list[int]]:
    """Return the same for one op that has no problems; other ops do not affect its counts."""
    op = catalogs.op_of(entry)
    return {op.op: _counts(op)} if op.is_active else {}


def _counts(op: CatalogOp) -> list[int]:
    return [budget.size_of(help.of_op(op, query).body) for query in (HelpQuery(), HelpQuery(format="full"))]
