"""A service asks the user of the chat: a form or a page in the card, and the call goes on with what they answer."""

from datetime import UTC
from typing import Any

import orjson
import pytest

from chat.api.ag_ui import AgUiEncoder
from chat.conversations.start_turn import UserDecision
from chat.models import ToolCall
from chat.pages.shown_calls import NEEDS_ANSWER, show_call
from chat.turns.decisions import USE_THE_FORM
from gateway.models import PendingInput
from tests.support.chat.chat import ChatHarness, TurnResult, call, exec_call
from tests.support.upstreams.asking_servers import build_page, publish_asking_tools
from tests.support.upstreams.mcp_upstream import McpUpstream

pytestmark = pytest.mark.usefixtures("background_at_once")

ENTERED = "Canary-Ana-7f3a"


@pytest.fixture
def asking(chat: ChatHarness, mcp_upstream: McpUpstream) -> McpUpstream:
    publish_asking_tools(mcp_upstream)
    return mcp_upstream


def answer(chat: ChatHarness, turn: TurnResult, content: Any = None, *, approve: bool = True) -> TurnResult:
    waiting = next(each for each in turn.calls if each.status == ToolCall.Status.CONFIRM)
    return chat.decide_all(turn, [UserDecision(str(waiting.pk), approve, content)], "Done.")


def read_told(row: ToolCall) -> Any:
    assert row.envelope is not None
    return row.envelope["result"]["told"]


def test_user_fills_in_the_form_of_a_card(chat: ChatHarness, asking: McpUpstream) -> None:
    asked = chat.say("Order it", [exec_call("notes.tool.write", text="hello")])

    [row] = asked.calls
    assert (asked.reason, row.status) == ("ask", "confirm")
    assert row.confirmation.startswith("input_")
    assert row.confirmation not in orjson.dumps(asked.events).decode()
    shown = show_call(row, is_waiting=True, zone=UTC)
    assert shown.label == NEEDS_ANSWER
    assert shown.question is not None
    assert shown.question.text == "The service of notes.tool.write asks: What is your name?"

    done = answer(chat, asked, {"name": ENTERED})

    row.refresh_from_db()
    assert (done.reason, row.status) == ("stop", "success")
    assert read_told(row)["who"] == {"action": "accept", "content": {"name": ENTERED}}
    assert len(asking.calls) == 2
    assert "The user filled in the form of the service of notes.tool.write" in done.notes()


def test_answer_that_does_not_fit_is_asked_again(chat: ChatHarness, asking: McpUpstream) -> None:
    asked = chat.say("Order it", [exec_call("notes.tool.write")])

    again = answer(chat, asked, {"name": "A"})

    assert (again.reason, again.calls[0].status) == ("ask", "confirm")
    assert "name must have at least 2 characters" in again.text
    assert answer(chat, again, {"name": "Ana"}).reason == "stop"


def test_user_who_does_not_answer_and_one_who_types(chat: ChatHarness, asking: McpUpstream) -> None:
    asked = chat.say("Order it", [exec_call("notes.tool.write")])

    typed = chat.say("yes", session=str(asked.conversation.pk))
    assert (typed.reason, typed.text) == ("ask", USE_THE_FORM)
    done = answer(chat, typed, approve=False)

    assert read_told(ToolCall.objects.get())["who"]["action"] == "decline"
    assert "did not answer what the service" in done.notes()


def test_entry_of_a_batch_goes_on(chat: ChatHarness, asking: McpUpstream) -> None:
    ops = [{"type": "exec", "op": "notes.tool.write"}, {"type": "help", "path": "notes", "depends_on": [0]}]
    asked = chat.say("Order it", [call("tool_batch", ops=ops)])
    assert asked.reason == "ask"

    answer(chat, asked, {"name": "Ana"})

    row = ToolCall.objects.get()
    assert row.envelope is not None
    assert [each["ok"] for each in row.envelope["results"]] == [True, True]


def test_question_that_expired_is_told(chat: ChatHarness, asking: McpUpstream) -> None:
    asked = chat.say("Order it", [exec_call("notes.tool.write")])
    PendingInput.objects.all().delete()

    answer(chat, asked, {"name": "Ana"})

    row = ToolCall.objects.get()
    assert (row.status, row.envelope and row.envelope["error"]["details"]["reason"]) == ("error", "input_expired")


def test_page_is_a_link_also_for_other_clients(chat: ChatHarness, mcp_upstream: McpUpstream) -> None:
    publish_asking_tools(mcp_upstream, {"pay": build_page()})
    asked = chat.say("Order it", [exec_call("notes.tool.read")])

    encoder = AgUiEncoder(thread_id="1", run_id="2")
    frames = [frame for type, data in asked.events for frame in encoder.encode(type, data)]
    [interrupt] = frames[-1]["outcome"]["interrupts"]
    assert (interrupt["reason"], interrupt["metadata"]) == ("input_required", {"url": "https://pay.example/7"})

    assert "opened the page" in answer(chat, asked).notes()
