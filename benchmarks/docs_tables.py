"""Tables in the docs that benchmarks write."""

from collections.abc import Sequence

from benchmarks.figures import format_markdown
from benchmarks.run_size import is_smoke
from tools.databases import ROOT

DOCS = ROOT / "docs"


def write_docs_table(page: str, name: str, rows: Sequence[Sequence[str]], caption: str = "") -> None:
    """Write a table between <!-- name --> and <!-- /name --> of a page; the first row is its header.

    A caption comes before it. A smoke run writes none. Raises ValueError if the page has no such place.
    """
    if is_smoke():
        return
    path = DOCS / page
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found, rest = path.read_text().partition(start)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{page} has no place for the table {name}: {start} and {end}.")
    content = "\n\n".join(part for part in (caption, format_markdown(rows)) if part)
    path.write_text(f"{before}{start}\n\n{content}\n\n{end}{after}")
