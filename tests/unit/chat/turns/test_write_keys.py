"""What counts as a read, and which calls share a key."""

from typing import Any

import orjson

from chat.turns.tool_plan import PlannedCall, list_own_key_tools, plan_call
from chat.turns.write_keys import WriteKeys
from core.llm import StreamedCall
from tests.support.loops import for_each


def plan(name: str, **arguments: Any) -> PlannedCall:
    return plan_call(StreamedCall("c", name, orjson.dumps(arguments).decode()))


def plan_exec(op: str, **args: Any) -> PlannedCall:
    return plan("tool_exec", op=op, args=args)


def get_key(keys: WriteKeys, planned: PlannedCall) -> str:
    sent = keys.add_keys(planned)
    assert sent
    return str(sent["idempotency_key"])


@for_each(
    "op, is_read",
    [
        ("onto.task.list", True),
        ("shop.order.search_all", True),
        ("list_onto_tasks", True),
        ("get_or_create_label", False),
        ("find_and_replace", False),
        ("onto.task.update", False),
        ("shop.order.submit", False),
        ("x.agent.run", False),
        ("visit", True),  # the toolset says so
        ("list_traps", False),
        ("ask", False),
    ],
)
def test_toolset_says_what_is_a_read_else_the_name_does(op: str, is_read: bool) -> None:
    keys = WriteKeys("turn")
    described = {
        "visit": {"op": "util.web.visit", "kind": "read"},
        "list_traps": {"op": "zoo.trap.list", "kind": "write"},
        "ask": {"op": "x.agent.run", "kind": "read"},
    }
    keys.learn_ops({"ops": described})

    assert keys.is_read(plan_exec(op)) is is_read
    assert (keys.add_keys(plan_exec(op)) is None) is is_read


def test_key_depends_on_turn_op_and_args_alone() -> None:
    keys = WriteKeys("turn")
    keys.learn_ops({"ops": {"create_task": {"op": "onto.task.create", "kind": "write"}}})
    key = get_key(keys, plan_exec("onto.task.create", title="A", tags=[1, 2]))

    assert key.startswith("turn:")
    assert get_key(keys, plan_exec("onto.task.create", tags=[1, 2], title="A")) == key
    assert get_key(keys, plan("create_task", title="A", tags=[1, 2])) == key
    others = [
        plan_exec("onto.task.create", title="A", tags=[2, 1]),
        plan_exec("onto.task.copy", title="A", tags=[1, 2]),
        plan("tool_exec", op="onto.task.create", args={"title": "A", "tags": [1, 2]}, idempotency_key="two"),
    ]
    assert len({key, *(get_key(keys, each) for each in others)}) == 4
    assert get_key(WriteKeys("later"), plan_exec("onto.task.create", title="A", tags=[1, 2])) != key
    assert keys.add_keys(plan("tool_exec", op="onto.task.create", args={}, dry_run=True)) is None


@for_each("reason, is_kept", [("invalid_args", False), ("gateway_unavailable", True), ("confirmation_required", True)])
def test_write_that_failed_gets_another_key_unless_it_may_have_run(reason: str, is_kept: bool) -> None:
    keys, planned = WriteKeys("turn"), plan_exec("onto.task.create", title="A")
    sent = keys.add_keys(planned)
    assert sent
    keys.note_answer(sent, {"ok": False, "error": {"details": {"reason": reason}}})

    assert (get_key(keys, planned) == sent["idempotency_key"]) is is_kept


def test_key_among_the_arguments_is_the_gateways_unless_the_op_has_such_an_argument() -> None:
    parameters = {"properties": {"idempotency_key": {"type": "string"}}}
    own = list_own_key_tools({"tools": [{"function": {"name": "pay", "parameters": parameters}}]})
    call = StreamedCall("c", "pay", '{"idempotency_key": "k"}')

    assert plan_call(call).body == {"op": "pay", "args": {}, "idempotency_key": "k"}
    assert plan_call(call, own_key_tools=own).body == {"op": "pay", "args": {"idempotency_key": "k"}}


def test_batch_of_reads_has_no_keys_and_help_never_has_one() -> None:
    keys = WriteKeys("turn")
    reads = [{"type": "help", "path": "onto"}, {"type": "exec", "op": "onto.task.list"}]

    assert keys.add_keys(plan("tool_batch", ops=reads)) is None
    sent = keys.add_keys(plan("tool_batch", ops=[*reads, {"type": "exec", "op": "onto.task.create"}]))
    assert sent
    assert ["idempotency_key" in each for each in sent["ops"]] == [False, False, True]
