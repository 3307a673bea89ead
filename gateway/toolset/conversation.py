"""The conversation that tools are chosen for, as the body of toolset describes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_MESSAGES = 6
MAX_MESSAGE = 2_000  # characters of an earlier message
MAX_ROWS = 50
MAX_RECENT_TOOLS = 50
USER, ASSISTANT = "user", "assistant"

_TEXT = {"type": "string", "maxLength": 200}
MESSAGE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "role": {"type": "string", "enum": [USER, ASSISTANT]},
        "content": {"type": "string", "maxLength": MAX_MESSAGE},
    },
    "required": ["role", "content"],
    "additionalProperties": False,
}
ROW_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {**_TEXT, "minLength": 1}, "name": _TEXT, "entity": _TEXT},
    "required": ["id", "name"],
    "additionalProperties": False,
}


def build_conversation_properties(*, message: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """Return the properties of a body that describe a conversation. `message` and `row` are schemas of their items."""
    return {
        "message": {"type": "string", "maxLength": 20_000, "description": "What the user wrote: the newest message"},
        "messages": {
            "type": "array",
            "maxItems": MAX_MESSAGES,
            "description": "The last messages, oldest first. Without message, the user's newest one of them counts",
            "items": message,
        },
        "recent_tools": {
            "type": "array",
            "maxItems": MAX_RECENT_TOOLS,
            "description": "Names of the tools that the model called in the last turns, oldest first",
            "items": {"type": "string", "minLength": 1, "maxLength": 200},
        },
        "rows": {
            "type": "array",
            "maxItems": MAX_ROWS,
            "description": "Rows that the model knows: on the user's page, or in earlier results",
            "items": row,
        },
    }


@dataclass(frozen=True, slots=True)
class KnownRow:
    """A row that the model knows by its id."""

    name: str
    entity: str = ""


@dataclass(frozen=True, slots=True)
class ToolsetConversation:
    """What the user wrote, the messages before it (oldest first), and what the model called and knows."""

    message: str = ""
    earlier: tuple[tuple[str, str], ...] = ()  # role and content
    recent_tools: tuple[str, ...] = ()  # oldest first
    rows: tuple[KnownRow, ...] = ()
    is_continued: bool = False  # the turn goes on without a new message

    @classmethod
    def of_body(cls, body: Mapping[str, Any]) -> "ToolsetConversation":
        """Return the conversation of a valid body.

        A turn that goes on without a new message, such as after a decision, is about the user's newest one.
        """
        messages = [(each["role"], each["content"]) for each in body.get("messages", ())]
        message = body.get("message", "")
        is_continued = not message.strip()
        if not is_continued:
            if messages and messages[-1] == (USER, message[:MAX_MESSAGE]):
                messages.pop()
        else:
            at = next((at for at in reversed(range(len(messages))) if messages[at][0] == USER), None)
            message, messages = ("", messages) if at is None else (messages[at][1], messages[:at])
        rows = tuple(KnownRow(each["name"], each.get("entity", "")) for each in body.get("rows", ()))
        return cls(message, tuple(messages), tuple(body.get("recent_tools", ())), rows, is_continued)

    @property
    def earlier_requests(self) -> list[str]:
        """What the user wrote before, the newest first."""
        return [content for role, content in reversed(self.earlier) if role == USER]

    @property
    def earlier_text(self) -> str:
        """What the user wrote before, as one text."""
        return "\n".join(self.earlier_requests)

    @property
    def last_reply(self) -> str:
        """What the assistant wrote last; empty if the user has written since."""
        return self.earlier[-1][1] if self.earlier and self.earlier[-1][0] == ASSISTANT else ""


EMPTY_CONVERSATION = ToolsetConversation()
