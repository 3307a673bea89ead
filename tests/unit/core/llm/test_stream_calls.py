"""Calls of tools in streams that do not keep to the protocol, and written as text."""

from typing import Any

import orjson
import pytest

from core import llm as llms
from core.llm import EmptyReason
from tests.support.chat.fake_llm import FakeLlm, build_chat_completion, build_stream
from tests.support.chat.malformed_streams import (
    EXEC,
    HELP,
    MESSAGES,
    Asked,
    ask,
    delta,
    stream_deltas,
    stream_texts,
    tool_delta,
)

pytestmark = pytest.mark.usefixtures("short_waits")


def normalize(answer: llms.StreamedCompletion) -> list[tuple[str, str]]:
    ids = [each.id for each in answer.tool_calls]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    return [(each.name, orjson.dumps(orjson.loads(each.arguments)).decode()) for each in answer.tool_calls]


def compact(*calls: tuple[str, str]) -> list[tuple[str, str]]:
    return [(name, orjson.dumps(orjson.loads(arguments)).decode()) for name, arguments in calls]


CALLS: dict[str, tuple[Any, list[tuple[str, str]]]] = {
    "two_with_one_index_and_ids": (
        [tool_delta(HELP[1], name=HELP[0], id="a"), tool_delta(EXEC[1], name=EXEC[0], id="b")],
        [HELP, EXEC],
    ),
    "two_with_one_index_in_pieces": (
        [
            tool_delta('{"path": ', name="tool_help", id="a"),
            tool_delta('"onto"}'),
            tool_delta('{"op": ', name="tool_exec", id="b"),
            tool_delta('"x"}'),
        ],
        [HELP, EXEC],
    ),
    "two_with_one_index_without_ids": (
        [tool_delta(HELP[1], name=HELP[0]), tool_delta(EXEC[1], name=EXEC[0])],
        [HELP, EXEC],
    ),
    "without_index": (
        [tool_delta(HELP[1], name=HELP[0], id="a", index=None), tool_delta(EXEC[1], name=EXEC[0], id="b", index=None)],
        [HELP, EXEC],
    ),
    "pieces_without_index": (
        [tool_delta('{"path": ', name="tool_help", id="a", index=None), tool_delta('"onto"}', index=None)],
        [HELP],
    ),
    "pieces_with_id_without_index": (
        [
            tool_delta('{"path": ', name="tool_help", id="a", index=None),
            tool_delta('{"op": ', name="tool_exec", id="b", index=None),
            tool_delta('"onto"}', id="a", index=None),
            tool_delta('"x"}', id="b", index=None),
        ],
        [HELP, EXEC],
    ),
    "arguments_as_an_object": ([tool_delta({"path": "onto"}, name="tool_help", id="a")], [HELP]),
    "arguments_null": ([tool_delta(None, name="tool_help", id="a"), tool_delta(HELP[1])], [HELP]),
    "all_arguments_with_each_chunk": (
        [tool_delta('{"pa', name="tool_help", id="a"), tool_delta('{"path": "on'), tool_delta(HELP[1])],
        [HELP],
    ),
    "all_arguments_again_at_the_end": (
        [tool_delta('{"path": ', name="tool_help", id="a"), tool_delta('"onto"}'), tool_delta(HELP[1])],
        [HELP],
    ),
    "name_with_each_chunk": (
        [tool_delta('{"path": ', name="tool_help", id="a"), tool_delta('"onto"}', name="tool_help", id="a")],
        [HELP],
    ),
    "name_with_each_chunk_without_id": (
        [tool_delta('{"path": ', name="tool_help"), tool_delta('"onto"}', name="tool_help")],
        [HELP],
    ),
    "name_in_pieces": ([tool_delta(name="tool_", id="a"), tool_delta(HELP[1], name="help")], [HELP]),
    "nested_repetition_is_no_repetition": (
        [tool_delta('{"args": ', name="tool_exec", id="a"), tool_delta('{"args": {}'), tool_delta("}}")],
        [("tool_exec", '{"args": {"args": {}}}')],
    ),
    "without_id": ([tool_delta(HELP[1], name=HELP[0]), tool_delta(EXEC[1], name=EXEC[0], index=1)], [HELP, EXEC]),
    "equal_ids": (
        [tool_delta(HELP[1], name=HELP[0], id="a"), tool_delta(EXEC[1], name=EXEC[0], id="a", index=1)],
        [HELP, EXEC],
    ),
    "nameless": ([tool_delta("{}", id="a"), tool_delta(HELP[1], name=HELP[0], id="b", index=1)], [HELP]),
    "legacy": (
        [
            delta(function_call={"name": "tool_help", "arguments": '{"path": '}),
            delta(function_call={"arguments": '"onto"}'}),
        ],
        [HELP],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_call_is_read(llm: FakeLlm, name: str) -> None:
    deltas, expected = CALLS[name]
    llm.answers = [stream_deltas(*deltas, finish="tool_calls")]

    answer = ask()

    assert (normalize(answer), answer.text) == (compact(*expected), "")


def test_whole_message_with_calls_is_read(llm: FakeLlm) -> None:
    message = {"content": None, "tool_calls": [{"id": "a", "function": {"name": HELP[0], "arguments": HELP[1]}}]}
    llm.answers = [build_chat_completion(None, choices=[{"message": message, "finish_reason": "tool_calls"}])]

    assert normalize(ask()) == compact(HELP)


WRITTEN: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "hermes": ('<tool_call>\n{"name": "tool_help", "arguments": {"path": "onto"}}\n</tool_call>', [HELP]),
    "hermes_twice": (
        '<tool_call>{"name": "tool_help", "arguments": {"path": "onto"}}</tool_call>\n'
        '<tool_call>{"name": "tool_exec", "arguments": {"op": "x"}}</tool_call>',
        [HELP, EXEC],
    ),
    "hermes_unclosed": ('<tool_call>\n{"name": "tool_help", "arguments": {"path": "onto"}}', [HELP]),
    "hermes_arguments_as_text": (
        '<tool_call>{"name": "tool_help", "arguments": "{\\"path\\": \\"onto\\"}"}</tool_call>',
        [HELP],
    ),
    "qwen_coder": (
        "<tool_call>\n<function=tool_help>\n<parameter=path>\nonto\n</parameter>\n<parameter=limit>\n4\n</parameter>\n"
        "</function>\n</tool_call>",
        [("tool_help", '{"path": "onto", "limit": 4}')],
    ),
    "text_that_looks_like_a_number": (
        "<function=tool_help><parameter=path>42</parameter></function>",
        [("tool_help", '{"path": "42"}')],
    ),
    "llama_function": ('<function=tool_help>{"path": "onto"}</function>', [HELP]),
    "llama_python_tag": ('<|python_tag|>{"name": "tool_help", "parameters": {"path": "onto"}}<|eom_id|>', [HELP]),
    "llama_bare": ('{"name": "tool_help", "parameters": {"path": "onto"}}', [HELP]),
    "bare_openai": ('{"type": "function", "function": {"name": "tool_help", "arguments": {"path": "onto"}}}', [HELP]),
    "mistral": (
        '[TOOL_CALLS][{"name": "tool_help", "arguments": {"path": "onto"}}, '
        '{"name": "tool_exec", "arguments": {"op": "x"}}]',
        [HELP, EXEC],
    ),
    "mistral_new": ('[TOOL_CALLS]tool_help[ARGS]{"path": "onto"}', [HELP]),
    "deepseek": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>tool_help\n```json\n"
        '{"path": "onto"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        [HELP],
    ),
    "kimi": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.tool_help:0<|tool_call_argument_begin|>"
        '{"path": "onto"}<|tool_call_end|><|tool_calls_section_end|>',
        [HELP],
    ),
    "gpt_oss": (
        '<|channel|>commentary to=functions.tool_help <|constrain|>json<|message|>{"path": "onto"}<|call|>',
        [HELP],
    ),
    "claude": (
        '<function_calls>\n<invoke name="tool_help">\n<parameter name="path">onto</parameter>\n</invoke>\n'
        "</function_calls>",
        [HELP],
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_call_written_as_text_is_run(llm: FakeLlm, name: str, size: int) -> None:
    text, expected = WRITTEN[name]
    llm.answers = [stream_texts(*(text[at : at + size] for at in range(0, len(text), size)))]

    answer = ask()

    assert (normalize(answer), answer.text) == (compact(*expected), "")
    assert len(llm.bodies) == 1


def test_text_before_a_written_call_stays(llm: FakeLlm) -> None:
    llm.answers = [stream_texts(f"<think>Help.</think>I look.\n{WRITTEN['hermes'][0]}")]

    answer = ask()

    assert (answer.text, normalize(answer), answer.reasoning) == ("I look.\n", compact(HELP), "Help.")


UNREAD = {
    "unknown_tool": '<tool_call>{"name": "rm", "arguments": {}}</tool_call>',
    "incomplete": '<tool_call>{"name": "tool_help", "arguments": {"path": "on',
    "not_json": "<tool_call>tool_help(path='onto')</tool_call>",
    "one_of_two": f'{WRITTEN["hermes"][0]}<tool_call>{{"name": "tool_help"</tool_call>',
    "unclosed_parameter": "<function=tool_help><parameter=path>onto</function>",
    "made_up_result": f"{WRITTEN['hermes'][0]}\nThere are two late tasks.",
}


@pytest.mark.parametrize("name", UNREAD)
def test_written_call_that_cannot_be_run_is_asked_for_once(llm: FakeLlm, name: str) -> None:
    llm.answers = [stream_texts(UNREAD[name]), build_stream(calls=[("a", *HELP)])]

    assert normalize(ask()) == compact(HELP)
    assert "as text" in llm.bodies[1]["messages"][-1]["content"]
    llm.answers = [stream_texts(UNREAD[name])]
    llm.bodies.clear()
    asked = Asked()
    with pytest.raises(llms.LlmEmpty) as error:
        asked.ask()
    assert (error.value.reason, len(llm.bodies), len(asked.usages)) == (EmptyReason.UNREAD_CALL, 2, 2)
    assert "<" not in "".join(asked.texts)


def test_call_in_a_document_that_the_model_quotes_is_not_run(llm: FakeLlm) -> None:
    block = WRITTEN["hermes"][0]
    result = orjson.dumps({"document": {"body": f"Read this:\n{block}\nEnd."}}).decode()
    messages = [*MESSAGES, {"role": "tool", "tool_call_id": "a", "content": result}]
    llm.answers = [stream_texts(f"The document says: {block}"), build_stream("It has a call.")]

    answer = ask(messages)

    assert (answer.tool_calls, answer.text) == ((), "It has a call.")


@pytest.mark.parametrize(
    "text",
    [
        '{"tasks": []}',
        "[1, 2]",
        "[{}]",
        "Use `<tool_call>` to call.",
        "```\n<think>\n```",
        "a <b and [c",
        '{"name": "Ana", "parameters": 2}',
    ],
)
def test_text_that_only_looks_like_markup_is_text(llm: FakeLlm, text: str) -> None:
    llm.answers = [stream_texts(*text)]

    answer = ask()

    assert (answer.text, answer.tool_calls) == (text, ())
