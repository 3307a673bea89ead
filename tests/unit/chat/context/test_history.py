"""The conversation as messages: within the budget, and no call without its result."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.context import budgets
from chat.context.history import History, PastTurn, build_history
from chat.context.layers import PastCall, PastStep
from core.text import token_budget
from tests.support.cpu_budget import examples


def _list_result(count: int = 3) -> str:
    rows = [{"id": f"id-{number}", "title": f"Task {number}"} for number in range(count)]
    return json.dumps({"op": "onto.task.list", "ok": True, "result": {"tasks": rows}})


def _call(number: int = 1, *, arguments: str = '{"op":"onto.task.list"}', result: str | None = None) -> PastCall:
    return PastCall(f"call_{number}", "tool_exec", arguments, _list_result() if result is None else result)


def _turn(text: str = "What is open?", *calls: PastCall, answer: str = "Three tasks are open.") -> PastTurn:
    return PastTurn(text, (PastStep("", calls),) if calls else (), answer)


def _build(turns: Sequence[PastTurn], *, summary: str = "", budget: int = budgets.HISTORY) -> History:
    history = build_history(turns, summary=summary, budget=budget)
    assert history.tokens <= budget
    _assert_paired(history.messages)
    return history


def _assert_paired(messages: list[dict[str, Any]]) -> None:
    """Fail unless the results of the calls follow right after the message that has them, in order."""
    position = 0
    while position < len(messages):
        called = [call["id"] for call in messages[position].get("tool_calls", ())]
        position += 1
        answered = messages[position : position + len(called)]
        assert [message.get("tool_call_id") for message in answered] == called
        assert all(json.loads(message["content"]) for message in answered)
        position += len(called)
        assert position == len(messages) or messages[position]["role"] != "tool"


def test_build_history_is_the_messages_of_chat_completions() -> None:
    history = _build([_turn("What is open?", _call()), _turn("Thanks", answer="You are welcome.")])
    assert history.messages == [
        {"role": "user", "content": "What is open?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "tool_exec", "arguments": '{"op":"onto.task.list"}'},
                }
            ],
        },
        {
            "role": "tool",
            "tool_call_id": "call_1",
            "content": json.dumps(json.loads(_list_result()), separators=(",", ":")),
        },
        {"role": "assistant", "content": "Three tasks are open."},
        {"role": "user", "content": "Thanks"},
        {"role": "assistant", "content": "You are welcome."},
    ]
    assert not history.is_cut


def test_build_history_does_not_repeat_an_answer_or_add_a_user_message_to_a_turn_that_continues() -> None:
    turn = PastTurn("Hello", (PastStep("Let me look.", (_call(),)), PastStep("Done.", ())), "Done.")
    continues = PastTurn(None, (PastStep("", (_call(),)),), "Deleted.")
    expected = ["Let me look.", "Done."]
    assert [message["content"] for message in _build([turn]).messages if message["role"] == "assistant"] == expected
    assert [message["role"] for message in _build([continues]).messages] == ["assistant", "tool", "assistant"]


def test_build_history_puts_the_summary_first_counts_it_and_cuts_a_long_one() -> None:
    history = _build([_turn()], summary="The user decided to use oak.")
    expected = {"role": "system", "content": "Earlier in this conversation:\nThe user decided to use oak."}
    assert history.messages[0] == expected
    assert history.tokens > _build([_turn()]).tokens
    long = _build([_turn()], summary="We decided. " * 2_000).messages[0]["content"]
    assert token_budget.count(long) <= budgets.SUMMARY
    assert long.endswith("of 24,000 characters]")


def test_build_history_leaves_out_the_oldest_turns_first() -> None:
    turns = [_turn(f"Question {number}: {'word ' * 80}", answer="word " * 80) for number in range(60)]
    history = _build(turns)
    shown = [message["content"][:11] for message in history.messages if message["role"] == "user"]
    assert shown == [f"Question {number}" for number in range(60 - len(shown), 60)]
    assert 10 < len(shown) < 60
    assert history.is_cut


def _read_results(history: History) -> list[dict[str, Any]]:
    return [json.loads(message["content"]) for message in history.messages if message["role"] == "tool"]


def test_build_history_shortens_nothing_while_all_fits() -> None:
    turns = [_turn(f"Question {number}", _call(number, result=_list_result(20))) for number in range(7)]
    history = _build(turns)
    assert all(result == json.loads(_list_result(20)) for result in _read_results(history))
    assert (history.is_cut, history.left_out) == (False, 0)


def test_build_history_shortens_the_oldest_results_first_and_keeps_ids_longest() -> None:
    count = 40
    turns = [_turn(f"Question {number}", _call(number, result=_list_result(count))) for number in range(9)]
    first, *_, last = _read_results(_build(turns))
    ids = [f"id-{number}" for number in range(count)]
    assert (first["result"]["tasks"], first["shown"]) == (ids, "ids only")
    assert last == json.loads(_list_result(count))
    turns = [_turn(f"Question {number}", _call(number, result=_list_result(count))) for number in range(25)]
    history = _build(turns)
    first, *_, last = _read_results(history)
    assert first == {"op": "onto.task.list", "ok": True, "shown": "left out to save room"}
    assert last["result"]["tasks"] == ids
    assert (history.is_cut, history.left_out) == (True, 0)


def test_build_history_keeps_the_outcome_of_writes() -> None:
    operation = {"entity": "task", "action": "create", "entity_id": "t-1", "entity_name": "Buy paint"}
    task = {"id": "t-1", "title": "Buy paint", "description": "word " * 100}
    created = {"op": "onto.task.create", "ok": True, "result": {"task": task}, "meta": {"operation": operation}}
    turns = [_turn("Add it", _call(0, result=json.dumps(created)))]
    turns += [_turn(f"Question {number}", _call(number, result=_list_result(60))) for number in range(1, 25)]
    first, *_ = _read_results(_build(turns))
    expected = {"op": "onto.task.create", "ok": True, "id": "t-1", "name": "Buy paint"}
    assert first == {**expected, "shown": "done"}


def test_build_history_leaves_out_the_first_rounds_of_a_turn_that_does_not_fit() -> None:
    steps = tuple(PastStep("word " * 100, (_call(number),)) for number in range(60))
    history = _build([PastTurn("Do it all", steps, "All is done.")])
    calls = [call["id"] for message in history.messages for call in message.get("tool_calls", ())]
    assert calls[-1] == "call_59"
    assert 5 < len(calls) < 60
    assert history.messages[0]["content"] == "Do it all"
    assert history.messages[-1]["content"] == "All is done."


def test_build_history_cuts_the_texts_of_the_last_turn_only_if_nothing_else_helps() -> None:
    history = _build([_turn("old"), _turn("word " * 4_000, _call(), answer="word " * 4_000)])
    user, answer = history.messages
    assert user["content"].endswith("of 20,000 characters]")
    assert answer["content"].endswith("of 20,000 characters]")
    assert history.tokens > 0.9 * budgets.HISTORY


@pytest.mark.parametrize("arguments", ['{"op": ', "[]", '"text"', '{"a": NaN}', "{" * 5_000, '{"a":' * 3_000])
def test_build_history_sends_malformed_arguments_as_an_object(arguments: str) -> None:
    [_, call, *_] = _build([_turn("Try", _call(arguments=arguments))]).messages
    assert list(json.loads(call["tool_calls"][0]["function"]["arguments"])) == ["malformed"]


def test_build_history_cuts_long_texts_in_arguments() -> None:
    arguments = json.dumps({"op": "onto.document.create", "args": {"title": "Guide", "content": "word " * 4_000}})
    [_, call, *_] = _build([_turn("Write it", _call(arguments=arguments))]).messages
    args = json.loads(call["tool_calls"][0]["function"]["arguments"])["args"]
    assert args["title"] == "Guide"
    assert args["content"].endswith("of 20,000 characters]")
    assert token_budget.count(json.dumps(args)) < 350


@pytest.mark.parametrize("result", ["", "plain text", "[1, 2]", "null", "7", '{"ok": fal'])
def test_build_history_sends_any_result_as_json(result: str) -> None:
    _build([_turn("Try", _call(result=result))])


def test_build_history_replaces_halves_of_character_pairs() -> None:
    history = _build([_turn("a\ud800b", _call(arguments='{"a": "\\ud800"}', result='{"b": "\\ud800"}'))])
    assert history.messages[0]["content"] == "a?b"


_TEXTS = st.builds(lambda text, times: text * times, st.text(max_size=10), st.integers(0, 600))
_CALLS = st.builds(
    lambda number, arguments, count: PastCall(f"call_{number}", "tool_exec", arguments, _list_result(count)),
    st.integers(0, 999),
    st.sampled_from(('{"op": "onto.task.list"}', "{", json.dumps({"text": "word " * 2_000}))),
    st.integers(0, 200),
)
_STEPS = st.builds(lambda text, calls: PastStep(text, tuple(calls)), _TEXTS, st.lists(_CALLS, max_size=4))
_TURNS = st.builds(
    lambda text, steps, answer: PastTurn(text, tuple(steps), answer),
    st.none() | _TEXTS,
    st.lists(_STEPS, max_size=4),
    _TEXTS,
)


@settings(max_examples=examples(25))
@given(turns=st.lists(_TURNS, max_size=6), summary=_TEXTS, budget=st.integers(100, 4_000))
def test_build_history_of_any_turns_fits_and_parts_no_pair(turns: list[PastTurn], summary: str, budget: int) -> None:
    _build(turns, summary=summary, budget=budget)
