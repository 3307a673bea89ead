"""Sessions with MCP servers: one for each connection, client and end user.

All callers share one session only if an admin has said that the server stores nothing about them. A session ends after
five minutes without a call. If there are too many, the one used longest ago is closed; one that runs a call never is.
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from core.http.async_client import AsyncCall, current_call
from gateway.executors.base import ClientSubject
from gateway.executors.mcp.sessions.session import McpSession
from registry.catalog.connections import ConnectionConfig

MAX_PROGRAMS = 20
MAX_SESSIONS = 500  # over HTTP; each has a connection to its server while it is used
Key = tuple[str, ClientSubject | None]  # connection and owner; None if all callers share the session
_sessions: dict[Key, McpSession] = {}  # only the event loop uses it
_open: set[McpSession] = set()  # also those that are closing
T = TypeVar("T")
GRACE_SECONDS = 1.0  # for a coroutine to end after it was cancelled
_loops: dict[int, asyncio.AbstractEventLoop] = {}  # by process id: a fork has no threads
_lock = threading.Lock()


class TooManySessions(Exception):
    """The limit of open sessions is reached, and all of them run calls."""


@asynccontextmanager
async def hold_session(
    config: ConnectionConfig, owner: ClientSubject | None, call: AsyncCall
) -> AsyncIterator[McpSession]:
    """Hold an open session, which is opened if there is none. Raises TooManySessions, or what the SDK raises.

    If it is opened, the handshake has the headers of `call`. Runs on the event loop.
    """
    session = await _find_session(config, owner, call)
    with session.run_call():
        try:
            await session.wait_until_open()
        except Exception:
            call.status, call.answer_headers, call.error = (
                session.opening.status,
                session.opening.answer_headers,
                session.opening.error,
            )
            raise
        yield session


def open_session(config: ConnectionConfig, call: AsyncCall) -> McpSession:
    """Return a new session, whose handshake has the headers of a call."""
    opening = AsyncCall(headers=call.headers, max_bytes=call.max_bytes)
    token = current_call.set(opening)  # the tasks of the session inherit it
    try:
        return McpSession(config, opening)
    finally:
        current_call.reset(token)


async def close_all() -> None:
    """Close all sessions, and with them the programs that were started."""
    sessions = list(_open)
    for session in sessions:
        session.close()
    await asyncio.gather(*(session.wait_until_closed() for session in sessions), return_exceptions=True)


async def _find_session(config: ConnectionConfig, owner: ClientSubject | None, call: AsyncCall) -> McpSession:
    key = config.name, owner
    while True:
        session = _sessions.get(key)
        if session is not None and session.is_open and session.config == config:
            return session
        if session is not None:
            session.close()
        if (closing := _make_room(is_program=config.is_program)) is not None:
            await closing.wait_until_closed()
            continue  # in the meantime another call may have opened the session, or taken the place
        session = _sessions[key] = open_session(config, call)
        _open.add(session)
        session.add_close_callback(lambda closed: _forget(key, closed))
        return session


def _make_room(*, is_program: bool) -> McpSession | None:
    """Close the session used longest ago if there are too many. Return a program that must end first, if any.

    Raises TooManySessions if all of them run calls.
    """
    sessions = [each for each in _open if each.config.is_program == is_program and (is_program or each.is_open)]
    if len(sessions) < (MAX_PROGRAMS if is_program else MAX_SESSIONS):
        return None
    closing = next((each for each in sessions if not each.is_open), None)
    if closing is None:
        idle = [each for each in sessions if not each.is_running]
        if not idle:
            raise TooManySessions
        closing = min(idle, key=lambda each: each.used_at)
        closing.close()
    return closing if is_program else None


def _forget(key: Key, session: McpSession) -> None:
    _open.discard(session)
    if _sessions.get(key) is session:
        del _sessions[key]


def run_on_loop(coroutine: Coroutine[Any, Any, T], *, seconds: float) -> T:
    """Run a coroutine on the loop and return its result; the thread waits. Raises TimeoutError.

    After `seconds` it is cancelled. Context variables of the caller are visible to it.
    """
    future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine, max(seconds, 0)), get_loop())
    try:
        return future.result(max(seconds, 0) + GRACE_SECONDS)
    except (FutureTimeout, CancelledError):
        future.cancel()
        raise TimeoutError from None


def get_loop() -> asyncio.AbstractEventLoop:
    """Return the loop of this process, started on first use."""
    with _lock:
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="event-loop", daemon=True).start()
        return loop
