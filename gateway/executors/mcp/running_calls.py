"""Calls that run on the event loop while a thread waits for them, and calls that wait for the user meanwhile.

A program asks its user while the call runs, so the call waits in the process that started the program. Its question is
answered minutes later, by another thread and perhaps in another process. That process leaves the answer in the row of
the question, and this one takes it from there.
"""

import asyncio
import secrets
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from core.database.deadlines import Deadline
from gateway.contracts.user_questions import UserAnswer
from gateway.executors.base import CallWatcher, ClientSubject
from gateway.executors.mcp import session_pool, tool_call
from gateway.executors.mcp.tool_call import McpToolCall
from gateway.executors.remote.secret_redaction import NO_SECRETS, Redactor
from registry.catalog.connections import ConnectionConfig

WATCH_SECONDS = 1.0  # between two looks at a running call, for its watcher
GRACE_SECONDS = 1.0  # for a call to end after it was cancelled
_waiting: dict[str, "RunningCall"] = {}  # by their ids
_lock = threading.Lock()


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

    def answer(self, given: UserAnswer) -> None:
        """Give a call that waits the answer of its user."""
        asyncio.run_coroutine_threadsafe(self._answer(given), session_pool.get_loop()).result(GRACE_SECONDS)

    async def _answer(self, given: UserAnswer) -> None:
        self.call.answer(given)

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


def keep_waiting(running: RunningCall) -> str:
    """Keep a call that waits for its user, until it ends. Return its id, which only who answers it may learn."""
    id = secrets.token_urlsafe(24)
    with _lock:
        _waiting[id] = running
    running.future.add_done_callback(lambda _: _forget(id))
    return id


def take_waiting(id: str) -> RunningCall | None:
    """Return a call that waits in this process, and no longer keep it; None if it is elsewhere, or has ended."""
    with _lock:
        return _waiting.pop(id, None)


def list_waiting() -> list[str]:
    """Return the ids of the calls that wait in this process."""
    with _lock:
        return list(_waiting)


def _forget(id: str) -> None:
    with _lock:
        _waiting.pop(id, None)
