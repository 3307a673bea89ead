"""Tables of a report, as HTML with links to the rows behind each figure and as CSV."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponse
from django.utils.safestring import SafeString

from core.admin.charts import LineColor
from core.text import lists
from core.text.lists import CellValue

Formatter = Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class ReportColumn:
    """A column with its title and the formatter of its numbers; None for a column of text."""

    title: str
    formatter: Formatter | None = None
    only_csv: bool = False  # the page shows its values in other columns
    color: LineColor | None = None  # of the thing that the column is about, as in charts


@dataclass(frozen=True, slots=True)
class ReportCell:
    """A value, its link, and the HTML that the page shows instead of the value."""

    value: CellValue
    link: str = ""
    html: SafeString | None = None


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table. The first cell of each row is its heading; `name` is its name in URLs."""

    name: str
    title: str
    columns: Sequence[ReportColumn]
    rows: Sequence[Sequence[ReportCell]]
    build_sort_url: Callable[[int, bool], str] | None = None  # (column, is ascending) -> URL
    sorted_by: tuple[int, bool] = (0, True)  # column, is ascending
    download: str = field(default="")
    is_folded: bool = False  # the page shows its values above in another form
    minor_rows: Sequence[Sequence[ReportCell]] = ()  # that the page folds, and why: "seen once"
    minor_reason: str = ""

    def build_header_cells(self) -> list[dict[str, Any]]:
        """Return the header cells for the template."""
        number, rising = self.sorted_by
        cells: list[dict[str, Any]] = []
        for index, column in enumerate(self.columns):
            if column.only_csv:
                continue
            head: dict[str, Any] = {
                "title": column.title,
                "is_number": column.formatter is not None,
                "color": column.color,
            }
            if self.build_sort_url:
                is_here = index == number
                head["link"] = self.build_sort_url(index, not rising if is_here else column.formatter is None)
                head["sorted"] = ("ascending" if rising else "descending") if is_here else ""
            cells.append(head)
        return cells

    def build_body_cells(self) -> list[list[dict[str, Any]]]:
        """Return the body cells for the template."""
        return self._build_cells(self.rows)

    def build_minor_cells(self) -> list[list[dict[str, Any]]]:
        """Return the cells of the folded rows for the template."""
        return self._build_cells(self.minor_rows)

    def _build_cells(self, rows: Sequence[Sequence[ReportCell]]) -> list[list[dict[str, Any]]]:
        return [
            [_build_cell(column, cell) for column, cell in zip(self.columns, row, strict=True) if not column.only_csv]
            for row in rows
        ]

    def to_csv_response(self, file_name: str) -> HttpResponse:
        """Return the table as a CSV download with unrounded numbers."""
        content = lists.render_csv(
            [each.title for each in self.columns],
            [[cell.value for cell in row] for row in (*self.rows, *self.minor_rows)],
        )
        headers = {"Content-Disposition": f'attachment; filename="{file_name}.csv"'}
        return HttpResponse(content, content_type="text/csv; charset=utf-8", headers=headers)


def sort_rows(rows: Sequence[Sequence[ReportCell]], number: int, rising: bool) -> list[Sequence[ReportCell]]:
    """Return rows sorted by one column; rows without a value come last."""
    rows_with_value = [row for row in rows if row[number].value is not None]
    rows_with_value.sort(key=lambda row: row[number].value, reverse=not rising)  # type: ignore[arg-type, return-value]  # one type per column
    return [*rows_with_value, *(row for row in rows if row[number].value is None)]


def _build_cell(column: ReportColumn, cell: ReportCell) -> dict[str, Any]:
    if cell.html is not None:
        text: str = cell.html
    elif cell.value is None:
        text = "–"
    else:
        text = column.formatter(cell.value) if column.formatter else str(cell.value)
    return {"text": text, "link": cell.link, "is_number": column.formatter is not None}


# --- formatters -------------------------------------------------------------------------------------------------------


def format_count(value: float) -> str:
    """Format a whole number."""
    return f"{value:,.0f}"


def format_rate(value: float) -> str:
    """Format a rate of 0 to 1 as a percentage, with one decimal below 10%. Only all of them are 100%."""
    if 0 < value < 0.0005:
        return "<0.1%"
    if 0.995 <= value < 1:
        return f"{min(value, 0.999):.1%}"
    return f"{value:.0%}" if value == 0 or value >= 0.1 else f"{value:.1%}"


def format_mean(value: float) -> str:
    """Format an average or a number per thousand."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def format_milliseconds(value: float) -> str:
    """Format a duration in milliseconds."""
    return f"{format_mean(value)} ms"
