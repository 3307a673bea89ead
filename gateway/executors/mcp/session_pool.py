"""The sessions of this process: one for each connection, or one for each end user whose own credentials it takes."""

import asyncio
import time
from typing import Any

from core.http.async_client import AsyncCall, current_call
from gateway.executors.mcp.session import McpSession
from registry.catalog.connections import ConnectionConfig

IDLE_SECONDS = 300.0
MAX_SESSIONS = 64

Key = tuple[str, str]  # connection and subject; no subject if all users share the session

_sessions: dict[Key, McpSession] = {}  # only the event loop uses it


async def get_session(config: ConnectionConfig, subject: str, call: AsyncCall) -> McpSession:
    """Return an open session, which is opened if there is none. Raises what the SDK raises if that fails.

    If it is opened, the handshake has the headers of `call`. Runs on the event loop.
    """
    session = _sessions.get((config.name, subject))
    if session is None or not session.is_open or session.config != config:
        _close_idle()
        if session is not None:
            session.close()
        session = _sessions[config.name, subject] = open_session(config, call)
    session.used_at = time.monotonic()
    try:
        await session.wait_until_open()
    except Exception:
        call.status, call.answer_headers, call.error = (
            session.opening.status,
            session.opening.answer_headers,
            session.opening.error,
        )
        raise
    return session


def open_session(config: ConnectionConfig, call: AsyncCall) -> McpSession:
    """Return a new session, whose handshake has the headers of a call."""
    opening = AsyncCall(headers=call.headers, max_bytes=call.max_bytes)
    token = current_call.set(opening)  # the tasks of the session inherit it
    try:
        return McpSession(config, opening)
    finally:
        current_call.reset(token)


def drop(session: McpSession) -> None:
    """Close a session that the server has forgotten, so that the next call opens another one."""
    session.close()
    for key in [key for key, each in _sessions.items() if each is session]:
        del _sessions[key]


async def close_all() -> None:
    """Close all sessions, and with them the programs that were started."""
    sessions = list(_sessions.values())
    _sessions.clear()
    for session in sessions:
        session.close()
    await asyncio.gather(*(session.wait_until_closed() for session in sessions), return_exceptions=True)


def _close_idle() -> None:
    """Close sessions that nobody uses, and the one used longest ago if there are too many."""
    by_use: list[tuple[Key, Any]] = sorted(_sessions.items(), key=lambda item: item[1].used_at)
    surplus = len(by_use) - MAX_SESSIONS + 1
    for at, (key, session) in enumerate(by_use):
        if at < surplus or session.used_at < time.monotonic() - IDLE_SECONDS or not session.is_open:
            session.close()
            del _sessions[key]
