"""From a tool call of the model to a call of the gateway."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chat.gateway import envelopes
from core import strict_json
from core.llm import StreamedCall

HELP, EXEC, BATCH = "tool_help", "tool_exec", "tool_batch"
DISCOVER_PREFIX = "discover_"


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

    def to_batch_entry(self) -> dict[str, Any] | None:
        """Return the call as an entry of a batch. None if it can only be sent alone."""
        if self.problem is None and self.endpoint in ("help", "exec") and "idempotency_key" not in self.body:
            return {"type": self.endpoint, **self.body}
        return None


def plan_call(call: StreamedCall) -> PlannedCall:
    """Return what to send. Malformed arguments are never run as if they were empty."""
    try:
        args = strict_json.loads(call.arguments.encode("utf-8", "surrogatepass")) if call.arguments.strip() else {}
    except strict_json.NotStrictJSON as error:
        return _refuse(call, f"The arguments of {call.name} are not JSON ({error}). Send one JSON object.")
    if not isinstance(args, dict):
        return _refuse(call, f"The arguments of {call.name} are not a JSON object. Send one, such as {{}}.")
    if call.name == HELP:
        return PlannedCall(call, "help", "", args)
    if call.name == BATCH:
        return PlannedCall(call, "batch", "", args)
    if call.name.startswith(DISCOVER_PREFIX):
        return PlannedCall(call, f"discover/{call.name}", "", args)
    if call.name == EXEC:
        return PlannedCall(call, "exec", str(args.get("op", "")), args)
    return PlannedCall(call, "exec", call.name, {"op": call.name, "args": args})


def _refuse(call: StreamedCall, message: str) -> PlannedCall:
    op = "" if call.name in (HELP, EXEC, BATCH) else call.name
    problem = envelopes.build_error(op, "VALIDATION_ERROR", message, "malformed_arguments")
    return PlannedCall(call, "", op, {}, problem)
