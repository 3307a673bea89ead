"""Executors: one for each kind of remote connection, and one for each upstream in this process."""

from gateway.contracts.errors import InternalError
from gateway.executors import in_process
from gateway.executors.base import Executor
from gateway.executors.http.executor import HttpExecutor
from gateway.executors.mcp.executor import McpExecutor
from registry.catalog import connections
from registry.catalog.connections import ConnectionConfig, UpstreamTarget
from registry.catalog.model import CatalogOp
from registry.imports.mcp_import import McpListing
from registry.models import Connection

# Of remote connections, by kind.
EXECUTORS: dict[str, Executor] = {
    Connection.Kind.HTTP: HttpExecutor(),
    Connection.Kind.MCP: McpExecutor(),
}


def explain_missing(config: ConnectionConfig, target: UpstreamTarget) -> str:
    """Return what a connection lacks to run an op (see Connections.explain_missing); empty if nothing."""
    executor = _find_executor(config)
    if executor is None:
        return f'the connection "{config.name}" is of an unsupported kind: {config.kind}'
    return executor.explain_missing(config, target)


def list_mcp_server(connection: Connection) -> McpListing:
    """Return what the MCP server of a connection offers. Raises UnreadableDocument."""
    # Imported here because the SDK takes most of a second, which every command of manage.py would wait.
    from gateway.executors.mcp import listing

    return listing.list_server(connection)


def executor_for(op: CatalogOp) -> Executor:
    """Return the executor of an op's connection. Raises InternalError (503 not_connected) if the op cannot run."""
    current = connections.get_connections()
    if missing := current.explain_missing(op.target):
        raise InternalError(
            f"{op.op} cannot run: {missing}. Nothing was done; tell the administrator.",
            status=503,
            reason="not_connected",
            help_path=op.op,
        )
    executor = _find_executor(current.by_name[op.connection])
    assert executor is not None  # noqa: S101 - explain_missing has checked it
    return executor


def _find_executor(config: ConnectionConfig) -> Executor | None:
    if config.kind in in_process.KINDS:
        return in_process.get_executor(config.name)
    return EXECUTORS.get(config.kind)
