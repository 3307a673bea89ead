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
MAX_HEADING_LENGTH = 200

# Parses blocks only. Inline markup matters only in headings.
_BLOCK_PARSER = MarkdownIt("commonmark")
_BLOCK_PARSER.core.ruler.enableOnly(["normalize", "block"])
_INLINE_PARSER = MarkdownIt("commonmark")

_LINE_PATTERN = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")  # CommonMark, section 2.1
_MARKUP_PATTERN = re.compile(r"[\\`*_\[\]<>&!\n]")  # a line without these is plain text
_NON_ANCHOR_PATTERN = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class MarkdownSection:
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


def parse_sections(text: str) -> list[MarkdownSection]:
    """Return the sections of a text in order. Text before the first heading belongs to no section."""
    line_starts = [0, *accumulate(len(line) for line in _LINE_PATTERN.findall(text))]
    heading_tuples = list(_iter_headings(text))
    levels, headings = [level for level, _, _ in heading_tuples], [heading for _, heading, _ in heading_tuples]
    starts = [*(line_starts[line] for _, _, line in heading_tuples), len(text)]
    return [
        MarkdownSection(index, level, heading, anchor, line + 1, start, own_end, starts[end])
        for index, ((level, heading, line), anchor, (start, own_end), end) in enumerate(
            zip(heading_tuples, _iter_anchors(headings), pairwise(starts), _find_section_ends(levels), strict=True)
        )
    ]


def _iter_headings(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield (level, heading, line from 0) of each heading."""
    tokens = _BLOCK_PARSER.parse(text)
    for opening, content in pairwise(tokens):
        if opening.type == "heading_open" and opening.level == 0 and opening.map:
            yield int(opening.tag[1:]), _strip_markup(content.content[:MAX_HEADING_LENGTH]), opening.map[0]


def _strip_markup(content: str) -> str:
    """Return a line without its inline markup."""
    if not _MARKUP_PATTERN.search(content):
        return content.strip()
    [line] = _INLINE_PARSER.parseInline(content)
    return " ".join("".join(map(_get_token_text, line.children or [])).split())


def _get_token_text(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    return token.content if token.type in ("text", "code_inline", "image") else ""


def _iter_anchors(headings: Sequence[str]) -> Iterator[str]:
    """Yield a unique anchor for each heading: the second "Words" gets words-1, or the next free number."""
    used: set[str] = set()
    counts: dict[str, int] = {}
    for heading in headings:
        anchor = plain = _NON_ANCHOR_PATTERN.sub("", heading.lower()).replace(" ", "-") or "section"
        while anchor in used:
            counts[plain] = counts.get(plain, 0) + 1
            anchor = f"{plain}-{counts[plain]}"
        used.add(anchor)
        yield anchor


def _find_section_ends(levels: Sequence[int]) -> list[int]:
    """Return for each heading the index of the next one of the same or a higher level, or the number of headings."""
    ends = [len(levels)] * len(levels)
    open_indexes: list[int] = []
    for index, level in enumerate(levels):
        while open_indexes and levels[open_indexes[-1]] >= level:
            ends[open_indexes.pop()] = index
        open_indexes.append(index)
    return ends
