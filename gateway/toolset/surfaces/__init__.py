"""What each surface shows the model: its tools, and a prompt from the release."""

from collections.abc import Callable

from analytics.flags import Surface
from gateway.access import surface_names
from gateway.toolset.shown_tools import SurfaceTools, ToolsetRequest
from gateway.toolset.surfaces import discovery, gateway, hybrid, legacy, native
from registry import checks
from registry.catalog.model import Catalog

SELECTORS: dict[str, Callable[[Catalog, ToolsetRequest], SurfaceTools]] = {
    Surface.GATEWAY: gateway.select_tools,
    Surface.HYBRID: hybrid.select_tools,
    Surface.NATIVE: native.select_tools,
    Surface.DISCOVERY: discovery.select_tools,
    Surface.LEGACY: legacy.select_tools,
}


def select_tools(surface: str, catalog: Catalog, request: ToolsetRequest) -> SurfaceTools:
    """Return the tools of a surface for a request."""
    return SELECTORS[surface](catalog, request)


def build_prompt(surface: str, catalog: Catalog, surface_tools: SurfaceTools) -> str:
    """Return the prompt of a surface, without the sections that name a tool not shown with it.

    Publishing refuses names that are never on the surface. Context, key and pins decide which tools are shown.
    """
    hidden_names = {op.tool_name for op in catalog.ops.values()} - {tool.name for tool in surface_tools.tools}
    sections = catalog.prompts.get(f"{surface}_surface", ())
    sections = tuple(
        each for each in sections if not checks.find_names_in_text(f"{each.title} {each.text}", hidden_names)
    )
    prompt = "\n\n".join(f"{section.title}\n{section.text}" for section in sections)
    return surface_names.name_ops_for_surface(prompt, surface, catalog)
