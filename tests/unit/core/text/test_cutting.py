"""Large answers are cut into parts that fit, and together say everything."""

import csv
import io
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from core.text import token_budget
from core.text.cutting import CutPart, Position, cut_value
from tests.support.cpu_budget import examples
from tests.support.loops import for_each

LINES = "\n".join(f"{number}. This paragraph says what holds." for number in range(300))
LONG = "words " * 500
TABLE = "sku,price,note\r\n" + "".join(f'sku-{number},{number}.50,"one\r\ntwo"\r\n' for number in range(200))


def cut_all(value: dict[str, Any], limit: int, *, table: str = "") -> list[CutPart]:
    """Return all parts of a value. Each is within the limit."""
    parts: list[CutPart] = []
    start: Position | None = ()
    while start is not None:
        parts.append(cut_value(value, limit, start, table=table))
        assert token_budget.count_json(parts[-1].value) <= 1.2 * limit
        assert parts[-1].next != start
        start = parts[-1].next
    return parts


def join(parts: list[CutPart], *path: str) -> Any:
    """Return the pieces of a member one after the other."""
    pieces = []
    for part in parts:
        value = part.value
        for name in path:
            value = value[name]
        pieces.append(value)
    return "".join(pieces) if isinstance(pieces[0], str) else [row for piece in pieces for row in piece]


@for_each("text", [LINES, LONG, "語" * 3_000, "x" * 5_000, "\n" * 2_000, '"\\' * 900, LONG + "\n" + LINES])
def test_parts_of_a_text_are_the_text(text: str) -> None:
    parts = cut_all({"id": 7, "page": {"text": text}}, 200)

    assert len(parts) > 1
    assert join(parts, "page", "text") == text
    assert {part.value["id"] for part in parts} == {7}


def test_a_text_is_cut_after_whole_lines() -> None:
    parts = cut_all({"text": LINES}, 300)

    assert all(part.value["text"].endswith("\n") for part in parts[:-1])
    assert [(cut.unit, cut.first, cut.total) for cut in parts[0].cuts] == [("lines", 1, 300)]
    assert parts[1].cuts[0].first == parts[0].cuts[0].last + 1


def test_parts_of_a_table_have_its_header_and_all_its_records_once() -> None:
    parts = cut_all({"text": TABLE}, 300, table="text")

    tables = [list(csv.reader(io.StringIO(part.value["text"], newline=""))) for part in parts]
    assert {tuple(table[0]) for table in tables} == {("sku", "price", "note")}
    assert [row[0] for table in tables for row in table[1:]] == [f"sku-{number}" for number in range(200)]


@for_each(
    "value, path",
    [
        ({"total": 90, "items": [{"id": number, "text": "words " * 20} for number in range(90)]}, ("items",)),
        ({"data": {"rows": [[1] * 30] * 60}}, ("data", "rows")),
    ],
)
def test_parts_of_a_list_have_all_rows_once(value: dict[str, Any], path: tuple[str, ...]) -> None:
    expected: Any = value
    for name in path:
        expected = expected[name]

    assert join(cut_all(value, 300), *path) == expected


def test_a_row_that_is_too_large_is_cut_within() -> None:
    parts = cut_all({"items": [{"id": 1, "text": LONG, "log": LONG}, {"id": 2}]}, 200)

    rows = [row for part in parts for row in part.value["items"]]
    assert "".join(row.get("text", "") for row in rows) == "".join(row.get("log", "") for row in rows) == LONG
    assert [row["id"] for row in rows] == [1] * (len(rows) - 1) + [2]


def test_many_members_are_shown_one_after_the_other() -> None:
    value = {f"key_{number}": "words " * 10 for number in range(200)}

    assert {name for part in cut_all(value, 200) for name in part.value} == value.keys()


def iterate_leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    members = value.items() if isinstance(value, dict) else [("*", each) for each in value]
    for name, each in members:
        if isinstance(each, dict | list):
            yield from iterate_leaves(each, (*path, name))
        else:
            yield (*path, name), each


LEAVES = st.none() | st.integers() | st.text(max_size=60) | st.sampled_from([LONG, "語" * 400, "x" * 900])
NAMES = st.text(max_size=12)
SHAPES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=20) | st.dictionaries(NAMES, inner, max_size=20), max_leaves=40
)


@hypothesis_settings(max_examples=examples(40))
@given(st.dictionaries(NAMES, SHAPES, max_size=15), st.integers(100, 400))
def test_nothing_is_lost(value: dict[str, Any], limit: int) -> None:
    parts = cut_all(value, limit)

    shown: dict[Any, list[Any]] = {}
    for part in parts:
        for path, leaf in iterate_leaves(part.value):
            shown.setdefault(path, []).append(leaf)
    for path, leaf in iterate_leaves(value):
        pieces = shown.get(path, [])
        is_shown = leaf in pieces or (isinstance(leaf, str) and leaf in "".join(map(str, pieces)))
        assert is_shown or any(part.lost for part in parts), (path, leaf)
