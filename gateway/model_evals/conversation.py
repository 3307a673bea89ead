"""One eval case, worked on by a model: it gets the prompt and tools of the gateway surface and the request."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from analytics.flags import Surface
from core import llm
from core.database.deadlines import Deadline
from core.http import Abort
from core.llm import Endpoint, StreamedCompletion
from gateway.model_evals.tool_runner import EvalToolRunner, MadeCall
from gateway.toolset import rendering
from gateway.toolset.shown_tools import ToolsetRequest
from registry.catalog.model import FULL_VISIBILITY, Catalog
from registry.models import EvalCase

MAX_ROUNDS = 8  # answers of the model
MAX_ANSWER_TOKENS = 4_000
CASE_MS = 180_000
MAX_SHOWN_CALLS = 20


@dataclass(frozen=True, slots=True)
class CaseScore:
    """Whether a model called a right op, and with the args that the case expects; None if it expects none."""

    op_right: bool
    args_right: bool | None


@dataclass(frozen=True, slots=True)
class CaseRun:
    """What a model did for one case, and what it cost."""

    result: dict[str, Any]  # as JSON: request, op, calls, rounds, tokens, op_right, args_right, problem
    dollars: Decimal


def run_case(
    case: EvalCase, catalog: Catalog, runner: EvalToolRunner, *, endpoint: Endpoint, abort: Abort | None = None
) -> CaseRun:
    """Let the model work on a case until it has called a right op, answers, or has had its rounds."""
    toolset = rendering.get_cached_toolset(Surface.GATEWAY, "openai", catalog, ToolsetRequest(FULL_VISIBILITY))
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": toolset.prompt},
        {"role": "user", "content": case.request},
    ]
    usages, rounds, problem = list[llm.Usage](), 0, ""
    line = llm.ModelLine(endpoint, Deadline.after(milliseconds=CASE_MS), abort or Abort(), usages.append)
    while rounds < MAX_ROUNDS and _find_right_call(case, runner.calls) is None:
        try:
            answer = line.ask(messages, tools=toolset.tools, max_tokens=MAX_ANSWER_TOKENS)
        except llm.LlmError as error:
            problem = f"{type(error).__name__}: {error}"
            break
        rounds += 1
        if not answer.tool_calls:
            break
        messages += _run_calls(answer, runner)
    score = score_calls(case, runner.calls)
    result = {
        "request": case.request,
        "op": case.op,
        "calls": [each.op for each in runner.calls[:MAX_SHOWN_CALLS]],
        "rounds": rounds,
        "tokens": sum(each.input_tokens + each.output_tokens for each in usages),
        "op_right": score.op_right,
        "args_right": score.args_right,
        "problem": problem,
    }
    return CaseRun(result, sum((each.dollars for each in usages), Decimal(0)))


def score_calls(case: EvalCase, calls: list[MadeCall]) -> CaseScore:
    """Score the calls of a model. No write of another op may come before the right call."""
    right = _find_right_call(case, calls)
    if right is None or any(each.is_write and each.ok for each in calls[: calls.index(right)]):
        return CaseScore(False, None if case.args is None else False)
    if case.args is None:
        return CaseScore(True, None)
    sent = right.args
    return CaseScore(True, all(name in sent and sent[name] == value for name, value in case.args.items()))


def _find_right_call(case: EvalCase, calls: list[MadeCall]) -> MadeCall | None:
    """Return the first call of a right op that worked."""
    return next((each for each in calls if each.ok and each.op in case.accepted_ops), None)


def _run_calls(answer: StreamedCompletion, runner: EvalToolRunner) -> list[dict[str, Any]]:
    """Run the tool calls of an answer and return the messages that follow it."""
    answers = [
        {"role": "tool", "tool_call_id": call.id, "content": runner.answer(call.name, call.arguments)}
        for call in answer.tool_calls
    ]
    return [answer.to_message(), *answers]
