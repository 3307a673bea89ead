"""Answers that arrive piece by piece, from a real HTTP server."""

import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter

from core import llm as llms
from core.database.deadlines import Deadline
from core.http import Abort
from core.llm import LlmAborted, LlmMalformed, LlmRefused, LlmUnavailable, StreamedCall, Tier, completions
from core.llm.endpoint import LLM_TOKENS
from core.llm.stream_parser import MAX_LENGTH, MAX_LINE, StreamParser
from tests.support.chat.fake_llm import LLM_KEY, FakeLlm, build_chunks, build_stream
from tests.support.upstreams.http_servers import build_response

MESSAGES = [{"role": "user", "content": "Which tasks are late?"}]
TOOL = {"type": "function", "function": {"name": "tool_help", "parameters": {"type": "object"}}}


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completions, "FIRST_WAIT_SECONDS", 0.01)


def ask(
    texts: list[str] | None = None,
    *,
    abort: Abort | None = None,
    tools: Any = (),
    tier: Tier = Tier.MAIN,
    pause: Callable[[], float] | None = None,
) -> llms.StreamedCompletion:
    return llms.stream_completion(
        MESSAGES,
        tools=tools,
        endpoint=llms.get_endpoint(tier),
        max_tokens=2_000,
        deadline=Deadline.after(milliseconds=20_000),
        abort=abort or Abort(),
        on_text=([] if texts is None else texts).append,
        pause=pause,
    )


def test_text_is_passed_on_and_costs_what_the_endpoint_says(llm: FakeLlm, settings: Any) -> None:
    settings.LLM_DOLLARS_PER_MILLION_INPUT_TOKENS = Decimal("3")
    llm.answers = [build_stream("Two ", "tasks ", "are late.")]
    texts: list[str] = []

    answer = ask(texts, tools=[TOOL])

    assert "".join(texts) == "Two tasks are late."  # in one piece, if all of them have arrived
    assert (answer.text, answer.tool_calls, answer.is_cut_off) == ("Two tasks are late.", (), False)
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (1_000, 200)
    assert answer.usage.dollars == Decimal("0.003")
    assert llm.keys == [f"Bearer {LLM_KEY}"]
    TypeAdapter(CompletionCreateParamsStreaming).validate_python(llm.bodies[0])


def test_calls_come_in_pieces_and_several_at_once(llm: FakeLlm) -> None:
    calls = [("call_1", "tool_help", '{"path": "onto.task"}'), ("call_2", "tool_exec", '{"op": "onto.task.list"}')]
    llm.answers = [build_stream("I look.", calls=calls)]

    assert ask().tool_calls == tuple(StreamedCall(*call) for call in calls)


def test_whole_calls_without_an_index_are_calls_of_their_own() -> None:
    parser = StreamParser(llms.get_endpoint(Tier.MAIN).model, lambda _: None)
    for name in ("a", "b"):
        delta = {"tool_calls": [{"id": name, "function": {"name": name, "arguments": "{}"}}]}
        parser.feed(b"data: " + orjson.dumps({"choices": [{"delta": delta, "finish_reason": None}]}) + b"\n\n")
    parser.feed(b'data: {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}\n\n')

    assert [call.name for call in parser.finish().tool_calls] == ["a", "b"]


def test_text_may_come_in_parts_and_loses_what_databases_refuse() -> None:
    texts: list[str] = []
    parser = StreamParser(llms.get_endpoint(Tier.MAIN).model, texts.append)
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    for content in ([thought, {"type": "text", "text": "Two"}], " tas\0ks", None):
        chunk = {"choices": [{"delta": {"content": content}, "finish_reason": None}]}
        parser.feed(b"data: " + orjson.dumps(chunk) + b"\n\n")

    assert texts == ["Two", " tasks"]


def test_pieces_that_arrive_together_are_passed_on_as_one_even_before_an_error() -> None:
    passed_on: list[tuple[str, str]] = []
    parser = StreamParser(
        llms.get_endpoint(Tier.MAIN).model,
        lambda text: passed_on.append(("text", text)),
        lambda thought: passed_on.append(("thought", thought)),
    )
    thoughts = [stream_chunk(reasoning_content=each) for each in ("One", "? ", "No.")]

    parser.feed(b"".join([*thoughts, *build_chunks("Two ", "tas")[1:3]]))
    with pytest.raises(llms.LlmUnavailable):
        parser.feed(b"".join([*build_chunks("ks ", "are late.")[1:3], b'data: {"error": {"code": "overloaded"}}\n\n']))

    assert passed_on == [("thought", "One? No."), ("text", "Two tas"), ("text", "ks are late.")]


def stream_chunk(**delta: str) -> bytes:
    return b"data: " + orjson.dumps({"choices": [{"delta": delta, "finish_reason": None}]}) + b"\n\n"


@given(st.data())
def test_pieces_may_end_anywhere(data: st.DataObject) -> None:
    stream = b"".join(build_chunks("Zwölf ", "Äpfel 🍎", calls=[("c", "tool_help", '{"path": "ö"}')]))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=20)))
    texts: list[str] = []
    parser = StreamParser(llms.get_endpoint(Tier.MAIN).model, texts.append)

    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        parser.feed(stream[start:end])

    assert "".join(texts) == parser.finish().text == "Zwölf Äpfel 🍎"
    assert parser.finish().tool_calls == (StreamedCall("c", "tool_help", '{"path": "ö"}'),)


@pytest.mark.parametrize(
    "early",
    [[build_response(b"", "503 Busy")] * 2, [build_response(b'data: {"error": {}}\n\n')], [build_response(b"")]],
    ids=["busy", "error", "end"],
)
def test_an_endpoint_that_fails_before_the_first_chunk_is_asked_again(llm: FakeLlm, early: list[Any]) -> None:
    llm.answers = [*early, build_stream("Yes.")]

    assert ask().text == "Yes."
    assert len(llm.bodies) == len(early) + 1


def test_tokens_are_counted_under_the_tier_that_answered(llm: FakeLlm) -> None:
    def read(tier: Tier) -> float:
        return LLM_TOKENS.labels(tier, "input")._value.get()  # type: ignore[no-any-return]

    llm.answers = [build_stream("Yes.")]
    before = {tier: read(tier) for tier in Tier}

    ask(tier=Tier.FAST)

    assert {tier: read(tier) - before[tier] for tier in Tier} == {Tier.MAIN: 0, Tier.FAST: 1_000}


def test_a_model_that_dies_in_the_middle_is_not_asked_again(llm: FakeLlm) -> None:
    llm.answers = [build_stream("Two ta", dies=True), build_stream("Never asked for.")]
    texts: list[str] = []

    with pytest.raises(LlmUnavailable):
        ask(texts)

    assert (texts, len(llm.bodies)) == (["Two ta"], 1)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (build_response(b"{}", "401 Unauthorized"), LlmRefused),
        (build_response(b"data: [1]\n\n", Content_Type="text/event-stream"), LlmMalformed),
        (build_response(b"data: {\n\n", Content_Type="text/event-stream"), LlmMalformed),
        (build_response(b'data: {"error": {"message": "no"}}\n\n'), LlmUnavailable),
        (build_stream("No.", finish="content_filter"), LlmRefused),
    ],
    ids=["wrong_key", "not_an_object", "not_json", "error", "filtered"],
)
def test_what_is_no_answer_is_an_error(llm: FakeLlm, answer: Any, error: type[Exception]) -> None:
    llm.answers = [answer] * 3

    with pytest.raises(error):
        ask()


def test_an_answer_at_its_limit_says_so(llm: FakeLlm) -> None:
    llm.answers = [build_stream("Two tasks and", finish="length")]

    assert ask().is_cut_off


def test_abort_ends_the_wait_for_a_silent_model(llm: FakeLlm) -> None:
    abort, heard = Abort(), threading.Event()

    def answer() -> Iterator[bytes]:
        yield next(iter(build_stream("One ")))
        heard.set()
        until = time.monotonic() + 15
        while not abort.is_set and time.monotonic() < until:
            time.sleep(0.01)
        assert abort.is_set

    def cancel() -> None:
        heard.wait(10)
        abort.set()

    llm.answers = [answer]
    threading.Thread(target=cancel).start()

    with pytest.raises(LlmAborted):
        ask(abort=abort)


def test_pieces_that_arrive_in_a_pause_are_read_at_once(llm: FakeLlm) -> None:
    pieces, texts, pauses = build_stream(*(f"{number} " for number in range(2_000))), list[str](), list[int]()
    sent = threading.Event()

    def answer() -> Iterator[bytes]:
        for piece in pieces:
            yield piece
            time.sleep(0 if pauses else 0.01)  # one by one until the first pause
        sent.set()

    def wait() -> float:
        pauses.append(len(texts))
        sent.wait(20)
        return 0.0

    llm.answers = [answer]

    assert ask(texts, pause=wait).text == "".join(f"{number} " for number in range(2_000))
    assert pauses[0] >= 1  # the first piece was passed on before
    assert len(pauses) < 100


def test_abort_ends_a_pause(llm: FakeLlm) -> None:
    abort = Abort()

    def answer() -> Iterator[bytes]:
        for piece in build_stream(*["word "] * 1_000):
            yield piece
            time.sleep(0.01)
            if abort.is_set:
                return

    def wait() -> float:
        threading.Timer(0.01, abort.set).start()
        return 60.0

    llm.answers = [answer]
    started = time.monotonic()

    with pytest.raises(LlmAborted):
        ask(abort=abort, pause=wait)
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    "delta",
    [
        {"content": "a" * 70_000},
        {"tool_calls": [{"index": 0, "id": "1", "function": {"name": "tool_help", "arguments": "a" * 70_000}}]},
    ],
)
def test_an_answer_of_any_length_is_cut_off_at_a_limit(delta: dict[str, Any]) -> None:
    texts: list[str] = []
    parser = StreamParser(llms.get_endpoint(Tier.MAIN).model, texts.append)
    chunk = b"data: " + orjson.dumps({"choices": [{"delta": delta}]}) + b"\n"
    parser.feed(chunk)
    assert not parser.is_done
    parser.feed(chunk)

    answer = parser.finish()
    size = len(answer.text) + sum(len(call.name + call.arguments) for call in answer.tool_calls)
    assert (parser.is_done, answer.is_cut_off) == (True, True)
    assert 0 < size <= MAX_LENGTH
    assert answer.text == "".join(texts)


def test_a_line_without_end_is_no_answer() -> None:
    parser = StreamParser(llms.get_endpoint(Tier.MAIN).model, lambda _: None)

    with pytest.raises(LlmMalformed):
        parser.feed(b"data: " + b"a" * MAX_LINE)
