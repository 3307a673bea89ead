"""Short handles of rows: a model reads and writes #t12, where a UUID would take 24 tokens.

They exist only between the chat and the model. Everything that is stored, sent to the gateway or shown to people has
the ids.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from chat.context.layers import PastCall, PastStep, PastTurn

MAX_HANDLES = 5_000  # of a conversation; later rows keep their ids
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ID = re.compile(rf"(?<![\w/=-]){_UUID}(?![\w/-])")  # not inside an address or a longer word
_HANDLE = re.compile(r"(?:(?<![\w#/&])|(?<=\\[nrt]))#t(\d{1,6})(?!\w)")  # in JSON, also after an escaped line break
_WHOLE_HANDLE = re.compile(r'"#t(\d{1,6})"')
# In a text for people. What may become one when more of the text arrives is held back.
_MENTION = re.compile(r" ?[(\[]#t\d{1,6}[)\]]|(?<![\w#/&])#t\d{1,6}(?!\w)")
_WITHIN = re.compile(r"[\w#/&]")  # no handle begins after one of these
_UNFINISHED_MENTION = re.compile(r"(?: |(?: ?[(\[])?(?:#(?:t\d{0,6})?)?)\Z")


class RowHandles:
    """The handles of a conversation: the id at index n has the handle #t(n + 1). `store` keeps all ids."""

    def __init__(self, ids: Sequence[str], *, store: Callable[[list[str]], None] = lambda _: None) -> None:
        self.ids = list(ids)
        self._store = store
        self._numbers = {id: number for number, id in enumerate(ids, start=1)}
        self._stored = len(self.ids)

    def store_new(self) -> None:
        """Store the ids if some are new."""
        if len(self.ids) > self._stored:
            self._store(self.ids)
            self._stored = len(self.ids)

    def shorten(self, text: str) -> str:
        """Return a text with handles instead of ids. A new id gets a new handle."""
        return _ID.sub(lambda match: self._get_handle(match[0]), text)

    def shorten_value(self, value: Any) -> Any:
        """Return a JSON value with handles instead of ids at any depth."""
        if isinstance(value, str):
            return self.shorten(value)
        if isinstance(value, list | tuple):
            return [self.shorten_value(each) for each in value]
        if isinstance(value, dict):
            return {self.shorten(name): self.shorten_value(each) for name, each in value.items()}
        return value

    def shorten_turn(self, turn: PastTurn) -> PastTurn:
        """Return a past turn with handles instead of ids."""
        steps = tuple(
            PastStep(self.shorten(step.text), tuple(self._shorten_call(call) for call in step.calls))
            for step in turn.steps
        )
        user_text = self.shorten(turn.user_text) if turn.user_text else turn.user_text
        return PastTurn(user_text, steps, self.shorten(turn.answer))

    def shorten_message(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return a message of a request with handles in its text and in the arguments of its calls."""
        shortened = dict(message)
        if message.get("content"):
            shortened["content"] = self.shorten(message["content"])
        if message.get("tool_calls"):
            shortened["tool_calls"] = [
                {**call, "function": {**call["function"], "arguments": self.shorten(call["function"]["arguments"])}}
                for call in message["tool_calls"]
            ]
        return shortened

    def expand(self, text: str) -> str:
        """Return the arguments of a call, as JSON, with ids instead of handles. Unknown ones stay."""
        return _HANDLE.sub(lambda match: self._get_id(int(match[1])) or match[0], text)

    def has_unknown(self, arguments: str) -> bool:
        """Return whether expanded arguments have a value that is a handle of no row."""
        return _WHOLE_HANDLE.search(arguments) is not None

    def name_rows(self, text: str, get_name: Callable[[str], str]) -> str:
        """Return a text for people: the names of rows instead of handles. One in brackets is left out."""

        def name(match: re.Match[str]) -> str:
            mention = match[0].strip()
            if mention[0] in "([":
                return ""
            id = self._get_id(int(mention[2:]))
            return (get_name(id) or id) if id else match[0]

        return _MENTION.sub(name, text)

    def _shorten_call(self, call: PastCall) -> PastCall:
        return replace(call, arguments=self.shorten(call.arguments), result=self.shorten(call.result))

    def _get_handle(self, id: str) -> str:
        if id not in self._numbers:
            if len(self.ids) >= MAX_HANDLES:
                return id
            self.ids.append(id)
            self._numbers[id] = len(self.ids)
        return f"#t{self._numbers[id]}"

    def _get_id(self, number: int) -> str:
        return self.ids[number - 1] if 0 < number <= len(self.ids) else ""


def accept_handles(value: Any) -> Any:
    """Return the definitions of tools without the format of ids, to which some providers hold a model."""
    if isinstance(value, list):
        return [accept_handles(each) for each in value]
    if isinstance(value, dict):
        is_id = value.get("format") == "uuid"
        return {name: accept_handles(each) for name, each in value.items() if not (is_id and name == "format")}
    return value


class NamedText:
    """A streamed text of the model, in which people read the names of rows instead of handles."""

    def __init__(self, handles: RowHandles, get_name: Callable[[str], str], write: Callable[[str], None]) -> None:
        self._handles, self._get_name, self._write = handles, get_name, write
        self._held, self._last = "", ""  # the last character that was passed on: within a word there is no handle

    def add(self, delta: str) -> None:
        """Pass on a piece of the text. What may be the beginning of a handle is held back."""
        text = self._held + delta
        unfinished = _UNFINISHED_MENTION.search(text)
        end = unfinished.start() if unfinished else len(text)
        self._held = text[end:]
        self._pass_on(text[:end])

    def finish(self) -> None:
        """Pass on what was held back."""
        held, self._held = self._held, ""
        self._pass_on(held)

    def _pass_on(self, text: str) -> None:
        if not text:
            return
        before = self._last if _WITHIN.fullmatch(self._last) else ""
        named = self._handles.name_rows(before + text, self._get_name)[len(before) :]
        self._last = text[-1]
        if named:
            self._write(named)
