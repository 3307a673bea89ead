"""escalate: a wider toolset for a turn whose model called a tool that it was not shown."""

import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from analytics.events import event_log
from analytics.events.models import UNKNOWN_OP, OperationEvent
from analytics.flags import Surface
from core.text import english
from gateway.access import policies, release_routing, request_context
from gateway.access.release_routing import LegacyTools, ToolsetToken
from gateway.access.request_context import Caller
from gateway.contracts.envelopes import Trace
from gateway.contracts.errors import ConflictError, InvalidRequestError, NotFoundError, PermissionDeniedError
from gateway.contracts.validation import find_field_errors
from gateway.recording import call_events
from gateway.toolset import legacy_selection, service
from gateway.toolset.legacy_selection import SelectedToolset
from gateway.toolset.rendering import BuiltToolset
from gateway.toolset.selection import finders
from gateway.toolset.shown_tools import ToolsetRequest
from gateway.toolset.surfaces import legacy
from registry.catalog.model import Catalog, CatalogOp
from registry.jsonschema.validator import SchemaValidator

ESCALATE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "missing_tool": {
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
            "description": "The tool that the model called and was not shown",
        }
    },
    "required": ["missing_tool"],
    "additionalProperties": False,
}
MAX_STEPS = 10  # of a turn; each adds one missing tool and what it needs first


def escalate_toolset(
    toolset: ToolsetToken, body: dict[str, Any], caller: Caller, meta: Mapping[str, Any], trace: Trace
) -> service.ToolsetAnswer:
    """Return the toolset one step wider, with a token for the rest of the turn. Records an event.

    `caller` has the toolset's routing. The token given stays valid, so that a chat that did not get the answer can ask
    again and gets the same step.

    Raises InvalidRequestError for a malformed body, NotFoundError for a tool that does not exist,
    PermissionDeniedError for one that the caller cannot run, ConflictError if there is nothing wider.
    """
    if errors := find_field_errors(_get_validator(), body):
        raise InvalidRequestError(
            f"The escalation is malformed. {errors[0].message}", reason="malformed_call", field_errors=errors
        )
    catalog = release_routing.get_catalog(toolset.served)
    trace.release = catalog.version
    caller = request_context.apply_agent(caller, meta, lambda _: catalog)
    op = _find_missing_op(body["missing_tool"], caller, catalog)
    if toolset.legacy is None or toolset.served.surface != Surface.LEGACY or toolset.legacy.step >= MAX_STEPS:
        raise ConflictError(
            "There is no wider toolset. Tell the user what could not be done.",
            reason="fully_escalated",
            help_path=op.op,
        )
    step = toolset.legacy.step + 1
    before = _list_shown_ops(toolset, caller, catalog)
    ops = widen_toolset(before, op, catalog, ToolsetRequest.of_caller(caller))
    brief = {*toolset.legacy.selection.get("optional", ())} - {op.tool_name}
    shown = legacy_selection.show_ops(ops, toolset.legacy.format, catalog, brief=brief)
    selected = _describe(shown, before, brief, step, toolset.legacy)
    event_log.enqueue_event(
        call_events.build_event(
            OperationEvent.Type.ESCALATE,
            caller=caller,
            trace=trace,
            op=op,
            release=catalog.version,
            result_count=len(selected.selection["added"]),
        )
    )
    return service.answer_toolset(
        toolset.served, selected, caller=caller, format=toolset.legacy.format, at=trace.at, step=step
    )


def _find_missing_op(name: str, caller: Caller, catalog: Catalog) -> CatalogOp:
    op = catalog.find_op(name)
    view = catalog.view_for(caller.visibility)
    if op is not None and op.op in view.ops:
        return op
    if op is not None and op.op in view.off_reasons:
        raise PermissionDeniedError(view.off_reasons[op.op], reason="switched_off")
    if op is not None and op.is_active:
        decision = policies.may_run(caller, op)
        raise PermissionDeniedError(decision.message, reason=decision.reason or "op_not_allowed")
    tool_names = [catalog.ops[path].tool_name for path in view.ops]
    close_names = english.find_similar(name, tool_names)
    hint = f" Did you mean {', '.join(close_names)}?" if close_names else " No toolset has it."
    raise NotFoundError(
        f"There is no tool of this name.{hint}",
        reason=UNKNOWN_OP,
        details={"did_you_mean": close_names} if close_names else None,
    )


def _list_shown_ops(toolset: ToolsetToken, caller: Caller, catalog: Catalog) -> list[CatalogOp]:
    """Return the ops that the toolset showed: those of its selection, or all of the context."""
    selection = toolset.legacy.selection if toolset.legacy else {}
    names = [*selection.get("required", ()), *selection.get("optional", ())]
    view = catalog.view_for(caller.visibility)
    if not names:
        return legacy.list_static_ops(catalog, ToolsetRequest.of_caller(caller))
    ops = (catalog.find_op(name) for name in names)
    return [op for op in ops if op is not None and op.op in view.ops]


def widen_toolset(
    before: Sequence[CatalogOp], missing: CatalogOp, catalog: Catalog, request: ToolsetRequest
) -> list[CatalogOp]:
    """Return the ops shown before with the missing one, and the ops that find the ids that it needs.

    The missing one is first, because providers limit the number of tools.
    """
    view = catalog.view_for(request.visibility)
    first = [op for op in finders.list_finders(missing, catalog) if op.op in view.ops]
    return list({op.op: op for op in (missing, *first, *before)}.values())


def _describe(
    shown: BuiltToolset, before: Sequence[CatalogOp], brief: Collection[str], step: int, legacy_tools: LegacyTools
) -> SelectedToolset:
    known = {op.tool_name for op in before}
    selection = {
        **legacy_tools.selection,
        "step": step,
        "count": len(shown.tools),
        "required": [name for name in shown.ops if name not in brief],
        "optional": [name for name in shown.ops if name in brief],
        "added": [name for name in shown.ops if name not in known],
    }
    return SelectedToolset(shown, selection)


@functools.cache
def _get_validator() -> SchemaValidator:
    return SchemaValidator(ESCALATE_SCHEMA)
