"""What a running turn shows: the text and the reasoning of the model with names for handles, and its other events."""

from collections.abc import Callable, Mapping
from typing import Any

from chat.context.handles import NamedText, RowHandles
from chat.events.turn_log import TurnLog
from chat.markdown import AnswerText


class TurnOutput:
    """Writes a turn to its log, and collects its text and its reasoning."""

    def __init__(self, turn_log: TurnLog, handles: RowHandles, get_name: Callable[[str], str]) -> None:
        self._log = turn_log
        self._text = AnswerText()
        self._reasoning: list[str] = []
        self.named_text = NamedText(handles, get_name, self.write_text)
        self.named_reasoning = NamedText(handles, get_name, self._write_reasoning)

    @property
    def text(self) -> str:
        """The text so far."""
        return self._text.text

    @property
    def reasoning(self) -> str:
        """The reasoning so far."""
        return "".join(self._reasoning)

    def write_text(self, delta: str) -> None:
        """Add a piece of text as it is."""
        self._log.append("text", self._text.add(delta))

    def write_event(self, type: str, data: Mapping[str, Any]) -> None:
        """Add another event, after the text that came before it."""
        self.close_block()
        self._log.append(type, data)

    def get_text_length(self) -> int:
        """Return how many characters the text has, with what was held back."""
        self.named_text.finish()
        return self._text.length

    def close_block(self) -> None:
        """End the block of text, before something else follows."""
        self.named_text.finish()
        self.named_reasoning.finish()
        if data := self._text.close_block():
            self._log.append("text", data)

    def _write_reasoning(self, delta: str) -> None:
        self._reasoning.append(delta)
        self._log.append("reasoning", {"delta": delta})
