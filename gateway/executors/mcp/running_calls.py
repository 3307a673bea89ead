"""Calls that run on the event loop, and how a thread follows one: its progress, its question, its end."""

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from mcp.shared.exceptions import MCPError

from core.database.deadlines import Deadline
from gateway.contracts.user_questions import UserAnswer
from gateway.executors.base import CallWatcher, ClientSubject
from gateway.executors.mcp import tool_call
from gateway.executors.mcp.sessions import session_pool
from gateway.executors.mcp.tool_call import McpToolCall
from gateway.executors.remote.secret_redaction import NO_SECRETS, Redactor
from registry.catalog.connections import ConnectionConfig

WATCH_SECONDS = 1.0  # between two looks at a running call, for its watcher
GRACE_SECONDS = 1.0  # for a call to end after it was cancelled


@dataclass(frozen=True, slots=True, repr=False)
class RunningCall:
    """A call on the event loop."""

    call: McpToolCall
    future: Future[None]

    def wait(self, deadline: Deadline, watcher: CallWatcher | None, redactor: Redactor = NO_SECRETS) -> None:
        """Return once the call has ended, waits for its user, is late or is cancelled."""
        self.future.add_done_callback(lambda _: self.call.changed.set())
        shown: dict[str, Any] = {}
        next_look = time.monotonic() + WATCH_SECONDS
        while not self.future.done() and not self.call.is_waiting:
            now = time.monotonic()
            if now >= deadline.at:
                self.call.is_late = True
                self._stop()
            elif watcher is not None and now >= next_look:
                next_look = now + WATCH_SECONDS
                if watcher.is_cancelled():
                    self.call.is_cancelled = True
                    self._stop()
                elif (progress := self._describe(redactor)) != shown:
                    watcher.show_progress(progress)
                    shown = progress
            else:
                self.call.changed.wait((deadline.at if watcher is None else min(deadline.at, next_look)) - now)
                self.call.changed.clear()

    def answer(self, given: Mapping[str, UserAnswer]) -> None:
        """Give a call that waits the answers of its user, by the names of the questions."""
        asyncio.run_coroutine_threadsafe(self._answer(given), session_pool.get_loop()).result(GRACE_SECONDS)

    async def _answer(self, given: Mapping[str, UserAnswer]) -> None:
        self.call.answer(given)

    def describe_outcome(self) -> dict[str, Any]:
        """Return how the call ended or what it asks, as JSON, for another process."""
        call = self.call
        outcome: dict[str, Any] = {
            "is_late": call.is_late,
            "is_changed": call.is_changed,
            "progress": call.progress,
            "unsupported": call.unsupported,
        }
        if call.is_waiting:
            outcome["questions"] = {name: question.as_dict() for name, question in call.questions.items()}
        elif call.result is not None:
            outcome["result"] = call.result.model_dump(by_alias=True, mode="json", exclude_none=True)
        elif isinstance(call.error, MCPError):
            outcome["error"] = [call.error.code, call.error.message]
        return outcome

    def _stop(self) -> None:
        """Cancel the call, which tells its server."""
        self.future.cancel()

    def _describe(self, redactor: Redactor) -> dict[str, Any]:
        message = {"message": redactor.redact_text(self.call.message)} if self.call.message else {}
        return {**(self.call.progress or {}), **message}


def start_call(call: McpToolCall, config: ConnectionConfig, owner: ClientSubject | None) -> RunningCall:
    """Start a call on the event loop. It goes on if no thread waits for it."""
    coroutine = tool_call.run(call, config, owner)
    return RunningCall(call, asyncio.run_coroutine_threadsafe(coroutine, session_pool.get_loop()))
