"""Texts and reasoning of servers that do not keep to the protocol, and of models that write markup."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import llm as llms
from core.database.deadlines import Deadline
from core.llm import Tier
from core.llm.markup import split_reasoning
from core.llm.stream_parser import StreamParser
from tests.support.chat.fake_llm import FakeLlm, build_chat_completion, build_stream
from tests.support.chat.malformed_streams import (
    MESSAGES,
    TOOLS,
    ask,
    delta,
    stream_chunks,
    stream_deltas,
    stream_texts,
)
from tests.support.upstreams.http_servers import build_response

pytestmark = pytest.mark.usefixtures("short_waits")
TWO = [{"message": {"content": "Two."}, "finish_reason": "stop"}]


TEXTS: dict[str, Any] = {
    "no_done": stream_deltas(delta(content="Two."), done=False),
    "no_finish_reason": stream_chunks(delta(content="Two.")),
    "no_line_end_after_done": build_response(b"data: " + orjson.dumps(delta(content="Two.")) + b"\n\ndata: [DONE]"),
    "windows_line_ends": build_response(
        b"data: " + orjson.dumps(delta("stop", content="Two.")) + b"\r\n\r\ndata: [DONE]\r\n\r\n"
    ),
    "no_space_after_data": stream_chunks(b"data:" + orjson.dumps(delta("stop", content="Two."))),
    "empty_choices": stream_chunks({"choices": []}, {"choices": None}, delta("stop", content="Two.")),
    "usage_only": stream_chunks({"usage": {"prompt_tokens": 1}}, delta("stop", content="Two.")),
    "delta_null": stream_chunks({"choices": [{"delta": None}]}, delta("stop", content="Two.")),
    "comments_and_other_fields": stream_chunks(
        b": waiting", b"event: message\nid: 4\nretry: 5", b"data:", delta("stop", content="Two.")
    ),
    "not_streamed": build_chat_completion("Two."),
    "not_streamed_over_lines": build_response(
        orjson.dumps(
            {"choices": [{"message": {"content": "Two."}, "finish_reason": "stop"}]}, option=orjson.OPT_INDENT_2
        )
    ),
    "whole_message_in_the_stream": stream_chunks(
        {"choices": [{"message": {"content": "Two."}, "finish_reason": "stop"}]}
    ),
    "whole_message_again_at_the_end": stream_chunks(delta(content="Two."), {"choices": TWO}),
    "refusal": stream_deltas(delta(refusal="Tw"), delta(refusal="o.")),
    "refusal_not_streamed": build_chat_completion(
        None, choices=[{"message": {"content": None, "refusal": "Two."}, "finish_reason": "stop"}]
    ),
    "think": stream_texts("<think>One? No.</think>\n\nTwo."),
    "think_over_chunks": stream_texts("<th", "ink>One? ", "No.</", "thi", "nk>\n", "\nTwo."),
    "several_thoughts": stream_texts("<think>One?</think>T<think> No.</think>wo."),
    "thought_in_another_template": stream_texts("[THINK]One? No.[/THINK]Two."),
    "thought_of_gpt_oss": stream_texts(
        "<|channel|>analysis<|message|>One? No.<|end|><|start|>assistant<|channel|>final<|message|>Two.<|return|>"
    ),
    "only_the_end_of_a_thought": stream_texts("</think>\n\nTwo."),
    "end_of_text_mark": stream_texts("Two.", "<|im_", "end|>"),
    "unknown_parts": stream_deltas(delta(content=[{"type": "image"}, {"type": "text", "text": "Two."}])),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_read(llm: FakeLlm, name: str) -> None:
    llm.answers = [TEXTS[name], build_stream("Asked again.")]

    answer = ask()

    assert (answer.text.strip(), answer.tool_calls) == ("Two.", ())
    assert "think" not in answer.text
    assert len(llm.bodies) == 1
    if "thought" in name or name.startswith("think"):
        assert answer.reasoning == ("One?" if name == "only_the_end_of_a_thought" else "One? No.") or name.startswith(
            "only"
        )


@pytest.mark.parametrize(
    "deltas",
    [
        [delta(reasoning_content="One? "), delta(reasoning_content="No."), delta(content="Two.")],
        [delta(reasoning="One? "), delta(reasoning="No.", reasoning_details=[{"text": "No."}]), delta(content="Two.")],
        [delta(reasoning="One? No.", reasoning_content="One? No."), delta(content="Two.")],
        [
            delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "One? No."}]}]),
            delta(content=[{"type": "text", "text": "Two."}]),
        ],
    ],
    ids=["deepseek", "openrouter", "both", "mistral"],
)
def test_reasoning_is_passed_on_and_not_part_of_the_text(llm: FakeLlm, deltas: list[Any]) -> None:
    llm.answers = [stream_deltas(*deltas)]

    answer = ask()

    assert (answer.text, answer.reasoning) == ("Two.", "One? No.")


@given(st.data())
def test_marks_may_be_cut_anywhere(data: st.DataObject) -> None:
    text = "<think>a < b</think>Two [tasks](x) <b>are</b> `<think>` late.\n```\n<tool_call>\n```\n<|im_end|>"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    texts, thoughts = list[str](), list[str]()
    parser = StreamParser(llms.get_endpoint(Tier.MAIN).model, texts.append, thoughts.append, tools=TOOLS)

    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        parser.feed(b"data: " + orjson.dumps(delta(content=text[start:end])) + b"\n\n")
    parser.feed(b"data: [DONE]\n\n")
    answer = parser.finish()

    assert "".join(thoughts) == answer.reasoning == "a < b"
    assert "".join(texts) == answer.text == "Two [tasks](x) <b>are</b> `<think>` late.\n```\n<tool_call>\n```\n"
    assert not answer.has_unread_call


def test_reasoning_is_not_part_of_a_whole_answer(llm: FakeLlm) -> None:
    llm.answers = [build_chat_completion("<think>A title?</think>\n\nLate tasks")]

    answer = llms.complete(MESSAGES, tier=Tier.FAST, purpose="title", deadline=Deadline.after(milliseconds=5_000))

    assert answer.text == "Late tasks"
    assert split_reasoning("<think>never closed") == ("", "never closed")
