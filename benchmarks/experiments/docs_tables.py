"""The tables of docs/experiments.md. Seeds are fixed, so that a run changes them only if the statistics change."""

from collections.abc import Sequence

from benchmarks.figures import format_markdown
from benchmarks.run_size import is_smoke
from tools.databases import ROOT

PAGE = ROOT / "docs" / "experiments.md"


def write_docs_table(name: str, rows: Sequence[Sequence[str]]) -> None:
    """Write a table between <!-- name --> and <!-- /name -->; the first row is its header. A smoke run writes none."""
    if is_smoke():
        return
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found, rest = PAGE.read_text().partition(start)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{PAGE.name} has no place for the table {name}: {start} and {end}.")
    PAGE.write_text(f"{before}{start}\n\n{format_markdown(rows)}\n\n{end}{after}")
