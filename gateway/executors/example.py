"""Executor of the example domains: handlers in this process, on files and a database of their own."""

from collections.abc import Mapping
from typing import Any

from gateway.executors.base import BuiltinHandler, UpstreamCall, UpstreamResponse
from gateway.executors.embedded import explain_missing_handler
from registry.catalog.connections import ConnectionConfig, UpstreamTarget

_handlers: Mapping[str, BuiltinHandler[Any]] = {}


def set_handlers(handlers: Mapping[str, BuiltinHandler[Any]]) -> None:
    """Set the handlers of the example domains, by tool name."""
    global _handlers
    _handlers = handlers


class ExampleExecutor:
    """Runs an op with the handler of its tool name.

    Our transaction undoes nothing in a folder or in another database, so writes run as those to a remote upstream: a
    dry run ends after `prepare`, which refuses what `apply` would refuse, and a key is claimed before the write.
    """

    transactional = False
    is_remote = False

    def explain_missing(self, config: ConnectionConfig, target: UpstreamTarget) -> str:
        return explain_missing_handler(config, target, _handlers)

    def prepare(self, work: UpstreamCall) -> Any:
        return _handlers[work.op.tool_name].prepare(work)

    def authorize(self, work: UpstreamCall, prepared: Any) -> Any:
        return prepared

    def apply(self, work: UpstreamCall, prepared: Any) -> UpstreamResponse:
        return _handlers[work.op.tool_name].apply(work, prepared)
