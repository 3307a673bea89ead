"""Tables of a report: for the page, each figure a link to its rows, and for a spreadsheet."""

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
    """A column: its title, and how its values are told; without that they are texts."""

    title: str
    told: Told | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, where it leads, and what is drawn instead of it on the page."""

    value: Value
    link: str = ""
    drawn: SafeString | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under columns, the first of each row its heading. `name` is that of its file."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    sorts: Callable[[int, bool], str] | None = None  # the address in which it is sorted by a column, rising or falling
    sorted_by: tuple[int, bool] = (0, True)
    download: str = field(default="")

    def heads(self) -> list[dict[str, Any]]:
        """Return the columns as the page shows them."""
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
        """Return the cells as the page shows them."""
        return [[_shown(column, cell) for column, cell in zip(self.columns, row, strict=True)] for row in self.rows]

    def csv(self) -> HttpResponse:
        """Answer the table as a file for a spreadsheet, its numbers unrounded."""
        told = spreadsheet.table(
            [each.title for each in self.columns], [[cell.value for cell in row] for row in self.rows]
        )
        headers = {"Content-Disposition": f'attachment; filename="{self.name}.csv"'}
        return HttpResponse(told, content_type="text/csv; charset=utf-8", headers=headers)


def ordered(rows: Sequence[Sequence[Cell]], number: int, rising: bool) -> list[Sequence[Cell]]:
    """Return rows by the values of one column; those without a value come last."""
    there = [row for row in rows if row[number].value is not None]
    there.sort(key=lambda row: row[number].value, reverse=not rising)  # type: ignore[arg-type, return-value]  # of one kind
    return [*there, *(row for row in rows if row[number].value is None)]


def _shown(column: Column, cell: Cell) -> dict[str, Any]:
    if cell.drawn is not None:
        text: str = cell.drawn
    elif cell.value is None:
        text = "–"
    else:
        text = column.told(cell.value) if column.told else str(cell.value)
    return {"text": text, "link": cell.link, "is_number": column.told is not None}


# --- how values are told ----------------------------------------------------------------------------------------------


def count(value: float) -> str:
    """Return a number of things."""
    return f"{value:,.0f}"


def rate(value: float) -> str:
    """Return a rate of 0 to 1 in percent, a decimal where it is small."""
    if 0 < value < 0.0005:
        return "<0.1%"
    return f"{value:.0%}" if value == 0 or value >= 0.1 else f"{value:.1%}"


def mean(value: float) -> str:
    """Return an average or a number per thousand."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def milliseconds(value: float) -> str:
    """Return a time."""
    return f"{mean(value)} ms"
