"""Runs ops of MCP servers."""

from dataclasses import replace

from gateway.executors.base import UpstreamCall, UpstreamResponse
from gateway.executors.mcp import definition_check
from gateway.executors.mcp.prepared_tool import PreparedTool
from gateway.executors.remote import credentials, secret_redaction
from gateway.executors.remote.credentials import BuiltRequest
from registry.catalog import connections
from registry.catalog.connections import ConnectionConfig, UpstreamTarget


class McpExecutor:
    """Calls the tool of an op at the MCP server of its connection."""

    transactional = False
    is_remote = True

    def explain_missing(self, config: ConnectionConfig, target: UpstreamTarget) -> str:
        return definition_check.explain_missing(config)

    def prepare(self, work: UpstreamCall) -> PreparedTool:
        config = connections.get_connections().by_name[work.op.connection]
        return PreparedTool(
            config,
            tool=work.op.upstream_name or work.op.tool_name,
            arguments=work.args,
            is_write=work.op.is_write,
        )

    def authorize(self, work: UpstreamCall, prepared: PreparedTool) -> PreparedTool:
        # Fetching a token reads and writes rows, so the thread keeps its place.
        if prepared.config.is_program:
            return prepared
        built = BuiltRequest("POST", prepared.config.base_url, dict(prepared.config.headers))
        built = built.with_headers(credentials.build_headers(work, prepared.config))
        signed = credentials.apply_credentials(built, work, prepared.config)
        redactor = secret_redaction.build_redactor(built, signed)
        return replace(prepared, headers=dict(signed.headers), redactor=redactor)

    def apply(self, work: UpstreamCall, prepared: PreparedTool) -> UpstreamResponse:
        # Imported here because the SDK takes most of a second, which every command of manage.py would wait.
        from gateway.executors.mcp import tool_runner

        return tool_runner.run_tool(work, prepared, authorize=lambda: self.authorize(work, prepared))
