"""toolset: choose what to show the model at the start of a turn. The flags decide; a token keeps the decision."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Any

from django.db import InterfaceError, OperationalError

from analytics.rollout.evaluation import EvaluationDetails
from analytics.rollout.flags import STATIC, FlagKey, Surface
from core import tokens as tokens_of
from core.deadlines import Deadline, DeadlineExceeded
from gateway import request_context
from gateway.contracts.envelopes import Trace
from gateway.contracts.errors import FieldError, InvalidRequestError, PermissionDeniedError
from gateway.contracts.validation import find_field_errors
from gateway.executors.embedded import find_time_zone
from gateway.models import Scope
from gateway.request_context import Caller
from gateway.routing import flags, release_routing, toolset_token
from gateway.routing.release_routing import Routing
from gateway.toolset import formats, surfaces
from gateway.toolset.formats import FORMATS, NATIVE_FORMATS
from gateway.toolset.shown_tools import ToolsetRequest
from registry.catalog.model import Catalog, CatalogOp
from registry.help import token_budget
from registry.jsonschema.validator import SchemaValidator

TOOLSET_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message": {"type": "string", "maxLength": 20_000, "description": "What the user wrote"},
        "format": {"type": "string", "enum": list(FORMATS), "description": "The tool format of this provider"},
        "surface": {
            "type": "string",
            "enum": list(Surface),
            "description": "Preview this surface instead of the flags' choice (scope preview; no exposure)",
        },
    },
    "required": ["format"],
    "additionalProperties": False,
}

MAX_CACHED_TOOLSETS = 100  # toolsets cached per catalog
MAX_LOOKUP_MS = 500  # for the user's time zone


@dataclass(frozen=True, slots=True)
class BuiltToolset:
    """A toolset without its token. `tool_tokens` counts the tokens of the tools that the model is shown at first."""

    tools: list[dict[str, Any]]
    ops: dict[str, dict[str, str]]  # what each tool is that stands for an op
    prompt: str
    tool_tokens: int
    left_out: tuple[str, ...]


def build_toolset(body: dict[str, Any], caller: Caller, meta: Mapping[str, Any], trace: Trace) -> dict[str, Any]:
    """Return {id, surface, release, cohort, tools, ops?, prompt, tokens, selection?}.

    `tokens` counts tools and prompt together (o200k_base), without tools that wait for a search.

    Raises InvalidRequestError for a malformed body, PermissionDeniedError for a preview without the scope,
    NotFoundError for an unknown agent, cache.NoLiveRelease if no release is live.
    """
    if errors := find_field_errors(_get_validator(), body):
        raise InvalidRequestError(
            f"The toolset request is malformed. {errors[0].message}", reason="malformed_call", field_errors=errors
        )
    served, outcomes = _decide_surface(caller, body.get("surface"), body["format"])
    catalog = release_routing.get_catalog(served)
    served = replace(served, release=catalog.version)
    trace.release = catalog.version
    caller = request_context.apply_agent(caller, meta, lambda _: catalog)
    toolset = _get_cached_toolset(served.surface, body["format"], catalog, caller)
    prompt = toolset.prompt
    if served.surface != Surface.LEGACY:
        prompt += f"\n\n{_describe_today(caller.subject, trace.at)}"
    release_routing.record_exposures(outcomes, caller.subject)
    return {
        "id": toolset_token.issue(served, key=caller.key, subject=caller.subject),
        "surface": served.surface,
        "release": served.release,
        "cohort": served.cohort,
        "tools": toolset.tools,
        **({"ops": toolset.ops} if toolset.ops else {}),
        "prompt": prompt,
        "tokens": toolset.tool_tokens + _count_tokens(prompt),
        **_describe_selection(served.surface, toolset),
    }


def _describe_today(subject: str, at: datetime) -> str:
    """Return the last paragraph of a prompt: the user's day. It has no time, so that the prompt stays cached for a day.

    Without a database, which a toolset does not need, the day is that of UTC.
    """
    zone: tzinfo
    try:
        with Deadline.after(milliseconds=MAX_LOOKUP_MS).limit_waits():
            zone = find_time_zone(subject)
    except (OperationalError, InterfaceError, DeadlineExceeded):
        zone = UTC
    return f"Today is {at.astimezone(zone):%A, %Y-%m-%d} in the user's time zone, {zone}."


@functools.lru_cache(maxsize=100)  # of few prompts on few days in few zones
def _count_tokens(text: str) -> int:
    return tokens_of.count(text)


def _decide_surface(caller: Caller, surface: str | None, format: str) -> tuple[Routing, list[EvaluationDetails]]:
    """Return what the flags decide and the exposures to record; a preview records none.

    Where a format has no tool search, callers of the native surface get the gateway surface.
    """
    served, outcomes = release_routing.evaluate_flags(caller.evaluation_context)
    if surface == Surface.NATIVE and format not in NATIVE_FORMATS:
        problem = FieldError("/surface", "conflict", f"Send the format {' or '.join(NATIVE_FORMATS)}.")
        message = f"The format {format} has no tool search, which the native surface needs."
        raise InvalidRequestError(message, reason="malformed_call", field_errors=[problem])
    if surface is not None:
        if Scope.PREVIEW not in caller.key.scopes:
            message = "This API key lacks the scope preview. Leave surface out, or use a key that has it."
            problem = FieldError("/surface", "scope_missing", "Leave it out.")
            raise PermissionDeniedError(message, reason="scope_missing", field_errors=[problem])
        return _route_native(replace(served, surface=surface), format), []
    served = _route_native(served, format)
    if served.surface == Surface.LEGACY:
        outcomes.append(flags.evaluate_flag(FlagKey.SELECTION, caller.evaluation_context))
    return served, outcomes


def _route_native(served: Routing, format: str) -> Routing:
    if served.surface != Surface.NATIVE:
        return served
    is_supported = format in NATIVE_FORMATS
    return replace(served, native_format=format) if is_supported else replace(served, surface=Surface.GATEWAY)


def _describe_selection(surface: str, toolset: BuiltToolset) -> dict[str, Any]:
    """Return how tools were selected; only the legacy surface selects tools."""
    if surface != Surface.LEGACY:
        return {}
    left_out = {"left_out": list(toolset.left_out)} if toolset.left_out else {}
    return {"selection": {"kind": STATIC, "count": len(toolset.tools), **left_out}}


@functools.cache
def _get_validator() -> SchemaValidator:
    return SchemaValidator(TOOLSET_SCHEMA)


class _ToolsetCache(dict[Any, BuiltToolset]):
    """Toolsets of one catalog, by all they depend on."""


def _get_cached_toolset(surface: str, format: str, catalog: Catalog, caller: Caller) -> BuiltToolset:
    toolsets = catalog.get_or_derive(_ToolsetCache, _ToolsetCache)
    request = ToolsetRequest.of_caller(caller)
    key = (surface, format, request)
    toolset = toolsets.get(key)  # one lookup: another thread may clear the cache at any time
    if toolset is None:
        if len(toolsets) >= MAX_CACHED_TOOLSETS:
            toolsets.clear()
        toolset = toolsets[key] = _render_toolset(surface, format, catalog, request)
    return toolset


def _render_toolset(surface: str, format: str, catalog: Catalog, request: ToolsetRequest) -> BuiltToolset:
    surface_tools = surfaces.select_tools(surface, catalog, request)
    render = formats.to_native_tools if surface == Surface.NATIVE else formats.to_tools
    tools_at_first = [tool for tool in surface_tools.tools if not tool.is_deferred]
    return BuiltToolset(
        tools=render(surface_tools.tools, format),
        ops={tool.name: _describe_op(tool.op) for tool in surface_tools.tools if tool.op},
        prompt=surfaces.build_prompt(surface, catalog, surface_tools),
        tool_tokens=token_budget.count_tokens(render(tools_at_first, format)),
        left_out=surface_tools.left_out,
    )


def _describe_op(op: CatalogOp) -> dict[str, str]:
    """Return what a chat shows of a call of the op: {op, kind, entity?, action?}."""
    described = {"op": op.op, "kind": op.kind, "entity": op.entity, "action": op.action}
    return {name: value for name, value in described.items() if value}
