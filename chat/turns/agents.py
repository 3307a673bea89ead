"""Agents: an inner loop with its own prompt and ops, whose answer is the result of one call."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from chat.context import budgets, local_times
from chat.context.history import count_tokens
from chat.context.tool_results import fit_results
from chat.gateway import envelopes
from chat.gateway.client import GatewayClient, GatewayRefused, GatewayUnavailable
from chat.turns import tool_plan
from chat.turns.tool_plan import CUT_OFF, NO_SUCH_TOOL, PlannedCall
from chat.turns.write_keys import RUN_AGENT, WriteKeys
from core import llm
from core.text import token_budget

MAX_CALLS = 8
MAX_ANSWER_TOKENS = 2_000
CALL_SECONDS = 40.0
NOT_FINISHED = "The agent was stopped before it answered. Run it again if its answer is still needed."
NO_ANSWER = "The agent gave no answer."
LAST_CALL = "You may make no more calls. Answer with what you know."


@dataclass(frozen=True, slots=True)
class AgentPlan:
    """The gateway's answer about an agent to run."""

    agent: str
    system_prompt: str
    max_calls: int


def get_agent_plan(answer: Mapping[str, Any]) -> AgentPlan | None:
    """Return the agent that a call asks to run, None for any other call."""
    result = answer.get("result")
    run = result.get("run") if isinstance(result, Mapping) else None
    if answer.get("op") != RUN_AGENT or not isinstance(run, Mapping):
        return None
    return AgentPlan(
        agent=str(run["agent"]),
        system_prompt=str(run["system_prompt"]),
        max_calls=min(int(run["max_calls"]), MAX_CALLS),
    )


def build_failure(message: str) -> dict[str, Any]:
    """Return the envelope of an agent that gave no answer."""
    return envelopes.build_error(RUN_AGENT, "INTERNAL", message, "agent_failed")


def run_agent(
    plan: AgentPlan,
    *,
    task: str,
    line: llm.ModelLine,
    gateway: GatewayClient,
    keys: WriteKeys,
    on_answer: Callable[[Mapping[str, Any]], None],
    zone: tzinfo,
) -> dict[str, Any]:
    """Return an envelope with the agent's answer: {agent, answer, calls}. Raises LlmError if the model is unavailable.

    `line` is that of the turn. What the agent writes and thinks is not passed on to it. `on_answer` gets each answer
    of the gateway to a call of the agent. The agent reads times in `zone`, the user's.
    """
    own = gateway.copy_for_agent(plan.agent)
    try:
        toolset = own.fetch_toolset(task)
    except (GatewayRefused, GatewayUnavailable):
        return build_failure("The agent could not be started.")
    own.use_toolset(toolset["id"])
    keys.learn_ops(toolset)
    own_key_tools = tool_plan.list_own_key_tools(toolset)
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": f"{plan.system_prompt}\n\n{toolset['prompt']}"},
        {"role": "user", "content": task},
    ]
    shown = {each["function"]["name"] for each in toolset["tools"]}
    results: list[tuple[dict[str, Any], Mapping[str, Any]]] = []
    count = 0
    own_line = llm.ModelLine(line.endpoint, line.deadline, line.abort, line.on_usage)
    while True:
        is_last = count >= plan.max_calls
        try:
            answer = own_line.ask(
                [*messages, {"role": "system", "content": LAST_CALL}] if is_last else messages,
                tools=[] if is_last else toolset["tools"],
                max_tokens=MAX_ANSWER_TOKENS,
            )
        except (llm.LlmEmpty, llm.LlmFiltered, llm.LlmTooLong):  # of this task; the next request may succeed
            return build_failure(NO_ANSWER)
        if not answer.tool_calls or is_last:
            return _build_envelope(plan, answer.text, count)
        messages.append(answer.to_message())
        for index, call in enumerate(answer.tool_calls, start=1):
            if line.abort.is_set:
                raise llm.LlmAborted("aborted")
            count += 1
            is_cut_off = answer.is_cut_off and index == len(answer.tool_calls)
            refusal = _refuse(call, shown, is_over=count > plan.max_calls, is_cut_off=is_cut_off)
            envelope = refusal or _run_call(own, tool_plan.plan_call(call, own_key_tools=own_key_tools), keys)
            on_answer(envelope)
            message: dict[str, Any] = {"role": "tool", "tool_call_id": call.id}
            messages.append(message)
            results.append((message, local_times.localize_answer(envelope, zone)))
        others = [message for message in messages if message["role"] != "tool"]
        room = max(budgets.HARD_LIMIT - MAX_ANSWER_TOKENS - count_tokens(others), budgets.TOOL_RESULTS)
        seen = len(results) - len(answer.tool_calls)
        texts = fit_results([answer for _, answer in results], budget=room, seen=seen)
        for (message, _), content in zip(results, texts, strict=True):
            message["content"] = content


def _refuse(call: llm.StreamedCall, shown: set[str], *, is_over: bool, is_cut_off: bool) -> Mapping[str, Any] | None:
    """Return the answer of a call that is not run, None if it may be. An agent has only the tools that it is shown."""
    if is_over:
        return envelopes.build_error(call.name, "CONFLICT", LAST_CALL, "not_run")
    if is_cut_off:
        return envelopes.build_error(call.name, "VALIDATION_ERROR", CUT_OFF, "not_run")
    if call.name not in shown:
        return envelopes.build_error(call.name, "VALIDATION_ERROR", NO_SUCH_TOOL.format(name=call.name), "not_run")
    return None


def _run_call(gateway: GatewayClient, planned: PlannedCall, keys: WriteKeys) -> Mapping[str, Any]:
    if planned.problem is not None:
        return planned.problem
    sent = keys.add_keys(planned)
    try:
        answer = gateway.call("POST", planned.endpoint, sent or planned.body, seconds=CALL_SECONDS)
    except GatewayUnavailable:
        return envelopes.build_error(planned.op, "INTERNAL", "The gateway cannot be reached.", "gateway_unavailable")
    return envelopes.remove_tokens(keys.note_answer(sent, answer.body))


def _build_envelope(plan: AgentPlan, text: str, calls: int) -> dict[str, Any]:
    if not text.strip():
        return build_failure(NO_ANSWER)
    return {
        "op": RUN_AGENT,
        "ok": True,
        "result": {"agent": plan.agent, "answer": _cut_tokens(text, MAX_ANSWER_TOKENS), "calls": calls},
    }


def _cut_tokens(text: str, budget: int) -> str:
    """Return a text cut to a number of tokens."""
    while token_budget.count(text) > budget:
        text = text[: int(len(text) * 0.9)].rstrip() + "…"
    return text
