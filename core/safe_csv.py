"""CSV files that are safe to open in a spreadsheet: no cell is read as a formula."""

import csv
import io
from collections.abc import Iterable, Sequence

# Characters that start a formula (also full-width), and whitespace that spreadsheets skip before one.
FORMULA_PREFIXES = tuple("=+-@\t\r\n＝＋－＠")

CellValue = str | int | float | None


def render_csv(header: Sequence[str], rows: Iterable[Sequence[CellValue]]) -> str:
    """Return rows as CSV (RFC 4180). Formulas are escaped with a leading quote; None is an empty cell."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(header)
    writer.writerows([escape_formula(value) if isinstance(value, str) else value for value in row] for row in rows)
    return out.getvalue()


def escape_formula(value: str) -> str:
    """Return a text as a cell value, with a leading quote if a spreadsheet would read it as a formula."""
    return f"'{value}" if value.startswith(FORMULA_PREFIXES) else value
