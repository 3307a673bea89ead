"""Answers as HTML: CommonMark, cleaned by a list of what is allowed.

No HTML of the source, no pictures (requests for them would reveal the reader), and links to http and https only.
"""

import functools
import re
from itertools import islice
from typing import Any

import nh3
from markdown_it import MarkdownIt

TAGS = set(
    """
    p br hr strong em s code pre blockquote a h1 h2 h3 h4 h5 h6 ul ol li table thead tbody tr th td
""".split()
)
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}

# Longer texts are shown as they are: parsing takes 10 to 20 microseconds a character.
MAX_LENGTH = 50_000  # characters
MAX_LINES = 2_000
MAX_NESTING = 20
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|$)")  # as the parser counts them; str.splitlines knows more line ends
BLANK_LINE = "\n\n"

# How many characters are parsed to find complete blocks, for each character of the answer: an open list or table would
# otherwise be parsed again with each of its lines.
PARSED_PER_CHARACTER = 8
PARSED_AT_ONCE = 4_000  # in addition, so that short answers never wait


@functools.cache
def get_parser() -> MarkdownIt:
    """Return the parser: CommonMark with tables and strikethrough."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING})
    return parser.enable(["table", "strikethrough"]).disable("image")


@functools.cache
def _get_block_parser() -> MarkdownIt:
    """Return a parser that sees blocks only, and so takes half the time."""
    return MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table").disable("inline")


def render_markdown(text: str) -> str:
    """Return a text as HTML."""
    if len(text) > MAX_LENGTH or text.count("\n") > MAX_LINES:
        text = f"```\n{text.replace('```', '')}\n```"
    return nh3.clean(
        get_parser().render(text),
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https"},
        link_rel="noopener noreferrer nofollow",
    )


def find_last_block(text: str) -> int:
    """Return where the last block of a text begins. The blocks before it are complete, whatever follows."""
    starts = [
        token.map[0]
        for token in _get_block_parser().parse(text)
        if token.level == 0 and token.map and token.nesting >= 0
    ]
    if len(starts) < 2:
        return 0
    lines = islice(_LINE.finditer(text), starts[-1])
    return max((line.end() for line in lines), default=0)


class AnswerText:
    """Collects an answer. Blocks are rendered once, so that a page never renders the whole answer again."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._tail: list[str] = []  # what follows the last complete block
        self._tail_length = 0
        self._has_blank_line = False  # in the tail
        self._end = ""  # the last characters of the tail
        self._parsed = 0
        self.length = 0

    @property
    def text(self) -> str:
        """The whole text so far."""
        return "".join(self._pieces)

    def add(self, delta: str) -> dict[str, Any]:
        """Add a piece, and return the data of an event `text`.

        `block` is there if a block became complete: {html, rest}. The page then replaces the text after the last block
        with the HTML and the rest.
        """
        self._pieces.append(delta)
        self.length += len(delta)
        self._tail.append(delta)
        self._tail_length += len(delta)
        ends_line = BLANK_LINE in (self._end + delta)
        self._has_blank_line = self._has_blank_line or ends_line
        self._end = (self._end + delta)[-len(BLANK_LINE) :]
        if not self._has_blank_line or not ("\n" in delta or ends_line) or not self._may_parse():
            return {"delta": delta}
        tail = "".join(self._tail)
        self._parsed += len(tail)
        at = find_last_block(tail)
        return {"delta": delta, "block": self._complete(tail, at)} if at else {"delta": delta}

    def close_block(self) -> dict[str, Any] | None:
        """Complete the last block, before a tool call or at the end. Return the data of an event, None if empty."""
        tail = "".join(self._tail)
        if not tail.strip():
            self._set_tail("")
            return None
        return {"delta": "", "block": self._complete(tail, len(tail))}

    def _may_parse(self) -> bool:
        return self._parsed + self._tail_length <= PARSED_PER_CHARACTER * self.length + PARSED_AT_ONCE

    def _complete(self, tail: str, at: int) -> dict[str, Any]:
        block, rest = tail[:at], tail[at:]
        self._set_tail(rest)
        return {"html": render_markdown(block), "rest": rest}

    def _set_tail(self, tail: str) -> None:
        self._tail, self._tail_length = [tail], len(tail)
        self._has_blank_line = BLANK_LINE in tail
        self._end = tail[-len(BLANK_LINE) :]
