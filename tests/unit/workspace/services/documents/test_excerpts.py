from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.handler_contract import InvalidArgs
from tests.support.loops import for_each
from workspace.entity_types import DOCUMENT, PROJECT, TASK
from workspace.services.documents import outline


def task(description: str | None = None, details: str | None = None) -> dict[str, Any]:
    return {"id": "1", "title": "Write", "description": description, "details": details}


def test_last_text_is_cut_first_and_says_how_to_continue() -> None:
    excerpt = outline.truncate_row(task("d" * 350, "e" * 300), kind=TASK, max_chars=500)

    assert excerpt.row["description"] == "d" * 350
    assert excerpt.row["details"] == "e" * 150
    assert excerpt.row["truncated"] == {"details": {"shown": 150, "length": 300, "next_offset": 150}}
    assert excerpt.truncated_fields == ("details",)


def test_every_text_shows_its_beginning_even_after_a_long_first_one() -> None:
    row = {"content": "c" * 200_000, "ai_summary": "a" * 50, "description": "d" * 300}

    excerpt = outline.truncate_row(row, kind=DOCUMENT)

    shown = {name: len(excerpt.row[name]) for name in row}
    assert shown == {"content": 20_000 - 150, "ai_summary": 50, "description": 100}
    assert excerpt.truncated_fields == ("content", "description")


@for_each("max_chars, length", [(1, 500), (500, 500), (50_000, 50_000), (10**9, 50_000)])
def test_max_chars_is_limited_regardless_of_the_schema(max_chars: int, length: int) -> None:
    excerpt = outline.truncate_row({"context": "c" * 100_000}, kind=PROJECT, max_chars=max_chars)

    assert len(excerpt.row["context"]) == length


@given(
    st.dictionaries(st.sampled_from(["content", "ai_summary", "description"]), st.none() | st.text(max_size=900)),
    st.integers(500, 2_000),
)
def test_truncated_rows_fit_and_their_texts_can_be_read_to_the_end(row: dict[str, Any], max_chars: int) -> None:
    row = {"id": "1", "title": "T"} | row
    excerpt = outline.truncate_row(row, kind=DOCUMENT, max_chars=max_chars)

    texts = {name: excerpt.row[name] or "" for name in row if name in DOCUMENT.long_texts}
    assert sum(map(len, texts.values())) <= max_chars
    assert set(excerpt.row.get("truncated", {})) == set(excerpt.truncated_fields)
    for name in excerpt.truncated_fields:
        cut = excerpt.row["truncated"][name]
        assert (cut["shown"], cut["length"]) == (len(texts[name]), len(row[name]))
        read = texts[name]
        while True:
            part = outline.read_field(row, name, kind=DOCUMENT, offset=len(read), max_chars=500)
            read += part.row[name]
            if not part.truncated_fields:
                break
            assert part.row["truncated"][name]["next_offset"] == len(read)
        assert read == row[name]
    for name in texts.keys() - set(excerpt.truncated_fields):
        assert excerpt.row[name] == row[name]


def test_field_is_returned_only_with_the_name_of_the_row() -> None:
    excerpt = outline.read_field(task("d", "e" * 700), "details", kind=TASK, offset=100, max_chars=500)

    assert excerpt.row == {
        "id": "1",
        "title": "Write",
        "details": "e" * 500,
        "truncated": {"details": {"shown": 500, "length": 700, "next_offset": 600}},
    }


def test_field_without_text_is_empty_and_complete() -> None:
    assert outline.read_field(task(), "details", kind=TASK, offset=0).row["details"] == ""
    assert outline.read_field(task("d" * 9), "description", kind=TASK, offset=9).row["description"] == ""


@for_each(
    "name, offset, path, code",
    [
        ("title", 0, "/field", "unknown_field"),
        ("content", 0, "/field", "unknown_field"),
        ("description", 10, "/offset", "beyond_the_end"),
    ],
)
def test_unreadable_field_is_refused_at_its_pointer(name: str, offset: int, path: str, code: str) -> None:
    with pytest.raises(InvalidArgs) as refused:
        outline.read_field(task("d" * 9), name, kind=TASK, offset=offset)

    assert [(error.path, error.code) for error in refused.value.field_errors] == [(path, code)]
