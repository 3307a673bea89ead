"""Plans of a turn: which tools to call next, and the text of the answer.

A request contains everything that happened so far, so a plan is run from its beginning for each request. Outcomes that
the request contains are sent into it. The first call without an outcome is the answer.
"""

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from chat.scripted_model.outcomes import BATCH, EXEC, HELP, TOOL_NAME_BY_OP, ScriptedOutcome, is_write

STOP = "stop"
TOOL_CALLS = "tool_calls"

# Reasons of errors after which a write may have taken effect.
UNCERTAIN = ("outcome_unknown", "timeout", "upstream_timeout", "in_progress")


@dataclass(frozen=True, slots=True)
class ScriptedToolCall:
    """A call of one of the request's tools."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the model. `finish_reason` is that of Chat Completions."""

    text: str = ""
    tool_calls: tuple[ScriptedToolCall, ...] = ()

    @property
    def finish_reason(self) -> str:
        return TOOL_CALLS if self.tool_calls else STOP


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A call of an op; with HELP as op, a request for help, whose body is `args`."""

    op: str
    args: dict[str, Any] = field(default_factory=dict)


class ScriptedCallFailed(Exception):
    """A call failed, and there is no correction of it. Raised where the plan yielded the call."""

    def __init__(self, outcome: ScriptedOutcome) -> None:
        super().__init__(outcome.failure)
        self.outcome = outcome


# Yields a list of calls, which run together. A single call that fails raises CallFailed; several never do.
Plan = Generator[list[ScriptedCall], list[ScriptedOutcome], str]


def run(op: str, **args: Any) -> Generator[list[ScriptedCall], list[ScriptedOutcome], ScriptedOutcome]:
    """Run one op inside a plan, and return its outcome."""
    return (yield [ScriptedCall(op, args)])[0]


class _CallNeeded(Exception):
    """The plan waits for the outcome of this call."""

    def __init__(self, call: ScriptedCall) -> None:
        super().__init__(call.op)
        self.call = call


class _ConfirmationPending(Exception):
    """The user has not agreed to a call yet."""

    def __init__(self, outcome: ScriptedOutcome) -> None:
        super().__init__(outcome.op)
        self.outcome = outcome


@dataclass(slots=True)
class _History:
    """The outcomes of the current turn, in order. Each is taken once, the first of its op."""

    outcomes: list[ScriptedOutcome]
    tool_names: frozenset[str]
    repairs: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)

    def get_outcome(self, call: ScriptedCall) -> ScriptedOutcome:
        """Return the final outcome of a call: after its correction, its confirmation, or with a tool offered late."""
        if call.op == HELP and HELP not in self.tool_names:
            return ScriptedOutcome(HELP, ok=False)
        outcome = self._take(call)
        if outcome.is_missing_tool and (self._has_own_tool(call) or self._has_outcome(call)):
            outcome = self._take(call)
        if corrected := outcome.retry_with:
            self.repairs.append(outcome.failure)
            outcome = self._take(ScriptedCall(corrected["op"], corrected["args"]))
        if outcome.needs_confirmation:
            pending = outcome
            try:
                outcome = self._take(call)
            except _CallNeeded:
                raise _ConfirmationPending(pending) from None
        if outcome.ok and is_write(outcome.op):
            self.writes.append(outcome.message)
        return outcome

    def _has_own_tool(self, call: ScriptedCall) -> bool:
        """Return whether the op now has its own tool: the chat may offer it after it was missing."""
        return get_tool_name(call, self.tool_names) in self.tool_names - {EXEC}

    def _has_outcome(self, call: ScriptedCall) -> bool:
        """Return whether the call was made again: the turn after an agreement may no longer offer its tool."""
        return any(outcome.op == call.op for outcome in self.outcomes)

    def _take(self, call: ScriptedCall) -> ScriptedOutcome:
        # Not in order: a call whose result the chat left out may be made again, after a write that must not be.
        for at, outcome in enumerate(self.outcomes):
            if outcome.op == call.op:
                return self.outcomes.pop(at)
        raise _CallNeeded(call)


def play_plan(plan: Plan, outcomes: list[ScriptedOutcome], tool_names: frozenset[str]) -> Answer:
    """Run a plan against the outcomes so far, and return the next calls or the final text."""
    history = _History(list(outcomes), tool_names)
    try:
        calls = next(plan)
        while True:
            received, needed = _collect(calls, history)
            if needed:
                return Answer(tool_calls=build_tool_calls(needed, tool_names))
            if len(received) == 1 and not received[0].ok and calls[0].op != HELP:
                calls = plan.throw(ScriptedCallFailed(received[0]))
            else:
                calls = plan.send(received)
    except StopIteration as finished:
        return Answer(_describe_repairs(history) + str(finished.value))
    except ScriptedCallFailed as failed:
        return Answer(_describe_repairs(history) + describe_failure(failed.outcome, history))
    except _ConfirmationPending as pending:
        return Answer(describe_confirmation(pending.outcome))


def _collect(calls: list[ScriptedCall], history: _History) -> tuple[list[ScriptedOutcome], list[ScriptedCall]]:
    """Return the outcomes of calls that run together, and the calls that are still to be made."""
    received: list[ScriptedOutcome] = []
    needed: list[ScriptedCall] = []
    for call in calls:
        try:
            received.append(history.get_outcome(call))
        except _CallNeeded as error:
            needed.append(error.call)
    return received, needed


def build_tool_calls(calls: list[ScriptedCall], tool_names: frozenset[str]) -> tuple[ScriptedToolCall, ...]:
    """Return calls as the surface offers them: a batch if there are several, else its own tool or exec."""
    if len(calls) > 1 and BATCH in tool_names:
        entries = [
            {"type": "help", **call.args} if call.op == HELP else {"type": "exec", "op": call.op, "args": call.args}
            for call in calls
        ]
        return (ScriptedToolCall(BATCH, {"mode": "parallel", "ops": entries}),)
    return tuple(_build_tool_call(call, tool_names) for call in calls)


def _build_tool_call(call: ScriptedCall, tool_names: frozenset[str]) -> ScriptedToolCall:
    name = get_tool_name(call, tool_names)
    return ScriptedToolCall(name, {"op": call.op, "args": call.args} if name == EXEC else call.args)


def get_tool_name(call: ScriptedCall, tool_names: frozenset[str]) -> str:
    """Return the tool that makes a call. Without exec it is the op's own tool, even if that is not offered."""
    own_name = HELP if call.op == HELP else TOOL_NAME_BY_OP.get(call.op, call.op)
    return own_name if own_name in tool_names or EXEC not in tool_names else EXEC


def describe_failure(outcome: ScriptedOutcome, history: _History) -> str:
    """Return the answer after a call failed: what failed and why, and what was done before it."""
    name = get_tool_name(ScriptedCall(outcome.op), history.tool_names)
    if outcome.reason == "declined":
        text = f"You did not agree, so `{outcome.op}` did not run."
    elif outcome.is_missing_tool and name not in history.tool_names:
        text = f"I cannot do that here: `{name}` is not among my tools. ({outcome.failure})"
    else:
        text = f"`{outcome.op}` failed: {outcome.failure}"
    if done := "".join(f"\n- {message}" for message in history.writes):
        return f"{text}\n\nDone before that:\n{done}"
    return text if is_write(outcome.op) and _is_uncertain(outcome, name, history) else f"{text}\n\nNothing was changed."


def _is_uncertain(outcome: ScriptedOutcome, tool_name: str, history: _History) -> bool:
    if not outcome.is_envelope:
        return tool_name in history.tool_names
    return outcome.reason in UNCERTAIN


def describe_confirmation(outcome: ScriptedOutcome) -> str:
    """Return the answer while a call waits for the user's agreement."""
    confirmation = outcome.details.get("confirmation")
    operation = confirmation.get("operation", {}) if isinstance(confirmation, dict) else {}
    name = operation.get("entity_name") if isinstance(operation, dict) else None
    return f"`{outcome.op}` {f'of **{name}** ' if name else ''}needs your confirmation. It has not run yet."


def _describe_repairs(history: _History) -> str:
    if not history.repairs:
        return ""
    return "".join(f"I first used wrong names and corrected them: {why}\n\n" for why in history.repairs)
