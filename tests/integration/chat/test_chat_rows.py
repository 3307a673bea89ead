"""Rows that the model has read stay usable: in later turns, by their handles, on every surface."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from chat.context import budgets
from chat.context.history import count_tokens
from tests.support.chat.chat import ChatHarness, call, exec_call
from tests.support.chat.fake_llm import build_stream
from workspace.demo import DEMO_PROJECT_ID
from workspace.models import Task

PROJECT = {"type": "project", "project_id": DEMO_PROJECT_ID}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")
LIST = exec_call("onto.task.list", limit=40)


def read_rows(chat: ChatHarness) -> list[dict[str, Any]]:
    """Return the tasks that the model reads in the latest request."""
    results = [orjson.loads(each["content"]) for each in chat.llm.bodies[-1]["messages"] if each["role"] == "tool"]
    rows: list[dict[str, Any]] = results[0]["result"]["tasks"]
    return rows


def update_rows(chat: ChatHarness, numbers: Sequence[int]) -> Callable[[], Any]:
    """Answer with updates of the rows with these numbers, by what the model reads of them."""

    def answer() -> Any:
        ids = [read_rows(chat)[number - 1]["id"] for number in numbers]
        return build_stream(calls=[exec_call("onto.task.update", task_id=id, priority=1) for id in ids])

    return answer


def test_rows_of_a_long_list_are_changed_two_turns_later_without_a_search(chat: ChatHarness) -> None:
    first = chat.say("List my tasks", [LIST], "Here are forty.")
    session, listed = str(first.conversation.pk), first.calls[0].envelope["result"]["tasks"]
    chat.say("Thanks", "You are welcome.", session=session)
    chat.say("What is the date?", "It is Sunday.", session=session)

    turn = chat.say("Set number 3 and number 14 to priority 1", update_rows(chat, (3, 14)), "Done.", session=session)

    assert len(listed) == 40
    assert [(each.op, each.status) for each in turn.calls] == [("onto.task.update", "success")] * 2
    changed = [orjson.loads(each.args)["args"]["task_id"] for each in turn.calls]
    assert changed == [listed[2]["id"], listed[13]["id"]]
    assert set(Task.objects.filter(pk__in=changed).values_list("priority", flat=True)) == {1}


def test_ids_exist_as_handles_only_between_chat_and_model(chat: ChatHarness) -> None:
    batch = {"type": "exec", "op": "onto.task.get", "args": {"task_id": "#t1"}}
    texts = ["It is #t1 (", "#t", "1)."]

    turn = chat.say("Which?", [LIST], [call("tool_batch", ops=[batch])], build_stream(*texts), context=PROJECT)

    sent = orjson.dumps([body["messages"] for body in turn.requests]).decode()
    assert "#t1" in sent
    assert not UUID.search(sent)
    assert "#t1" not in orjson.dumps([turn.events, chat.gateway_calls, turn.message.text]).decode()
    assert turn.text.startswith("It is ")
    again = chat.say("And?", "Yes.", session=str(turn.conversation.pk))
    assert again.conversation.row_ids[: len(turn.conversation.row_ids)] == turn.conversation.row_ids
    assert not UUID.search(orjson.dumps([body["messages"] for body in again.requests]).decode())


def test_handle_of_no_row_is_refused_without_a_call(chat: ChatHarness) -> None:
    turn = chat.say("Open it", [exec_call("onto.task.get", task_id="#t9999")], "Which one?")

    assert chat.paths() == ["batch"]  # the context only
    result = orjson.loads(turn.requests[1]["messages"][-1]["content"])
    assert "is of no row in this conversation" in result["error"]["message"]


def test_results_use_what_the_other_messages_leave_and_fit_the_limit(chat: ChatHarness) -> None:
    lists = [[exec_call("onto.task.list", limit=limit)] for limit in (40, 41, 42)]

    turn = chat.say("List", *lists, "Here.")

    for request in turn.requests:
        assert count_tokens(request["messages"]) <= budgets.HARD_LIMIT - budgets.RESPONSE
    results = [orjson.loads(each["content"]) for each in turn.requests[-1]["messages"] if each["role"] == "tool"]
    assert [len(each["result"]["tasks"]) for each in results[:2]] == [40, 41]
    assert token_share(turn.requests[1]) > budgets.TOOL_RESULTS


def token_share(request: dict[str, Any]) -> int:
    """Return the tokens of the results in a request."""
    return count_tokens([each for each in request["messages"] if each["role"] == "tool"])


def test_past_calls_are_told_in_the_words_of_the_surface(chat: ChatHarness, settings: Any) -> None:
    first = chat.say("List", [call("tool_help", path="onto.task")], [LIST], "Here.", context=PROJECT)
    settings.AGENTIC_CHAT_TOOL_GATEWAY = False

    turn = chat.say("List my tasks again", "They are above.", session=str(first.conversation.pk))

    assert turn.message.surface == "legacy"
    past = orjson.dumps(turn.requests[0]["messages"][1:]).decode()
    assert "list_onto_tasks" in past
    assert "tool_exec" not in past
    assert "onto.task.list" not in past.replace("onto.task.get", "")
