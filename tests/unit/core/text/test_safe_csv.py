"""CSV for spreadsheets: it can be parsed back, and cells never run as formulas."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import lists

CELLS = st.one_of(st.text(st.characters(codec="utf-8", exclude_characters="\r\x00")), st.integers(), st.none())


@given(rows=st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=5))
def test_csv_can_be_parsed_back(rows: list[list[str | int | None]]) -> None:
    text = lists.render_csv(["a", "b"], rows)

    parsed = list(csv.reader(io.StringIO(text, newline="")))
    assert parsed == [["a", "b"], *([render_cell(cell) for cell in row] for row in rows)]


def render_cell(cell: str | int | None) -> str:
    return lists.escape_formula(cell) if isinstance(cell, str) else "" if cell is None else str(cell)


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", "＝1", " =1", "\xa0=1", "\0=1", "\x1f \u200b@x", "\ufeff-1"]


@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas_are_escaped(formula: str) -> None:
    assert lists.escape_formula(formula) == f"'{formula}"
    assert lists.escape_formula(f"a;{formula};b;") == f"a;'{formula};b;"


@pytest.mark.parametrize("text", ["", "a=b", "1-2", "'=1", " a", ";", "a;b-c"])
def test_other_texts_are_unchanged(text: str) -> None:
    assert lists.escape_formula(text) == text


@given(st.text(st.sampled_from("=+-@＝; \t\n\0\x85\xa0\u2028\ufeff\u200b'a")))
def test_no_part_of_a_cell_starts_as_a_formula(text: str) -> None:
    for part in lists.escape_formula(text).split(";"):
        visible = [character for character in part if character.isprintable() and character != " "]
        assert not visible or visible[0] not in "=+-@＝"


def test_numbers_stay_numbers() -> None:
    assert lists.render_csv(["a"], [[-1], [0.25]]) == "a\r\n-1\r\n0.25\r\n"
