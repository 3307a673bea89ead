"""The three gateway tools for a model that works on an eval case, answered by the code that answers the API.

Reads run as a demo user; writes are dry runs. Events have the source `admin`, so no figure counts them.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.text import json_text
from gateway.batches import references
from gateway.batches.references import UnresolvedReference
from gateway.contracts.envelopes import EnvelopeResponse, Trace
from gateway.contracts.errors import GatewayError, InvalidRequestError
from gateway.contracts.tool_definitions import BATCH_TOOL, EXEC_TOOL, HELP_TOOL
from gateway.execution import dry_runs, pipeline
from gateway.help import service
from registry.catalog.model import Catalog

MAX_ENTRIES = 50
MAX_REFERENCE_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call of an op that a model made. The op is the canonical one, or as sent if it is unknown."""

    op: str
    args: Mapping[str, Any]
    is_write: bool
    ok: bool


class EvalToolRunner:
    """Answers the tool calls of one conversation, and keeps the calls of ops."""

    def __init__(self, catalog: Catalog, *, subject: str, by: str) -> None:
        self.calls: list[MadeCall] = []
        self._catalog = catalog
        self._subject, self._by = subject, by

    def answer(self, name: str, arguments: str) -> str:
        """Return the answer to a tool call as the model reads it. `arguments` is what the model wrote."""
        try:
            body = json_text.parse((arguments or "{}").encode("utf-8", "surrogatepass"))
        except json_text.NotStrictJSON as error:
            return _format_error(InvalidRequestError(str(error).replace("The body", "arguments"), reason=error.code))
        if not isinstance(body, dict):
            return _format_error(InvalidRequestError("Send an object.", reason="malformed_call"))
        if name == HELP_TOOL["name"]:
            return self._answer_help(body)
        if name == EXEC_TOOL["name"]:
            return json_text.dump(self._run_exec(body).envelope).decode()
        if name == BATCH_TOOL["name"]:
            return json_text.dump(self._run_batch(body)).decode()
        return _format_error(InvalidRequestError(f"There is no tool {name[:100]}.", reason="malformed_call"))

    def _answer_help(self, body: dict[str, Any]) -> str:
        trace = _start_trace()
        caller = dry_runs.build_caller(self._subject, self._by, trace)
        try:
            return service.answer_help(body=body, caller=caller, trace=trace, catalog=self._catalog).body.decode()
        except GatewayError as error:
            return _format_error(error)

    def _run_exec(self, body: dict[str, Any]) -> EnvelopeResponse:
        trace = _start_trace()
        caller = dry_runs.build_caller(self._subject, self._by, trace)
        name, args = body.get("op"), body.get("args", {})
        op = self._catalog.find_op(name) if isinstance(name, str) else None
        is_write = op is not None and op.is_write
        sent = {key: value for key, value in body.items() if key != "idempotency_key"}
        response = pipeline.execute(
            body={**sent, **({"dry_run": True} if is_write else {})}, caller=caller, trace=trace, catalog=self._catalog
        )
        called = op.op if op else str(name)[:200]
        self.calls.append(
            MadeCall(called, args if isinstance(args, dict) else {}, is_write, bool(response.envelope["ok"]))
        )
        return response

    def _run_batch(self, body: dict[str, Any]) -> dict[str, Any]:
        """Run the entries of a batch in order."""
        entries = body.get("ops")
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            return _build_error(InvalidRequestError("Send ops, a list.", reason="malformed_call"))
        results: dict[int, Any] = {}
        for index, entry in enumerate(entries[:MAX_ENTRIES]):
            results[index] = {"index": index, **self._run_entry(entry, results)}
        return {"ok": all(each.get("ok") for each in results.values()), "results": list(results.values())}

    def _run_entry(self, entry: dict[str, Any], results: Mapping[int, Any]) -> dict[str, Any]:
        body = {name: value for name, value in entry.items() if name not in ("type", "depends_on")}
        if entry.get("type") == "help":
            answer = json_text.load(self._answer_help(body))
            return answer if "error" in answer else {"type": "help", "ok": True, "result": answer}
        try:
            if isinstance(body.get("args"), dict):
                body["args"] = references.resolve_references(body["args"], results, most_bytes=MAX_REFERENCE_BYTES)
        except (UnresolvedReference, ValueError) as error:
            return _build_error(InvalidRequestError(str(error), reason="invalid_args"))
        return {"type": "exec", **self._run_exec(body).envelope}


def _start_trace() -> Trace:
    return Trace(f"tr_{secrets.token_hex(16)}", source=dry_runs.TRIAL_SOURCE)


def _format_error(error: GatewayError) -> str:
    return json_text.dump(_build_error(error)).decode()


def _build_error(error: GatewayError) -> dict[str, Any]:
    return {"ok": False, "error": error.as_dict()}
