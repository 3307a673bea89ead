"""A decision is what the user meant: by a button, by a plain yes or no, or in their own words."""

from typing import Any

import orjson
import pytest

from chat.api.ag_ui import AgUiEncoder
from chat.api.ai_sdk import AiSdkEncoder
from chat.conversations.replies import NO, YES, read_reply
from chat.conversations.start_turn import UserDecision
from chat.models import ToolCall
from chat.turns.decisions import ASKED_AGAIN, EXPIRED, USE_THE_BUTTON
from gateway.execution import confirmation
from registry.models import Op
from tests.support.chat.chat import ChatHarness, TurnResult, call, exec_call
from tests.support.loops import for_each
from tests.support.rows.catalog_fixture import publish_draft
from workspace.demo import DEMO_PROJECT_ID
from workspace.models import Task


def find_tasks(count: int) -> list[Task]:
    tasks = Task.objects.filter(deleted_at=None, project_id=DEMO_PROJECT_ID, recurrence="")
    return list(tasks.order_by("title")[:count])


def delete_call(task: Task) -> tuple[str, str, str]:
    return exec_call("onto.task.delete", task_id=str(task.pk))


def count_deleted() -> int:
    return Task.objects.exclude(deleted_at=None).count()


def create_entry(title: str) -> dict[str, Any]:
    return {"type": "exec", "op": "onto.task.create", "args": {"project_id": DEMO_PROJECT_ID, "title": title}}


def delete_entry(task: Task) -> dict[str, Any]:
    return {"type": "exec", "op": "onto.task.delete", "args": {"task_id": str(task.pk)}}


def read_results(turn: TurnResult) -> list[dict[str, Any]]:
    """Return the results that the model read in its first request."""
    messages = turn.requests[0]["messages"]
    return [orjson.loads(each["content"]) for each in messages if each["role"] == "tool"]


@pytest.fixture
def confirms_create(chat: ChatHarness) -> None:
    """Ask before a task is created, too: a call that deletes nothing."""
    Op.objects.filter(op="onto.task.create").update(confirm=True)
    publish_draft()


# --- in their own words -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message", ["Yes please, drop it", "Lösch sie bitte", "no, the other one", "Which one is that?"]
)
def test_typed_answer_is_told_as_not_decided_with_what_was_asked_and_how_to_go_on(
    chat: ChatHarness, message: str
) -> None:
    [task] = find_tasks(1)
    asked = chat.say("Delete it", [delete_call(task)])

    turn = chat.say(message, [delete_call(task)], session=str(asked.conversation.pk))

    [result] = read_results(turn)
    text = result["error"]["message"]
    assert result["error"]["details"]["reason"] == "not_decided"
    assert f"whether to delete the task “{task.title}”" in text
    assert f"They did not use the button but wrote: “{message}”" in text
    assert "one call with the same args" in text
    assert "did not agree" not in text
    assert (turn.reason, turn.calls[0].status, count_deleted()) == ("ask", "confirm", 0)
    assert chat.decide(turn, "Deleted.", approve=True).reason == "stop"
    assert count_deleted() == 1


def test_batch_keeps_the_outcome_of_each_entry_when_the_user_types(chat: ChatHarness) -> None:
    [task] = find_tasks(1)
    ops = [create_entry("Call the printer"), delete_entry(task), {"type": "exec", "op": "onto.project.list"}]
    asked = chat.say("Do both", [call("tool_batch", ops=ops)])

    turn = chat.say("wait a moment", [call("tool_batch", ops=ops)], session=str(asked.conversation.pk))

    [result] = read_results(turn)
    created, deleted, listed = result["results"]
    assert created["result"]["task"]["title"] == "Call the printer"
    assert deleted["error"]["details"]["reason"] == "not_decided"
    assert listed["result"]["projects"]
    again = turn.calls[0].envelope["results"]
    assert "already done in this turn" in " ".join(again[0]["meta"]["warnings"])
    assert again[1]["error"]["details"]["reason"] == "confirmation_required"
    assert Task.objects.filter(title="Call the printer").count() == 1
    assert turn.written == []


# --- plain yes and no -------------------------------------------------------------------------------------------------


@for_each("table, reply", [(YES, True), (NO, False)])
def test_each_phrase_of_the_table_is_read(table: dict[str, str], reply: bool) -> None:
    phrases = ", ".join(table.values()).split(", ")

    assert {phrase: read_reply(phrase) for phrase in phrases} == dict.fromkeys(phrases, reply)


@for_each(
    "message, reply",
    [
        ("Yes!", True),
        ("  JA, bitte. ", True),
        ("Sí", True),
        ("si", True),
        ("Nein…", False),
        ("Never mind.", False),
        ("Don’t", False),
        ("no, the other one", None),
        ("yes?", None),
        ("Yes please, drop it", None),
        ("no problem", None),
        ("", None),
        ("👍", None),
    ],
)
def test_only_a_whole_message_is_a_plain_reply(message: str, reply: bool | None) -> None:
    assert read_reply(message) is reply


@for_each("message", ["no", "Nein!", "laisse tomber", "never mind"])
def test_plain_no_acts_as_the_button(chat: ChatHarness, message: str) -> None:
    [task] = find_tasks(1)
    asked = chat.say("Delete it and list the rest", [delete_call(task)])

    done = chat.say(message, "It stays.", session=str(asked.conversation.pk))

    assert (done.reason, count_deleted()) == ("stop", 0)
    assert asked.message.calls.get().envelope["error"]["details"]["reason"] == "declined"
    assert "did not agree" in read_results(done)[0]["error"]["message"]
    assert f"The user wrote “{message}”: they did not agree to delete the task “{task.title}”" in done.notes()
    assert [each.text for each in done.conversation.messages.filter(role="user")][-1] == message


def test_plain_yes_acts_as_the_button(chat: ChatHarness, confirms_create: None) -> None:
    ops = exec_call("onto.task.create", project_id=DEMO_PROJECT_ID, title="Call the printer")
    asked = chat.say("Note it", [ops])
    assert asked.reason == "ask"

    done = chat.say("ja", "Noted.", session=str(asked.conversation.pk))

    assert (done.reason, Task.objects.filter(title="Call the printer").count()) == ("stop", 1)
    assert [each["action"] for each in done.written] == ["create"]


def test_plain_yes_never_deletes_but_shows_the_button_again(chat: ChatHarness) -> None:
    first, second = find_tasks(2)
    asked = chat.say("Delete them", [delete_call(first), delete_call(second)])

    again = chat.say("yes", session=str(asked.conversation.pk))

    assert (again.reason, again.text, again.requests, count_deleted()) == ("ask", USE_THE_BUTTON, [], 0)
    assert [each["status"] for each in again.of_type("tool")] == ["confirm"] * 2
    assert [each["id"] for each in again.of_type("tool")] == [each["id"] for each in asked.of_type("tool")[2:]]
    assert chat.say("sí", session=str(asked.conversation.pk)).text == USE_THE_BUTTON

    waiting = ToolCall.objects.filter(status="confirm").order_by("position")
    decisions = [UserDecision(str(each.pk), is_yes) for each, is_yes in zip(waiting, (True, False), strict=True)]
    done = chat.decide_all(asked, decisions, "One is gone.")

    assert (done.reason, count_deleted()) == ("stop", 1)
    assert "Their request was: “Delete them”" in done.notes()


def test_plain_yes_after_the_question_was_passed_over_is_a_message(chat: ChatHarness) -> None:
    [task] = find_tasks(1)
    asked = chat.say("Delete it", [delete_call(task)])
    session = str(asked.conversation.pk)
    chat.say("First tell me what it is", "A task. Shall I go on?", session=session)

    turn = chat.say("yes", [delete_call(task)], session=session)

    last = turn.requests[0]["messages"][-1]
    assert (last["role"], last["content"].partition("\n")[0]) == ("user", "yes")
    assert (turn.reason, count_deleted()) == ("ask", 0)


def test_tool_of_an_undecided_call_is_there_when_the_user_answers_in_words(chat: ChatHarness, settings: Any) -> None:
    settings.AGENTIC_CHAT_TOOL_GATEWAY = False  # the legacy surface
    [task] = find_tasks(1)
    delete = call("delete_onto_task", task_id=str(task.pk))
    asked = chat.say("Delete it", [delete], context={"type": "calendar"})

    turn = chat.say("Yes please, drop it", [delete], session=str(asked.conversation.pk))

    assert "delete_onto_task" in {each["function"]["name"] for each in turn.requests[0]["tools"]}
    assert [each["error"]["details"]["reason"] for each in read_results(turn)] == ["not_decided"]
    assert (turn.reason, turn.text) == ("ask", ASKED_AGAIN)
    assert chat.decide(turn, "Deleted.", approve=True).reason == "stop"
    assert count_deleted() == 1


# --- going on with the same turn --------------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_deciding_goes_on_with_the_same_turn(chat: ChatHarness) -> None:
    [task] = find_tasks(1)
    listing = exec_call("onto.task.list", project_id=DEMO_PROJECT_ID, limit=20)
    earlier = chat.say("Hello", "Hello!")
    asked = chat.say(
        "Delete the first, then list", [listing], [delete_call(task)], session=str(earlier.conversation.pk)
    )

    done = chat.decide(asked, "Here is the rest.", approve=True)

    messages = done.requests[0]["messages"]
    roles = [each["role"] for each in messages]
    assert roles[-6:] == ["user", "assistant", "tool", "assistant", "tool", "system"]
    assert messages[-6]["content"].startswith("Delete the first, then list\n\n[Sent ")
    assert messages[-4]["content"] == asked.requests[1]["messages"][-1]["content"]  # the list, whole
    assert orjson.loads(messages[-2]["content"])["ok"] is True
    note = messages[-1]["content"]
    assert f"The user agreed to delete the task “{task.title}”" in note
    assert "Their request was: “Delete the first, then list”" in note


def test_write_after_a_decision_runs_once_with_those_before_it(chat: ChatHarness) -> None:
    [task] = find_tasks(1)
    note = exec_call("onto.task.create", project_id=DEMO_PROJECT_ID, title="Call the printer")
    asked = chat.say("Note it and delete that", [note, delete_call(task)])

    done = chat.decide(asked, [note, delete_call(task)], "Done.", approve=True)

    assert Task.objects.filter(title="Call the printer").count() == 1
    assert [(each["action"], each["status"]) for each in done.written] == [("delete", "success")]
    assert all("already done" in " ".join(each.envelope["meta"]["warnings"]) for each in done.calls)


def test_batch_with_two_open_entries_is_decided_together(chat: ChatHarness) -> None:
    first, second = find_tasks(2)
    ops = [create_entry("Call the printer"), delete_entry(first), delete_entry(second)]
    asked = chat.say("Do it", [call("tool_batch", ops=ops)])
    assert [each["action"] for each in asked.written] == ["create"]

    done = chat.decide(asked, "Done.", approve=True)

    assert (done.reason, count_deleted()) == ("stop", 2)
    assert [each["action"] for each in done.written] == ["delete", "delete"]
    assert f"agreed to delete the task “{first.title}” and to delete the task “{second.title}”" in done.notes()


def test_declined_batch_keeps_what_ran(chat: ChatHarness) -> None:
    [task] = find_tasks(1)
    asked = chat.say("Do it", [call("tool_batch", ops=[create_entry("Call the printer"), delete_entry(task)])])

    done = chat.decide(asked, "Done.", approve=False)

    created, deleted = read_results(done)[0]["results"]
    assert created["ok"] is True
    assert deleted["error"]["details"]["reason"] == "declined"
    assert (done.written, count_deleted()) == ([], 0)


# --- an approval that comes too late ----------------------------------------------------------------------------------


def test_expired_approval_says_so_and_asks_again(chat: ChatHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    [task] = find_tasks(1)
    asked = chat.say("Delete it", [delete_call(task)])
    with monkeypatch.context() as patch:
        patch.setattr(confirmation, "MAX_AGE", -1)
        late = chat.decide(asked, approve=True)

    assert (late.reason, late.text, late.requests, count_deleted()) == ("ask", EXPIRED, [], 0)
    card = late.of_type("tool")[-1]
    assert card["headline"] == f"Delete “{task.title}”?"
    assert chat.decide(late, "Deleted.", approve=True).reason == "stop"
    assert count_deleted() == 1


def test_interrupt_of_another_protocol_asks_in_words_for_people(chat: ChatHarness) -> None:
    [task] = find_tasks(1)
    asked = chat.say("Delete it", [delete_call(task)])
    encoder = AgUiEncoder(thread_id="t", run_id="r")

    end = [frame for type, data in asked.events for frame in encoder.encode(type, data)][-1]

    [interrupt] = end["outcome"]["interrupts"]
    assert interrupt["message"] == f"Delete the task “{task.title}”?"


def test_call_of_an_earlier_message_is_whole_in_the_next_one_for_the_ai_sdk(chat: ChatHarness) -> None:
    [task] = find_tasks(1)
    asked = chat.say("Delete it", [delete_call(task)])
    again = chat.say("yes", session=str(asked.conversation.pk))
    encoder = AiSdkEncoder()

    frames = [frame for type, data in again.events for frame in encoder.encode(type, data)]

    types = [each["type"] for each in frames if each["type"].startswith("tool-")]
    assert types == ["tool-input-available", "tool-approval-request"]
