"""Executors, by kind of connection."""

from gateway.contracts.errors import InternalError
from gateway.executors.base import Executor
from gateway.executors.embedded import EmbeddedExecutor
from registry.catalog import connections
from registry.catalog.model import CatalogOp
from registry.models import Connection

EXECUTORS: dict[str, Executor] = {Connection.Kind.EMBEDDED: EmbeddedExecutor()}


def executor_for(op: CatalogOp) -> Executor:
    """Return the executor of an op's connection. Raises InternalError (503 not_connected)."""
    kind = connections.get_kind(op.connection) if op.connection else None
    if kind is None or kind not in EXECUTORS:
        raise InternalError(
            f"{op.op} has no connection that can run it; tell the administrator.",
            status=503,
            reason="not_connected",
            help_path=op.op,
        )
    return EXECUTORS[kind]
