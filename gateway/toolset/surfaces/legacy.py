"""The legacy surface: the ops of the user's context as separate tools."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from gateway.toolset import shown_ops
from gateway.toolset.shown_ops import MAX_TOOLS
from gateway.toolset.shown_tools import ShownTool, SurfaceTools, ToolsetRequest
from registry.catalog.model import Catalog, CatalogOp


def select_tools(catalog: Catalog, request: ToolsetRequest) -> SurfaceTools:
    """Return the tools of the request's context that the caller may run."""
    return show_ops(catalog, list_static_ops(catalog, request))


def list_static_ops(catalog: Catalog, request: ToolsetRequest) -> list[CatalogOp]:
    """Return the ops of the request's context that the caller may run."""
    view = catalog.view_for(request.visibility)
    return [op for op in shown_ops.list_context_ops(catalog, request.context.type) if op.op in view.ops]


def show_ops(catalog: Catalog, ops: Sequence[CatalogOp], *, brief: Collection[str] = ()) -> SurfaceTools:
    """Return ops as tools, as many as providers accept; those named in `brief` with their brief definitions."""
    usable, refused = shown_ops.split_refused(catalog, ops)
    tools = shown_ops.TypedTools.of(catalog)
    names = {op.tool_name for op in usable[:MAX_TOOLS]}
    shown = tuple(
        ShownTool.of_brief(tools[op.op]) if op.tool_name in brief else ShownTool.of_typed(tools[op.op], names)
        for op in usable[:MAX_TOOLS]
    )
    if len({op.connection for op in catalog.ops.values() if op.is_of_service}) > 1:
        shown = tuple(map(_name_service, shown))
    return SurfaceTools(shown, tuple(op.tool_name for op in (*refused, *usable[MAX_TOOLS:])))


def _name_service(tool: ShownTool) -> ShownTool:
    """Return the tool with its service in its description: where several are connected, names alone do not say it."""
    if tool.op is None or not tool.op.is_of_service:
        return tool
    return replace(tool, description=f"{tool.op.connection}: {tool.description}")
