"""The sections of a Markdown (CommonMark) text by its headings.

Headings inside code blocks, quotations and lists do not count.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

# Characters of a heading to parse: the cost of inline parsing grows quadratically.
LONGEST_HEADING = 200

# Parses blocks only. Inline markup matters only in headings.
_BLOCKS = MarkdownIt("commonmark")
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])
_LINES = MarkdownIt("commonmark")

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")  # CommonMark, section 2.1
_MARKED = re.compile(r"[\\`*_\[\]<>&!\n]")  # a line without these is plain text
_NOT_IN_AN_ANCHOR = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its text from `start` to `end`, in characters, including subsections.

    `own_end` is where the first subsection starts.
    """

    index: int  # from 0, in the order of the text
    level: int  # 1 to 6
    heading: str  # without its markup
    anchor: str  # in GitHub's form, unique in the text
    line: int  # from 1
    start: int
    own_end: int
    end: int


def sections(text: str) -> list[Section]:
    """Return the sections of a text in order. Text before the first heading belongs to no section."""
    line_starts = [0, *accumulate(len(line) for line in _LINE.findall(text))]
    found = list(_headings(text))
    levels, headings = [level for level, _, _ in found], [heading for _, heading, _ in found]
    starts = [*(line_starts[line] for _, _, line in found), len(text)]
    return [
        Section(index, level, heading, anchor, line + 1, start, own_end, starts[end])
        for index, ((level, heading, line), anchor, (start, own_end), end) in enumerate(
            zip(found, _anchors(headings), pairwise(starts), _ends(levels), strict=True)
        )
    ]


def _headings(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield (level, heading, line from 0) of each heading."""
    tokens = _BLOCKS.parse(text)
    for opens, content in pairwise(tokens):
        if opens.type == "heading_open" and opens.level == 0 and opens.map:
            yield int(opens.tag[1:]), _read(content.content[:LONGEST_HEADING]), opens.map[0]


def _read(content: str) -> str:
    """Return a line without its inline markup."""
    if not _MARKED.search(content):
        return content.strip()
    [line] = _LINES.parseInline(content)
    return " ".join("".join(map(_said, line.children or [])).split())


def _said(part: Token) -> str:
    if part.type in ("softbreak", "hardbreak"):
        return " "
    return part.content if part.type in ("text", "code_inline", "image") else ""


def _anchors(headings: Sequence[str]) -> Iterator[str]:
    """Yield a unique anchor for each heading: the second "Words" gets words-1, or the next free number."""
    taken: set[str] = set()
    count: dict[str, int] = {}
    for heading in headings:
        anchor = plain = _NOT_IN_AN_ANCHOR.sub("", heading.lower()).replace(" ", "-") or "section"
        while anchor in taken:
            count[plain] = count.get(plain, 0) + 1
            anchor = f"{plain}-{count[plain]}"
        taken.add(anchor)
        yield anchor


def _ends(levels: Sequence[int]) -> list[int]:
    """Return for each heading the index of the next one of the same or a higher level, or the number of headings."""
    ends = [len(levels)] * len(levels)
    opened: list[int] = []
    for index, level in enumerate(levels):
        while opened and levels[opened[-1]] >= level:
            ends[opened.pop()] = index
        opened.append(index)
    return ends
