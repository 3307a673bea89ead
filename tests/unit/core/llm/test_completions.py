"""The client of language models, against a real HTTP server: requests, answers, refusals, retries, cost and silence."""

import logging
import time
from decimal import Decimal
from typing import Any

import orjson
import pytest
from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from prometheus_client import REGISTRY
from pydantic import TypeAdapter

from core import llm as llms
from core.database.deadlines import Deadline
from core.llm import LlmCutOff, LlmMalformed, LlmNotConfigured, LlmRefused, LlmUnavailable, Tier, completions
from core.overload import THREE_IN_A_ROW
from tests.support.chat.fake_llm import LLM_KEY, FakeLlm, build_chat_completion
from tests.support.upstreams.fake_internet import FakeInternet
from tests.support.upstreams.http_servers import build_response

PROMPT, ANSWER = "the user's secret plan", "an answer nobody else may read"
MESSAGES = [{"role": "system", "content": "Answer in JSON."}, {"role": "user", "content": PROMPT}]
BUSY = build_response(b"", "503 Service Unavailable")


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completions, "FIRST_WAIT_SECONDS", 0.01)


def ask(*, tier: Tier = Tier.MAIN, milliseconds: int = 5_000) -> llms.Completion:
    return llms.complete(MESSAGES, tier=tier, purpose="test", deadline=Deadline.after(milliseconds=milliseconds))


def ask_for_json() -> dict[str, Any]:
    deadline = Deadline.after(milliseconds=5_000)
    return llms.complete_json(MESSAGES, tier=Tier.FAST, purpose="test", deadline=deadline).value


def test_request_and_answer_have_the_shapes_of_openai(llm: FakeLlm) -> None:
    llm.answers = [build_chat_completion(' {"a": [1]} ')]

    assert ask_for_json() == {"a": [1]}

    assert llm.bodies == [{"model": "quick", "messages": MESSAGES, "response_format": {"type": "json_object"}}]
    assert llm.keys == [f"Bearer {LLM_KEY}"]
    TypeAdapter(CompletionCreateParamsNonStreaming).validate_python(llm.bodies[0])
    ChatCompletion.model_validate(orjson.loads(build_chat_completion("Yes.").partition(b"\r\n\r\n")[2]), strict=True)


def test_a_text_comes_with_its_tokens_and_its_price(llm: FakeLlm, settings: Any) -> None:
    settings.LLM_DOLLARS_PER_MILLION_INPUT_TOKENS = Decimal("2.50")
    settings.LLM_DOLLARS_PER_MILLION_OUTPUT_TOKENS = Decimal("10")
    settings.LLM_FAST_DOLLARS_PER_MILLION_OUTPUT_TOKENS = Decimal("1")
    before = REGISTRY.get_sample_value("gateway_llm_tokens_total", {"tier": "main", "direction": "output"}) or 0

    answer, quick = ask(), ask(tier=Tier.FAST)

    assert (answer.text, answer.usage.input_tokens, answer.usage.output_tokens) == ("Yes.", 1_000, 200)
    assert (answer.usage.dollars, quick.usage.dollars) == (Decimal("0.0045"), Decimal("0.0002"))
    assert [body["model"] for body in llm.bodies] == ["big", "quick"]
    after = REGISTRY.get_sample_value("gateway_llm_tokens_total", {"tier": "main", "direction": "output"})
    assert after == before + 200


def test_the_main_model_is_the_fast_one_if_there_is_no_other(llm: FakeLlm, settings: Any) -> None:
    settings.LLM_FAST_MODEL, settings.LLM_API_KEY = "", ""
    settings.LLM_DOLLARS_PER_MILLION_INPUT_TOKENS = Decimal(3)
    llm.answers = [build_chat_completion("Yes.", usage=None), build_chat_completion("Yes.")]

    assert [ask(tier=Tier.FAST).usage.dollars for _ in range(2)] == [0, Decimal("0.003")]
    assert [body["model"] for body in llm.bodies] == ["big", "big"]
    assert llm.keys == []


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (build_chat_completion("half of the", finish_reason="length"), LlmCutOff),
        (build_chat_completion(None, finish_reason="length"), LlmCutOff),
        (build_chat_completion("", finish_reason="content_filter"), LlmRefused),
        (
            build_chat_completion(
                "", choices=[{"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}]
            ),
            LlmRefused,
        ),
        (build_response(b"", "401 Unauthorized"), LlmRefused),
        (build_response(b"", "302 Found", Location="http://elsewhere.test/"), LlmRefused),
        (build_chat_completion("  "), LlmMalformed),
        (build_chat_completion(None, finish_reason="tool_calls"), LlmMalformed),
        (build_chat_completion("Yes.", choices=[]), LlmMalformed),
        (build_chat_completion("Yes.", choices=[{"message": None, "finish_reason": "stop"}]), LlmMalformed),
        (build_response(b"<html>"), LlmMalformed),
    ],
)
def test_an_unusable_answer_is_a_named_error(llm: FakeLlm, answer: bytes, error: type[llms.LlmError]) -> None:
    llm.answers = [answer]

    with pytest.raises(error):
        ask()

    assert len(llm.bodies) == 1  # asking again would not help


@pytest.mark.parametrize("text", ["Sure: {}", "```json\n{}\n```", "[]", '{"a": 1, "a": 2}', '{"a": NaN}', "{}{}"])
def test_json_is_parsed_strictly(llm: FakeLlm, text: str) -> None:
    llm.answers = [build_chat_completion(text)]

    with pytest.raises(LlmMalformed):
        ask_for_json()


@pytest.mark.parametrize("status", ["429 Too Many Requests", "500 Internal Server Error", "503 Service Unavailable"])
def test_a_temporary_failure_is_tried_twice_again(llm: FakeLlm, status: str) -> None:
    llm.answers = [build_response(b"", status), build_response(b"", status), build_chat_completion("Yes.")]
    assert ask().text == "Yes."

    llm.answers = [build_response(b"", status)]
    with pytest.raises(LlmUnavailable, match=f"^status {status[:3]}$"):
        ask()
    assert len(llm.bodies) == 3 + 3


def test_a_broken_connection_is_tried_again(llm: FakeLlm) -> None:
    llm.answers = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Encoding: br\r\n\r\nabcde",
        build_chat_completion("Yes."),
    ]

    assert ask().text == "Yes."


def test_the_wait_doubles_unless_the_endpoint_names_one() -> None:
    first = completions.FIRST_WAIT_SECONDS

    assert all(first / 2 <= completions.choose_wait(0, None) <= first for _ in range(50))
    assert all(first <= completions.choose_wait(1, None) <= 2 * first for _ in range(50))
    assert completions.choose_wait(1, 7.0) == 7.0


def test_a_wait_beyond_the_deadline_is_not_begun(llm: FakeLlm) -> None:
    llm.answers = [build_response(b"", "429 Too Many Requests", Retry_After="60")]

    started = time.monotonic()
    with pytest.raises(LlmUnavailable, match=r"^status 429$"):
        ask()
    assert time.monotonic() - started < 3
    assert len(llm.bodies) == 1


def test_three_failures_in_a_row_pause_the_tier_and_no_other(llm: FakeLlm) -> None:
    llm.answers = [BUSY]
    for _ in range(THREE_IN_A_ROW.min_calls):
        with pytest.raises(LlmUnavailable):
            ask(tier=Tier.FAST)
    count = len(llm.bodies)

    llm.answers = [build_chat_completion("Yes.")]
    with pytest.raises(LlmUnavailable, match="paused"):
        ask(tier=Tier.FAST)

    assert len(llm.bodies) == count
    assert ask().text == "Yes."


def test_without_an_endpoint_nothing_is_sent(settings: Any) -> None:
    settings.LLM_BASE_URL = ""

    assert not llms.is_configured()
    with pytest.raises(LlmNotConfigured):
        ask()


def test_an_unknown_host_is_unavailable(llm: FakeLlm, settings: Any) -> None:
    settings.LLM_BASE_URL = "http://nowhere.test/v1"

    with pytest.raises(LlmUnavailable, match=r"^AddressRefused$"):
        ask()


def test_the_whole_url_may_be_given_too(llm: FakeLlm, fake_internet: FakeInternet, settings: Any) -> None:
    settings.LLM_BASE_URL = "http://llm.test/v1/chat/completions/?api-version=1"

    assert ask().text == "Yes."
    assert fake_internet.requests[-1].startswith(b"POST /v1/chat/completions?api-version=1 ")


def test_nothing_of_prompt_answer_and_key_is_logged(llm: FakeLlm, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    llm.answers = [
        build_chat_completion(ANSWER),
        build_chat_completion(ANSWER, finish_reason="length"),
        build_response(f"wrong key {LLM_KEY} for {PROMPT}".encode(), "401 Unauthorized"),
    ]

    answer = ask()
    errors = []
    for _ in range(2):
        with pytest.raises(llms.LlmError) as error:
            ask()
        errors.append(str(error.value))

    lines = "\n".join([*(record.getMessage() for record in caplog.records), *errors, repr(answer)])
    assert "llm.completed purpose=test tier=main input=1000 output=200 dollars=0.000000" in lines
    assert "llm.failed purpose=test tier=main reason='LlmRefused: status 401'" in lines
    assert not [secret for secret in (PROMPT, ANSWER, LLM_KEY) if secret in lines]
