"""The outline of a document in Markdown, its sections and excerpts.

Headings inside code blocks, quotations and lists do not count.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from core.handler_contract import ArgumentError, build_invalid_args
from workspace.entity_types import EntityType

DEFAULT_CHARS = 20_000
MIN_CHARS, MAX_CHARS = 500, 50_000  # whatever the schema allows
MIN_TEXT_CHARS = 100  # characters that every text shows at least

# Characters of a heading to parse: the cost of inline parsing grows quadratically.
MAX_HEADING_LENGTH = 200

# Parses blocks only. Inline markup matters only in headings.
_BLOCK_PARSER = MarkdownIt("commonmark")
_INLINE_PARSER = MarkdownIt("commonmark")
_LINE_PATTERN = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")  # CommonMark, section 2.1
_MARKUP_PATTERN = re.compile(r"[\\`*_\[\]<>&!\n]")  # a line without these is plain text
_NON_ANCHOR_PATTERN = re.compile(r"[^\w\- ]")

# A line break that was escaped once too often. In a code span, and after another backslash, \n is literal.
_ESCAPED = re.compile(r"(?<!`)(?P<code>`[^`]+`)(?!`)|(?<!\\)(?:\\r)?\\n")

# A backslash that neither JSON nor Markdown uses, as in \d or C:\docs, shows that the text was not escaped.
_PLAIN_BACKSLASH = re.compile(r"\\(?![nrtu])[^\W_]|\b[A-Za-z]:\\")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A row with truncated long texts."""

    row: dict[str, Any]
    truncated_fields: tuple[str, ...]  # the names of the truncated texts


def truncate_row(row: Mapping[str, Any], *, kind: EntityType, max_chars: int = DEFAULT_CHARS) -> Excerpt:
    """Return a complete row, or a part of one, with its long texts truncated to `max_chars` in all.

    Every text shows its beginning. The remaining characters go to the texts in the order of `kind.long_texts`. In the
    row, `truncated` has, for each truncated text, the characters shown, its length, and the offset to read on from.
    """
    texts = {name: row[name] for name in kind.long_texts if row.get(name)}
    remaining = min(max(max_chars, MIN_CHARS), MAX_CHARS)
    shares = {name: min(len(text), MIN_TEXT_CHARS) for name, text in texts.items()}
    remaining -= sum(shares.values())
    for name, text in texts.items():
        more = min(len(text) - shares[name], remaining)
        shares[name] += more
        remaining -= more
    truncated_texts = {name: text for name, text in texts.items() if shares[name] < len(text)}
    shown_texts = {name: text[: shares[name]] for name, text in truncated_texts.items()}
    truncated = {name: build_truncated_entry(shares[name], len(text)) for name, text in truncated_texts.items()}
    return Excerpt(
        {**row, **shown_texts, **({"truncated": truncated} if truncated_texts else {})}, tuple(truncated_texts)
    )


def read_field(
    row: Mapping[str, Any], name: str, *, kind: EntityType, offset: int, max_chars: int = DEFAULT_CHARS
) -> Excerpt:
    """Return one long text of a row from an offset in characters, with the row's id and label.

    Raises InvalidArgs if the field is not a long text of this type, or if the offset is beyond the end.
    """
    if name not in kind.long_texts:
        message = (
            f"field is not a long text of a {kind.name}; send one of {', '.join(kind.long_texts)}, or leave it out."
        )
        raise build_invalid_args(
            [ArgumentError(path="/field", code="unknown_field", message=message, expected=list(kind.long_texts))]
        )
    text = row[name] or ""
    shown = read_part(text, name, offset=offset, max_chars=max_chars)
    row_label = {name: row[name] for name in ("id", kind.label)}
    return Excerpt(row_label | shown, (name,) if "truncated" in shown else ())


def read_part(text: str, name: str, *, offset: int, max_chars: int = DEFAULT_CHARS) -> dict[str, Any]:
    """Return {name: text from the offset}, and `truncated` if the text continues after that.

    Raises InvalidArgs if the offset is beyond the end.
    """
    if offset > len(text):
        message = f"offset is beyond the end; {name} has {len(text)} characters, so send at most {len(text)}."
        raise build_invalid_args(
            [ArgumentError(path="/offset", code="beyond_the_end", message=message, expected=len(text))]
        )
    shown = text[offset : offset + min(max(max_chars, MIN_CHARS), MAX_CHARS)]
    goes_on = offset + len(shown) < len(text)
    return {name: shown} | (
        {"truncated": {name: build_truncated_entry(len(shown), len(text), offset)}} if goes_on else {}
    )


def build_truncated_entry(shown: int, length: int, offset: int = 0) -> dict[str, int]:
    """Return the `truncated` entry of a text: characters shown, total length and next offset."""
    return {"shown": shown, "length": length, "next_offset": offset + shown}


_BLOCK_PARSER.core.ruler.enableOnly(["normalize", "block"])


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


def unescape_line_breaks(text: str) -> str:
    r"""Return the text with real line breaks if it has only the two characters \n instead; else return it unchanged."""
    if "\n" in text or "\\n" not in text or _PLAIN_BACKSLASH.search(text):
        return text
    return _ESCAPED.sub(lambda found: found["code"] or "\n", text)
