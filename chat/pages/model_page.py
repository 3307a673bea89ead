"""The page of the model, for staff: which one answers, where that is set, and a test of it."""

import time
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from chat.errors import ApiError
from chat.pages.conversation_page import page_view
from chat.turns import model_endpoint
from chat.turns.model_endpoint import ChatModel
from core import llm
from core.database.deadlines import Deadline
from core.http import Abort

TEST_SECONDS = 20
MAX_TEST_TOKENS = 1_000  # models that think first need some
TEST_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "say_hello",
        "description": "Say hello to the user.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
}
TEST_MESSAGES = [{"role": "user", "content": "Call the tool say_hello with the text hello."}]
ADVICE = {
    llm.LlmUnavailable: "Check LLM_BASE_URL, and whether the endpoint can be reached from this machine.",
    llm.LlmRefused: "Check LLM_API_KEY and the name of the model.",
    llm.LlmMalformed: "The endpoint must speak OpenAI’s Chat Completions and stream its answers.",
}


@dataclass(frozen=True, slots=True)
class ModelTest:
    """What a test found out: whether all is well, and in words."""

    is_good: bool
    text: str


@require_http_methods(["GET", "HEAD", "POST"])
@page_view()
def show_model(request: HttpRequest, subject: str) -> HttpResponse:  # noqa: ARG001 - as all pages
    """Show the model, and test it on POST."""
    if not request.user.is_staff:
        raise ApiError(403, "not_staff", "Ask an administrator about the model.")
    model = model_endpoint.get_chat_model()
    context = {
        "rows": [] if model.is_scripted else _list_settings(model),
        "is_scripted": model.is_scripted,
        "test": try_model(model) if request.method == "POST" else None,
    }
    return render(request, "chat/model.html", context)


def try_model(model: ChatModel) -> ModelTest:
    """Ask the model for a call of a tool, as a turn does, and say how that went."""
    started = time.monotonic()
    try:
        answer = llm.stream_completion(
            TEST_MESSAGES,
            tools=[TEST_TOOL],
            endpoint=model.endpoint,
            max_tokens=MAX_TEST_TOKENS,
            deadline=Deadline.after(milliseconds=TEST_SECONDS * 1000),
            abort=Abort(),
            on_text=lambda _: None,
        )
    except llm.LlmError as error:
        advice = next((text for kind, text in ADVICE.items() if isinstance(error, kind)), "")
        return ModelTest(False, f"The test failed: {error}. {advice}".strip())
    took = f"{time.monotonic() - started:.1f} s"
    if not answer.tool_calls:
        text = (
            f"The model answered in {took}, but did not call the tool that it was asked to call. The chat needs that."
        )
        return ModelTest(False, text)
    return ModelTest(True, f"The model answered in {took}, as a stream, and called the tool of the test.")


def _list_settings(model: ChatModel) -> list[tuple[str, str, str]]:
    """Return (what, value, variable) of what the environment sets."""
    endpoint, is_fast = model.endpoint, bool(model.endpoint.tier == llm.Tier.FAST and settings.LLM_FAST_MODEL)
    prefix = "LLM_FAST_" if is_fast else "LLM_"
    model_prices = endpoint.model.input_price, endpoint.model.output_price
    prices = "${} in, ${} out, per million tokens".format(*model_prices) if any(model_prices) else "Not set."
    return [
        ("Endpoint", endpoint.base_url, "LLM_BASE_URL"),
        ("Model", endpoint.model.name, "LLM_FAST_MODEL" if is_fast else "LLM_MODEL"),
        ("Main or fast", str(endpoint.tier), "CHAT_MODEL_TIER"),
        ("API key", "Set. It is not shown." if endpoint.key else "Not set: no key is sent.", "LLM_API_KEY"),
        ("Prices", prices, f"{prefix}DOLLARS_PER_MILLION_…"),
    ]
