"""Markdown as HTML. Models may repeat what somebody wrote to attack the reader, so little is allowed.

No HTML of the source, no pictures (their addresses would tell where they are read), and links to http and https only.
"""

import functools
import re
from itertools import islice

import nh3
from markdown_it import MarkdownIt

TAGS = {
    *("p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "a"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
# Longer texts are shown as they are: parsing takes 10 to 20 microseconds a character.
MAX_LENGTH = 50_000  # characters
MAX_LINES = 2_000
MAX_NESTING = 20
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|$)")  # as the parser counts them; str.splitlines knows more ends than it


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
