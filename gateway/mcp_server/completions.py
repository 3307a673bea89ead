"""Complete the path of a group or an op, for clients in which a person picks a resource."""

from mcp_types import CompleteRequestParams, CompleteResult, Completion, ResourceTemplateReference

from gateway.mcp_server import resources
from gateway.mcp_server.caller_source import McpCall
from registry.models import ROOT

MAX_VALUES = 100  # that a result of MCP may have


def complete(call: McpCall, params: CompleteRequestParams) -> CompleteResult:
    """Return the paths that begin with what was typed, then those that contain it."""
    is_path = isinstance(params.ref, ResourceTemplateReference) and params.ref.uri == resources.TEMPLATE
    if not is_path or params.argument.name != resources.PATH:
        return CompleteResult(completion=Completion(values=[], total=0, has_more=False))
    typed = params.argument.value
    view = call.load_catalog().view_for(call.caller.visibility)
    paths = [path for path in sorted({*view.children, *view.ops} - {ROOT}) if typed in path]
    paths.sort(key=lambda path: not path.startswith(typed))
    values = paths[:MAX_VALUES]
    return CompleteResult(completion=Completion(values=values, total=len(paths), has_more=len(paths) > len(values)))
