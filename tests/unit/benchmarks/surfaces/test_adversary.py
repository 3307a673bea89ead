"""The stand-in that misbehaves: its mistakes are seen by the chat, and never by the model that plans."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.surfaces.adversary import AdversaryServer, Habit, correct_mistakes
from chat.scripted_model import protocol
from chat.scripted_model.plans import ScriptedToolCall

EXEC_TOOL = {"type": "function", "function": {"name": "tool_exec", "parameters": {}}}
HELP_TOOL = {"type": "function", "function": {"name": "tool_help", "parameters": {}}}
QUESTION = {"role": "user", "content": "Which open tasks have priority 1?"}


def read_stream(events: list[bytes]) -> Iterator[dict[str, Any]]:
    for event in events:
        data = event.removeprefix(b"data: ").strip()
        if data != b"[DONE]":
            yield json.loads(data)


def ask(server: AdversaryServer, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the choices of the stream that answers the messages."""
    body = {"model": protocol.MODEL, "stream": True, "tools": [HELP_TOOL, EXEC_TOOL], "messages": list(messages)}
    events = server.build_response(json.dumps(body).encode())
    assert isinstance(events, list)
    return [choice for data in read_stream(events) for choice in data["choices"]]


def make_server(habit: Habit) -> AdversaryServer:
    server = AdversaryServer()
    server.habit = habit
    return server


def get_text(choices: list[dict[str, Any]]) -> str:
    return "".join(each["delta"].get("content") or "" for each in choices)


def get_calls(choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [call for each in choices for call in each["delta"].get("tool_calls", ()) if call.get("id")]


@pytest.mark.parametrize("habit", [Habit.REASONING_ONLY, Habit.EMPTY_ANSWER])
def test_answer_without_text_or_calls_comes_once_a_turn(habit: Habit) -> None:
    server = make_server(habit)

    first, second = ask(server, QUESTION), ask(server, QUESTION)

    assert (get_text(first), get_calls(first)) == ("", [])
    assert get_calls(second)


def test_request_that_is_sent_twice_is_counted() -> None:
    server = make_server(Habit.THINKING_ALOUD)

    ask(server, QUESTION)
    ask(server, {"role": "system", "content": "Answer."}, QUESTION)
    assert server.repeated_requests == 0

    ask(server, QUESTION)
    assert server.repeated_requests == 1


@pytest.mark.parametrize(
    ("habit", "shows"),
    [
        (Habit.THINKING_ALOUD, lambda choices: "<think>" in get_text(choices)),
        (Habit.CALLS_AS_TEXT, lambda choices: "<tool_call>" in get_text(choices) and not get_calls(choices)),
        (Habit.CUT_ARGUMENTS, lambda choices: choices[-1]["finish_reason"] == "length"),
        (Habit.PARALLEL_CALLS, lambda choices: len(get_calls(choices)) == 3),
        (Habit.LOOSE_STREAM, lambda choices: isinstance(get_calls(choices)[0]["function"]["arguments"], dict)),
        (Habit.TYPED_ANSWERS, lambda choices: len(get_calls(choices)) == 1),
    ],
)
def test_habit_shows_in_the_stream(habit: Habit, shows: Any) -> None:
    assert shows(ask(make_server(habit), QUESTION))


def build_call(id: str, op: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": "tool_exec", "arguments": json.dumps({"op": op})}}


def test_mistake_that_was_put_right_reads_as_what_was_meant() -> None:
    messages = [
        QUESTION,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [build_call("a", "list_tasks"), build_call("b", "x.list")],
        },
        {"role": "tool", "tool_call_id": "a", "content": '{"ok": true}'},
        {"role": "tool", "tool_call_id": "b", "content": '{"ok": false}'},
    ]
    meant = ScriptedToolCall("tool_exec", {"op": "onto.task.list"})

    corrected = correct_mistakes(messages, {"a": meant, "b": meant})

    assert corrected == [
        QUESTION,
        {"role": "assistant", "content": None, "tool_calls": [build_call("a", "onto.task.list")]},
        messages[2],
    ]


def test_message_with_nothing_but_hidden_calls_is_left_out() -> None:
    messages = [
        QUESTION,
        {"role": "assistant", "content": None, "tool_calls": [build_call("a", "onto.task.list")]},
        {"role": "tool", "tool_call_id": "a", "content": '{"ok": true}'},
    ]

    assert correct_mistakes(messages, {"a": None}) == [QUESTION]
