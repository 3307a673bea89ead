"""Separate what a model writes for the user from what it thinks and from calls that it writes as text.

Servers that do not know the template of a model pass its markup on as text. Tags can be split over several pieces.
"""

from collections.abc import Callable

# What opens and closes reasoning, in the templates of DeepSeek, Qwen, Mistral and gpt-oss.
REASONING = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "[THINK]": "[/THINK]",
    "<|channel|>analysis<|message|>": "<|end|>",
}
# What opens and closes calls of tools: Hermes, Qwen, Llama, Mistral, Phi, DeepSeek, Kimi, gpt-oss and Claude.
CALLS = {
    "<tool_call>": "</tool_call>",
    "<tool_calls>": "</tool_calls>",
    "<function_calls>": "</function_calls>",
    "<function=": "</function>",
    "<invoke name=": "</invoke>",
    "<|python_tag|>": "<|eom_id|>",
    "<|tool_call|>": "<|/tool_call|>",
    "[TOOL_CALLS]": "</s>",
    "<｜tool▁calls▁begin｜>": "<｜tool▁calls▁end｜>",
    "<|tool_calls_section_begin|>": "<|tool_calls_section_end|>",
    "<|channel|>commentary to=": "<|call|>",
}
NAMED_CALLS = ("<function=", "<invoke name=")  # the name of the tool is part of the mark
# Marks without a meaning for anybody.
STRAY = frozenset(
    {
        *REASONING.values(),
        *(close for close in CALLS.values() if close not in ("</s>", "</function>", "</invoke>")),
        "<|im_end|>",
        "<|eot_id|>",
        "<|endoftext|>",
        "<|return|>",
        "<|start|>assistant",
        "<|channel|>final<|message|>",
        "<|channel|>commentary<|message|>",
    }
)
MARKS = sorted({*REASONING, *CALLS, *STRAY}, key=len, reverse=True)
FENCE = "```"


def split_reasoning(text: str) -> tuple[str, str]:
    """Return a whole answer as (text, reasoning)."""
    texts, thoughts = list[str](), list[str]()
    splitter = MarkupSplitter(texts.append, thoughts.append)
    splitter.add(text)
    splitter.close()
    return "".join(texts), "".join(thoughts)


class MarkupSplitter:
    """Passes text and reasoning on while they arrive, and collects calls that are written as text.

    Marks in code are text. An answer that begins with a brace waits for its end: it may be a call without any mark.
    """

    def __init__(
        self, on_text: Callable[[str], None], on_reasoning: Callable[[str], None], *, holds_json: bool = False
    ) -> None:
        self.calls: list[str] = []  # what stands between the marks
        self.has_text_after_call = False
        self._on_text, self._on_reasoning = on_text, on_reasoning
        self._holds_json = holds_json
        self._rest = ""
        self._opener, self._close = "", ""  # of the open block
        self._has_text = self._has_block = False
        self._fences = 0
        self._tail = ""  # the last characters of the text

    def add(self, piece: str) -> None:
        """Read the next piece."""
        self._rest += piece
        while self._read_block() if self._close else self._read_text():
            pass

    def close(self) -> str:
        """Read the end. Return an answer that may be a call without any mark; it was not passed on."""
        rest, self._rest = self._rest, ""
        if self._opener in CALLS:
            self._add_call(rest)
        elif self._opener:
            self._on_reasoning(rest)
        elif self._may_be_json(rest):
            return rest
        else:
            self._pass_on(rest)
        return ""

    def pass_on_text(self, text: str) -> None:
        """Pass on what `close` has returned, because it is no call."""
        self._pass_on(text)

    def _read_text(self) -> bool:
        """Read text up to the next mark. Return whether there may be more to read."""
        if self._may_be_json(self._rest):
            return False
        at, mark = self._find_mark()
        if not mark:
            whole = len(self._rest) - _count_open_mark(self._rest, MARKS)
            text, self._rest = self._rest[:whole], self._rest[whole:]
            self._pass_on(text)
            return False
        self._pass_on(self._rest[:at])
        self._rest = self._rest[at + len(mark) :]
        if mark in REASONING or mark in CALLS:
            self._opener, self._close = mark, REASONING.get(mark) or CALLS[mark]
        return True

    def _find_mark(self) -> tuple[int, str]:
        """Return the first mark that is not in code, and where it is."""
        start = 0 if "<" in self._rest or "[" in self._rest else len(self._rest)
        while True:
            matches = [(at, mark) for mark in MARKS if (at := self._rest.find(mark, start)) >= 0]
            if not matches:
                return -1, ""
            at, mark = min(matches, key=lambda match: (match[0], -len(match[1])))
            before = self._tail + self._rest[:at]
            fences = self._fences + before.count(FENCE)
            if fences % 2 == 0 and not before.endswith("`"):
                return at, mark
            start = at + len(mark)

    def _read_block(self) -> bool:
        """Read reasoning, or a call, up to its end."""
        at = self._rest.find(self._close)
        if at >= 0:
            content, self._rest = self._rest[:at], self._rest[at + len(self._close) :]
            self._end_block(content)
            return True
        if self._opener in REASONING:
            whole = len(self._rest) - _count_open_mark(self._rest, [self._close])
            content, self._rest = self._rest[:whole], self._rest[whole:]
            if content:
                self._on_reasoning(content)
        return False

    def _end_block(self, content: str) -> None:
        if self._opener in CALLS:
            self._add_call(content)
        elif content:
            self._on_reasoning(content)
        self._opener, self._close, self._has_block = "", "", True

    def _add_call(self, content: str) -> None:
        is_part = self._opener in NAMED_CALLS
        self.calls.append(f"{self._opener}{content}{self._close}" if is_part else content)

    def _may_be_json(self, text: str) -> bool:
        start = text[:50].lstrip()[:2]
        return self._holds_json and not self._has_text and (start[:1] == "{" or start in ("[", "[{"))

    def _pass_on(self, text: str) -> None:
        if self._has_block and not self._has_text:
            text = text.lstrip()  # blank lines after the reasoning
        if not text:
            return
        if text.strip():
            self._has_text = True
            self.has_text_after_call = self.has_text_after_call or bool(self.calls)
        seen = self._tail + text
        self._fences += seen.count(FENCE)
        self._tail = "" if seen.endswith(FENCE) else seen[-2:]
        self._on_text(text)


def _count_open_mark(text: str, marks: list[str]) -> int:
    """Return the length of the end of a text that may be the beginning of a mark."""
    longest = max(map(len, marks)) - 1
    for length in range(min(longest, len(text)), 0, -1):
        end = text[-length:]
        if end[0] in "<[" and any(mark.startswith(end) for mark in marks):
            return length
    return 0
