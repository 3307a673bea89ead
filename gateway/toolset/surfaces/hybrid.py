"""The hybrid surface: the three gateway tools, and a few pinned ops as separate tools."""

from analytics.flags import Surface
from gateway.toolset import pinned_ops
from gateway.toolset.shown_tools import SurfaceTools, ToolsetRequest
from gateway.toolset.surfaces.gateway import GATEWAY_TOOLS
from registry.catalog.model import Catalog


def select_tools(catalog: Catalog, request: ToolsetRequest) -> SurfaceTools:
    """Return the gateway tools and the ops pinned for the request's context and model."""
    pinned = pinned_ops.select_pinned_tools(catalog, request, Surface.HYBRID)
    return SurfaceTools((*GATEWAY_TOOLS, *pinned.tools), pinned.left_out)
