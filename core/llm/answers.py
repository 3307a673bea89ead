"""Ask a model for an answer that has something for the user: a text, or calls of tools."""

from collections.abc import Callable
from dataclasses import dataclass, field

from core.database.deadlines import Deadline
from core.http import Abort
from core.llm.adaptation import Messages, drop_history
from core.llm.calls import Tools
from core.llm.endpoint import Endpoint, Usage
from core.llm.errors import EmptyReason, LlmEmpty, LlmFiltered, LlmTooLong
from core.llm.stream_parser import StreamedCompletion, ignore_piece
from core.llm.streaming import stream_completion

# What the model is told before it is asked once more.
NUDGES = {
    EmptyReason.SILENCE: "You have not answered. Answer the user now, in a sentence or two.",
    EmptyReason.REASONING: (
        "You reached the limit before you answered. Answer the user now, in a sentence or two, with little reasoning."
    ),
    EmptyReason.UNREAD_CALL: (
        "You wrote a tool call as text. It was not run, and the user has not seen it. Call a listed tool the way that "
        "tools are called here, or answer the user in plain words."
    ),
}
BETWEEN = "\n\n"  # what was written before the model was asked again, and what comes now


@dataclass(slots=True)
class ModelLine:
    """A line to a model for one task. It remembers that earlier turns have to be left out of its requests."""

    endpoint: Endpoint
    deadline: Deadline
    abort: Abort
    on_usage: Callable[[Usage], None]  # called for each answer, also one that is of no use
    on_text: Callable[[str], None] = ignore_piece
    on_reasoning: Callable[[str], None] = ignore_piece
    pause: Callable[[], float] | None = None
    has_no_history: bool = field(default=False, init=False)
    _has_reasoned: bool = field(default=False, init=False)
    _is_new: bool = field(default=True, init=False)  # no reasoning of this answer has been passed on

    def ask(self, messages: Messages, *, tools: Tools, max_tokens: int) -> StreamedCompletion:
        """Return an answer with a text or calls. An answer without either is asked for once more, in other words.

        Without tools, calls are nothing. If the messages are too long, they are sent once more without earlier turns.
        Raises an LlmError: LlmEmpty, LlmTooLong, or one of `stream_completion`.
        """
        nudge: EmptyReason | None = None
        while True:
            note = [{"role": "system", "content": NUDGES[nudge]}] if nudge else []
            answer = self._stream([*messages, *note], tools, max_tokens)
            reason = find_reason(answer, tools)
            if reason is None:
                return answer
            if nudge is not None:
                raise LlmEmpty(reason)
            nudge = reason
            if answer.text.strip():
                self.on_text(BETWEEN)

    def _stream(self, messages: Messages, tools: Tools, max_tokens: int) -> StreamedCompletion:
        shorter = drop_history(messages)
        try:
            return self._stream_once(shorter if self.has_no_history else messages, tools, max_tokens)
        except LlmTooLong:
            if self.has_no_history or len(shorter) == len(messages):
                raise
        self.has_no_history = True
        return self._stream_once(shorter, tools, max_tokens)

    def _stream_once(self, messages: Messages, tools: Tools, max_tokens: int) -> StreamedCompletion:
        self._is_new = True
        try:
            answer = stream_completion(
                messages,
                tools=tools,
                endpoint=self.endpoint,
                max_tokens=max_tokens,
                deadline=self.deadline,
                abort=self.abort,
                on_text=self.on_text,
                on_reasoning=self._pass_on_reasoning,
                pause=self.pause,
            )
        except LlmFiltered as error:
            if error.usage is not None:
                self.on_usage(error.usage)
            raise
        self.on_usage(answer.usage)
        return answer

    def _pass_on_reasoning(self, piece: str) -> None:
        """Pass on a piece, with blank lines between the reasoning of two answers."""
        if self._is_new and not (piece := piece.lstrip()):
            return
        if self._is_new and self._has_reasoned:
            self.on_reasoning(BETWEEN)
        self._is_new, self._has_reasoned = False, True
        self.on_reasoning(piece)


def find_reason(answer: StreamedCompletion, tools: Tools) -> EmptyReason | None:
    """Return why an answer has nothing for the user, None if it has."""
    if answer.tool_calls and tools:
        return None
    if answer.has_unread_call:
        return EmptyReason.UNREAD_CALL
    if answer.text.strip():
        return None
    return EmptyReason.REASONING if answer.is_cut_off else EmptyReason.SILENCE
