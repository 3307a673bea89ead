"""The text of an answer while it arrives: pieces of text, and the HTML of each block as soon as it is complete."""

from typing import Any

from chat.rendering.markdown import find_last_block, render_markdown

BLANK_LINE = "\n\n"

# How many characters are parsed to find complete blocks, for each character of the answer: an open list or table would
# otherwise be parsed again with each of its lines.
PARSED_PER_CHARACTER = 8
PARSED_AT_ONCE = 4_000  # in addition, so that short answers never wait


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
