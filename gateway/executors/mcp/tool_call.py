"""One call of a tool in a session, and how it ended."""

import logging
from dataclasses import dataclass
from math import isfinite
from typing import Any

import httpx2
import mcp_types
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult, InputRequiredResult
from pydantic import TypeAdapter, ValidationError

from core.http.async_client import AsyncCall, current_call
from core.http.errors import AddressRefused, TooLarge
from gateway.executors.base import ClientSubject
from gateway.executors.mcp import session_pool
from gateway.executors.mcp.definition_check import UnknownProgram
from gateway.executors.mcp.session import McpSession
from gateway.executors.mcp.session_pool import TooManySessions
from gateway.executors.remote.connection_guards import is_failure_status
from registry.catalog import connections
from registry.catalog.connections import ConnectionConfig

log = logging.getLogger(__name__)

# Codes of JSON-RPC that say what is wrong with the call; after all others the server failed, or its session is gone.
NOT_CALLED_STATUSES = frozenset({401, 404})  # other credentials are needed; the session is unknown
CALLERS_CODES = frozenset({mcp_types.INVALID_PARAMS, mcp_types.METHOD_NOT_FOUND})
NOT_OPENED = (UnknownProgram, TooManySessions)  # why no session was opened, for reasons of ours
_RESULT: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(CallToolResult | InputRequiredResult)


@dataclass(slots=True, repr=False)
class McpToolCall:
    """A call of a tool. Exactly one of the last members is set once it has ended, `error` besides others."""

    tool: str
    arguments: dict[str, Any]
    exchange: AsyncCall
    result: CallToolResult | None = None
    error: Exception | None = None  # what the SDK raised
    was_opened: bool = False  # the session was open
    was_called: bool = False  # the tool is defined as it was approved, so that the call itself was begun
    is_changed: bool = False  # the tool's definition differs from the approved one; nothing was called
    is_late: bool = False  # the deadline passed
    needs_input: bool = False  # the server asks its user for input
    progress: dict[str, float] | None = None  # the last progress that the server reported: done and, if known, total

    @property
    def was_sent(self) -> bool:
        """Whether a tool may have got the call."""
        is_refused = self.exchange.status in NOT_CALLED_STATUSES
        return self.was_called and self.exchange.is_sent and not is_refused

    @property
    def is_failure(self) -> bool | None:
        """Whether the server failed; None if the call does not show it."""
        if self.result is not None:
            return False
        is_ours = self.is_changed or self.needs_input or isinstance(self.exchange.error, (AddressRefused, TooLarge))
        if is_ours or isinstance(self.error, NOT_OPENED) or self.is_callers:
            return None
        status = self.exchange.status
        return status < 400 or is_failure_status(status)

    @property
    def is_callers(self) -> bool:
        """Whether the server says that the call is wrong."""
        return isinstance(self.error, MCPError) and self.error.code in CALLERS_CODES and self.was_called

    def may_repeat(self, *, is_write: bool) -> bool:
        """Return whether to send the call again: it did not reach a tool, or a session that was lost held a read."""
        if self.is_changed or self.is_late or self.needs_input or self.is_callers:
            return False
        if self.exchange.status in NOT_CALLED_STATUSES:
            return True
        if isinstance(self.exchange.error, (AddressRefused, TooLarge)) or isinstance(self.error, NOT_OPENED):
            return False
        return self.was_opened and not (is_write and self.was_sent)


async def run(call: McpToolCall, config: ConnectionConfig, owner: ClientSubject | None) -> None:
    """Make the call in the session of its owner, or in the one that all callers share. Runs on the event loop."""
    try:
        async with session_pool.hold_session(config, owner, call.exchange) as session:
            token = current_call.set(call.exchange)
            try:
                await _call_in_session(call, session, config)
            except Exception:
                if not call.is_callers:
                    session.close()  # the server may have forgotten it; the next call opens another one
                raise
            finally:
                current_call.reset(token)
    except Exception as error:
        call.error = error
        if not isinstance(error, (MCPError, httpx2.HTTPError, OSError, *NOT_OPENED)):
            log.info("mcp.call_failed connection=%s error=%s", config.name, type(error).__name__)


async def _call_in_session(call: McpToolCall, session: McpSession, config: ConnectionConfig) -> None:
    call.was_opened = True
    approved = connections.get_connections().approved.get((config.name, call.tool), "")
    if not approved or not await session.lists_definition(call.tool, approved):
        call.is_changed = True
        return
    call.exchange.is_sent, call.exchange.status = config.transport == "stdio", 0
    call.was_called = True
    if run_tool := session.find_runner(call.tool):
        call.result = await run_tool(session.client, call.arguments)
        return
    params = CallToolRequestParams(name=call.tool, arguments=call.arguments)
    # Not `call_tool`, which checks the answer by the tool's output schema: an admin sees what is wrong with it, and the
    # server's answer helps a model more.
    try:
        result = await session.client.session.send_request(
            CallToolRequest(params=params), _RESULT, progress_callback=_follow_progress(call, session)
        )
    except ValidationError as error:
        raise MCPError(mcp_types.INTERNAL_ERROR, "The result does not follow the protocol.") from error
    if isinstance(result, InputRequiredResult):
        call.needs_input = True
    else:
        call.result = result


def _follow_progress(call: McpToolCall, session: McpSession) -> ProgressFnT:
    """Return a callback that keeps the last progress that the server reports, without its message."""

    async def follow(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
        session.count_message()
        told = {"done": progress, "total": total}
        call.progress = {name: value for name, value in told.items() if value is not None and isfinite(value)} or None

    return follow
