"""A stand-in that misbehaves as language models do, around the answers of the scripted model.

Every request is planned by the scripted model, from the messages without the stand-in's own mistakes. What it plans is
then sent with one habit. A chat that holds does the same tasks with each habit as with none.
"""

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from chat.scripted_model import protocol
from chat.scripted_model.outcomes import EXEC, HELP, is_write, read_outcomes, read_tool_names
from chat.scripted_model.plans import Answer, ScriptedToolCall
from chat.scripted_model.protocol import ChatRequest
from chat.scripted_model.server import ScriptedModelServer, plan_answer

Message = dict[str, Any]

TYPED_ANSWERS = MappingProxyType({"approve": "Yes please, delete it.", "decline": "No, leave it where it is."})
MARKUP = ("<think", "</think", "<tool_call", "</tool_call")
THOUGHT = "The user wants something. Let me see which tool does it."


class Habit(StrEnum):
    """One way in which models misbehave. `typed answers` is a habit of users: they answer confirmations in words."""

    WRONG_NAMES = "wrong names"  # of the first op of a turn
    PARALLEL_CALLS = "parallel calls"  # two reads that nobody needs beside each call
    REPEATED_WRITES = "repeated writes"  # twice in one answer, and once more in the next
    REASONING_ONLY = "reasoning only"  # until the limit of tokens, at the beginning of a turn
    EMPTY_ANSWER = "empty answer"  # at the beginning of a turn
    CUT_ARGUMENTS = "cut arguments"  # of the first call of a turn, at the limit of tokens
    THINKING_ALOUD = "thinking aloud"  # as markup in the text, before each answer
    CALLS_AS_TEXT = "calls as text"  # the first of a turn
    LOOSE_STREAM = "loose stream"  # arguments as an object, every index 0, calls that end with stop, no [DONE]
    TYPED_ANSWERS = "typed answers"


@dataclass(slots=True)
class Reply:
    """An answer on its way into a stream."""

    text: str = ""
    calls: list[tuple[str, ScriptedToolCall]] = field(default_factory=list)  # with ids
    reasoning: str = ""
    is_cut_off: bool = False  # by the limit of tokens, in the arguments of the last call if there is one
    is_loose: bool = False


class AdversaryServer(ScriptedModelServer):
    """Serves the stand-in. `habit` may change between requests."""

    def __init__(self) -> None:
        super().__init__(pace_ms=0)
        self.habit = Habit.WRONG_NAMES
        self.repeated_requests = 0  # requests with tools whose body was sent before
        self._bodies: set[bytes] = set()
        self._turns: set[bytes] = set()  # turns in which a habit of once a turn has shown
        self._mistakes: dict[str, ScriptedToolCall | None] = {}  # by id of the call: what was meant; None: nothing
        self._lock = threading.Lock()

    def build_response(self, body: bytes) -> bytes | list[bytes]:
        """Return the events of a stream, or one body for a request without a stream. Raises InvalidRequest."""
        request = protocol.parse_request(body)
        with self._lock:
            self._count_repeated(body, request)
            messages = correct_mistakes(request.messages, self._mistakes)
            answer = plan_answer(messages, request.tools)
            if not request.stream:
                return protocol.build_completion(request, answer)
            reply = self._misbehave(answer, messages, request)
        return list(build_events(request, reply))

    def _count_repeated(self, body: bytes, request: ChatRequest) -> None:
        digest = hashlib.sha256(body).digest()
        self.repeated_requests += bool(request.tools) and digest in self._bodies
        self._bodies.add(digest)

    def _misbehave(self, answer: Answer, messages: list[Message], request: ChatRequest) -> Reply:
        reply = Reply(answer.text, [(_make_id(), call) for call in answer.tool_calls])
        match self.habit:
            case Habit.WRONG_NAMES if reply.calls and self._is_first(messages):
                id, call = reply.calls[0]
                self._mistakes[id] = call
                reply.calls[0] = (id, _rename(call))
            case Habit.PARALLEL_CALLS if reply.calls:
                reply.calls += [self._add_mistake(call) for call in _choose_reads(request)]
            case Habit.REPEATED_WRITES:
                self._repeat_writes(reply, messages)
            case Habit.REASONING_ONLY if self._is_first(messages):
                return Reply(reasoning=THOUGHT, is_cut_off=True)
            case Habit.EMPTY_ANSWER if self._is_first(messages):
                return Reply()
            case Habit.CUT_ARGUMENTS if reply.calls and self._is_first(messages):
                self._mistakes[reply.calls[0][0]] = None
                return Reply(calls=reply.calls[:1], is_cut_off=True)
            case Habit.THINKING_ALOUD:
                reply.text = f"<think>{THOUGHT}</think>{reply.text}"
            case Habit.CALLS_AS_TEXT if reply.calls and self._is_first(messages):
                return Reply("\n".join(_write_as_text(call) for _, call in reply.calls))
            case Habit.LOOSE_STREAM:
                reply.is_loose = True
        return reply

    def _repeat_writes(self, reply: Reply, messages: list[Message]) -> None:
        writes = [call for _, call in reply.calls if _writes(call)]
        reply.calls += [self._add_mistake(call) for call in writes]
        done = None if reply.calls else _find_last_write(messages)
        if done and self._is_first(messages):
            reply.text, reply.calls = "", [self._add_mistake(done)]

    def _add_mistake(self, call: ScriptedToolCall) -> tuple[str, ScriptedToolCall]:
        id = _make_id()
        self._mistakes[id] = None
        return id, call

    def _is_first(self, messages: list[Message]) -> bool:
        """Whether the habit has not shown in this turn before. A turn is known by what came before its first answer."""
        last = max((at for at, each in enumerate(messages) if each.get("role") == "user"), default=-1)
        turn = hashlib.sha256(json.dumps(messages[: last + 1], sort_keys=True).encode()).digest()
        if turn in self._turns:
            return False
        self._turns.add(turn)
        return True


def correct_mistakes(messages: list[Message], mistakes: Mapping[str, ScriptedToolCall | None]) -> list[Message]:
    """Return the messages as if no mistake had been made.

    A mistake that the chat or the gateway put right reads as what was meant. Others are left out with their results.
    """
    results = {str(each.get("tool_call_id")): each for each in messages if each.get("role") == "tool"}
    corrected, hidden = list[Message](), set[str]()
    for message in messages:
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in hidden:
                corrected.append(message)
            continue
        if not message.get("tool_calls"):
            corrected.append(message)
            continue
        calls = []
        for call in message["tool_calls"]:
            id = str(call.get("id"))
            meant = mistakes.get(id)
            if id not in mistakes:
                calls.append(call)
            elif meant is not None and _succeeded(results.get(id)):
                calls.append({**call, "function": _build_function(meant)})
            else:
                hidden.add(id)
        if calls or message.get("content"):
            rest = {key: value for key, value in message.items() if key != "tool_calls"}
            corrected.append(rest | ({"tool_calls": calls} if calls else {}))
    return corrected


def build_events(request: ChatRequest, reply: Reply) -> Iterator[bytes]:
    """Yield a reply as the events of a stream."""
    if not (reply.reasoning or reply.is_cut_off or reply.is_loose):
        answer = Answer(reply.text, tuple(call for _, call in reply.calls))
        yield from protocol.build_chunks(request, answer, ids=[id for id, _ in reply.calls])
        return
    delta: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.reasoning:
        delta["reasoning_content"] = reply.reasoning
    yield _build_event(delta)
    for id, call in reply.calls:
        function: dict[str, Any] = {"name": call.name, "arguments": call.arguments}
        if reply.is_cut_off:
            text = json.dumps(call.arguments)
            function["arguments"] = text[: len(text) // 2]
        yield _build_event({"tool_calls": [{"index": 0, "id": id, "type": "function", "function": function}]})
    yield _build_event({}, "length" if not reply.is_loose else "stop")
    if not reply.is_loose:
        yield b"data: [DONE]\n\n"


def _build_event(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    data = {"object": "chat.completion.chunk", "model": protocol.MODEL, "choices": [choice]}
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def _rename(call: ScriptedToolCall) -> ScriptedToolCall:
    """Return a call by the name that models invent: the words in another order, without the family."""
    if isinstance(op := call.arguments.get("op"), str):
        *_, kind, verb = ["", *op.split(".")]
        return replace(call, arguments={**call.arguments, "op": f"{verb}_{kind}s"})
    return replace(call, name=call.name.replace("onto_", "").replace("_details", ""))


def _choose_reads(request: ChatRequest) -> list[ScriptedToolCall]:
    names = read_tool_names(request.tools)
    if HELP in names:
        return [ScriptedToolCall(HELP, {}), ScriptedToolCall(EXEC, {"op": "onto.project.list", "args": {"limit": 2}})]
    return [ScriptedToolCall(name, {}) for name in ("list_onto_projects", "list_calendar_events") if name in names]


def _writes(call: ScriptedToolCall) -> bool:
    entries = call.arguments.get("ops", [call.arguments]) if call.name.startswith("tool_") else [{"op": call.name}]
    return any(outcome_op and is_write(outcome_op) for outcome_op in map(_get_op, entries))


def _get_op(entry: Mapping[str, Any]) -> str:
    outcomes = read_outcomes(str(entry["op"]), {}, None) if entry.get("op") else iter(())
    return next((outcome.op for outcome in outcomes), "")


def _find_last_write(messages: list[Message]) -> ScriptedToolCall | None:
    """Return the last write of the turn that succeeded."""
    results = {str(each.get("tool_call_id")): each for each in messages if each.get("role") == "tool"}
    for message in reversed(messages):
        if message.get("role") == "user":
            return None
        for each in message.get("tool_calls") or ():
            call = _read_call(each)
            if _writes(call) and _succeeded(results.get(str(each.get("id")))):
                return call
    return None


def _read_call(call: Mapping[str, Any]) -> ScriptedToolCall:
    return ScriptedToolCall(call["function"]["name"], json.loads(call["function"]["arguments"] or "{}"))


def _build_function(call: ScriptedToolCall) -> dict[str, str]:
    return {"name": call.name, "arguments": json.dumps(call.arguments)}


def _succeeded(message: Message | None) -> bool:
    try:
        answer = json.loads(str((message or {}).get("content")))
    except ValueError:
        return False
    return isinstance(answer, dict) and (answer.get("ok") is True or "shown" in answer)


def _write_as_text(call: ScriptedToolCall) -> str:
    return f"<tool_call>\n{json.dumps({'name': call.name, 'arguments': call.arguments})}\n</tool_call>"


def _make_id() -> str:
    return f"call_{uuid4().hex[:24]}"
