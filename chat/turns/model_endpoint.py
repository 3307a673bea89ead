"""Which model answers: the configured one, or the scripted one of this process."""

from dataclasses import dataclass
from decimal import Decimal
from threading import Lock

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
