"""An embedded upstream with a handler for every tool name. Ops that tests make run through it."""

from collections import defaultdict

from core.handler_contract import EmbeddedUpstream, OpHandler, OpOutcome
from gateway.executors import in_process
from registry.models import Connection, Op

CONNECTION = "any_upstream"


class _AnyTool(defaultdict[str, OpHandler]):
    def __contains__(self, tool_name: object) -> bool:
        return True


def connect() -> None:
    """Add the upstream to this process."""
    handlers = _AnyTool(lambda: OpHandler(apply=lambda _: OpOutcome({"message": "Done."})))
    in_process.add_upstream(EmbeddedUpstream(CONNECTION, handlers))


def get_or_create_connection() -> Connection:
    return Connection.objects.get_or_create(name=CONNECTION)[0]


def connect_ops() -> None:
    """Choose this connection for all ops of the draft that have none, as an admin does after an import."""
    Op.objects.filter(connection=None).update(connection=get_or_create_connection())
