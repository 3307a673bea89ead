"""Run the tool calls of one answer of the model through the gateway, store them and tell the stream."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any

import orjson

from chat.conversations import turn_store
from chat.gateway import envelopes
from chat.gateway.client import GatewayAnswer, GatewayClient, GatewayUnavailable
from chat.models import Message, ToolCall
from chat.turns import agents, headlines, operations, tool_plan
from chat.turns.operations import NamesSeen, Operation
from chat.turns.tool_plan import PlannedCall
from core.http import Abort
from core.llm import StreamedCall

CALL_SECONDS = 40.0
STOPPED = "The user stopped the answer before this call, so it was not run. Run it only if they ask for it again."

Emit = Callable[[str, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What came back for a call, without confirmation tokens, and what the gateway tells a looping model.

    The answer to a call that runs an agent is the plan of that run, until the agent has answered.
    """

    planned: PlannedCall
    row: ToolCall
    answer: Mapping[str, Any]
    hint: str = ""


class ToolRunner:
    """Runs calls for one turn. Several calls of one answer are one parallel batch, where they can be."""

    def __init__(self, gateway: GatewayClient, *, turn: Message, names: NamesSeen, emit: Emit, abort: Abort) -> None:
        self.ledger: list[Operation] = []  # writes that succeeded or failed, in order
        self.tools_used: list[str] = []
        self.toolset_ops: Mapping[str, Any] = {}
        self.abort = abort
        self.zone: tzinfo = UTC  # the user's
        self._gateway = gateway
        self._turn = turn
        self._names = names
        self._emit = emit
        self._count = 0

    def run(self, calls: Sequence[StreamedCall], *, round: int, text_length: int) -> list[CallOutcome]:
        """Run the calls and return their outcomes in order. Those left when the user stops the turn are not run."""
        planned = [tool_plan.plan_call(call) for call in calls]
        rows = [self._begin(each, round=round, text_length=text_length) for each in planned]
        entries = [each.to_batch_entry() for each in planned]
        if len(planned) > 1 and all(entries) and not self.abort.is_set:
            answers = self._run_together([each for each in entries if each], key=f"{self._turn.pk}:r{round}")
        else:
            answers = [self._run_alone(each, row) for each, row in zip(planned, rows, strict=True)]
        return [
            self._end_unless_agent(each, row, answer, milliseconds)
            for each, row, (answer, milliseconds) in zip(planned, rows, answers, strict=True)
        ]

    def answer_without_running(
        self, call: StreamedCall, answer: Mapping[str, Any], *, round: int, text_length: int
    ) -> CallOutcome:
        """Store and show a call that is not sent, with the chat's own answer."""
        planned = tool_plan.plan_call(call)
        row = self._begin(planned, round=round, text_length=text_length)
        return self._end(planned, row, GatewayAnswer(0, dict(answer), ""), 0)

    def run_confirmed(self, row: ToolCall) -> CallOutcome:
        """Run a call again to which the user has agreed."""
        planned = tool_plan.plan_call(StreamedCall(row.call_id, row.name, row.args))
        answer, milliseconds = self._run_alone(planned, row, confirmation=row.confirmation)
        return self._end(planned, row, answer, milliseconds)

    def close_declined(self, row: ToolCall, answer: Mapping[str, Any]) -> None:
        """Store and show that the user did not agree to a call."""
        planned = tool_plan.plan_call(StreamedCall(row.call_id, row.name, row.args))
        self._end(planned, row, GatewayAnswer(0, dict(answer), ""), row.duration_ms or 0)

    def show_waiting(self, row: ToolCall) -> None:
        """Show a call of an earlier turn that still waits for the user."""
        planned = tool_plan.plan_call(StreamedCall(row.call_id, row.name, row.args))
        shown = {"envelope": row.envelope or {}, "duration_ms": row.duration_ms}
        self._emit("tool", {**self._describe(planned, row), **shown})

    def end_agent_run(self, outcome: CallOutcome, answer: Mapping[str, Any]) -> CallOutcome:
        """Store and show what an agent answered to the call that ran it."""
        body = {**answer, "meta": outcome.answer.get("meta", {})}
        milliseconds = outcome.row.duration_ms or 0
        return self._end(outcome.planned, outcome.row, GatewayAnswer(0, body, outcome.hint), milliseconds)

    def note_operations(self, answer: Mapping[str, Any]) -> None:
        """Tell the stream which rows an answer is about, and add writes that changed something to the ledger."""
        for operation, is_unchanged in operations.describe_end(answer, self._names):
            self._emit("operation", operation)
            if envelopes.is_write(operation) and not is_unchanged:
                self.ledger.append(operation)

    def _begin(self, planned: PlannedCall, *, round: int, text_length: int) -> ToolCall:
        self._count += 1
        self.tools_used.append(planned.call.name)
        row = ToolCall(
            message=self._turn,
            position=self._count,
            round=round,
            text_before=text_length,
            call_id=planned.call.id[:200],
            name=planned.call.name[:200],
            op=planned.op[:200],
            args=planned.call.arguments,
        )
        turn_store.store_call(row)
        self._emit("tool", self._describe(planned, row))
        start = operations.describe_start(planned.op, planned.args, self.toolset_ops, self._names)
        if start:
            self._emit("operation", start)
        return row

    def _run_together(self, entries: Sequence[dict[str, Any]], *, key: str) -> list[tuple[GatewayAnswer, int]]:
        body = {"ops": entries, "mode": "parallel"}
        answer, milliseconds = self._send("batch", body, key=key)
        results = answer.body.get("results")
        if answer.status != 200 or not isinstance(results, list):  # refused as a whole: each call gets the reason
            return [(answer, milliseconds) for _ in entries]
        return [
            (GatewayAnswer(200, _unwrap_entry(each), answer.hint), _get_latency(each, milliseconds)) for each in results
        ]

    def _run_alone(self, planned: PlannedCall, row: ToolCall, *, confirmation: str = "") -> tuple[GatewayAnswer, int]:
        if planned.problem is not None:
            return GatewayAnswer(0, dict(planned.problem), ""), 0
        if self.abort.is_set:
            return GatewayAnswer(0, envelopes.build_error(planned.op, "CONFLICT", STOPPED, "not_run"), ""), 0
        key = f"{row.message_id}:{row.position}" if planned.endpoint in ("exec", "batch") else ""
        has_own_key = "idempotency_key" in planned.body
        return self._send(planned.endpoint, planned.body, key="" if has_own_key else key, confirmation=confirmation)

    def _send(
        self, endpoint: str, body: Mapping[str, Any], *, key: str, confirmation: str = ""
    ) -> tuple[GatewayAnswer, int]:
        started = time.monotonic()
        try:
            answer = self._gateway.call(
                "POST", endpoint, body, seconds=CALL_SECONDS, idempotency_key=key, confirmation=confirmation
            )
        except GatewayUnavailable:
            op = str(body.get("op", ""))
            message = "The gateway cannot be reached, so it is not known whether this call ran. Tell the user."
            answer = GatewayAnswer(503, envelopes.build_error(op, "INTERNAL", message, "gateway_unavailable"), "")
        return answer, int((time.monotonic() - started) * 1000)

    def _end_unless_agent(
        self, planned: PlannedCall, row: ToolCall, answer: GatewayAnswer, milliseconds: int
    ) -> CallOutcome:
        """End a call, unless it runs an agent, whose answer is still to come."""
        if agents.get_agent_plan(answer.body) is None:
            return self._end(planned, row, answer, milliseconds)
        row.duration_ms = milliseconds
        return CallOutcome(planned, row, answer.body, answer.hint)

    def _end(self, planned: PlannedCall, row: ToolCall, answer: GatewayAnswer, milliseconds: int) -> CallOutcome:
        shown = envelopes.remove_tokens(answer.body)
        row.envelope, row.confirmation = shown, envelopes.get_confirmation_token(answer.body)
        row.op = str(answer.body.get("op") or row.op)[:200]
        row.status = envelopes.get_status(answer.body)
        row.duration_ms = milliseconds
        row.trace_id = str((answer.body.get("meta") or {}).get("trace_id", ""))[:40]
        row.result = orjson.dumps(shown).decode()
        turn_store.store_outcome(row)
        self._names.learn(answer.body.get("result") or answer.body.get("results"))
        self._emit("tool", {**self._describe(planned, row), "envelope": shown, "duration_ms": milliseconds})
        self.note_operations(answer.body)
        return CallOutcome(planned, row, shown, answer.hint)

    def _describe(self, planned: PlannedCall, row: ToolCall) -> dict[str, Any]:
        """Return the data of an event `tool`."""
        is_for_user = row.envelope is not None and (
            row.status == ToolCall.Status.CONFIRM or envelopes.get_user_action(row.envelope) is not None
        )
        return {
            "id": str(row.pk),
            "name": row.name,
            "op": row.op,
            "status": str(row.status),
            "args": planned.body if planned.problem is None else planned.call.arguments,
            "headline": headlines.build_headline(planned.body, row.envelope, self.zone),
            **({"is_empty": True} if headlines.is_empty(row.envelope) else {}),
            **({"requires_user_action": True} if is_for_user else {}),
        }


def _unwrap_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer that the entry of a batch would have had alone."""
    if entry.get("type") == "help":
        return dict(entry["result"]) if entry.get("ok") else {"ok": False, "error": entry.get("error")}
    return {name: value for name, value in entry.items() if name not in ("index", "type")}


def _get_latency(entry: Mapping[str, Any], milliseconds: int) -> int:
    latency = (entry.get("meta") or {}).get("latency_ms")
    return int(latency) if isinstance(latency, int | float) else milliseconds
