"""The discovery surface: a discovery tool for each domain, one for agents, tool_exec, and pinned ops."""

from typing import Any

from analytics.flags import Surface
from gateway.access import surface_names
from gateway.contracts import tool_definitions
from gateway.toolset import pinned_ops
from gateway.toolset.shown_tools import ShownTool, SurfaceTools, ToolsetRequest
from registry.catalog.model import Catalog
from registry.help import answers, discovery_pages
from registry.snapshot.copy_kinds import AGENTS_PATH

_TEXT = {"type": "string"}
# As short as possible: every discovery tool repeats them, and the prompt explains how to use them.
_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {"query": _TEXT, "tool": _TEXT, "parameter": _TEXT}}
_AGENT_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {"agent": _TEXT}}


def select_tools(catalog: Catalog, request: ToolsetRequest) -> SurfaceTools:
    """Return the discovery tools of domains in which the caller can run something, tool_exec and pinned ops."""
    tools = [
        ShownTool(
            domain.name,
            surface_names.name_ops_for_surface(domain.summary, Surface.DISCOVERY, catalog),
            _PARAMETERS,
        )
        for domain in discovery_pages.list_domains(catalog, request.visibility)
    ]
    if answers.can_run_agents(catalog, request.visibility):
        summary = catalog.groups.get(AGENTS_PATH, "Agents")
        tools.append(ShownTool(discovery_pages.DISCOVER_AGENTS, summary, _AGENT_PARAMETERS))
    tools.append(ShownTool.of_definition(tool_definitions.DISCOVERY_EXEC_TOOL))
    pinned = pinned_ops.select_pinned_tools(catalog, request, Surface.DISCOVERY)
    return SurfaceTools((*tools, *pinned.tools), pinned.left_out)
