"""Resources: the help on groups and ops, at `gateway://help/<path>`, and the files of the caller."""

from mcp.shared.exceptions import MCPError
from mcp_types import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from gateway.contracts.errors import ErrorCode, GatewayError
from gateway.help import service
from gateway.mcp_server import file_resources
from gateway.mcp_server.caller_source import McpCall
from gateway.mcp_server.errors import build_unknown_error
from gateway.mcp_server.tool_calls import require_scope
from gateway.models import Scope
from registry.models import ROOT

PREFIX = "gateway://help/"
TEMPLATE = f"{PREFIX}{{path}}"
PATH = "path"  # the variable of the template
JSON_TYPE = "application/json"
TTL_MS = 60_000


def list_resources(call: McpCall) -> ListResourcesResult:
    """Return the groups that hold ops of the caller, the root first."""
    catalog = call.load_catalog()
    view = catalog.view_for(call.caller.visibility)
    groups = [ROOT, *sorted(path for path in view.children if path != ROOT)]
    resources = [
        Resource(
            uri=f"{PREFIX}{path}",
            name=path,
            description=catalog.groups.get(path, "") or None,
            mime_type=JSON_TYPE,
        )
        for path in groups
    ]
    return ListResourcesResult(resources=resources, ttl_ms=TTL_MS, cache_scope="private")


def list_templates(_: McpCall) -> ListResourceTemplatesResult:
    """Return the templates under which each group and op, and each file, can be read."""
    template = ResourceTemplate(
        uri_template=TEMPLATE,
        name="help",
        title="Help on a group or an op",
        description="Path of a group or an op, such as those that the groups list",
        mime_type=JSON_TYPE,
    )
    templates = [template, file_resources.TEMPLATE]
    return ListResourceTemplatesResult(resource_templates=templates, ttl_ms=TTL_MS, cache_scope="private")


def read_resource(call: McpCall, uri: str) -> ReadResourceResult:
    """Return the help on a path, or a file. Raises MCPError for what does not exist or the caller cannot see."""
    if uri.startswith(file_resources.PREFIX):
        return file_resources.read_file(call, uri)
    require_scope(call, Scope.HELP)
    if not uri.startswith(PREFIX):
        raise _build_unknown_resource_error(uri, [])
    try:
        answer = service.answer_help(body={"path": uri.removeprefix(PREFIX)}, caller=call.caller, trace=call.trace)
    except GatewayError as error:
        if error.code != ErrorCode.NOT_FOUND:
            raise
        raise _build_unknown_resource_error(uri, error.details.get("did_you_mean", [])) from None
    contents = TextResourceContents(uri=uri, mime_type=JSON_TYPE, text=answer.body.decode())
    return ReadResourceResult(contents=[contents], ttl_ms=TTL_MS, cache_scope="private")


def _build_unknown_resource_error(uri: str, close_paths: list[str]) -> MCPError:
    return build_unknown_error("resource", uri, [f"{PREFIX}{path}" for path in close_paths], field="uri")
