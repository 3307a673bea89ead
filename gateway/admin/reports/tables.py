"""Tables of a report, as HTML with links to the rows behind each figure and as CSV."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponse
from django.utils.safestring import SafeString

from core import spreadsheet
from core.spreadsheet import Value

Told = Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Column:
    """A column with its title and the formatter of its numbers; None for a column of text."""

    title: str
    told: Told | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, its link, and the HTML that the page shows instead of the value."""

    value: Value
    link: str = ""
    drawn: SafeString | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table. The first cell of each row is its heading; `name` is the name of the CSV file."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    sorts: Callable[[int, bool], str] | None = None  # (column, is ascending) -> URL
    sorted_by: tuple[int, bool] = (0, True)  # column, is ascending
    download: str = field(default="")

    def heads(self) -> list[dict[str, Any]]:
        """Return the header cells for the template."""
        number, rising = self.sorted_by
        heads: list[dict[str, Any]] = []
        for place, column in enumerate(self.columns):
            head: dict[str, Any] = {"title": column.title, "is_number": column.told is not None}
            if self.sorts:
                is_here = place == number
                head["link"] = self.sorts(place, not rising if is_here else column.told is None)
                head["sorted"] = ("ascending" if rising else "descending") if is_here else ""
            heads.append(head)
        return heads

    def body(self) -> list[list[dict[str, Any]]]:
        """Return the body cells for the template."""
        return [[_shown(column, cell) for column, cell in zip(self.columns, row, strict=True)] for row in self.rows]

    def csv(self) -> HttpResponse:
        """Return the table as a CSV download with unrounded numbers."""
        told = spreadsheet.table(
            [each.title for each in self.columns], [[cell.value for cell in row] for row in self.rows]
        )
        headers = {"Content-Disposition": f'attachment; filename="{self.name}.csv"'}
        return HttpResponse(told, content_type="text/csv; charset=utf-8", headers=headers)


def ordered(rows: Sequence[Sequence[Cell]], number: int, rising: bool) -> list[Sequence[Cell]]:
    """Return rows sorted by one column; rows without a value come last."""
    there = [row for row in rows if row[number].value is not None]
    there.sort(key=lambda row: row[number].value, reverse=not rising)  # type: ignore[arg-type, return-value]  # one type per column
    return [*there, *(row for row in rows if row[number].value is None)]


def _shown(column: Column, cell: Cell) -> dict[str, Any]:
    if cell.drawn is not None:
        text: str = cell.drawn
    elif cell.value is None:
        text = "–"
    else:
        text = column.told(cell.value) if column.told else str(cell.value)
    return {"text": text, "link": cell.link, "is_number": column.told is not None}


# --- formatters -------------------------------------------------------------------------------------------------------


def count(value: float) -> str:
    """Format a whole number."""
    return f"{value:,.0f}"


def rate(value: float) -> str:
    """Format a rate of 0 to 1 as a percentage, with one decimal below 10%."""
    if 0 < value < 0.0005:
        return "<0.1%"
    return f"{value:.0%}" if value == 0 or value >= 0.1 else f"{value:.1%}"


def mean(value: float) -> str:
    """Format an average or a number per thousand."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def milliseconds(value: float) -> str:
    """Format a duration in milliseconds."""
    return f"{mean(value)} ms"
