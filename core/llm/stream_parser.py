"""Put an answer together from the bytes of its stream, whatever the server makes of the protocol.

https://platform.openai.com/docs/api-reference/chat-streaming
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from core.llm.calls import CallCollector, StreamedCall, Tools, is_json, is_quoted, parse_written_calls
from core.llm.endpoint import Model, Usage, read_usage
from core.llm.errors import LlmFiltered, LlmMalformed, LlmUnavailable, classify_problem, read_problem
from core.llm.markup import MarkupSplitter

# `finish_reason`: OpenAI has stop and length, text-generation-inference eos_token, and Mistral model_length.
CUT_OFF = frozenset({"length", "model_length", "max_tokens"})
FILTERED = frozenset({"content_filter", "safety", "recitation", "prohibited_content", "refusal"})
MAX_CALLS = 128  # in one answer
# Characters of texts and calls; what an endpoint that ignores the limit of tokens sends is cut off.
MAX_LENGTH = 100_000
MAX_REASONING_LENGTH = 200_000  # characters; the rest is not passed on
MAX_LINE = 1_000_000  # bytes
REASONING = "reasoning_content"  # of a message of the assistant


@dataclass(frozen=True, slots=True, repr=False)  # no repr: an answer must not end up in logs
class StreamedCompletion:
    """A whole answer. `is_cut_off` says that it reached a length limit: its last call may be incomplete.

    `has_unread_call` says that the model wrote a call of a tool as text, in a form that cannot be run.
    """

    text: str
    tool_calls: tuple[StreamedCall, ...]
    is_cut_off: bool
    usage: Usage
    reasoning: str = ""
    has_unread_call: bool = False

    def to_message(self) -> dict[str, Any]:
        """Return the answer as a message of the next request. Providers refuse arguments that are not JSON."""
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments if is_json(call.arguments) else "{}"},
            }
            for call in self.tool_calls
        ]
        reasoning = {REASONING: self.reasoning} if self.reasoning else {}  # sent only to endpoints that want it back
        return {"role": "assistant", "content": self.text or None, "tool_calls": calls, **reasoning}


def ignore_piece(_: str) -> None:
    """Take a piece that nobody wants."""


class StreamParser:
    """Reads Server-Sent Events, or one JSON object from a server that does not stream.

    `messages` and `tools` are those of the request: calls that are written as text are compared with them.
    """

    def __init__(
        self,
        model: Model,
        on_text: Callable[[str], None],
        on_reasoning: Callable[[str], None] = ignore_piece,
        *,
        messages: Sequence[Mapping[str, Any]] = (),
        tools: Tools = (),
    ) -> None:
        self.has_started = False  # a piece of an answer has arrived
        self.is_done = False
        self.finish_reason = ""
        self.last_piece_at = time.monotonic()
        self._model, self._messages, self._tools = model, messages, tools
        self._on_text, self._on_reasoning = on_text, on_reasoning
        self._rest = b""
        self._held: list[str] = []  # pieces of a text, or of reasoning, that are passed on together
        self._holds_thoughts = False
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._splitter = MarkupSplitter(self._pass_on_text, self._pass_on_reasoning, holds_json=bool(tools))
        self._collector = CallCollector()
        self._length = self._reasoning_length = 0
        self._usage: Mapping[str, Any] = {}

    @property
    def has_content(self) -> bool:
        """Whether a piece of a text, of reasoning or of a call has arrived."""
        return bool(self._held or self._texts or self._thoughts or self._collector.calls)

    def feed(self, data: bytes) -> None:
        """Read the next bytes. Pieces that arrive together are passed on as one.

        Raises LlmMalformed, or the LlmError that the endpoint reports.
        """
        try:
            self._read(data)
        finally:
            self._pass_on_held()

    def _read(self, data: bytes) -> None:
        self._rest += data
        if self._is_json():
            if len(self._rest) > MAX_LINE:
                raise LlmMalformed("the answer is too long")
            return
        *lines, self._rest = self._rest.split(b"\n")
        if len(self._rest) > MAX_LINE:
            raise LlmMalformed("a line of the stream is too long")
        for line in lines:
            self._read_line(line)
            if self.is_done:
                return

    def finish(self) -> StreamedCompletion:
        """Return the answer. Raises LlmUnavailable if its end has not arrived, and LlmFiltered."""
        if not self.is_done and self._rest.strip():
            try:
                self._read_rest()
            finally:
                self._pass_on_held()
        if not self.finish_reason and not self.is_done:
            raise LlmUnavailable("the stream ended early")
        usage = read_usage({"usage": self._usage}, model=self._model)
        if self.finish_reason.lower() in FILTERED:
            raise LlmFiltered("a filter stopped the answer", usage=usage)
        calls, has_unread_call = self._read_written_calls(self._collector.build_calls())
        return StreamedCompletion(
            text="".join(self._texts),
            tool_calls=calls,
            is_cut_off=self.finish_reason.lower() in CUT_OFF,
            usage=usage,
            reasoning="".join(self._thoughts),
            has_unread_call=has_unread_call,
        )

    def _is_json(self) -> bool:
        return not self.has_started and self._rest.lstrip()[:1] == b"{"

    def _read_rest(self) -> None:
        """Read what no line end followed: the last event, or the one object of a server that does not stream."""
        rest, is_json, self._rest = self._rest, self._is_json(), b""
        if not is_json:
            self._read_line(rest)
            return
        self._read_chunk(rest)
        if not self.has_started:
            raise LlmMalformed("not a chat completion")
        self.is_done = True

    def _read_line(self, line: bytes) -> None:
        if not line.startswith(b"data:"):
            return  # a blank line, a comment that keeps the connection open, or another field
        payload = line[5:].strip()
        if payload == b"[DONE]":
            self.is_done = True
        elif payload:
            self._read_chunk(payload)
            if self._length >= MAX_LENGTH:
                self.finish_reason, self.is_done = "length", True

    def _read_chunk(self, payload: bytes) -> None:
        try:
            chunk = orjson.loads(payload)
            if chunk.get("error") or chunk.get("object") == "error":
                raise classify_problem(read_problem(chunk), status=0)
            self._usage = chunk.get("usage") or self._usage
            for choice in (chunk.get("choices") or ())[:1]:
                self._read_choice(choice)
        except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError):
            raise LlmMalformed("not a chunk of a chat completion") from None

    def _read_choice(self, choice: Mapping[str, Any]) -> None:
        self.finish_reason = choice.get("finish_reason") or self.finish_reason
        whole = None if self.has_content else choice.get("message")  # some servers repeat it at the end
        self._read_delta(choice.get("delta") or whole or {})

    def _read_delta(self, delta: Mapping[str, Any]) -> None:
        self.has_started = True
        self.last_piece_at = time.monotonic()
        if thought := _read_reasoning(delta):
            self._hold(thought, is_thought=True)
        for name in ("content", "refusal"):  # a refusal is the model's answer, in its words
            if text := _read_text(delta.get(name))[: MAX_LENGTH - self._length]:
                self._length += len(text)
                self._hold(text, is_thought=False)
        for call in delta.get("tool_calls") or ():
            self._read_call(call.get("index"), call.get("id"), call.get("function") or {})
        if function := delta.get("function_call"):  # before OpenAI had tools
            self._read_call("function_call", None, function)

    def _read_call(self, index: Any, id: Any, function: Mapping[str, Any]) -> None:
        name, arguments = _read_text(function.get("name")), function.get("arguments")
        if isinstance(arguments, dict):  # some servers have parsed them
            arguments = orjson.dumps(arguments).decode()
        arguments = _read_text(arguments)
        self._length += len(name) + len(arguments)
        if self._length > MAX_LENGTH:
            return  # the answer is cut off, so its last call is not run
        self._collector.add(index, _read_text(id), name, arguments)
        if len(self._collector.calls) > MAX_CALLS:
            raise LlmMalformed("the answer has too many calls")

    def _read_written_calls(self, calls: tuple[StreamedCall, ...]) -> tuple[tuple[StreamedCall, ...], bool]:
        """Return the calls of the answer, and whether it has one that cannot be run.

        A call that is written as text is run if it is whole, names a tool of the request and ends the answer. Asking
        for a real call instead would cost a request, and a server that does not read the markup of its model never
        has one. What the model only quotes from a message is not run.
        """
        held = self._splitter.close()
        blocks = self._splitter.calls
        if not calls and held and (written := parse_written_calls([held], self._tools)):
            return (written, False) if not is_quoted(held, self._messages) else ((), True)
        self._splitter.pass_on_text(held)
        if calls or not blocks:
            return calls, False
        if self._splitter.has_text_after_call or any(is_quoted(each, self._messages) for each in blocks):
            return (), True
        written = parse_written_calls(blocks, self._tools)
        return written, not written

    def _hold(self, piece: str, *, is_thought: bool) -> None:
        if is_thought != self._holds_thoughts:
            self._pass_on_held()
            self._holds_thoughts = is_thought
        self._held.append(piece)

    def _pass_on_held(self) -> None:
        if not self._held:
            return
        held, self._held = "".join(self._held), []
        if self._holds_thoughts:
            self._pass_on_reasoning(held)
        else:
            self._splitter.add(held)

    def _pass_on_text(self, text: str) -> None:
        self._texts.append(text)
        self._on_text(text)

    def _pass_on_reasoning(self, text: str) -> None:
        text = text[: MAX_REASONING_LENGTH - self._reasoning_length]
        if text:
            self._reasoning_length += len(text)
            self._thoughts.append(text)
            self._on_reasoning(text)


def _read_reasoning(delta: Mapping[str, Any]) -> str:
    """Return a piece of reasoning, in the field of DeepSeek and vLLM, of OpenRouter, or of Mistral."""
    for name in ("reasoning_content", "reasoning"):
        if isinstance(text := delta.get(name), str) and text:
            return _read_text(text)
    content = delta.get("content")
    parts = content if isinstance(content, list) else []
    return "".join(_read_text(part.get("thinking")) for part in parts if part.get("type") == "thinking")


def _read_text(value: Any) -> str:
    """Return a text without NUL, which databases refuse. Of a list of parts, return the texts.

    Raises TypeError or AttributeError for anything else.
    """
    if isinstance(value, list):
        return "".join(_read_text(part.get("text")) for part in value if part.get("type") == "text")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError
    return value.replace("\0", "")
