"""However a model's answer goes wrong, the user sees an end in words, no markup, and no request is paid for twice."""

from typing import Any

import orjson
import pytest

from chat.models import Message
from chat.pages import markdown_export
from core.llm import streaming
from tests.support.chat.chat import ChatHarness, call, exec_call
from tests.support.chat.fake_llm import build_chat_completion, build_stream
from tests.support.chat.malformed_streams import (
    delta,
    hang,
    refuse,
    stream_chunks,
    stream_deltas,
    stream_texts,
    tool_delta,
)
from tests.support.upstreams.http_servers import build_response
from workspace.demo import DEMO_PROJECT_ID
from workspace.models import Task

pytestmark = pytest.mark.usefixtures("short_waits")

LIST_ARGUMENTS = orjson.dumps({"op": "onto.task.list", "args": {"limit": 1}}).decode()
WRITTEN_LIST = f'{{"name": "tool_exec", "arguments": {LIST_ARGUMENTS}}}'
CREATE: dict[str, Any] = {"op": "onto.task.create", "args": {"project_id": DEMO_PROJECT_ID, "title": "Only once"}}
EXPLORE = exec_call("x.agent.run", agent="explorer", task="Which tasks are blocked?")
THOUGHTS = stream_deltas(delta(reasoning_content="Hm. "), delta(reasoning_content="Hm."), finish="length")

# What the model sends, one answer for each request, and what the user reads.
TEXTS: dict[str, tuple[list[Any], str]] = {
    "reasoning_fills_the_limit": ([THOUGHTS, "Two."], "Two."),
    "empty": ([stream_deltas(), "Two."], "Two."),
    "refusal": (
        [stream_deltas(delta(refusal="I cannot "), delta(refusal="help with that."))],
        "I cannot help with that.",
    ),
    "think": ([stream_texts("<thi", "nk>Hm.</th", "ink>\n\nTwo.")], "Two."),
    "unclosed_think": ([stream_texts("<think>Hm."), "Two."], "Two."),
    "written_call": ([stream_texts(f"<tool_call>\n{WRITTEN_LIST}\n</tool_call>"), "One."], "One."),
    "written_call_of_an_unknown_tool": ([stream_texts('<tool_call>{"name": "rm"}</tool_call>'), "Two."], "Two."),
    "no_done": ([stream_deltas(delta(content="Two."), done=False)], "Two."),
    "no_finish_reason": ([stream_chunks(delta(content="Two."))], "Two."),
    "not_streamed": ([build_chat_completion("Two.")], "Two."),
    "empty_choices": (
        [stream_chunks({"choices": []}, {"choices": [{"delta": None}]}, delta("stop", content="Two."))],
        "Two.",
    ),
    "busy_for_a_moment": ([build_response(b"", "503 Busy", Retry_After="0"), "Two."], "Two."),
}

ERRORS: dict[str, tuple[list[Any], str, int, bool]] = {  # (answers, message, requests, retryable)
    "reasoning_twice": ([THOUGHTS] * 2, "reached its limit before it answered", 2, True),
    "empty_twice": ([stream_deltas()] * 2, "gave no answer", 2, True),
    "written_call_twice": ([stream_texts("<tool_call>{}</tool_call>")] * 2, "in a form that cannot be run", 2, True),
    "filter": ([stream_texts("How", finish="content_filter")], "filter", 1, False),
    "too_long": ([refuse("maximum context length")] * 3, "too long for the model. Start a new one", 2, False),
    "busy": ([build_response(b"", "429 Busy", Retry_After="240")], "busy. Try again in 4 minutes.", 1, True),
    "key": ([refuse("No.", "401 Unauthorized")], "Ask your administrator.", 1, False),
    "refused": ([refuse("No.")], "refuses this request", 1, True),
    "error_in_the_stream": ([stream_chunks(delta(content="T"), {"error": {"message": "x"}})], "completely", 1, True),
    "early_end": ([stream_chunks(delta(content="T"), done=False)], "did not answer completely", 1, True),
    "silence": ([hang()], "stopped responding", 1, True),
    "html": ([build_response(b'{"detail": "Sign in"}')], "could not be read", 1, True),
}


@pytest.mark.parametrize("name", TEXTS)
def test_answer_is_read(chat: ChatHarness, name: str) -> None:
    answers, expected = TEXTS[name]

    turn = chat.say("Which tasks are late?", *answers)

    assert (turn.reason, turn.message.text.strip()) == ("stop", expected)
    assert turn.text.strip() == expected
    sent = [orjson.dumps(each) for each in turn.requests]
    assert len(sent) == len(answers)
    assert name == "busy_for_a_moment" or len(set(sent)) == len(sent)


@pytest.mark.parametrize("name", ERRORS)
def test_failure_is_explained(chat: ChatHarness, name: str, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    if name == "silence":
        monkeypatch.setattr(streaming, "SILENT_SECONDS", 0.5)  # on a busy machine the others take longer
    settings.LLM_REASONING_TOKENS = 0
    answers, message, requests, is_retryable = ERRORS[name]
    chat.llm.answers = [build_stream("Hello!")]
    first = chat.say("Hello", "Hello!")

    turn = chat.say("Which tasks are late?", *answers, session=str(first.conversation.pk))

    (error,) = turn.of_type("error")
    assert message in error["message"]
    assert (error["code"], error["retryable"]) == ("model_failed", is_retryable)
    sent = {orjson.dumps(each) for each in turn.requests}
    assert len(turn.requests) == len(sent) == requests
    assert "<" not in turn.text + error["message"]


def test_endpoint_with_one_system_message_gets_notes_with_the_results(chat: ChatHarness) -> None:
    refusal = refuse("System message must be at the beginning.")
    wrong = exec_call("onto.task.update", task_id=": ", title="New")

    turn = chat.say("Update it", [wrong], refusal, [exec_call("onto.task.list", limit=1)], "Which one?")

    assert (turn.text.strip(), len(turn.requests)) == ("Which one?", 4)
    assert [each["role"] for each in turn.requests[-1]["messages"]] == ["system", "user", *["assistant", "tool"] * 2]
    assert "Never make up an id" in turn.requests[-1]["messages"][3]["content"]


def test_failure_after_a_write_does_not_offer_to_repeat_it(chat: ChatHarness) -> None:
    turn = chat.say("Add it", [call("tool_exec", **CREATE)], stream_deltas(), stream_deltas())

    (error,) = turn.of_type("error")
    assert (error["retryable"], len(error["written"])) == (False, 1)
    assert error["message"].endswith("Look at what was done before you ask for the rest.")
    assert Task.objects.filter(title="Only once").count() == 1


def test_silence_in_the_last_round_is_the_limit(chat: ChatHarness) -> None:
    endless = [[exec_call("onto.task.list", limit=number)] for number in range(1, 9)]

    turn = chat.say("Loop", *endless, stream_deltas(), stream_deltas())

    assert (turn.reason, turn.message.finish) == ("limit", Message.Finish.LIMIT)


@pytest.mark.parametrize(
    "deltas",
    [
        [tool_delta(CREATE, name="tool_exec", id="a")],
        [tool_delta(orjson.dumps(CREATE).decode(), name="tool_exec")],
        [delta(function_call={"name": "tool_exec", "arguments": orjson.dumps(CREATE).decode()})],
        [
            delta(
                content=f'<tool_call>{{"name": "tool_exec", "arguments": {orjson.dumps(CREATE).decode()}}}</tool_call>'
            )
        ],
    ],
    ids=["object", "no_id", "legacy", "text"],
)
def test_call_in_another_form_is_run_once(chat: ChatHarness, deltas: list[Any]) -> None:
    turn = chat.say("Add it", stream_deltas(*deltas), "Added.")

    assert [each["action"] for each in turn.written] == ["create"]
    assert Task.objects.filter(title="Only once").count() == 1
    call_message, result = turn.requests[1]["messages"][-2:]
    assert call_message["tool_calls"][0]["id"] == result["tool_call_id"] != ""


def test_two_calls_with_one_index_are_both_run(chat: ChatHarness) -> None:
    pieces = [
        tool_delta(
            orjson.dumps({"op": "onto.task.list", "args": {"limit": limit}}).decode(), name="tool_exec", id=f"c{limit}"
        )
        for limit in (1, 2)
    ]

    turn = chat.say("List", stream_deltas(*pieces, finish="tool_calls"), "Here.")

    assert [each.status for each in turn.calls] == ["success"] * 2


def test_ids_that_begin_again_in_each_answer_are_replaced(chat: ChatHarness) -> None:
    lists = [[("call_0", *exec_call("onto.task.list", limit=limit)[1:])] for limit in (1, 2)]
    first = chat.say("List", *lists, "Here.")

    second = chat.say("Again", [lists[0][0]], "Here.", session=str(first.conversation.pk))

    for request in (first.requests[-1], second.requests[-1]):
        results = [each["tool_call_id"] for each in request["messages"] if each["role"] == "tool"]
        assert len(results) == len(set(results)) >= 2


def test_agent_whose_model_says_nothing_is_a_failed_call_and_not_a_failed_turn(chat: ChatHarness) -> None:
    turn = chat.say("Explore", [EXPLORE], stream_deltas(), THOUGHTS, "The explorer found nothing.")

    assert (turn.reason, turn.text) == ("stop", "The explorer found nothing.")
    assert turn.calls[0].status == "error"
    assert turn.of_type("usage")[0]["answers"] == 4


def test_call_that_an_agent_writes_as_text_is_run(chat: ChatHarness) -> None:
    text = '<tool_call>{"name": "tool_help", "arguments": {"path": "onto.task"}}</tool_call>'

    turn = chat.say("Explore", [EXPLORE], stream_texts(text), "Nothing is blocked.", "Nothing is.")

    assert turn.calls[0].envelope["result"] == {"agent": "explorer", "answer": "Nothing is blocked.", "calls": 1}


# --- reasoning --------------------------------------------------------------------------------------------------------


def test_reasoning_is_shown_and_stored_and_in_nothing_else(chat: ChatHarness) -> None:
    calls = stream_deltas(
        delta(reasoning="I list them."), tool_delta(call("x", op="onto.task.list")[2], name="tool_exec")
    )
    answer = stream_deltas(delta(reasoning="Two "), delta(reasoning="rows."), delta(content="Two."))

    turn = chat.say("Late?", calls, answer)

    reasoning = "I list them.\n\nTwo rows."
    assert "".join(each["delta"] for each in turn.of_type("reasoning")) == turn.message.reasoning == reasoning
    assert turn.text.strip() == turn.message.text.strip() == "Two."
    assert "rows" not in markdown_export.render_conversation(turn.conversation, list(turn.conversation.messages.all()))
    assert "I list them" not in orjson.dumps(chat.llm.bodies).decode()
    later = chat.say("And now?", "None.", session=str(turn.conversation.pk))
    assert "rows." not in orjson.dumps(later.requests).decode()


def test_reasoning_has_its_own_room(chat: ChatHarness, settings: Any) -> None:
    settings.LLM_REASONING_TOKENS = 3_000

    turn = chat.say("Late?", "Two.")

    assert turn.requests[0]["max_completion_tokens"] == 5_000


def test_reasoning_goes_back_within_a_turn_to_an_endpoint_that_wants_it(chat: ChatHarness) -> None:
    calls = stream_deltas(
        delta(reasoning_content="I list."), tool_delta(call("x", op="onto.task.list")[2], name="tool_exec")
    )

    turn = chat.say("Late?", calls, refuse("Missing `reasoning_content` field"), "Two.")

    assert turn.text.strip() == "Two."
    sent = [
        [each.get("reasoning_content") for each in request["messages"] if each.get("tool_calls")]
        for request in turn.requests
    ]
    assert sent == [[], [None], ["I list."]]
