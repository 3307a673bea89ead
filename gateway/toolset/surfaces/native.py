"""The native surface: our search behind the provider's own tool search, which loads the tools that it finds.

The prompt stays the same while tools are loaded, so that providers keep it cached.
"""

from gateway.contracts import tool_definitions
from gateway.toolset import shown_ops
from gateway.toolset.shown_ops import TypedTools
from gateway.toolset.shown_tools import ShownTool, SurfaceTools, ToolsetRequest
from registry.catalog.model import Catalog, CatalogOp

_SEARCH = tool_definitions.SEARCH_TOOL
SEARCH_TOOL = ShownTool(_SEARCH["name"], _SEARCH["description"], _SEARCH["parameters"], is_search=True)


def select_tools(catalog: Catalog, request: ToolsetRequest) -> SurfaceTools:
    """Return the search, and every op that the caller may run as a tool that the provider shows once it is found."""
    view = catalog.view_for(request.visibility)
    usable, refused = shown_ops.split_refused(catalog, (catalog.ops[path] for path in sorted(view.ops)))
    deferred = [build_deferred_tool(catalog, op) for op in usable]
    return SurfaceTools((SEARCH_TOOL, *deferred), tuple(op.tool_name for op in refused))


def build_deferred_tool(catalog: Catalog, op: CatalogOp) -> ShownTool:
    """Return an op as a tool that a search loads."""
    return ShownTool.of_deferred(TypedTools.of(catalog)[op.op])
