from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cpu_budget import assert_cpu_seconds
from tests.support.loops import for_each
from tests.support.values.handler_calls import list_field_errors
from workspace.entity_types import DOCUMENT, PROJECT, TASK
from workspace.services.documents import outline
from workspace.services.documents.outline import MAX_HEADING_LENGTH, parse_sections

TEXT = """Before.

# Launch

Text.

## Day one

One.

### Morning

Early.

## Day two

Two.

# After
"""


def test_sections_have_levels_anchors_lines_and_ends() -> None:
    sections = parse_sections(TEXT)

    assert [(each.index, each.level, each.heading, each.anchor, each.line) for each in sections] == [
        (0, 1, "Launch", "launch", 3),
        (1, 2, "Day one", "day-one", 7),
        (2, 3, "Morning", "morning", 11),
        (3, 2, "Day two", "day-two", 15),
        (4, 1, "After", "after", 19),
    ]
    assert TEXT[sections[1].start : sections[1].end] == "## Day one\n\nOne.\n\n### Morning\n\nEarly.\n\n"
    assert TEXT[sections[1].start : sections[1].own_end] == "## Day one\n\nOne.\n\n"
    assert TEXT[sections[0].start : sections[0].end].endswith("Two.\n\n")
    assert TEXT[sections[4].start : sections[4].end] == "# After\n"


@for_each(
    "text, headings",
    [
        ("", []),
        ("No heading, #hash\n\\# escaped\n", []),
        ("```\n# in a fence\n```\n\n~~~ md\n# in another\n~~~\n", []),
        ("```\n# in a fence that never ends\n", []),
        ("Text\n\n    # indented code\n", []),
        ("> # quoted\n\n- # listed\n", []),
        ("<!--\n# in a comment\n-->\n", []),
        ("Set\n===\n\nUnder\n---\n", [(1, "Set"), (2, "Under")]),
        ("Two\nlines\n===\n", [(1, "Two lines")]),
        ("# Closed ##\n####### seven\n", [(1, "Closed")]),
        ("## *Words* and `code` [link](http://x) ![pic](y) <b>bold</b> &amp; \\#\n", [(2, None)]),
        ("#\n", [(1, "")]),
    ],
)
def test_headings_follow_commonmark(text: str, headings: list[Any]) -> None:
    expected = [
        (level, "Words and code link pic bold & #" if heading is None else heading) for level, heading in headings
    ]
    assert [(each.level, each.heading) for each in parse_sections(text)] == expected


@for_each("line_end", ["\n", "\r\n", "\r"])
def test_offsets_count_line_ends_as_written(line_end: str) -> None:
    text = f"Before{line_end}# A{line_end}a{line_end}# B{line_end}b"

    expected = [f"# A{line_end}a{line_end}", f"# B{line_end}b"]
    assert [text[each.start : each.end] for each in parse_sections(text)] == expected


def test_anchors_follow_github_and_are_unique() -> None:
    text = "# Über uns!\n# A  b\n# A-b\n# Words\n# Words-1\n# words\n# Words\n# ...\n# ...\n"

    *sections, long = parse_sections(f"{text}# {'[' * 10_000}")

    anchors = [each.anchor for each in sections]
    assert anchors == ["über-uns", "a--b", "a-b", "words", "words-1", "words-2", "words-3", "section", "section-1"]
    assert long.heading == "[" * MAX_HEADING_LENGTH


@given(st.text(alphabet="#ab \n\r`>-=*[]", max_size=80))
def test_sections_nest_and_cover_the_text_after_the_first_heading(text: str) -> None:
    sections = parse_sections(text)

    assert len({each.anchor for each in sections}) == len(sections)
    for each, after in pairwise(sections):
        assert each.start < each.own_end == after.start <= each.end
        assert after.end <= each.end or after.start == each.end
    if sections:
        assert max(each.end for each in sections) == len(text)
        assert sections[-1].own_end == len(text)


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
    errors = list_field_errors(lambda: outline.read_field(task("d" * 9), name, kind=TASK, offset=offset))

    assert errors == [(path, code)]


@for_each(
    "text, read",
    [
        (r"# A\n\nB\n", "# A\n\nB\n"),
        (r"one\ntwo", "one\ntwo"),
        (r"one\r\ntwo\r\n", "one\ntwo\n"),
        (r"a\n1\. not a list \* and \[ neither", "a\n1\\. not a list \\* and \\[ neither"),  # escapes of markdown
        (r"say \"hi\"\nbye", 'say \\"hi\\"\nbye'),
        (r"# A\n\nUse `\n` here", "# A\n\nUse `\\n` here"),  # intended in a code span
        (r"```\nprint(1)\n```", "```\nprint(1)\n```"),  # a fence is not a code span
    ],
)
def test_escaped_line_breaks_are_read_in_text_without_real_ones(text: str, read: str) -> None:
    assert outline.unescape_line_breaks(text) == read


@for_each(
    "text",
    [
        "",
        "one line",
        "# A\n\nUse \\n to break",  # it has real line breaks, so the escape is intended
        r"Use `\n` to break lines",
        r"C:\new\notes",  # paths
        r"\\server\new",
        r"^\d+\n$",  # patterns
        r"a literal \\n stays",
    ],
)
def test_other_text_is_unchanged(text: str) -> None:
    assert outline.unescape_line_breaks(text) == text


@for_each("part", ["`", "``", "`a", "\\", "\\n", "`\\n", "\\r", "a:\\", "`a``"])
def test_longest_text_is_processed_fast(part: str) -> None:
    text = (r"\n" + part * 200_000)[:200_000]

    assert_cpu_seconds(1, lambda: outline.unescape_line_breaks(text))  # a quadratic pattern takes minutes
