"""Tables of reports: formatting, sorting, and CSV export."""

import pytest

from analytics.reports import FAILURE_FIELDS
from console.reports import by_op
from console.reports.parts import tables
from console.reports.parts.tables import ReportCell, ReportColumn, ReportTable


@pytest.mark.parametrize(
    ("formatter", "value", "text"),
    [
        (tables.format_count, 1_234_567, "1,234,567"),
        (tables.format_rate, 0, "0%"),
        (tables.format_rate, 0.0004, "<0.1%"),
        (tables.format_rate, 0.0999, "10.0%"),
        (tables.format_rate, 0.9988, "99.9%"),
        (tables.format_rate, 0.9999, "99.9%"),
        (tables.format_rate, 1, "100%"),
        (tables.format_mean, 3.14, "3.1"),
        (tables.format_mean, 31.4, "31"),
        (tables.format_milliseconds, 9.87, "9.9 ms"),
        (tables.format_milliseconds, 1_234.5, "1,234 ms"),
    ],
)
def test_values_are_formatted_with_sensible_precision(formatter: tables.Formatter, value: float, text: str) -> None:
    assert formatter(value) == text


def test_sort_puts_rows_without_a_value_last() -> None:
    rows = [[ReportCell(value)] for value in (2, None, 3, 1, None)]

    assert [row[0].value for row in tables.sort_rows(rows, 0, True)] == [1, 2, 3, None, None]
    assert [row[0].value for row in tables.sort_rows(rows, 0, False)] == [3, 2, 1, None, None]


def test_header_of_the_sorted_column_links_to_the_other_order() -> None:
    table = ReportTable(
        "ops",
        title="Ops",
        columns=[ReportColumn("Op"), ReportColumn("Calls", tables.format_count)],
        rows=[],
        build_sort_url=lambda number, rising: f"{'' if rising else '-'}{number}",
        sorted_by=(1, False),
    )

    assert [(head["link"], head["sorted"]) for head in table.build_header_cells()] == [("0", ""), ("1", "descending")]


def test_missing_value_is_shown_as_a_dash_and_csv_has_unformatted_values() -> None:
    columns = [ReportColumn("Op"), ReportColumn("Rate", tables.format_rate)]
    shown = ReportTable("ops", "Ops", columns, [[ReportCell("a", "/a/"), ReportCell(None)]]).build_body_cells()[0]
    exported = ReportTable("ops", "Ops", columns, [[ReportCell("=a"), ReportCell(0.12345)]]).to_csv_response("ops")

    cells = [(cell["text"], cell["link"], cell["is_number"]) for cell in shown]
    assert cells == [("a", "/a/", False), ("–", "", True)]
    assert exported.content == b"Op,Rate\r\n'=a,0.12345\r\n"


def test_every_failure_has_a_label() -> None:
    assert set(by_op.FAILURE_LABELS) == set(FAILURE_FIELDS)
