"""From a tool call of the model to a call of the gateway."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from chat.gateway import envelopes
from core.llm import StreamedCall
from core.text import json_text

HELP, EXEC, BATCH = "tool_help", "tool_exec", "tool_batch"
BATCHED = ("help", "exec")  # endpoints whose calls can be entries of a batch
DISCOVER_PREFIX = "discover_"
KEY = "idempotency_key"
NO_SUCH_TOOL = "There is no tool {name}. If no other tool does this, tell the user what cannot be done."
CUT_OFF = "The answer reached its length limit within this call, so it was not run. Send it again, with less text."

_DISCOVER = re.compile(r"discover_[a-z0-9_]{1,100}")  # the only names that become part of an address


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call of the gateway. `problem` is the answer of a call that cannot be sent."""

    call: StreamedCall
    endpoint: str  # below /api/v1/
    op: str
    body: Mapping[str, Any]
    problem: Mapping[str, Any] | None = None

    @property
    def args(self) -> Mapping[str, Any]:
        """The arguments of the op, or of the tool."""
        args = self.body.get("args", {}) if self.endpoint == "exec" else self.body
        return args if isinstance(args, Mapping) else {}

    @property
    def json_arguments(self) -> str:
        """The arguments as the model wrote them. Providers refuse what is not JSON, so that is sent as empty."""
        return self.call.arguments.strip() or "{}" if self.problem is None else "{}"

    def to_batch_entry(self) -> dict[str, Any] | None:
        """Return the call as an entry of a batch. None if it can only be sent alone."""
        return {"type": self.endpoint, **self.body} if self.problem is None and self.endpoint in BATCHED else None


def plan_call(call: StreamedCall, *, own_key_tools: Collection[str] = ()) -> PlannedCall:
    """Return what to send. Malformed arguments are never run as if they were empty.

    An idempotency key among the arguments of an op's own tool is for the gateway, unless the tool is one of
    `own_key_tools`, whose op has such an argument.
    """
    try:
        args = json_text.parse(call.arguments.encode("utf-8", "surrogatepass")) if call.arguments.strip() else {}
    except json_text.NotStrictJSON as error:
        return _refuse(call, f"The arguments of {call.name} cannot be sent. {_describe(error)}")
    if not isinstance(args, dict):
        return _refuse(call, f"The arguments of {call.name} are not a JSON object. Send one, such as {{}}.")
    if call.name == HELP:
        return PlannedCall(call, "help", "", args)
    if call.name == BATCH:
        return PlannedCall(call, "batch", "", args)
    if _DISCOVER.fullmatch(call.name):
        return PlannedCall(call, f"discover/{call.name}", "", args)
    if call.name == EXEC:
        return PlannedCall(call, "exec", str(args.get("op", "")), args)
    is_key_ours = KEY in args and call.name not in own_key_tools
    key = {KEY: args.pop(KEY)} if is_key_ours else {}
    return PlannedCall(call, "exec", call.name, {"op": call.name, "args": args, **key})


def list_own_key_tools(toolset: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the tools that have an argument for an idempotency key of their service."""
    functions = [each["function"] for each in toolset["tools"]]
    return frozenset(each["name"] for each in functions if KEY in (each.get("parameters") or {}).get("properties", {}))


def _refuse(call: StreamedCall, message: str) -> PlannedCall:
    op = "" if call.name in (HELP, EXEC, BATCH) else call.name
    problem = envelopes.build_error(op, "VALIDATION_ERROR", message, "malformed_arguments")
    return PlannedCall(call, "", op, {}, problem)


def _describe(error: json_text.NotStrictJSON) -> str:
    if error.problem:
        return f"This is not valid JSON: {error.problem} at character {error.at}. Send one JSON object."
    return str(error).replace("The body", "The JSON")  # the sentences are about bodies of requests
