"""escalate: a wider toolset for a turn whose model called a tool that it was not shown."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from analytics.events import event_log
from analytics.events.models import UNKNOWN_OP, OperationEvent
from analytics.flags import STATIC, Surface
from core.text import english
from gateway.access import policies, release_routing, request_context
from gateway.access.release_routing import LegacyTools, ToolsetToken
from gateway.access.request_context import Caller
from gateway.contracts.envelopes import Trace
from gateway.contracts.errors import ConflictError, InvalidRequestError, NotFoundError, PermissionDeniedError
from gateway.contracts.validation import find_field_errors
from gateway.recording import call_events
from gateway.toolset import legacy_selection, service, shown_ops
from gateway.toolset.legacy_selection import SelectedToolset
from gateway.toolset.rendering import BuiltToolset
from gateway.toolset.selection.candidates import get_category
from gateway.toolset.shown_ops import READ_ONLY_CONTEXTS
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
# The steps, in order: the tools of the missing tool's category, then everything of the context.
STEPS = ("category", "context")


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
    if toolset.legacy is None or toolset.served.surface != Surface.LEGACY or toolset.legacy.step >= len(STEPS):
        raise ConflictError(
            "There is no wider toolset. Tell the user what could not be done.",
            reason="fully_escalated",
            help_path=op.op,
        )
    step = toolset.legacy.step
    before = _list_shown_ops(toolset, caller, catalog)
    ops = _widen(before, op, STEPS[step], caller, catalog, is_static=_is_static(toolset))
    shown = legacy_selection.show_ops(ops, toolset.legacy.format, catalog)
    selected = _describe(shown, before, STEPS[step], toolset.legacy)
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
        toolset.served, selected, caller=caller, format=toolset.legacy.format, at=trace.at, step=step + 1
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


def _is_static(toolset: ToolsetToken) -> bool:
    return toolset.legacy is None or toolset.legacy.selection.get("kind") == STATIC


def _list_shown_ops(toolset: ToolsetToken, caller: Caller, catalog: Catalog) -> list[CatalogOp]:
    """Return the ops that the toolset showed: those of its selection, or all of the context."""
    selection = toolset.legacy.selection if toolset.legacy else {}
    names = [*selection.get("required", ()), *selection.get("optional", ())]
    view = catalog.view_for(caller.visibility)
    if not names:
        return legacy.list_static_ops(catalog, ToolsetRequest.of_caller(caller))
    ops = (catalog.find_op(name) for name in names)
    return [op for op in ops if op is not None and op.op in view.ops]


def _widen(
    before: Sequence[CatalogOp], missing: CatalogOp, step: str, caller: Caller, catalog: Catalog, *, is_static: bool
) -> list[CatalogOp]:
    """Return the ops of the next step, the missing one first, because providers limit their number.

    A static toolset has the whole context, so its next steps go beyond it; audits and forecasts still get no
    write except the missing one.
    """
    if is_static:
        view = catalog.view_for(caller.visibility)
        is_read_only = caller.context.type in READ_ONLY_CONTEXTS
        ops = (catalog.ops[path] for path in view.ops)
        wider = shown_ops.rank_ops(op for op in ops if not (is_read_only and op.is_write))
    else:
        wider = legacy.list_static_ops(catalog, ToolsetRequest.of_caller(caller))
    category = get_category(missing)
    added = wider if step == "context" else [op for op in wider if get_category(op) == category]
    return list({op.op: op for op in (missing, *before, *added)}.values())


def _describe(
    shown: BuiltToolset, before: Sequence[CatalogOp], step: str, legacy_tools: LegacyTools
) -> SelectedToolset:
    known = {op.tool_name for op in before}
    selection = {
        **legacy_tools.selection,
        "step": step,
        "count": len(shown.tools),
        "optional": list(shown.ops),
        "added": [name for name in shown.ops if name not in known],
    }
    return SelectedToolset(shown, selection)


@functools.cache
def _get_validator() -> SchemaValidator:
    return SchemaValidator(ESCALATE_SCHEMA)
