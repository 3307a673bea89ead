"""What help costs: the tokens of each op's bodies as they are sent."""

from typing import Any

from registry import budget, catalogs, help
from registry.catalogs import Catalog


def token_counts(catalog: Catalog) -> dict[str, list[int]]:
    """Return {op: [tokens of its short help, tokens of its full help]}, counted over the body as sent.

    A retired op has no help.
    """
    active = [path for path, op in catalog.ops.items() if op.is_active]
    return {path: [_count(catalog, path, form) for form in ("short", "full")] for path in active}


def of_entry(entry: dict[str, Any]) -> dict[str, list[int]]:
    """Return the counts of one op that has no problems, as `token_counts` would; its neighbours do not matter."""
    return token_counts(catalogs.build("", {"groups": [], "ops": [entry]}))


def _count(catalog: Catalog, path: str, form: Any) -> int:
    return budget.size_of(help.answer(catalog, help.HelpQuery(path=path, format=form)).body)
