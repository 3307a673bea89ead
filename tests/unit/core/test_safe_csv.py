"""Tables for a spreadsheet: they read back as they were, and nothing in them runs."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import safe_csv

CELLS = st.one_of(st.text(st.characters(codec="utf-8", exclude_characters="\r\x00")), st.integers(), st.none())


@given(rows=st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=5))
def test_table_reads_back(rows: list[list[str | int | None]]) -> None:
    written = safe_csv.render_csv(["a", "b"], rows)

    found = list(csv.reader(io.StringIO(written, newline="")))
    wanted = [["" if cell is None else str(cell) for cell in row] for row in rows]
    assert found[0] == ["a", "b"]
    assert [[cell.removeprefix("'") for cell in row] for row in found[1:]] == [
        [cell.removeprefix("'") for cell in row] for row in wanted
    ]


@pytest.mark.parametrize("told", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", "＝1"])
def test_text_that_would_run_is_quoted(told: str) -> None:
    assert safe_csv.escape_formula(told) == f"'{told}"


def test_numbers_stay_numbers() -> None:
    assert safe_csv.render_csv(["a"], [[-1], [0.25]]) == "a\r\n-1\r\n0.25\r\n"
