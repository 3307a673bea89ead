"""Where the handlers of MCP learn who calls: from the headers of a request, or from the options of mcp_stdio."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from gateway.access import release_routing
from gateway.access.request_context import Caller
from gateway.contracts.envelopes import Trace
from gateway.contracts.user_questions import UserAnswer
from gateway.executors.base import CallWatcher
from registry.catalog.model import Catalog

T = TypeVar("T")

SOURCE = "mcp"  # of operation events


@dataclass(frozen=True, slots=True)
class McpCall:
    """One message of a client, with its caller and its trace. `in_cohorts`: the flags chose its surface and release."""

    caller: Caller
    trace: Trace
    in_cohorts: bool = True
    watcher: CallWatcher | None = None  # of a client that is told how the call goes on
    answers: Mapping[str, UserAnswer] = field(default_factory=dict)  # that a client sends with a new call

    def load_catalog(self) -> Catalog:
        """Return the release that serves the call, and record it. Raises GatewayError, cache.NoLiveRelease."""
        catalog = release_routing.get_catalog(self.caller.routing)
        self.trace.release = catalog.version
        return catalog


class CallerSource(Protocol):
    """Checks each message as the API checks a request, and runs the gateway's synchronous code.

    `can_report`: the client is told how a call goes on, since its connection stays open.
    """

    can_report: bool

    def open_call(self) -> McpCall:
        """Return the call of a message. Raises GatewayError over the limit, or for headers that are refused."""
        ...

    def open_unchecked(self) -> McpCall:
        """Return the call of a message that was refused: who sent it, if that is known."""
        ...

    def check_arguments(self, arguments: dict[str, Any]) -> None:
        """Raise InvalidRequestError for values that strict JSON does not have, if the message was not checked yet."""
        ...

    def run(self, function: Callable[[], T]) -> Awaitable[T]:
        """Run synchronous code of the gateway from a handler of the SDK."""
        ...
