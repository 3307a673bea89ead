"""Executors, by kind of connection."""

from gateway.contracts.errors import InternalError
from gateway.executors.base import Executor
from gateway.executors.embedded import EmbeddedExecutor
from gateway.executors.example import ExampleExecutor
from registry.catalog import connections
from registry.catalog.model import CatalogOp
from registry.models import Connection

EXECUTORS: dict[str, Executor] = {
    Connection.Kind.EMBEDDED: EmbeddedExecutor(),
    Connection.Kind.EXAMPLE: ExampleExecutor(),
}


def explain_missing(kind: str, connection: str, tool_name: str) -> str:
    """Return what a connection of this kind lacks to run a tool (see Connections.explain_missing); empty if nothing."""
    if kind not in EXECUTORS:
        return f'the connection "{connection}" is of a kind that nothing runs: {kind}'
    return EXECUTORS[kind].explain_missing(connection, tool_name)


def executor_for(op: CatalogOp) -> Executor:
    """Return the executor of an op's connection. Raises InternalError (503 not_connected) if the op cannot run."""
    current = connections.get_connections()
    if missing := current.explain_missing(op.connection, op.tool_name):
        raise InternalError(
            f"{op.op} cannot run: {missing}. Nothing was done; tell the administrator.",
            status=503,
            reason="not_connected",
            help_path=op.op,
        )
    return EXECUTORS[current.kinds[op.connection]]
