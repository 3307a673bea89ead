"""The tools that a client lists, with MCP's hints and words that begin with "Use when".

Clients that load tools only when they seem needed choose them by these words. Without them a server with three tools
goes unnoticed, because the names of its ops are nowhere in the list.
"""

from typing import Any

from django.utils import timezone
from mcp_types import ListToolsResult, Tool, ToolAnnotations

from analytics.flags import Surface
from analytics.rollout import assignment, exposures
from gateway.contracts import tool_definitions
from gateway.mcp_server.caller_source import McpCall
from gateway.toolset import surfaces
from gateway.toolset.shown_tools import ShownTool, ToolsetRequest
from registry.catalog.model import Catalog, CatalogOp, Visibility
from registry.models import ROOT

MAX_PURPOSE_LENGTH = 600  # characters
MAX_BYTES = 2000  # of instructions; clients cut longer ones

# What a gateway tool is for; {purpose} is what the caller's ops are about. Tools of the discovery surface say it
# themselves.
BY_TOOL = {
    "tool_help": "Use when a request concerns {purpose}.",
    "tool_exec": "Use when you know which op does what the user wants.",
    "tool_batch": "Use when several calls do not need to see each other's answers first.",
}
DISCOVERY = "Use when a request concerns this: {purpose}. Lists the tools for it and describes them."
MAX_CACHED_LISTS = 100  # cached per catalog
TTL_MS = 60_000  # how long a client can use a list: about as long as a rollback may go unnoticed

# Clients that load tools only when a search finds them would not notice three tools that say little about what they can
# reach.
ALWAYS_LOADED = {"anthropic/alwaysLoad": True}
ADDITIVE_ACTIONS = frozenset({"create", "link"})  # all other writes may change or remove existing data
_OBJECT = {"type": "object"}
ENVELOPE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "op": {"type": ["string", "null"]},
        "ok": {"type": "boolean"},
        "result": _OBJECT,
        "error": _OBJECT,
        "meta": _OBJECT,
    },
    "required": ["ok", "meta"],
}
BATCH_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "ok": {"type": "boolean"},
        "results": {"type": "array", "items": _OBJECT},
        "summary": _OBJECT,
        "meta": _OBJECT,
    },
    "required": ["ok", "meta"],
}
_OUTPUT_SCHEMAS = {
    tool_definitions.EXEC_TOOL["name"]: ENVELOPE_SCHEMA,
    tool_definitions.BATCH_TOOL["name"]: BATCH_SCHEMA,
}
_READ = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_MAY_DESTROY = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False)


def describe_groups(catalog: Catalog, visibility: Visibility) -> str:
    """Return what the ops of a caller are about: the top-level groups that fit, with their summaries."""
    groups = [path for path in catalog.view_for(visibility).children.get(ROOT, ()) if path in catalog.groups]
    summaries = (f"{catalog.groups[path] or path} ({path})" for path in groups)
    text = ""
    for summary in summaries:
        longer = f"{text}; {summary}" if text else summary
        if len(longer) > MAX_PURPOSE_LENGTH:
            break
        text = longer
    return text or "what its tools can do"


def build_instructions(purpose: str, prompt: str) -> str:
    """Return the instructions of the server: when to use it, then as many paragraphs of the prompt as fit."""
    text = f"Use when a request concerns {purpose}."
    for paragraph in prompt.split("\n\n"):
        longer = f"{text}\n\n{paragraph}"
        if len(longer.encode()) > MAX_BYTES:
            break
        text = longer
    return text


def list_tools(call: McpCall) -> ListToolsResult:
    """Return the tools of the caller's surface, always in the same order. Records the exposure to the flags' choice."""
    catalog = call.load_catalog()
    if call.in_cohorts:
        _, outcomes = assignment.evaluate_flags(call.caller.evaluation_context)
        caller = call.caller
        exposures.record_exposures(outcomes, subject=caller.subject, source=caller.key.prefix, at=timezone.now())
    lists = catalog.get_or_derive(_ToolLists, _ToolLists)
    key = (_get_surface(call), ToolsetRequest.of_caller(call.caller))
    tools = lists.get(key)  # one lookup: another thread may clear the cache at any time
    if tools is None:
        if len(lists) >= MAX_CACHED_LISTS:
            lists.clear()
        purpose = describe_groups(catalog, call.caller.visibility)
        tools = lists[key] = [_to_mcp_tool(tool, purpose) for tool in choose_tools(call, catalog)]
    return ListToolsResult(tools=tools, ttl_ms=TTL_MS, cache_scope="private")


def choose_tools(call: McpCall, catalog: Catalog) -> tuple[ShownTool, ...]:
    """Return the tools of the caller's surface. MCP has no tool search, so `native` shows what `gateway` does."""
    return surfaces.select_tools(_get_surface(call), catalog, ToolsetRequest.of_caller(call.caller)).tools


def build_prompt(call: McpCall, catalog: Catalog) -> str:
    """Return the prompt of the caller's surface."""
    surface, request = _get_surface(call), ToolsetRequest.of_caller(call.caller)
    return surfaces.build_prompt(surface, catalog, surfaces.select_tools(surface, catalog, request))


class _ToolLists(dict[Any, list[Tool]]):
    """Lists of tools of one catalog, by all they depend on."""


def _get_surface(call: McpCall) -> str:
    surface = call.caller.routing.surface
    return Surface.GATEWAY if surface == Surface.NATIVE else surface


def _to_mcp_tool(tool: ShownTool, purpose: str) -> Tool:
    if tool.op is not None:
        return Tool(
            name=tool.name,
            description=tool.description,
            input_schema=tool.parameters,
            output_schema=ENVELOPE_SCHEMA,
            annotations=_annotate_op(tool.op),
        )
    return Tool(
        name=tool.name,
        description=_describe_use(tool, purpose),
        input_schema=tool.parameters,
        output_schema=_OUTPUT_SCHEMAS.get(tool.name, _OBJECT),
        annotations=_MAY_DESTROY if tool.name in _OUTPUT_SCHEMAS else _READ,
        _meta=ALWAYS_LOADED,
    )


def _describe_use(tool: ShownTool, purpose: str) -> str:
    if (use_case := BY_TOOL.get(tool.name)) is None:
        return DISCOVERY.format(purpose=tool.description.rstrip("."))
    return f"{use_case.format(purpose=purpose)} {tool.description}"


def _annotate_op(op: CatalogOp) -> ToolAnnotations:
    """Return what clients can tell a user about an op before it runs."""
    if not op.is_write:
        return ToolAnnotations(read_only_hint=True)
    is_destructive = op.confirm or op.action not in ADDITIVE_ACTIONS
    return ToolAnnotations(read_only_hint=False, destructive_hint=is_destructive, idempotent_hint=op.action == "update")
