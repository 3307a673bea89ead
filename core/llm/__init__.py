"""The one client of language models: any endpoint that speaks OpenAI's Chat Completions.

https://platform.openai.com/docs/api-reference/chat. Off unless LLM_BASE_URL is set.
"""

from core.llm.completions import Completion, JsonCompletion, complete, complete_json
from core.llm.endpoint import (
    Endpoint,
    LlmAborted,
    LlmCutOff,
    LlmError,
    LlmMalformed,
    LlmNotConfigured,
    LlmRefused,
    LlmUnavailable,
    Model,
    Tier,
    Usage,
    get_endpoint,
    is_configured,
)
from core.llm.streaming import StreamedCall, StreamedCompletion, stream_completion

__all__ = [
    "Completion",
    "Endpoint",
    "JsonCompletion",
    "LlmAborted",
    "LlmCutOff",
    "LlmError",
    "LlmMalformed",
    "LlmNotConfigured",
    "LlmRefused",
    "LlmUnavailable",
    "Model",
    "StreamedCall",
    "StreamedCompletion",
    "Tier",
    "Usage",
    "complete",
    "complete_json",
    "get_endpoint",
    "is_configured",
    "stream_completion",
]
