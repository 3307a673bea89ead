"""The one client of language models: any endpoint that speaks OpenAI's Chat Completions.

https://platform.openai.com/docs/api-reference/chat. Off unless LLM_BASE_URL is set.
"""

from core.llm.answers import ModelLine
from core.llm.calls import StreamedCall, create_call_id
from core.llm.completions import Completion, JsonCompletion, complete, complete_json
from core.llm.endpoint import Endpoint, Model, Tier, Usage, get_endpoint, is_configured
from core.llm.errors import (
    EmptyReason,
    LlmAborted,
    LlmBusy,
    LlmCutOff,
    LlmDenied,
    LlmEmpty,
    LlmError,
    LlmFiltered,
    LlmMalformed,
    LlmNotConfigured,
    LlmRefused,
    LlmSilent,
    LlmTooLong,
    LlmUnavailable,
)
from core.llm.stream_parser import StreamedCompletion
from core.llm.streaming import stream_completion

__all__ = [
    "Completion",
    "EmptyReason",
    "Endpoint",
    "JsonCompletion",
    "LlmAborted",
    "LlmBusy",
    "LlmCutOff",
    "LlmDenied",
    "LlmEmpty",
    "LlmError",
    "LlmFiltered",
    "LlmMalformed",
    "LlmNotConfigured",
    "LlmRefused",
    "LlmSilent",
    "LlmTooLong",
    "LlmUnavailable",
    "Model",
    "ModelLine",
    "StreamedCall",
    "StreamedCompletion",
    "Tier",
    "Usage",
    "complete",
    "complete_json",
    "create_call_id",
    "get_endpoint",
    "is_configured",
    "stream_completion",
]
