"""Run the tool calls of one answer of the model through the gateway, store them and tell the stream."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from itertools import takewhile
from typing import Any

import orjson

from chat.context import local_times
from chat.conversations import turn_store
from chat.gateway import envelopes, followed_calls
from chat.gateway.client import MAX_RETRIES, GatewayAnswer, GatewayClient, GatewayUnavailable
from chat.models import Message, ToolCall
from chat.turns import agents, headlines, operations, spans, tool_plan
from chat.turns.operations import NamesSeen, Operation
from chat.turns.tool_plan import PlannedCall
from chat.turns.write_keys import WriteKeys
from core.http import Abort
from core.llm import LlmError, StreamedCall

CALL_SECONDS = 40.0
INVALID_ANSWER = "invalid_answer"
TURN_ENDED = ("CONFLICT", "The turn ended before this call, so it was not run.", "not_run")
STOPPED = "The user stopped the answer before this call, so it was not run. Run it only if they ask for it again."

Emit = Callable[[str, Mapping[str, Any]], None]
RunAgent = Callable[[agents.AgentPlan, str], Mapping[str, Any]]  # a plan and its task to the agent's envelope
WaitingCall = tuple[PlannedCall, ToolCall]


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What came back for a call, without confirmation tokens, and what the gateway tells a looping model."""

    planned: PlannedCall
    row: ToolCall
    answer: Mapping[str, Any]
    hint: str = ""


class ToolRunner:
    """Runs calls for one turn: those of one answer in order, except that reads beside each other are one batch."""

    def __init__(
        self, gateway: GatewayClient, *, turn: Message, keys: WriteKeys, names: NamesSeen, emit: Emit, abort: Abort
    ) -> None:
        self.ledger: list[Operation] = []  # writes that succeeded or failed, in order
        self.tools_used: list[str] = []
        self.toolset_ops: Mapping[str, Any] = {}
        self.abort = abort
        self.keys = keys
        self.zone: tzinfo = UTC  # the user's
        self._own_key_tools: Collection[str] = ()
        self._gateway = gateway
        self._turn = turn
        self._names = names
        self._emit = emit
        self._count = 0

    def use_toolset(self, toolset: Mapping[str, Any]) -> None:
        """Use what a toolset says of its tools."""
        self.toolset_ops = toolset.get("ops", {})
        self.keys.learn_ops(toolset)
        self._own_key_tools = tool_plan.list_own_key_tools(toolset)

    def run(
        self, calls: Sequence[StreamedCall], *, round: int, text_length: int, run_agent: RunAgent
    ) -> list[CallOutcome]:
        """Run the calls and return their outcomes in order. Those left when the user stops the turn are not run.

        `run_agent` runs an agent that a call asks for; the calls after it wait for it. Raises its LlmError after ending
        all calls.
        """
        waiting = [
            (planned, self._begin(planned, round=round, text_length=text_length))
            for planned in (tool_plan.plan_call(call, own_key_tools=self._own_key_tools) for call in calls)
        ]
        outcomes: list[CallOutcome] = []
        while waiting:
            count = len(list(takewhile(self._is_batched, waiting))) if not self.abort.is_set else 0
            group, waiting = waiting[: count or 1], waiting[count or 1 :]
            answers = self._run_together(group) if count > 1 else [self._run_alone(*group[0])]
            for (planned, row), (answer, milliseconds) in zip(group, answers, strict=True):
                try:
                    outcomes.append(self._end_or_run_agent(planned, row, answer, milliseconds, run_agent))
                except LlmError:
                    for each in waiting:
                        self._end(*each, GatewayAnswer(0, envelopes.build_error(each[0].op, *TURN_ENDED), ""), 0)
                    raise
        return outcomes

    def answer_without_running(self, call: StreamedCall, reason: str, *, round: int, text_length: int) -> CallOutcome:
        """Store and show a call that is not sent, with a sentence for the model that says why."""
        planned = tool_plan.plan_call(call)
        row = self._begin(planned, round=round, text_length=text_length)
        error = envelopes.build_error(planned.op or call.name, "VALIDATION_ERROR", reason, "not_run")
        return self._end(planned, row, GatewayAnswer(0, error, ""), 0)

    def run_confirmed(self, row: ToolCall) -> bool:
        """Run what waits in a call, to all of which the user has agreed. Return whether the gateway took that.

        A token confirms one call of a batch. The answer has the tokens of the others, and perhaps of calls that the
        user has not seen yet.
        """
        earlier, planned = row.envelope or {}, tool_plan.plan_call(StreamedCall(row.call_id, row.name, row.args))
        agreed = list(envelopes.get_tokens(earlier)) or [0]
        token, milliseconds = row.confirmation, 0
        while True:
            answer, more = self._send(planned.endpoint, _get_body(planned, row), confirmation=token, row=row)
            milliseconds += more
            tokens = envelopes.get_tokens(answer.body)
            is_taken = agreed[0] not in tokens
            agreed = [index for index in agreed[1:] if index in tokens]
            if not is_taken or not agreed:
                break
            token = tokens[agreed[0]]
        noted = self.keys.note_answer(row.sent, answer.body)
        if "results" not in answer.body:
            answer = replace(answer, body=noted)
        self._end(planned, row, answer, milliseconds, earlier=earlier)
        return is_taken

    def answer_question(self, row: ToolCall, action: str, content: Mapping[str, Any] | None) -> str:
        """Send a service what the user answered: accept, decline or cancel. Return what does not fit, for the user.

        The call then has ended, or its service asks something else.
        """
        earlier, planned = row.envelope or {}, tool_plan.plan_call(StreamedCall(row.call_id, row.name, row.args))
        body = {"token": row.confirmation, "action": action} | ({"content": content} if content is not None else {})
        answer, milliseconds = self._send("answers", body)
        if envelopes.get_reason(answer.body) == INVALID_ANSWER:
            listed = envelopes.get_error(answer.body)["details"].get("field_errors") or ()
            return " ".join(str(each.get("message", "")) for each in listed)
        if planned.endpoint == "batch":  # whose entry has its outcome now, and others may have run after it
            batch, more = self._send("batch", _get_body(planned, row))
            answer, milliseconds = (batch if "results" in batch.body else answer), milliseconds + more
        noted = self.keys.note_answer(row.sent, answer.body)
        if "results" not in answer.body:
            answer = replace(answer, body=noted)
        self._end(planned, row, answer, milliseconds, earlier=earlier)
        return ""

    def close_declined(self, row: ToolCall, message: str) -> None:
        """Store and show that the user did not agree to what waits in a call. What ran keeps its outcome."""
        planned = tool_plan.plan_call(StreamedCall(row.call_id, row.name, row.args))
        body = envelopes.close_waiting(row.envelope or {}, lambda _: message, "declined")
        self._end(planned, row, GatewayAnswer(0, body, ""), row.duration_ms or 0, earlier=row.envelope or {})

    def show_waiting(self, row: ToolCall, *, text_length: int) -> None:
        """Move a call that still waits for the user to this turn, and show it."""
        self._count += 1
        planned = tool_plan.plan_call(StreamedCall(row.call_id, row.name, row.args))
        row.sent = _get_body(planned, row)  # its key may be that of its old place
        row.message, row.position, row.round, row.text_before = self._turn, self._count, 1, text_length
        turn_store.move_call(row)
        shown = {"envelope": row.envelope or {}, "duration_ms": row.duration_ms}
        self._emit("tool", {**self._describe(planned, row), **shown})

    def note_operations(self, answer: Mapping[str, Any], *, earlier: Mapping[str, Any] | None = None) -> None:
        """Tell the stream which rows an answer is about, and add writes that changed something to the ledger.

        `earlier` is the answer to the same call in an earlier turn: what ran then is not told again.
        """
        for operation, is_unchanged in operations.describe_end(answer, self._names, earlier=earlier or {}):
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

    def _is_batched(self, call: WaitingCall) -> bool:
        planned, _ = call
        return planned.to_batch_entry() is not None and self.keys.is_read(planned)

    def _run_together(self, calls: Sequence[WaitingCall]) -> list[tuple[GatewayAnswer, int]]:
        """Run reads at the same time."""
        entries = [planned.to_batch_entry() for planned, _ in calls]
        answer, milliseconds = self._send("batch", {"ops": entries, "mode": "parallel"})
        results = answer.body.get("results")
        if answer.status != 200 or not isinstance(results, list):  # refused as a whole: each call gets the reason
            return [(answer, milliseconds) for _ in entries]
        return [
            (GatewayAnswer(200, _unwrap_entry(each), answer.hint), _get_latency(each, milliseconds)) for each in results
        ]

    def _run_alone(self, planned: PlannedCall, row: ToolCall) -> tuple[GatewayAnswer, int]:
        if planned.problem is not None:
            return GatewayAnswer(0, dict(planned.problem), ""), 0
        if self.abort.is_set:
            return GatewayAnswer(0, envelopes.build_error(planned.op, "CONFLICT", STOPPED, "not_run"), ""), 0
        row.sent = self.keys.add_keys(planned)
        answer, milliseconds = self._send(planned.endpoint, _get_body(planned, row), row=row)
        return replace(answer, body=self.keys.note_answer(row.sent, answer.body)), milliseconds

    def _send(
        self, endpoint: str, body: Mapping[str, Any], *, confirmation: str = "", row: ToolCall | None = None
    ) -> tuple[GatewayAnswer, int]:
        """Return an answer and its milliseconds. The progress of a call with a row is shown while it runs."""
        started = time.monotonic()
        name, id = (row.name, row.call_id) if row else (f"tool_{endpoint}", "")
        with spans.start_tool_span(name, id) as span:
            try:
                answer = self._gateway.call(
                    "POST",
                    endpoint,
                    body,
                    seconds=CALL_SECONDS,
                    confirmation=confirmation,
                    retries=0 if endpoint == "answers" else MAX_RETRIES,
                    in_background=endpoint == "exec" and row is not None,
                )
                if endpoint == "exec" and row is not None and answer.status == followed_calls.ACCEPTED:
                    answer = followed_calls.follow(
                        self._gateway, answer, self.abort, lambda progress: self._show_progress(row, progress)
                    )
            except GatewayUnavailable:
                op = str(body.get("op", ""))
                message = "The gateway cannot be reached, so it is not known whether this call ran. Tell the user."
                answer = GatewayAnswer(503, envelopes.build_error(op, "INTERNAL", message, "gateway_unavailable"), "")
            spans.end_tool_span(span, answer.body)
        return answer, int((time.monotonic() - started) * 1000)

    def _show_progress(self, row: ToolCall, progress: Mapping[str, Any]) -> None:
        self._emit("progress", {"id": str(row.pk), **progress})

    def _end_or_run_agent(
        self, planned: PlannedCall, row: ToolCall, answer: GatewayAnswer, milliseconds: int, run_agent: RunAgent
    ) -> CallOutcome:
        """End a call. If it runs an agent, its answer is the agent's. Raises the LlmError of an agent."""
        plan = agents.get_agent_plan(answer.body)
        if plan is None:
            return self._end(planned, row, answer, milliseconds)
        meta = answer.body.get("meta", {})
        try:
            body = run_agent(plan, str(planned.args.get("task", "")))
        except LlmError:
            failure = agents.build_failure(agents.NOT_FINISHED) | {"meta": meta}
            self._end(planned, row, replace(answer, body=failure), milliseconds)
            raise
        return self._end(planned, row, replace(answer, body={**body, "meta": meta}), milliseconds)

    def _end(
        self,
        planned: PlannedCall,
        row: ToolCall,
        answer: GatewayAnswer,
        milliseconds: int,
        *,
        earlier: Mapping[str, Any] | None = None,
    ) -> CallOutcome:
        shown = local_times.localize_answer(envelopes.remove_tokens(answer.body), self.zone)
        row.envelope, row.confirmation = shown, _find_token(answer.body)
        row.op = str(answer.body.get("op") or row.op)[:200]
        row.status = envelopes.get_status(answer.body)
        row.duration_ms = milliseconds
        row.trace_id = str((answer.body.get("meta") or {}).get("trace_id", ""))[:40]
        row.result = orjson.dumps(shown).decode()
        turn_store.store_outcome(row)
        self._names.learn(answer.body.get("result") or answer.body.get("results"))
        self._emit("tool", {**self._describe(planned, row), "envelope": shown, "duration_ms": milliseconds})
        self.note_operations(answer.body, earlier=earlier)
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


def _find_token(answer: Mapping[str, Any]) -> str:
    """Return the token of what the user answers first: about calls, or of a service; empty if none."""
    if found := envelopes.find_input(answer):
        return found[1]
    return next(iter(envelopes.get_tokens(answer).values()), "")


def _get_body(planned: PlannedCall, row: ToolCall) -> Mapping[str, Any]:
    """Return what is sent of a call. A batch has a key in any case: with it, the gateway goes on with that batch."""
    if row.sent is None and planned.endpoint == "batch":
        return {tool_plan.KEY: f"{row.message_id}:{row.position}", **planned.body}
    return row.sent or planned.body


def _unwrap_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer that the entry of a batch would have had alone."""
    if entry.get("type") == "help":
        return dict(entry["result"]) if entry.get("ok") else {"ok": False, "error": entry.get("error")}
    return {name: value for name, value in entry.items() if name not in ("index", "type")}


def _get_latency(entry: Mapping[str, Any], milliseconds: int) -> int:
    latency = (entry.get("meta") or {}).get("latency_ms")
    return int(latency) if isinstance(latency, int | float) else milliseconds
