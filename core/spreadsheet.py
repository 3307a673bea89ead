"""Tables for a spreadsheet: CSV in which nothing runs."""

import csv
import io
from collections.abc import Iterable, Sequence

# What a spreadsheet takes for the beginning of a formula, also written wide, and what it skips to find one.
FORMULA = tuple("=+-@\t\r\n＝＋－＠")

Value = str | int | float | None


def table(header: Sequence[str], rows: Iterable[Sequence[Value]]) -> str:
    """Return rows as CSV (RFC 4180); a text that a spreadsheet would run begins with a quote, None is empty."""
    out = io.StringIO(newline="")
    written = csv.writer(out)
    written.writerow(header)
    written.writerows([text(value) if isinstance(value, str) else value for value in row] for row in rows)
    return out.getvalue()


def text(told: str) -> str:
    """Return a text as a cell that no spreadsheet takes for a formula."""
    return f"'{told}" if told.startswith(FORMULA) else told
