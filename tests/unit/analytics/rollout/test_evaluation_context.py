import pytest

from analytics.rollout.evaluation import get_model_family


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gpt-4o-mini", "gpt"),
        ("openai/o3-mini", "gpt"),
        ("chatgpt-4o-latest", "gpt"),
        ("anthropic/claude-sonnet-4-5", "claude"),
        ("google/gemini-2.5-pro", "gemini"),
        ("meta-llama/Llama-3.1-70B", "llama"),
        ("qwen2.5-72b", "qwen"),
        ("deepseek-chat", "deepseek"),
        ("x-ai/grok-4", "grok"),
        ("", ""),
        ("007", ""),
    ],
)
def test_model_family_is_derived_from_the_model_name(model: str, expected: str) -> None:
    assert get_model_family(model) == expected
