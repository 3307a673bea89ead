"""The one client of language models: any endpoint that speaks OpenAI's Chat Completions.

https://platform.openai.com/docs/api-reference/chat. Off unless LLM_BASE_URL is set.
"""

from core.llm.completion import Completion, JsonCompletion
from core.llm.completions import complete, complete_json
from core.llm.errors import LlmAborted, LlmCutOff, LlmError, LlmMalformed, LlmNotConfigured, LlmRefused, LlmUnavailable
from core.llm.stream_parser import StreamedCall, StreamedCompletion
from core.llm.streaming import stream_completion
from core.llm.tiers import Endpoint, Model, Tier, get_endpoint, is_configured
from core.llm.usage import Usage

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
