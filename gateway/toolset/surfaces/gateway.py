"""The gateway surface: the three gateway tools."""

from gateway.contracts import tool_definitions
from gateway.toolset.shown_tools import ShownTool, SurfaceTools, ToolsetRequest
from registry.catalog.model import Catalog

GATEWAY_TOOLS = tuple(map(ShownTool.of_definition, tool_definitions.GATEWAY_TOOLS))


def select_tools(_: Catalog, __: ToolsetRequest) -> SurfaceTools:
    """Return the three gateway tools."""
    return SurfaceTools(GATEWAY_TOOLS)
