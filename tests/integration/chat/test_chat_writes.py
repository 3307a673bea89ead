"""Writes of one answer run in the order sent; one that is sent twice in a turn runs once."""

from typing import Any

import orjson
import pytest

from registry.models import Agent
from tests.support.chat.chat import ChatHarness, TurnResult, call, exec_call
from tests.support.loops import for_each
from tests.support.rows.catalog_fixture import publish_draft
from tests.support.upstreams.http_upstream import WRITE, HttpUpstream, build_json, build_write, publish_ops
from workspace.demo import DEMO_PROJECT_ID
from workspace.models import Document, Task

TASK_TITLE = "Draft the homepage copy"
NOTE = exec_call("onto.task.create", project_id=DEMO_PROJECT_ID, title="Call the printer")


def find_task() -> Task:
    return Task.objects.get(title=TASK_TITLE)


def update_task(**args: Any) -> tuple[str, str, str]:
    return exec_call("onto.task.update", task_id=str(find_task().pk), **args)


def list_sent(chat: ChatHarness) -> list[list[str]]:
    """Return the ops of each request to the gateway after the context was read, in order."""
    bodies = [body for _, path, body in chat.gateway_calls if path in ("exec", "batch")][1:]
    return [[entry.get("op", "help") for entry in body.get("ops", [body])] for body in bodies]


def read_results(turn: TurnResult, request: int = -1) -> list[dict[str, Any]]:
    """Return the results that the model read."""
    messages = turn.requests[request]["messages"]
    return [orjson.loads(each["content"]) for each in messages if each["role"] == "tool"]


def test_writes_of_one_answer_run_in_the_order_sent(chat: ChatHarness) -> None:
    document = Document.objects.filter(deleted_at=None, project_id=DEMO_PROJECT_ID).first()
    assert document
    lines = [f"Line {number}" for number in range(6)]
    add = [
        exec_call("onto.document.update", document_id=str(document.pk), content=line, update_strategy="append")
        for line in lines
    ]

    turn = chat.say("Add six lines", add, "Added.")

    document.refresh_from_db()
    assert [each.status for each in turn.calls] == ["success"] * 6
    assert [line for line in document.content.splitlines() if line in lines] == lines
    assert list_sent(chat) == [["onto.document.update"]] * 6


def test_reads_beside_each_other_run_together_and_see_the_writes_before_them(chat: ChatHarness) -> None:
    reads = [exec_call("onto.task.get", task_id=str(find_task().pk)), call("tool_help", path="onto")]

    turn = chat.say("Rename it", [*reads, update_task(title="New name"), *reads], "Renamed.")

    together = ["onto.task.get", "help"]
    assert list_sent(chat) == [together, ["onto.task.update"], together]
    titles = [each.envelope["result"]["task"]["title"] for each in turn.calls if each.op == "onto.task.get"]
    assert titles == [TASK_TITLE, "New name"]


# --- a write that is sent twice ---------------------------------------------------------------------------------------

TWICE = {
    "in one answer": [[NOTE, NOTE]],
    "in two answers": [[NOTE], [NOTE]],
    "with its args in another order": [
        [NOTE, exec_call("onto.task.create", title="Call the printer", project_id=DEMO_PROJECT_ID)]
    ],
    "alone and in a batch": [
        [NOTE],
        [call("tool_batch", ops=[{"type": "exec", **orjson.loads(NOTE[2])}, {"type": "help", "path": "onto"}])],
    ],
    "in two batches": [
        [call("tool_batch", ops=[{"type": "exec", **orjson.loads(NOTE[2])}])],
        [call("tool_batch", ops=[{"type": "exec", "op": "onto.task.list"}, {"type": "exec", **orjson.loads(NOTE[2])}])],
    ],
}


@pytest.mark.parametrize("answers", TWICE.values(), ids=TWICE.keys())
def test_write_that_is_sent_twice_runs_once_and_says_so(chat: ChatHarness, answers: list[Any]) -> None:
    turn = chat.say("Note it", *answers, "Noted.")

    task = Task.objects.get(title="Call the printer")
    assert [each["action"] for each in turn.written] == ["create"]
    envelopes = [entry for each in turn.calls for entry in each.envelope.get("results", [each.envelope])]
    created = [each for each in envelopes if each.get("op") == "onto.task.create"]
    assert [each["result"]["task"]["id"] for each in created] == [str(task.pk)] * 2
    first, second = (" ".join(each["meta"]["warnings"]) for each in created)
    assert "already done" not in first
    assert f"task “Call the printer”, {task.pk}" in second
    assert "another idempotency_key" in second
    assert "already done in this turn" in orjson.dumps(read_results(turn)).decode()


def test_write_with_another_key_runs_again(chat: ChatHarness) -> None:
    calls = [call("tool_exec", **orjson.loads(NOTE[2]), idempotency_key=key) for key in ("one", "two", "two")]

    turn = chat.say("Note it twice", [NOTE, *calls], "Noted.")

    assert Task.objects.filter(title="Call the printer").count() == 3
    assert [each["action"] for each in turn.written] == ["create"] * 3
    later = chat.say("And once more", [calls[0]], "Noted.", session=str(turn.conversation.pk))
    assert Task.objects.filter(title="Call the printer").count() == 4  # its key is one of that turn
    assert len(later.written) == 1


def test_tool_of_an_op_takes_a_key_for_the_gateway(chat: ChatHarness, settings: Any) -> None:
    settings.AGENTIC_CHAT_TOOL_GATEWAY = False
    args = {"project_id": DEMO_PROJECT_ID, "title": "Call the printer"}
    calls = [call("create_onto_task", **args), call("create_onto_task", **args, idempotency_key="two")]

    turn = chat.say("Note it twice", calls, "Noted.", context={"type": "project", "project_id": DEMO_PROJECT_ID})

    assert [each.status for each in turn.calls] == ["success"] * 2
    assert Task.objects.filter(title="Call the printer").count() == 2


def test_write_that_failed_runs_again(chat: ChatHarness) -> None:
    task = find_task()
    Task.objects.filter(pk=task.pk).update(deleted_at=task.created_at)

    def restore_then_call(method: str, url: str, **rest: Any) -> Any:
        response = chat.call_gateway(method, url, **rest)
        if url.endswith("/exec"):
            Task.objects.filter(pk=task.pk).update(deleted_at=None)
        return response

    chat.gateway = restore_then_call
    update = exec_call("onto.task.update", task_id=str(task.pk), title="New name")

    turn = chat.say("Rename it", [update], [update], "Renamed.")

    assert [each.status for each in turn.calls] == ["error", "success"]
    assert Task.objects.filter(title="New name").count() == 1


def test_entry_with_a_reference_is_the_same_write_if_its_source_is(chat: ChatHarness) -> None:
    task = {"project_id": {"$result": "0#/result/project/id"}, "title": "First step"}
    project = {"project": {"name": "Fair", "type_key": "project.personal.event"}, "entities": [], "relationships": []}
    ops = [
        {"type": "exec", "op": "onto.project.create", "args": project},
        {"type": "exec", "op": "onto.task.create", "args": task},
    ]

    chat.say("Begin", [call("tool_batch", ops=ops)], [call("tool_batch", ops=ops, mode="sequential")], "Begun.")

    assert Task.objects.filter(title="First step").count() == 1


def test_write_of_an_agent_is_one_of_the_turn(chat: ChatHarness) -> None:
    Agent.objects.filter(name="explorer").update(is_read_only=False)
    publish_draft()
    agent = exec_call("x.agent.run", agent="explorer", task="Note it")

    turn = chat.say("Note it", [NOTE, agent, update_task(title="After it")], [NOTE], "The agent did.", "Noted.")

    assert Task.objects.filter(title="Call the printer").count() == 1
    assert [each["action"] for each in turn.written] == ["create", "update"]
    [result] = [each["content"] for each in turn.requests[2]["messages"] if each["role"] == "tool"]
    assert "already done in this turn" in result
    ops = [body["op"] for _, path, body in chat.gateway_calls if path == "exec"]
    assert ops == ["onto.task.create", "x.agent.run", "onto.task.create", "onto.task.update"]


@for_each("word", ["list", "search_or_create", "archive"])
def test_unknown_op_counts_as_a_write_unless_its_name_is_a_reads(chat: ChatHarness, word: str) -> None:
    unknown = exec_call(f"shop.order.{word}")

    chat.say("Try it", [unknown, exec_call("onto.task.list")], "Tried.")

    assert len(list_sent(chat)) == (1 if word == "list" else 2)


# --- what a connected service did -------------------------------------------------------------------------------------


def test_ledger_tells_what_a_service_did(chat: ChatHarness, shop: HttpUpstream) -> None:
    publish_ops(build_write(entity="order", action="create"), base_url=shop.base_url)
    shop.answer = build_json({"order": {"id": 7, "title": "Two lamps"}})

    turn = chat.say("Order it", [exec_call(WRITE, product="lamp"), exec_call(WRITE, product="lamp")], "Ordered.")

    operation = {"entity": "order", "action": "create", "entity_id": "7", "entity_name": "Two lamps"}
    assert turn.written == [operation | {"status": "success"}]
    assert len(shop.requests) == 1
    assert "order “Two lamps”, 7" in " ".join(turn.calls[1].envelope["meta"]["warnings"])
