"""Pins: the ops that a surface shows as separate tools, for a context and a family of models."""

from gateway.toolset import shown_ops
from gateway.toolset.shown_ops import TypedTools, resolve_context
from gateway.toolset.shown_tools import ShownTool, SurfaceTools, ToolsetRequest
from registry.catalog.model import Catalog, CatalogOp, CatalogPin
from registry.models.surface_copy import ANY


def select_pinned_tools(catalog: Catalog, request: ToolsetRequest, surface: str) -> SurfaceTools:
    """Return the pinned ops that the caller can run, in the order of the pin, within its budget."""
    pin = find_pin(catalog, request, surface)
    if pin is None:
        return SurfaceTools(())
    view = catalog.view_for(request.visibility)
    ops = [catalog.ops[path] for path in pin.ops if path in view.ops]
    usable, refused = shown_ops.split_refused(catalog, ops)
    chosen: list[CatalogOp] = []
    left_out = [op.tool_name for op in refused]
    tools, tokens_left = TypedTools.of(catalog), pin.max_tokens
    for op in usable:
        if tools[op.op].tokens > tokens_left:
            left_out.append(op.tool_name)
            continue
        chosen.append(op)
        tokens_left -= tools[op.op].tokens
    names = {op.tool_name for op in chosen}
    return SurfaceTools(tuple(ShownTool.of_typed(tools[op.op], names) for op in chosen), tuple(left_out))


def find_pin(catalog: Catalog, request: ToolsetRequest, surface: str) -> CatalogPin | None:
    """Return the pin for a request: one for its context rather than for its model's family, any rather than none."""
    contexts = [request.context.type, resolve_context(request.context.type), ANY]
    pins = {(pin.context, pin.model_family): pin for pin in catalog.pins if pin.surface == surface}
    places = ((context, family) for context in contexts for family in (request.model_family, ANY))
    return next((pins[place] for place in places if place in pins), None)
