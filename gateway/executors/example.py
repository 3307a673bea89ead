"""Executor of the example domains: handlers in this process, on files and a database of their own."""

from collections.abc import Mapping
from typing import Any

from gateway.executors.base import BuiltinHandler, UpstreamCall, UpstreamResponse

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

    def explain_missing(self, connection: str, tool_name: str) -> str:
        if tool_name in _handlers:
            return ""
        return f'the connection "{connection}" has no handler for the tool "{tool_name}"'

    def prepare(self, work: UpstreamCall) -> Any:
        return _handlers[work.op.tool_name].prepare(work)

    def apply(self, work: UpstreamCall, prepared: Any) -> UpstreamResponse:
        return _handlers[work.op.tool_name].apply(work, prepared)
