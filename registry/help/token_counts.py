"""Count the tokens of each op's help as sent."""

from core.text import token_budget
from registry.catalog import builder
from registry.catalog.model import Catalog, CatalogOp
from registry.help import help_pages
from registry.help.help_pages import HelpQuery
from registry.snapshot.entries import OpEntry


def count_catalog_tokens(catalog: Catalog) -> dict[str, list[int]]:
    """Return {op: [tokens of short help, tokens of full help]}, without retired ops, which have no help."""
    return {path: _count_op_tokens(op) for path, op in catalog.ops.items() if op.is_active}


def count_entry_tokens(entry: OpEntry) -> dict[str, list[int]]:
    """Return the same for one op that has no problems; other ops do not affect its counts."""
    op = builder.build_op(entry)
    return {op.op: _count_op_tokens(op)} if op.is_active else {}


def _count_op_tokens(op: CatalogOp) -> list[int]:
    return [
        token_budget.count(help_pages.answer_about_op(op, query).body)
        for query in (HelpQuery(), HelpQuery(format="full"))
    ]
