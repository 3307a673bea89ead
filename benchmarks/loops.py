"""What a loop in a batch saves: an order of twelve steps as one batch, beside the same steps as single calls."""

from typing import Any, cast
from uuid import uuid4

from django.db import transaction

from benchmarks.figures import BenchmarkFigure
from core.text import json_text, token_budget
from gateway.access import api_keys, key_verification
from gateway.access.request_context import Caller
from gateway.batches import service
from gateway.contracts.envelopes import Trace
from gateway.execution import pipeline
from gateway.help import service as help_service
from gateway.models import Client
from workspace.demo import DEMO_SUBJECT
from workspace.demo.rows import get_demo_id

STEPS = 12  # a list, and an update of each of its rows
PROJECT = 2  # of the demo; it has 18 tasks
LIST: dict[str, Any] = {
    "op": "onto.task.list",
    "args": {"project_id": get_demo_id("project", PROJECT), "limit": STEPS - 1},
}


class OrderFailed(Exception):
    """A step that must succeed failed."""


def measure_loop() -> list[BenchmarkFigure]:
    """Return the requests of the loop, and its tokens as a share of those of single calls. Raises OrderFailed.

    What a model writes and reads is counted; for the loop also the help that tells how to write one. Nothing is kept.
    """
    with transaction.atomic():
        client = Client.objects.create(name="bench-loops", confirms=False)
        row, _ = api_keys.issue(client=client, by="bench", rate=10_000)
        caller = Caller(key=cast(Any, key_verification.get_by_id(row.pk)), subject=DEMO_SUBJECT)
        single, looped = _count_single_calls(caller), _count_loop(caller)
        transaction.set_rollback(True)
    share = round(looped / single, 2)
    against = f"{looped:,} tokens with the help, {STEPS} single calls {single:,}; 2 requests"
    return [BenchmarkFigure("batch.loop.tokens.ratio", share, "", against)]


def _count_single_calls(caller: Caller) -> int:
    first = _send_call(LIST, caller)
    tokens = _count("tool_exec", LIST, first)
    for task in first["result"]["tasks"]:
        body = {"op": "onto.task.update", "args": {"task_id": task["id"], "priority": 2}}
        tokens += _count("tool_exec", body, _send_call(body, caller))
    return tokens


def _count_loop(caller: Caller) -> int:
    rows = {"$result": "0#/result/tasks"}
    update = {"for_each": rows, "args": {"task_id": {"$item": "/id"}, "priority": 3}, "fields": ["id"]}
    body = {
        "ops": [
            {"type": "exec", **LIST, "fields": ["id"]},
            {"type": "exec", "op": "onto.task.update", **update},
        ]
    }
    help = {"path": "batch"}
    guide = json_text.load(help_service.answer_help(body=help, caller=caller, trace=_start_trace()).body)
    answer = service.submit(body, caller, _start_trace(), in_background=False)
    ran = answer["results"][1].get("meta", {}).get("rows", {}).get("ran")
    if not answer["ok"] or ran != STEPS - 1:
        raise OrderFailed(f"{ran} of {STEPS - 1} rows ran.")
    return _count("tool_help", help, guide) + _count("tool_batch", body, answer)


def _count(tool: str, args: dict[str, Any], answer: Any) -> int:
    """Return the tokens of a call as a model writes it, and of its answer."""
    return token_budget.count_json({"name": tool, "arguments": args}) + token_budget.count_json(answer)


def _send_call(body: dict[str, Any], caller: Caller) -> dict[str, Any]:
    envelope = pipeline.execute(body=body, caller=caller, trace=_start_trace()).envelope
    if not envelope["ok"]:
        raise OrderFailed(envelope["error"]["message"])
    return cast(dict[str, Any], envelope)


def _start_trace() -> Trace:
    return Trace(f"tr_{uuid4().hex}")
