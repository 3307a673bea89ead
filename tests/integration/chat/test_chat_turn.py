"""Turns of the chat through the real API: what runs, what the model is told, and what the user sees."""

import re
from typing import Any
from unittest.mock import Mock
from uuid import UUID

import orjson
import pytest

from analytics.events import event_log
from analytics.events.models import OperationEvent
from chat.api.ag_ui import AgUiEncoder
from chat.conversations import summaries
from chat.conversations.start_turn import UserDecision
from chat.models import Conversation, Message, ToolCall
from core import http
from core.text import token_budget
from tests.support.chat.chat import ChatHarness, TurnResult, call, exec_call
from tests.support.chat.fake_llm import build_chat_completion, build_stream
from tests.support.upstreams.http_servers import build_response
from workspace.demo import DEMO_PROJECT_ID
from workspace.models import Project, Task

TASK_TITLE = "Draft the homepage copy"
PROJECT = {"type": "project", "project_id": DEMO_PROJECT_ID}
EXPLORE = exec_call("x.agent.run", agent="explorer", task="Which tasks are blocked?")


def find_task() -> Task:
    return Task.objects.get(title=TASK_TITLE)


def stop_after(chat: ChatHarness, op: str) -> None:
    """Let the user stop the turn while a call of an op runs."""

    def call_gateway(method: str, url: str, **rest: Any) -> Any:
        response = chat.call_gateway(method, url, **rest)
        if chat.gateway_calls[-1][2].get("op") == op:
            chat.abort.set()
        return response

    chat.gateway = call_gateway


# --- what an ordinary turn does ---------------------------------------------------------------------------------------


def test_a_question_is_answered_from_one_list(chat: ChatHarness) -> None:
    turn = chat.say("High-priority tasks?", [exec_call("onto.task.list", priority=[1])], "Three tasks are urgent.")

    types = [type for type, _ in turn.events if type != "text"]
    assert types == ["context", "tool", "operation", "tool", "operation", "usage", "done"]
    assert chat.paths() == ["batch", "exec"]  # the context, and the list
    start, end = turn.of_type("tool")
    assert (start["status"], end["status"], start["id"]) == ("start", "success", end["id"])
    assert end["envelope"]["result"]["tasks"]
    assert (turn.text, turn.reason, turn.written) == ("Three tasks are urgent.", "stop", [])
    assert turn.message.text == "Three tasks are urgent."


def test_a_write_changes_the_row_and_is_in_the_ledger(chat: ChatHarness) -> None:
    task = find_task()

    turn = chat.say("Done!", [exec_call("onto.task.update", task_id=str(task.pk), state_key="done")], "It is done.")

    assert find_task().state_key == "done"
    row = {"entity": "task", "entity_id": str(task.pk), "entity_name": TASK_TITLE}
    assert turn.written == [row | {"action": "update", "status": "success"}]
    start, end = turn.of_type("operation")
    assert (start["status"], end["status"]) == ("start", "success")
    assert start["entity_id"] == str(task.pk)


def test_a_write_that_changes_nothing_is_not_in_the_ledger(chat: ChatHarness) -> None:
    task = find_task()

    turn = chat.say(
        "Same", [exec_call("onto.task.update", task_id=str(task.pk), title=task.title)], "It is so already."
    )

    assert turn.calls[0].envelope["meta"]["warnings"] == ["unchanged"]
    assert turn.written == []


def test_model_reads_the_context_and_the_tools_of_the_surface(chat: ChatHarness) -> None:
    turn = chat.say("Hello", "Hello!", context=PROJECT)

    request = turn.requests[0]
    assert [tool["function"]["name"] for tool in request["tools"]] == ["tool_help", "tool_exec", "tool_batch"]
    assert "Website relaunch" in request["messages"][0]["content"]
    context = turn.of_type("context")[0]
    assert context["surface"] == turn.message.surface == "gateway"
    assert context["context"] == PROJECT
    layers = {layer["name"]: layer["tokens"] for layer in context["layers"]}
    assert set(layers) == {"system", "profile", "location", "related", "tools", "history"}


def test_reads_of_one_answer_are_one_parallel_batch(chat: ChatHarness) -> None:
    calls = [exec_call("onto.task.list", limit=1), exec_call("onto.project.list"), call("tool_help", path="onto")]

    turn = chat.say("Overview", calls, "Here it is.")

    assert chat.paths() == ["batch", "batch"]
    assert [each.status for each in turn.calls] == ["success"] * 3
    assert turn.calls[2].envelope["type"] == "group"
    results = [each for each in turn.requests[1]["messages"] if each["role"] == "tool"]
    assert [each["tool_call_id"] for each in results] == [each[0] for each in calls]


def test_next_turn_reads_what_the_last_one_did(chat: ChatHarness) -> None:
    first = chat.say("Urgent?", [exec_call("onto.task.list", priority=[1])], "One: the homepage copy.")

    second = chat.say("Tell me more", "It is half done.", session=str(first.conversation.pk))

    roles = [each["role"] for each in second.requests[0]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert "onto.task.list" in second.requests[0]["messages"][3]["content"]
    assert [each.position for each in second.conversation.messages.all()] == [1, 2, 3, 4]


def test_created_project_moves_the_conversation(chat: ChatHarness) -> None:
    project = {"name": "Bake sale", "type_key": "project.personal.event"}
    body = {"project": project, "entities": [], "relationships": []}

    turn = chat.say("Make a project", [exec_call("onto.project.create", **body)], "Created.")

    project = Project.objects.get(name="Bake sale")
    assert turn.conversation.context == {"type": "project", "project_id": str(project.pk)}
    assert turn.of_type("context")[1] == {"context": turn.conversation.context, "name": "Bake sale"}


def test_deleted_project_is_left(chat: ChatHarness) -> None:
    asked = chat.say("Delete it", [exec_call("onto.project.delete", project_id=DEMO_PROJECT_ID)], context=PROJECT)

    done = chat.decide(asked, "It is deleted.", approve=True)

    assert done.conversation.context == {"type": "global"}
    assert {"context": {"type": "global"}, "name": ""} in done.of_type("context")
    assert chat.say("And now?", session=str(asked.conversation.pk)).reason == "stop"


def test_task_is_sent_with_its_project_which_is_read_once(chat: ChatHarness) -> None:
    place = {"type": "task", "entity_id": str(find_task().pk)}
    whole = {**place, "project_id": DEMO_PROJECT_ID}

    turn = chat.say("Add a task", [exec_call("onto.task.create", title="Beside it")], "Added.", context=place)

    session = str(turn.conversation.pk)
    assert Task.objects.get(title="Beside it").project_id == UUID(DEMO_PROJECT_ID)  # the place's, by default
    assert turn.calls[0].envelope["ok"] is True
    assert turn.conversation.context == turn.of_type("context")[0]["context"] == whole
    assert chat.paths() == ["exec", "batch", "exec"]  # the project, the context, the call
    event_log.flush()
    assert [event.op for event in OperationEvent.objects.filter(purpose="")] == ["onto.task.create"]
    assert chat.say("Hello", "Hello!", session=session, context=place).conversation.context == whole
    assert chat.paths() == ["batch"]
    assert chat.say("Hello", "Hello!", session=session, context=PROJECT).conversation.context == PROJECT


def test_task_that_cannot_be_read_does_not_stop_the_turn(chat: ChatHarness) -> None:
    place = {"type": "task", "entity_id": "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1aff"}

    turn = chat.say("Hello", "Hello!", context=place)

    assert (turn.reason, turn.conversation.context) == ("stop", place)


def test_usage_of_all_requests_is_added_up(chat: ChatHarness, settings: Any) -> None:
    settings.LLM_FAST_DOLLARS_PER_MILLION_INPUT_TOKENS = 1

    turn = chat.say("Urgent?", [exec_call("onto.task.list")], "None.")

    assert turn.of_type("usage") == [{"input": 2_000, "output": 400, "dollars": 0.002, "answers": 2}]
    assert (turn.conversation.tokens, float(turn.conversation.dollars)) == (2_400, 0.002)


def test_telemetry_tells_what_was_shown_and_used(chat: ChatHarness) -> None:
    chat.say("Urgent?", [call("list_onto_tasks")], "None.")

    report = chat.gateway_calls[-1][2]
    assert report["tools_loaded"] == ["tool_help", "tool_exec", "tool_batch"]
    assert (report["tools_used"], report["tool_misses"]) == (["list_onto_tasks"], ["list_onto_tasks"])
    assert report["outcome"] == "succeeded"


# --- what the model gets wrong ----------------------------------------------------------------------------------------


def test_malformed_arguments_are_never_run(chat: ChatHarness) -> None:
    turn = chat.say("Urgent?", [("c1", "tool_exec", '{"op": "onto.task.list"')], "Sorry.")

    assert chat.paths() == ["batch"]  # the context only
    assert turn.calls[0].status == "error"
    result = orjson.loads(turn.requests[1]["messages"][-2]["content"])
    assert result["error"]["details"]["reason"] == "malformed_arguments"
    assert orjson.loads(turn.requests[1]["messages"][-3]["tool_calls"][0]["function"]["arguments"]) == {}


@pytest.mark.parametrize("arguments", ["", "{}", '{"op": "onto.task.li'])
def test_call_that_is_cut_off_is_not_run(chat: ChatHarness, arguments: str) -> None:
    whole = exec_call("onto.project.list")
    cut_off = build_stream(calls=[whole, ("c2", "list_onto_tasks", arguments)], finish="length")

    turn = chat.say("Urgent?", cut_off, "None.")

    assert chat.paths() == ["batch", "exec"]  # the context, and the call before it
    assert [(each.name, each.status) for each in turn.calls] == [("tool_exec", "success"), ("list_onto_tasks", "error")]
    answer, (_, result) = turn.requests[1]["messages"][-3], turn.requests[1]["messages"][-2:]
    assert "length limit within this call" in result["content"]
    assert answer["tool_calls"][1]["function"]["arguments"] == "{}"


def test_update_without_an_id_gives_an_error_then_a_question(chat: ChatHarness) -> None:
    turn = chat.say(
        "Update my task",
        [exec_call("onto.task.update", task_id=": ", title="New")],
        [exec_call("onto.task.list", limit=3)],
        "Which of these three?",
    )

    assert [each.status for each in turn.calls] == ["error", "success"]
    note = turn.requests[1]["messages"][-1]
    assert note["role"] == "system"
    assert "Never make up an id" in note["content"]
    assert token_budget.count(note["content"]) <= 100
    assert turn.written == [{"entity": "task", "action": "update", "status": "error"}]


def test_empty_update_asks_what_to_change(chat: ChatHarness) -> None:
    turn = chat.say("Change it", [exec_call("onto.task.update", task_id=str(find_task().pk))], "What shall I change?")

    assert "ask the user what to change" in turn.notes()


def test_corrected_call_is_proposed_to_the_model(chat: ChatHarness) -> None:
    task_id = str(find_task().pk)

    turn = chat.say("Done", [exec_call("onto.task.update", task_id=task_id, status="done")], "Done.")

    assert "Send retry_with as it stands" in turn.notes()
    assert find_task().state_key != "done"  # proposed, never run by the chat


def test_same_error_is_repaired_once(chat: ChatHarness) -> None:
    wrong = "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1aff"

    turn = chat.say(
        "Rename it",
        [exec_call("onto.task.update", task_id=wrong, title="A")],
        [exec_call("onto.task.update", task_id=wrong, title="B")],
        "I cannot find it.",
    )

    assert "Never make up an id" in turn.requests[1]["messages"][-1]["content"]
    assert "Do not call it again" in turn.requests[2]["messages"][-1]["content"]


def create_task(**args: Any) -> tuple[str, str, str]:
    return exec_call("onto.task.create", project_id=DEMO_PROJECT_ID, **args)


def test_calls_that_fail_together_are_each_to_be_corrected(chat: ChatHarness) -> None:
    calls = [
        create_task(title="A", priority=99),
        create_task(title="B", due_at="some day"),
        create_task(title="C", priority=98),
    ]

    turn = chat.say("Add them", calls, [calls[0]], "I could not add them.")

    assert [each.status for each in turn.calls] == ["error"] * 4
    together, again = (request["messages"][-1]["content"] for request in turn.requests[1:3])
    assert "Do not call it again" not in together
    assert "Do not call it again" in again


def test_repeated_call_is_stopped(chat: ChatHarness) -> None:
    again = exec_call("onto.task.list", limit=1)

    turn = chat.say("Loop", [again], [again], [again], "Enough.")

    assert [each.status for each in turn.calls] == ["success", "success", "error"]
    assert chat.paths() == ["batch", "exec", "exec"]


def test_endless_calls_end_with_an_answer(chat: ChatHarness) -> None:
    endless = [[exec_call("onto.task.list", limit=number)] for number in range(1, 9)]

    turn = chat.say("Loop", *endless, "This is what I found.")

    assert (turn.reason, turn.text) == ("limit", "This is what I found.")
    assert "tools" not in turn.requests[-1]
    assert len(turn.requests) == 9


def test_silence_is_asked_about_once(chat: ChatHarness) -> None:
    turn = chat.say("Hello", build_stream(), "Hello!")

    assert turn.text == "Hello!"
    assert "You have not answered" in turn.notes()


# --- the legacy surface -----------------------------------------------------------------------------------------------


@pytest.fixture
def legacy_chat(chat: ChatHarness, settings: Any) -> ChatHarness:
    settings.AGENTIC_CHAT_TOOL_GATEWAY = False
    return chat


def test_call_of_a_tool_that_was_not_given_widens_the_toolset_and_runs(legacy_chat: ChatHarness) -> None:
    task = find_task()
    missing = call("update_onto_task", task_id=str(task.pk), title="Sow beans")

    turn = legacy_chat.say("Rename it", [missing], "Done.", context={"type": "calendar"})

    shown = {each["function"]["name"] for each in turn.requests[0]["tools"]}
    wider = {each["function"]["name"] for each in turn.requests[1]["tools"]}
    assert "update_onto_task" not in shown
    assert wider - shown == {"update_onto_task"}
    assert (turn.calls[0].status, turn.message.surface, len(turn.requests)) == ("success", "legacy", 2)
    assert Task.objects.get(pk=task.pk).title == "Sow beans"
    assert legacy_chat.gateway_calls[-1][2]["tool_escalations"] == ["update_onto_task"]


def test_delete_that_was_not_given_waits_for_the_user(legacy_chat: ChatHarness) -> None:
    task = find_task()

    turn = legacy_chat.say("Delete it", [call("delete_onto_task", task_id=str(task.pk))], context={"type": "calendar"})

    assert (turn.reason, turn.calls[0].status) == ("ask", "confirm")
    assert Task.objects.get(pk=task.pk).deleted_at is None


def test_two_calls_of_a_missing_tool_widen_the_toolset_once(legacy_chat: ChatHarness) -> None:
    task_ids = [str(each.pk) for each in Task.objects.all()[:2]]
    missing = [call("update_onto_task", task_id=task_id, priority=1) for task_id in task_ids]

    turn = legacy_chat.say("Both are urgent", missing, "Done.", context={"type": "calendar"})

    assert [each.status for each in turn.calls] == ["success", "success"]
    assert sum(path.endswith("escalate") for path in legacy_chat.paths()) == 1


def test_toolset_gets_the_conversation(legacy_chat: ChatHarness) -> None:
    task = find_task()
    first = legacy_chat.say("What is open?", [call("get_onto_task_details", task_id=str(task.pk))], "One task.")

    legacy_chat.say("Set it to done", "Done.", session=str(first.conversation.pk))

    [body] = [body for _, path, body in legacy_chat.gateway_calls if path == "toolset"]
    assert body["messages"] == [
        {"role": "user", "content": "What is open?"},
        {"role": "assistant", "content": "One task."},
    ]
    assert body["recent_tools"] == ["get_onto_task_details"]
    assert {"id": str(task.pk), "name": task.title, "entity": "task"} in body["rows"]


def test_decision_asks_for_the_toolset_of_the_question(legacy_chat: ChatHarness) -> None:
    delete = call("delete_onto_task", task_id=str(find_task().pk))
    asked = legacy_chat.say("Delete it", [delete], context={"type": "calendar"})

    legacy_chat.decide(asked, "It is deleted.", approve=True)

    [body] = [body for _, path, body in legacy_chat.gateway_calls if path == "toolset"]
    assert (body["message"], body["messages"][-1]) == ("", {"role": "user", "content": "Delete it"})
    assert body["recent_tools"] == ["delete_onto_task"]


def test_tool_that_does_not_exist_is_told_to_the_model(legacy_chat: ChatHarness) -> None:
    turn = legacy_chat.say("Fly", [call("book_flight")], "I cannot book flights.")

    told = turn.requests[1]["messages"][-1]["content"]
    # Tools that are not shown may exist, so the answer does not confine the model to the listed ones.
    assert "There is no tool book_flight. If no other tool does this, tell the user what cannot be done." in told


# --- agreement of the user --------------------------------------------------------------------------------------------


def test_delete_waits_for_the_user_and_goes_on(chat: ChatHarness) -> None:
    task = find_task()
    asked = chat.say("Delete it", [exec_call("onto.task.delete", task_id=str(task.pk))])

    assert (asked.reason, len(asked.requests)) == ("ask", 1)
    end = asked.of_type("tool")[1]
    assert (end["status"], end["requires_user_action"]) == ("confirm", True)
    assert '"token"' not in orjson.dumps(asked.events).decode()
    assert find_task().deleted_at is None

    done = chat.decide(asked, "It is deleted.", approve=True)

    assert not Task.objects.filter(pk=task.pk, deleted_at=None).exists()
    assert (done.reason, done.text) == ("stop", "It is deleted.")
    assert done.of_type("tool")[0]["id"] == end["id"]
    assert [each["action"] for each in done.written] == ["delete"]
    assert orjson.loads(done.requests[0]["messages"][3]["content"])["ok"] is True


def test_delete_that_is_declined_or_passed_over_is_told_to_the_model(chat: ChatHarness) -> None:
    delete = exec_call("onto.task.delete", task_id=str(find_task().pk))
    asked = chat.say("Delete it", [delete])

    done = chat.decide(asked, "It stays.", approve=False)

    assert "did not agree" in done.requests[0]["messages"][3]["content"]
    assert asked.message.calls.get().status == ToolCall.Status.ERROR
    asked = chat.say("Delete it", [delete])
    later = chat.say("No, list it", "Here.", session=str(asked.conversation.pk))
    result = next(each for each in later.requests[0]["messages"] if each["role"] == "tool")
    assert "They did not use the button but wrote: “No, list it”" in result["content"]
    assert find_task().deleted_at is None


def ask_about_two(chat: ChatHarness) -> tuple[TurnResult, list[str]]:
    """Return a turn in which two deletes wait, and the ids of their calls."""
    tasks = Task.objects.filter(deleted_at=None, project_id=DEMO_PROJECT_ID, recurrence="").order_by("title")[:2]
    asked = chat.say("Delete them", [exec_call("onto.task.delete", task_id=str(task.pk)) for task in tasks])
    assert [each.status for each in asked.calls] == ["confirm"] * 2
    return asked, [str(each.pk) for each in asked.calls]


def test_decisions_about_several_calls_are_carried_out_at_once(chat: ChatHarness) -> None:
    asked, (first, second) = ask_about_two(chat)

    done = chat.decide_all(asked, [UserDecision(first, True), UserDecision(second, False)], "One is deleted.")

    assert (done.reason, done.text) == ("stop", "One is deleted.")
    assert [each.status for each in asked.message.calls.all()] == ["success", "error"]
    assert [(each["id"], each["status"]) for each in done.of_type("tool")] == [(first, "success"), (second, "error")]
    assert Task.objects.exclude(deleted_at=None).count() == 1


def test_call_that_still_waits_is_asked_about_again(chat: ChatHarness) -> None:
    asked, (first, second) = ask_about_two(chat)

    still = chat.decide_all(asked, [UserDecision(first, True)])

    assert (still.reason, still.requests) == ("ask", [])
    again = still.of_type("tool")[-1]
    assert again == {**asked.of_type("tool")[-1], "id": second, "status": "confirm"}
    encoder = AgUiEncoder(thread_id="t", run_id="r")
    end = [frame for type, data in still.events for frame in encoder.encode(type, data)][-1]
    assert [each["id"] for each in end["outcome"]["interrupts"]] == [second]

    assert chat.decide_all(asked, [UserDecision(second, True)], "Both are deleted.").reason == "stop"
    assert Task.objects.exclude(deleted_at=None).count() == 2


def test_stop_leaves_what_is_not_carried_out_waiting(chat: ChatHarness) -> None:
    asked, (first, second) = ask_about_two(chat)
    stop_after(chat, "onto.task.delete")

    stopped = chat.decide_all(asked, [UserDecision(first, True), UserDecision(second, True)])

    assert stopped.reason == "cancelled"
    assert [each.status for each in asked.message.calls.all()] == ["success", "confirm"]


# --- agents -----------------------------------------------------------------------------------------------------------


def test_agent_answers_in_an_inner_loop(chat: ChatHarness) -> None:
    turn = chat.say(
        "What is blocked?",
        [EXPLORE],
        [exec_call("onto.task.list", state_key=["blocked"])],  # the agent's own call
        "Two tasks are blocked.",  # the agent's answer
        "The explorer found two.",
    )

    assert turn.text == "The explorer found two."
    assert [each["status"] for each in turn.of_type("tool")] == ["start", "success"]
    assert [each["status"] for each in turn.of_type("operation") if each["entity"] == "agent"] == ["start", "success"]
    assert turn.calls[0].trace_id
    result = {"agent": "explorer", "answer": "Two tasks are blocked.", "calls": 1}
    assert turn.of_type("tool")[-1]["envelope"]["result"] == result
    assert turn.requests[1]["messages"][0]["content"].startswith("You look things up")
    [read] = [each["content"] for each in turn.requests[2]["messages"] if each["role"] == "tool"]
    assert re.search(r'"due_at":"[^"]+T[^"]+\+0[12]:00"', read)  # in the user's zone, as for the turn's own model


def test_agent_runs_only_tools_that_it_is_shown(chat: ChatHarness) -> None:
    unknown = [call("discover_x/../../exec", op="onto.task.list", args={}), call("onto.task.list")]
    turn = chat.say("What is blocked?", [EXPLORE], unknown, "I do not know.", "Nobody knows.")

    assert chat.paths() == ["batch", "exec"]  # the context, and the call that runs the agent
    results = [each["content"] for each in turn.requests[2]["messages"] if each["role"] == "tool"]
    assert all("There is no tool" in result for result in results)
    assert len(results) == 2


def test_call_of_an_agent_that_is_cut_off_is_not_run(chat: ChatHarness) -> None:
    cut_off = build_stream(calls=[("c1", "tool_exec", '{"op": "onto.ta')], finish="length")
    turn = chat.say("What is blocked?", [EXPLORE], cut_off, "I do not know.", "Nobody knows.")

    assert chat.paths() == ["batch", "exec"]
    answer, result = turn.requests[2]["messages"][-2:]
    assert "length limit within this call" in result["content"]
    assert answer["tool_calls"][0]["function"]["arguments"] == "{}"


def test_agents_whose_model_dies_have_failed(chat: ChatHarness) -> None:
    agents = [exec_call("x.agent.run", agent="explorer", task=task) for task in ("What is blocked?", "What is late?")]

    turn = chat.say("What is wrong?", [exec_call("onto.task.list"), *agents], build_stream("Half an an", dies=True))

    assert turn.of_type("error")[0]["code"] == "model_failed"
    assert [each.status for each in turn.calls] == ["success", "error", "error"]
    assert [each.envelope["error"]["details"]["reason"] for each in turn.calls[1:]] == ["agent_failed", "not_run"]
    assert "system_prompt" not in orjson.dumps(turn.events).decode()


# --- what breaks ------------------------------------------------------------------------------------------------------


def test_model_that_dies_leaves_its_text_and_an_error(chat: ChatHarness) -> None:
    turn = chat.say("Hello", build_stream("Half an an", dies=True))

    assert turn.of_type("error")[0]["code"] == "model_failed"
    assert not turn.of_type("done")
    assert (turn.message.text, turn.message.finish) == ("Half an an", Message.Finish.ERROR)


def test_model_that_dies_after_a_write_lists_it_and_offers_no_repetition(chat: ChatHarness) -> None:
    turn = chat.say("Add it and tell me", [create_task(title="Only once")], build_stream("It is", dies=True))

    error = turn.of_type("error")[0]
    assert (error["retryable"], [each["action"] for each in error["written"]]) == (False, ["create"])
    assert error["message"].endswith("Look at what was done before you ask for the rest.")


def test_failure_while_a_turn_ends_is_an_error(chat: ChatHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summaries, "choose_title", Mock(side_effect=ValueError("broken")))

    turn = chat.say("Hello", "Hello.")

    assert (turn.message.finish, turn.message.text) == (Message.Finish.ERROR, "Hello.")
    assert [data["code"] for data in turn.of_type("error")] == ["internal"]


def test_model_that_refuses_is_an_error_in_words(chat: ChatHarness) -> None:
    turn = chat.say("Hello", build_response(b"{}", "400 Bad Request"))

    assert "The model refuses this request" in turn.of_type("error")[0]["message"]


def test_gateway_that_is_away_is_an_error(chat: ChatHarness) -> None:
    chat.gateway = Mock(side_effect=http.Unreachable)

    message = "The gateway cannot be reached. It may still be starting: try again in a few seconds."
    assert chat.say("Hello").of_type("error") == [
        {"code": "gateway_unavailable", "message": message, "retryable": True}
    ]


def test_gateway_that_goes_away_in_a_call_is_told_to_the_model(chat: ChatHarness) -> None:
    def break_exec(method: str, url: str, **rest: Any) -> Any:
        if url.endswith("/exec"):
            raise http.TimedOut
        return chat.call_gateway(method, url, **rest)

    chat.gateway = break_exec

    turn = chat.say("Urgent?", [exec_call("onto.task.list")], "I could not look.")

    assert "cannot be reached" in turn.requests[1]["messages"][-1]["content"]
    assert turn.calls[0].status == "error"


def test_write_is_sent_again_with_its_key_if_the_answer_is_lost(chat: ChatHarness) -> None:
    lost = iter([True, False])

    def lose_first(method: str, url: str, **rest: Any) -> Any:
        response = chat.call_gateway(method, url, **rest)
        if url.endswith("/exec") and next(lost):
            raise http.TimedOut
        return response

    chat.gateway = lose_first

    turn = chat.say("Add it", [create_task(title="Only once")], "Added.")

    assert Task.objects.filter(title="Only once").count() == 1
    assert turn.calls[0].envelope["meta"]["replayed"] is True


def test_call_that_is_repeated_too_often_is_shown_with_its_op(chat: ChatHarness) -> None:
    same = create_task(title="Sent again")

    turn = chat.say("Add it", [same, same], [same], "Added.")

    assert Task.objects.filter(title="Sent again").count() == 1
    assert [(each.op, each.status) for each in turn.calls] == [
        ("onto.task.create", "success"),
        ("onto.task.create", "success"),
        ("onto.task.create", "error"),
    ]
    assert turn.calls[2].envelope["op"] == "onto.task.create"
    assert "with the same arguments" in turn.calls[2].envelope["error"]["message"]


def test_stop_leaves_the_remaining_calls_of_an_answer_undone(chat: ChatHarness) -> None:
    entry = {"type": "exec", "op": "onto.task.create", "args": {"project_id": DEMO_PROJECT_ID, "title": "Second"}}
    stop_after(chat, "onto.task.create")

    calls = [create_task(title="First"), call("tool_batch", ops=[entry]), create_task(title="Third")]
    turn = chat.say("Add them", calls)

    assert (turn.reason, turn.message.finish) == ("cancelled", "cancelled")
    assert [each.status for each in turn.calls] == ["success", "error", "error"]
    assert [task.title for task in Task.objects.filter(title__in=["First", "Second", "Third"])] == ["First"]
    assert [each.envelope["error"]["details"]["reason"] for each in turn.calls[1:]] == ["not_run"] * 2
    assert [each["status"] for each in turn.written] == ["success"]


def test_stop_of_a_call_that_needs_the_user_is_no_question(chat: ChatHarness) -> None:
    stop_after(chat, "onto.task.delete")

    turn = chat.say("Delete it", [exec_call("onto.task.delete", task_id=str(find_task().pk))])

    assert (turn.reason, turn.calls[0].status) == ("cancelled", "confirm")


def test_stop_ends_an_agent_before_its_next_call(chat: ChatHarness) -> None:
    stop_after(chat, "onto.task.list")

    turn = chat.say("What is blocked?", [EXPLORE], [exec_call("onto.task.list"), exec_call("onto.project.list")])

    assert turn.reason == "cancelled"
    ops = [body.get("op") for _, path, body in chat.gateway_calls if path == "exec"]
    assert ops == ["x.agent.run", "onto.task.list"]
    assert turn.calls[0].envelope["error"]["details"]["reason"] == "agent_failed"


# --- titles -----------------------------------------------------------------------------------------------------------


def test_first_answer_brings_a_title_of_the_fast_model(chat: ChatHarness) -> None:
    turn = chat.say("Which tasks are late?", "None.", build_chat_completion('"Late tasks."'))

    assert turn.of_type("done")[0]["title"] == turn.conversation.title == "Late tasks"


def test_title_comes_later_if_the_first_answer_failed(chat: ChatHarness) -> None:
    failed = chat.say("Which tasks are late?", build_stream("", dies=True))
    turn = chat.say("Again", "None.", build_chat_completion("Late tasks"), session=str(failed.conversation.pk))

    assert turn.of_type("done")[0]["title"] == turn.conversation.title == "Late tasks"
    assert turn.conversation.tokens > 1_200  # those of the title are counted, too


def test_title_by_a_person_during_the_first_answer_stays(chat: ChatHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    def rename(*_: Any) -> str:
        Conversation.objects.update(title="Mine", title_by=Conversation.TitleBy.PERSON)
        return "Late tasks"

    monkeypatch.setattr(summaries, "_ask_for_title", rename)

    turn = chat.say("Which tasks are late?", "None.")

    assert turn.of_type("done")[0]["title"] == turn.conversation.title == "Mine"


# --- long conversations -----------------------------------------------------------------------------------------------


def test_oldest_turns_become_a_summary_and_the_last_four_stay(chat: ChatHarness) -> None:
    words = "word " * 700
    turn = chat.say("Number 0", f"Answer 0 {words}")
    session = str(turn.conversation.pk)
    for number in range(1, 5):
        turn = chat.say(f"Number {number}", f"Answer {number} {words}", session=session)
    assert turn.conversation.summary == ""

    long = chat.say("Number 5", f"Answer 5 {words}", build_chat_completion("Two tasks were chosen."), session=session)
    after = chat.say("Number 6", "Answer 6", session=session)

    assert (long.conversation.summary, long.conversation.summarised_until) == ("Two tasks were chosen.", 4)
    asked = "".join(each["content"] for each in after.requests[0]["messages"])
    assert "Two tasks were chosen." in asked
    assert "Number 0" not in asked
    assert "Number 5" in asked


def test_short_conversation_is_not_summarised(chat: ChatHarness) -> None:
    session = str(chat.say("Number 0", "Yes.").conversation.pk)
    for number in range(1, 8):
        turn = chat.say(f"Number {number}", "Yes.", session=session)

    assert turn.conversation.summary == ""
