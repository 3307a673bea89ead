"""CSV for spreadsheets: it can be parsed back, and cells never run as formulas."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import safe_csv

CELLS = st.one_of(st.text(st.characters(codec="utf-8", exclude_characters="\r\x00")), st.integers(), st.none())


@given(rows=st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=5))
def test_csv_can_be_parsed_back(rows: list[list[str | int | None]]) -> None:
    text = safe_csv.render_csv(["a", "b"], rows)

    parsed = list(csv.reader(io.StringIO(text, newline="")))
    expected = [["" if cell is None else str(cell) for cell in row] for row in rows]
    assert parsed[0] == ["a", "b"]
    assert [[cell.removeprefix("'") for cell in row] for row in parsed[1:]] == [
        [cell.removeprefix("'") for cell in row] for row in expected
    ]


@pytest.mark.parametrize("cell_text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", "＝1"])
def test_formulas_are_escaped(cell_text: str) -> None:
    assert safe_csv.escape_formula(cell_text) == f"'{cell_text}"


def test_numbers_stay_numbers() -> None:
    assert safe_csv.render_csv(["a"], [[-1], [0.25]]) == "a\r\n-1\r\n0.25\r\n"
