"""Which model endpoint a turn uses, and what its calls may cost."""

from dataclasses import dataclass
from decimal import Decimal
from threading import Lock
from typing import Any

from django.conf import settings

from chat.scripted_model.server import ScriptedModelServer
from core import llm

SCRIPTED = "scripted"
_lock = Lock()
_server: ScriptedModelServer | None = None


@dataclass(frozen=True, slots=True)
class ChatModel:
    """The endpoint of the chat's model, and whether that is only the scripted one."""

    endpoint: llm.Endpoint
    is_scripted: bool


def get_chat_model() -> ChatModel:
    """Return the model. Without LLM_BASE_URL the scripted model runs in this process, on loopback."""
    if llm.is_configured():
        return ChatModel(llm.get_endpoint(llm.Tier(settings.CHAT_MODEL_TIER)), is_scripted=False)
    model = llm.Model(SCRIPTED, Decimal(0), Decimal(0))
    return ChatModel(llm.Endpoint(_start_scripted_model(), "", model), is_scripted=True)


def _start_scripted_model() -> str:
    global _server
    with _lock:
        if _server is None:
            server = ScriptedModelServer()
            server.start()
            _server = server  # if it could not start, the next turn tries again
        return _server.url


@dataclass(slots=True)
class Spent:
    """What a turn cost so far, as the provider counts, and how many answers of the model it took."""

    answers: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: Decimal = Decimal(0)

    @property
    def tokens(self) -> int:
        """In and out."""
        return self.input_tokens + self.output_tokens

    def add_answer(self, usage: llm.Usage) -> None:
        """Add the usage of one answer to the user, or of one round on the way to it."""
        self.answers += 1
        self.add(usage)

    def add(self, usage: llm.Usage) -> None:
        """Add the usage of something else, such as a title."""
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.dollars += usage.dollars

    def to_dict(self) -> dict[str, Any]:
        """Return the data of an event `usage`."""
        return {
            "input": self.input_tokens,
            "output": self.output_tokens,
            "dollars": float(self.dollars),
            "answers": self.answers,
        }
