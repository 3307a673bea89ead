"""CSV files that are safe to open in a spreadsheet: no cell is read as a formula."""

import csv
import io
import unicodedata
from collections.abc import Iterable, Sequence

FORMULA_STARTS = frozenset("=+-@＝＋－＠")
LINE_STARTS = ("\t", "\r", "\n")  # some programs begin a new cell after these

CellValue = str | int | float | None


def render_csv(header: Sequence[str], rows: Iterable[Sequence[CellValue]]) -> str:
    """Return rows as CSV (RFC 4180). Formulas are escaped with a leading quote; None is an empty cell."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(header)
    writer.writerows([escape_formula(value) if isinstance(value, str) else value for value in row] for row in rows)
    return out.getvalue()


def escape_formula(value: str) -> str:
    """Return a text as a cell value, with a quote before each part that a spreadsheet would read as a formula.

    In many countries spreadsheets separate cells with semicolons, so each part between them may become a cell.
    """
    return ";".join(f"'{part}" if _is_formula(part) else part for part in value.split(";"))


def _is_formula(part: str) -> bool:
    first = next((character for character in part if not _is_skipped(character)), "")
    return first in FORMULA_STARTS or part.startswith(LINE_STARTS)


def _is_skipped(character: str) -> bool:
    """Return whether spreadsheets may skip a character at the start of a cell: white space or an invisible one."""
    return character.isspace() or unicodedata.category(character) in ("Cc", "Cf")
