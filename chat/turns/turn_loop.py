"""Run a turn: ask the model, run the tools that it calls, and ask again, until it answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chat.context import budgets
from chat.context.handles import RowHandles, accept_handles
from chat.context.history import MAX_ARGUMENT_TOKENS, count_tokens
from chat.context.retelling import rename_ops
from chat.context.sections.tool_names import ToolNames
from chat.context.shortening import arguments
from chat.context.shortening.answers import read_answer
from chat.context.tool_results import fit_results
from chat.events import event_writer
from chat.gateway import envelopes
from chat.gateway.client import GatewayClient
from chat.models import Message, ToolCall
from chat.turns import agents, repair
from chat.turns.tool_plan import CUT_OFF, DISCOVER_PREFIX, NO_SUCH_TOOL, PlannedCall
from chat.turns.tool_runner import CallOutcome, ToolRunner
from core import llm
from core.llm import StreamedCall, StreamedCompletion

MAX_ROUNDS = 8
MAX_REPAIR_ROUNDS = 4  # besides those
MAX_CALLS = 40
MAX_TEXT_LENGTH = 100_000  # characters of all answers of the model
READS_A_SECOND = 1_000  # of all models' streams in this process: each takes as long as ten events
MAX_PAUSE_SECONDS = 0.2
MAX_SAME_CALLS = 2  # with the same arguments
LEGACY = "legacy"
Finish = Message.Finish
LAST_ROUND = "This is your last answer in this turn: call no more tools. Say what was done and what is left."
REPEATED = "You made this call before in this turn, with the same arguments. Use its answer, or tell the user."
UNKNOWN_ROW = (
    "An id in the arguments is of no row in this conversation. Take it from an answer or from the context, or look the "
    "row up."
)


@dataclass(slots=True)
class ModelRound:
    """One answer of the model with tool calls, what came back, and what the chat tells the model about it."""

    text: str
    outcomes: Sequence[CallOutcome]
    reasoning: str = ""
    notes: list[str] = field(default_factory=list)


def build_messages(
    base: Sequence[dict[str, Any]], rounds: Sequence[ModelRound], handles: RowHandles, tools: ToolNames
) -> list[dict[str, Any]]:
    """Return the messages of the next request: those before the turn's first answer, and its rounds.

    All ids of rows are replaced by their handles, and ops are named as the toolset names them. The results of all
    rounds share the tokens that the other messages leave of the limit; if they do not fit as a whole, arguments of
    earlier rounds are shortened first. Tool definitions come on top, because they depend on the surface.
    """
    before = [handles.shorten_message(message) for message in base]
    answers = [
        handles.shorten_value(rename_ops(outcome.answer, tools, called=outcome.planned.op))
        for each in rounds
        for outcome in each.outcomes
    ]
    seen = sum(len(each.outcomes) for each in rounds[:-1])
    for max_tokens in (None, MAX_ARGUMENT_TOKENS):
        messages = [*before, *_build_rounds(rounds, handles, max_tokens)]
        room = max(budgets.HARD_LIMIT - budgets.RESPONSE - count_tokens(messages), budgets.TOOL_RESULTS)
        texts = fit_results(answers, budget=room, seen=seen)
        if texts == [read_answer(answer).text for answer in answers]:
            break
    remaining = iter(texts)
    return [
        {**each, "content": next(remaining)} if position >= len(before) and each["role"] == "tool" else each
        for position, each in enumerate(messages)
    ]


def _build_rounds(
    rounds: Sequence[ModelRound], handles: RowHandles, max_tokens: int | None
) -> Iterator[dict[str, Any]]:
    """Yield the messages of rounds with the contents of results to come. The last round has its arguments whole.

    There, the model may have to correct them. Others have at most `max_tokens`, if that is a number.
    """
    for each in rounds:
        limit = None if each is rounds[-1] else max_tokens
        calls = [_build_call(outcome.planned, handles, limit) for outcome in each.outcomes]
        yield handles.shorten_message({"role": "assistant", "content": each.text or None}) | {"tool_calls": calls}
        for call in calls:
            yield {"role": "tool", "tool_call_id": call["id"], "content": ""}
        if each.notes:
            yield handles.shorten_message({"role": "system", "content": "\n".join(each.notes)})


def _build_call(planned: PlannedCall, handles: RowHandles, max_tokens: int | None) -> dict[str, Any]:
    args = handles.shorten(planned.json_arguments)
    args = args if max_tokens is None else arguments.shorten(args, max_tokens)
    return {"id": planned.call.id, "type": "function", "function": {"name": planned.call.name, "arguments": args}}


@dataclass(slots=True)
class TurnLoop:
    """The loop of one turn. `toolset` is what the model is shown."""

    gateway: GatewayClient
    tools: ToolRunner
    toolset: Mapping[str, Any]
    line: llm.ModelLine
    get_text_length: Callable[[], int]
    handles: RowHandles
    base: Sequence[dict[str, Any]] = ()
    earlier: Sequence[ModelRound] = ()
    tool_misses: list[str] = field(default_factory=list)
    escalated: list[str] = field(default_factory=list)
    call_ids: set[str] = field(default_factory=set)

    def run(self, base: Sequence[dict[str, Any]], *, earlier: Sequence[ModelRound] = ()) -> Finish:
        """Run the turn and return how it ended. `base` are the messages before its first answer.

        `earlier` are the rounds of the turn that it goes on with after a decision.

        Raises an LlmError, after what was written until then.
        """
        self.base, self.earlier = base, earlier
        self.call_ids = {call["id"] for message in base for call in message.get("tool_calls", ())}
        self.call_ids |= {outcome.planned.call.id for each in earlier for outcome in each.outcomes}
        rounds, repaired, seen = list[ModelRound](), set[repair.RepairKey](), list[tuple[str, str]]()
        repair_rounds = 0
        while True:
            is_last = (
                len(rounds) - repair_rounds >= MAX_ROUNDS
                or len(seen) >= MAX_CALLS
                or self.get_text_length() >= MAX_TEXT_LENGTH
            )
            try:
                answer = self._ask(rounds, is_last=is_last)
            except llm.LlmEmpty:
                if is_last:
                    return Finish.LIMIT
                raise
            if not answer.tool_calls or is_last:
                return Finish.LIMIT if is_last or answer.is_cut_off else Finish.STOP
            current = ModelRound(answer.text, self._run_calls(answer, len(rounds) + 1, seen), answer.reasoning)
            rounds.append(current)
            if self.line.abort.is_set:
                raise llm.LlmAborted("aborted")
            if any(each.row.status == ToolCall.Status.CONFIRM for each in current.outcomes):
                return Finish.ASK
            was_repaired = self._add_notes(current, repaired)
            if was_repaired and repair_rounds < MAX_REPAIR_ROUNDS:
                repair_rounds += 1

    def _ask(self, rounds: Sequence[ModelRound], *, is_last: bool) -> StreamedCompletion:
        whole_turn = [*self.earlier, *rounds]
        messages = build_messages(self.base, whole_turn, self.handles, ToolNames(self.toolset))
        self.handles.store_new()
        with_calls = (each for each in messages[len(self.base) :] if each["role"] == "assistant")
        for message, each in zip(with_calls, whole_turn, strict=True):
            if each.reasoning:  # sent only to endpoints that want it back
                message["reasoning_content"] = each.reasoning
        if is_last:
            messages.append({"role": "system", "content": LAST_ROUND})
        if rounds and self.get_text_length():
            self.line.on_text("\n\n")  # between what it wrote before its calls and what it writes now
        tools = [] if is_last else accept_handles(self.toolset["tools"])
        return self.line.ask(messages, tools=tools, max_tokens=budgets.RESPONSE)

    def _run_calls(self, answer: StreamedCompletion, round: int, seen: list[tuple[str, str]]) -> list[CallOutcome]:
        length = self.get_text_length()
        shown = {each["function"]["name"] for each in self.toolset["tools"]}
        calls = [self._complete_call(call) for call in answer.tool_calls]
        whole = calls[:-1] if answer.is_cut_off else calls
        refusals = {index: text for index, call in enumerate(whole) if (text := self._refuse(call, shown, seen))}
        if answer.is_cut_off:
            refusals[len(whole)] = CUT_OFF
        runnable = [call for index, call in enumerate(calls) if index not in refusals]
        outcomes = iter(self.tools.run(runnable, round=round, text_length=length, run_agent=self._run_agent))
        answered = []
        for index, call in enumerate(calls):
            if index in refusals:
                answered.append(
                    self.tools.answer_without_running(call, refusals[index], round=round, text_length=length)
                )
            else:
                answered.append(next(outcomes))
        return answered

    def _complete_call(self, call: StreamedCall) -> StreamedCall:
        """Return the call with ids of rows instead of handles, and with an id that no other call has.

        Some servers count from 0 in each answer.
        """
        id = llm.create_call_id() if call.id in self.call_ids else call.id
        self.call_ids.add(id)
        return replace(call, id=id, arguments=self.handles.expand(call.arguments))

    def _refuse(self, call: StreamedCall, shown: set[str], seen: list[tuple[str, str]]) -> str:
        """Return why a call is not run, empty if it is. Ask for a wider toolset if the model was not shown the tool."""
        seen.append((call.name, call.arguments))
        if seen.count((call.name, call.arguments)) > MAX_SAME_CALLS:
            return REPEATED
        if len(seen) > MAX_CALLS:
            return f"A turn has at most {MAX_CALLS} calls. Tell the user what is done and what is left."
        if self.handles.has_unknown(call.arguments):
            return UNKNOWN_ROW
        if call.name in shown:
            return ""
        self.tool_misses.append(call.name)
        if self.toolset["surface"] != LEGACY:
            # Exec knows ops by the names of their tools, and permission decides what runs.
            return NO_SUCH_TOOL.format(name=call.name) if call.name.startswith(DISCOVER_PREFIX) else ""
        return self._escalate(call.name)

    def _escalate(self, name: str) -> str:
        """Return "" once the toolset has the tool, so that its call runs like any other, or why it is not run.

        Another call of the same answer may have widened the toolset already.
        """
        if not self._shows(name):
            wider = self.gateway.escalate_toolset(self.toolset["id"], name)
            if not wider:
                return NO_SUCH_TOOL.format(name=name)
            self.toolset = wider
            self.gateway.use_toolset(wider["id"])
            self.tools.use_toolset(wider)
        self.escalated.append(name)
        return ""

    def _run_agent(self, plan: agents.AgentPlan, task: str) -> Mapping[str, Any]:
        return agents.run_agent(
            plan,
            task=task,
            line=self.line,
            gateway=self.gateway,
            keys=self.tools.keys,
            on_answer=self.tools.note_operations,
            zone=self.tools.zone,
        )

    def _add_notes(self, current: ModelRound, repaired: set[repair.RepairKey]) -> bool:
        """Tell the model how to repair what failed. Return whether there was something to repair for the first time.

        `repaired` are the failures of earlier rounds: of calls that were made together, none repeats another.
        """
        names, failures = ToolNames(self.toolset), set[repair.RepairKey]()
        for outcome in current.outcomes:
            for envelope in envelopes.iter_envelopes(outcome.answer):
                if not repair.is_repairable(envelope) or envelopes.get_reason(envelope) == "not_run":
                    continue
                op = str(envelope.get("op") or outcome.planned.call.name)
                key, name = repair.build_repair_key(op, envelope), names.find(op) or outcome.planned.op or op
                if key in repaired:
                    current.notes.append(repair.build_give_up(name))
                else:
                    failures.add(key)
                    current.notes.append(repair.build_repair(name, envelope, has_help=names.shows("tool_help")))
            if outcome.hint:
                current.notes.append(outcome.hint)
        current.notes = list(dict.fromkeys(current.notes))
        repaired |= failures
        return bool(failures)

    def _shows(self, name: str) -> bool:
        """Whether the model is shown a tool."""
        return any(each["function"]["name"] == name for each in self.toolset["tools"])


def choose_pause() -> float:
    """Return the seconds between two reads of a model's stream: none are felt by a few turns, and many share a pace."""
    return min(event_writer.count_turns() / READS_A_SECOND, MAX_PAUSE_SECONDS)
