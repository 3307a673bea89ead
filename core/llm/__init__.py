"""The one client of language models: any endpoint that speaks OpenAI's Chat Completions.

https://platform.openai.com/docs/api-reference/chat. Off unless LLM_BASE_URL is set.
"""

from core.llm.completion import Completion, JsonCompletion
from core.llm.completions import complete, complete_json
from core.llm.errors import LlmCutOff, LlmError, LlmMalformed, LlmNotConfigured, LlmRefused, LlmUnavailable
from core.llm.tiers import Tier, is_configured
from core.llm.usage import Usage

__all__ = [
    "Completion",
    "JsonCompletion",
    "LlmCutOff",
    "LlmError",
    "LlmMalformed",
    "LlmNotConfigured",
    "LlmRefused",
    "LlmUnavailable",
    "Tier",
    "Usage",
    "complete",
    "complete_json",
    "is_configured",
]
