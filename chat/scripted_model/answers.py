"""What the scripted model answers: text, or tool calls."""

from dataclasses import dataclass
from typing import Any

STOP = "stop"
TOOL_CALLS = "tool_calls"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of one of the request's tools."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the model. `finish_reason` is that of Chat Completions."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()

    @property
    def finish_reason(self) -> str:
        return TOOL_CALLS if self.tool_calls else STOP
