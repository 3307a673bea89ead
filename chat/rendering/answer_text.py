"""The text of an answer while it arrives: pieces of text, and the HTML of each block as soon as it is complete."""

from typing import Any

from chat.rendering.markdown import find_last_block, render_markdown

BLANK_LINE = "\n\n"
# Characters to parse while looking for the end of a block: some for each answer, and then for each character of it. A
# list with blank lines is one block, and looking through all of it at each of them would take longer and longer.
FREE_PARSING = 20_000
PARSING_PER_CHARACTER = 4


class AnswerText:
    """Collects an answer. Blocks are rendered once, so that a page never renders the whole answer again."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._tail = ""  # what follows the last complete block
        self._parsed = 0  # characters
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
        self._tail += delta
        if BLANK_LINE not in self._tail or ("\n" not in delta and BLANK_LINE not in self._tail[-len(delta) - 2 :]):
            return {"delta": delta}
        if self._parsed + len(self._tail) > FREE_PARSING + PARSING_PER_CHARACTER * self.length:
            return {"delta": delta}  # its end is found a little later
        self._parsed += len(self._tail)
        at = find_last_block(self._tail)
        return {"delta": delta, "block": self._complete(at)} if at else {"delta": delta}

    def close_block(self) -> dict[str, Any] | None:
        """Complete the last block, before a tool call or at the end. Return the data of an event, None if empty."""
        if not self._tail.strip():
            self._tail = ""
            return None
        return {"delta": "", "block": self._complete(len(self._tail))}

    def _complete(self, at: int) -> dict[str, Any]:
        block, self._tail = self._tail[:at], self._tail[at:]
        return {"html": render_markdown(block), "rest": self._tail}
