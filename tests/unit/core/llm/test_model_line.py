"""Answers with nothing for the user, refusals of endpoints, and silence."""

import time
from typing import Any

import orjson
import pytest

from core import llm as llms
from core.llm import EmptyReason, streaming
from tests.support.chat.fake_llm import FakeLlm, build_stream
from tests.support.chat.malformed_streams import (
    HELP,
    MESSAGES,
    Asked,
    ask,
    delta,
    hang,
    refuse,
    stream_chunks,
    stream_deltas,
    stream_texts,
    tool_delta,
)
from tests.support.upstreams.http_servers import build_response

pytestmark = pytest.mark.usefixtures("short_waits")


# --- answers with nothing for the user --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (stream_deltas(), EmptyReason.SILENCE),
        (stream_texts("  \n"), EmptyReason.SILENCE),
        (build_response(b"data: [DONE]\n\n"), EmptyReason.SILENCE),
        (stream_deltas(delta(reasoning_content="Hm."), finish="length"), EmptyReason.REASONING),
        (stream_texts("<think>Hm. And hm.", finish="length"), EmptyReason.REASONING),
        (stream_texts("<think>Hm. And hm."), EmptyReason.SILENCE),
        (stream_deltas(tool_delta("{}", id="a")), EmptyReason.SILENCE),
    ],
    ids=["empty", "blank", "only_done", "reasoning", "think", "unclosed_think", "nameless_call"],
)
def test_empty_answer_is_asked_about_once_and_then_an_error(llm: FakeLlm, first: Any, reason: EmptyReason) -> None:
    llm.answers = [first, build_stream("Two.")]

    assert ask().text == "Two."
    assert llm.bodies[0] != llm.bodies[1]
    llm.answers = [first]
    llm.bodies.clear()
    asked = Asked()
    with pytest.raises(llms.LlmEmpty) as error:
        asked.ask()
    assert (error.value.reason, len(llm.bodies), len(asked.usages)) == (reason, 2, 2)


def test_call_without_tools_is_no_answer(llm: FakeLlm) -> None:
    llm.answers = [build_stream(calls=[("a", *HELP)]), build_stream("Two.")]

    assert ask(tools=[]).text == "Two."


def test_filtered_answer_costs_what_was_read(llm: FakeLlm) -> None:
    llm.answers = [stream_texts("How", finish="content_filter")]
    asked = Asked()

    with pytest.raises(llms.LlmFiltered):
        asked.ask()
    assert ([each.input_tokens for each in asked.usages], asked.texts, len(llm.bodies)) == ([1_000], ["How"], 1)


# --- refusals ---------------------------------------------------------------------------------------------------------


HISTORY = [
    MESSAGES[0],
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hello!"},
    {"role": "system", "content": "Last turn: nothing."},
    MESSAGES[1],
]
TOO_LONG = [
    refuse("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."),
    refuse("the request exceeds the available context size, try increasing it", type="exceed_context_size_error"),
    refuse("prompt is too long: 210000 tokens > 200000 maximum"),
    refuse("No.", code="context_length_exceeded"),
    build_response(b"Payload Too Large", "413 Payload Too Large"),
    stream_chunks({"error": {"code": "context_length_exceeded"}}),
]


@pytest.mark.parametrize("refusal", TOO_LONG)
def test_context_that_is_too_long_is_shortened_once(llm: FakeLlm, settings: Any, refusal: bytes) -> None:
    settings.LLM_REASONING_TOKENS = 0
    llm.answers = [refusal, build_stream("Two."), build_stream("Three.")]
    asked = Asked()

    assert [asked.ask(HISTORY).text for _ in range(2)] == ["Two.", "Three."]

    roles = [[each["role"] for each in body["messages"]] for body in llm.bodies]
    assert roles == [[each["role"] for each in HISTORY], ["system", "system", "user"], ["system", "system", "user"]]


def test_context_that_stays_too_long_is_an_error(llm: FakeLlm, settings: Any) -> None:
    settings.LLM_REASONING_TOKENS = 0
    llm.answers = [TOO_LONG[0]]

    with pytest.raises(llms.LlmTooLong):
        ask(HISTORY)
    assert len(llm.bodies) == 2


@pytest.mark.parametrize(
    "refusal",
    [
        TOO_LONG[0],
        refuse("max_tokens is too large: 7000. This model supports at most 4096 completion tokens."),
        refuse("max_completion_tokens: 7000 > 4096, which is the maximum number of output tokens"),
    ],
)
def test_room_for_reasoning_is_left_out_where_it_does_not_fit(llm: FakeLlm, settings: Any, refusal: bytes) -> None:
    settings.LLM_REASONING_TOKENS = 5_000
    llm.answers = [refusal, build_stream("Two.")]

    ask()
    ask()

    assert [body["max_completion_tokens"] for body in llm.bodies] == [7_000, 2_000, 2_000]
    assert [len(body["messages"]) for body in llm.bodies] == [2, 2, 2]


@pytest.mark.parametrize(
    "refusal",
    [
        refuse("System message must be at the beginning."),
        refuse("Unexpected role 'system' after role 'tool'"),
        refuse("Conversation roles must alternate user/assistant/user/assistant/..."),
        refuse("Expected last role User or Tool (or Assistant with prefix True) for serving but got system"),
        refuse("Value is not callable: System message must be at the beginning.", "500 Internal Server Error"),
        refuse("Only one system message is allowed", "422 Unprocessable Entity"),
    ],
)
def test_later_system_messages_are_folded_for_an_endpoint_that_refuses_them(llm: FakeLlm, refusal: bytes) -> None:
    rounds = [
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "content": "{}", "tool_call_id": "a"},
    ]
    messages = [*HISTORY, *rounds, {"role": "system", "content": "Repair it."}]
    llm.answers = [refusal, build_stream("Two.")]

    ask(messages)
    ask(messages)

    assert len(llm.bodies) == 3
    for body in llm.bodies[1:]:
        assert [each["role"] for each in body["messages"]] == [
            "system",
            "user",
            "assistant",
            "user",
            "assistant",
            "tool",
        ]
        assert body["messages"][3]["content"] == "Last turn: nothing.\n\nWhich tasks are late?"
        assert body["messages"][5]["content"] == "{}\n\nRepair it."


@pytest.mark.parametrize(
    ("message", "changed"),
    [
        ("Unsupported parameter: max_completion_tokens", {"max_tokens"}),
        ("Extra inputs are not permitted: stream_options", set()),
    ],
)
def test_unknown_parameter_is_left_out(llm: FakeLlm, message: str, changed: set[str]) -> None:
    llm.answers = [refuse(message, "422 Unprocessable Entity"), build_stream("Two.")]

    assert ask().text == "Two."
    assert set(llm.bodies[1]) - set(llm.bodies[0]) == changed
    assert message.rpartition(" ")[2] not in llm.bodies[1]


def test_reasoning_goes_back_only_to_an_endpoint_that_wants_it(llm: FakeLlm) -> None:
    messages = [*MESSAGES, {"role": "assistant", "content": None, "tool_calls": [], "reasoning_content": "Hm."}]
    llm.answers = [refuse("Missing `reasoning_content` field in the assistant message"), build_stream("Two.")]

    ask(messages)

    assert ["reasoning_content" in body["messages"][-1] for body in llm.bodies] == [False, True]


@pytest.mark.parametrize(
    ("answer", "error", "requests"),
    [
        (refuse("Slow down", "429 Too Many Requests"), llms.LlmUnavailable, 3),
        (refuse("You exceeded your current quota", "429 Too Many Requests"), llms.LlmDenied, 1),
        (refuse("Blocked", code="content_filter"), llms.LlmFiltered, 1),
        (refuse("Bad key", "401 Unauthorized"), llms.LlmDenied, 1),
        (stream_chunks(delta(content="Tw"), {"error": "overloaded"}), llms.LlmUnavailable, 1),
        (stream_chunks(delta(content="Tw"), done=False), llms.LlmUnavailable, 1),
        (stream_chunks(b"data: {", delta(content="Two.")), llms.LlmMalformed, 1),
        (build_response(b'{"detail": "no"}'), llms.LlmMalformed, 1),
    ],
    ids=["busy", "quota", "filter", "key", "error_in_the_stream", "early_end", "not_json", "other_json"],
)
def test_refusal_is_told_apart(llm: FakeLlm, answer: bytes, error: type[Exception], requests: int) -> None:
    llm.answers = [answer]

    with pytest.raises(error) as raised:
        ask()
    assert type(raised.value) is error
    assert len(llm.bodies) == requests


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
def test_short_wait_is_taken_and_a_long_one_is_told(llm: FakeLlm, status: str) -> None:
    llm.answers = [build_response(b"", status, Retry_After="0.1"), build_stream("Two.")]
    assert ask().text == "Two."

    llm.answers = [build_response(b"", status, Retry_After="90")]
    llm.bodies.clear()
    with pytest.raises(llms.LlmBusy) as error:
        ask()
    assert (error.value.seconds, len(llm.bodies)) == (90, 1)


# --- silence ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "texts"),
    [
        (hang(), []),
        (hang(b"data: " + orjson.dumps(delta(content="Tw")) + b"\n\n"), ["Tw"]),
        (hang(comments=b": still here\n\n"), []),
    ],
    ids=["first_byte", "between", "comments"],
)
def test_silence_ends_and_the_request_is_not_sent_again(
    llm: FakeLlm, monkeypatch: pytest.MonkeyPatch, answer: Any, texts: list[str]
) -> None:
    for name in ("SILENT_SECONDS", "KEPT_OPEN_SECONDS"):
        monkeypatch.setattr(streaming, name, 1.0)  # within which also a busy machine begins to answer
    llm.answers = [answer]
    asked = Asked()

    with pytest.raises(llms.LlmSilent):
        asked.ask()
    assert (asked.texts, len(llm.bodies)) == (texts, 1)


def test_end_of_the_answer_is_not_waited_for(llm: FakeLlm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "END_SECONDS", 0.2)
    llm.answers = [hang(b"data: " + orjson.dumps(delta("stop", content="Two.")) + b"\n\n")]
    started = time.monotonic()

    assert ask().text == "Two."
    assert time.monotonic() - started < 3
