"""CSV files that are safe to open in a spreadsheet: no cell is read as a formula."""

import csv
import io
from collections.abc import Iterable, Sequence

# Characters that start a formula (also full-width), and whitespace that spreadsheets skip before one.
FORMULA = tuple("=+-@\t\r\n＝＋－＠")

Value = str | int | float | None


def table(header: Sequence[str], rows: Iterable[Sequence[Value]]) -> str:
    """Return rows as CSV (RFC 4180). Formulas are escaped with a leading quote; None is an empty cell."""
    out = io.StringIO(newline="")
    written = csv.writer(out)
    written.writerow(header)
    written.writerows([text(value) if isinstance(value, str) else value for value in row] for row in rows)
    return out.getvalue()


def text(told: str) -> str:
    """Return a text as a cell value, with a leading quote if a spreadsheet would read it as a formula."""
    return f"'{told}" if told.startswith(FORMULA) else told
