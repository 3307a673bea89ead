from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.loops import for_each
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

    anchors = [each.anchor for each in parse_sections(text)]

    assert anchors == ["über-uns", "a--b", "a-b", "words", "words-1", "words-2", "words-3", "section", "section-1"]


def test_long_heading_is_cut() -> None:
    [section] = parse_sections("# " + "[" * 10_000)

    assert section.heading == "[" * MAX_HEADING_LENGTH


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
