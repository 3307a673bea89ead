"""Sessions with MCP servers: what one end user stores there, no other sees."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.http.async_client import AsyncCall
from gateway.executors.base import ClientSubject
from gateway.executors.mcp.sessions import session as mcp_session
from gateway.executors.mcp.sessions import session_pool
from gateway.executors.mcp.sessions.session_pool import TooManySessions
from registry.catalog import connections
from registry.catalog.connections import ConnectionConfig
from registry.models import Connection
from tests.support.clients.api import Api
from tests.support.servers.processes import eventually
from tests.support.upstreams.mcp_memory import get_command, run_memory_server
from tests.support.upstreams.mcp_upstream import McpUpstream, close_sessions, publish_tools

pytestmark = pytest.mark.usefixtures("background_at_once")

READ, WRITE = "notes.tool.read", "notes.tool.write"


@pytest.fixture
def memory(live_catalog: object) -> Iterator[McpUpstream]:
    """Publish the tools of a server that keeps a text for each session."""
    with run_memory_server() as server:
        publish_tools(server)
        yield server


@pytest.fixture
def callers(live_catalog: object, make_key: Callable[..., str]) -> list[Api]:
    """Two end users of two clients, who have the same names, and the clients themselves."""
    keys = [make_key(subject=""), make_key(subject="")]
    return [Api(key, subject) for key in keys for subject in ("alice", "bob", "")]


def set_connection(**fields: Any) -> None:
    Connection.objects.filter(name="notes").update(**fields)
    connections.clear_connections()


def test_nobody_reads_what_another_stored_in_a_session(memory: McpUpstream, callers: list[Api]) -> None:
    for number, caller in enumerate(callers):
        assert caller.exec(WRITE, {"text": f"secret {number}"})["ok"] is True

    assert [caller.exec(READ)["result"]["text"] for caller in callers] == [f"secret {n}" for n in range(len(callers))]


def test_all_share_a_session_of_a_server_that_keeps_nothing(memory: McpUpstream, callers: list[Api]) -> None:
    set_connection(shares_sessions=True)
    callers[0].exec(WRITE, {"text": "common"})

    assert {caller.exec(READ)["result"]["text"] for caller in callers} == {"common"}


def test_server_that_is_told_the_end_user_is_never_shared(memory: McpUpstream, callers: list[Api]) -> None:
    set_connection(shares_sessions=True, subject_as="header", subject_header="X-User")
    callers[0].exec(WRITE, {"text": "secret"})

    assert callers[1].exec(READ)["result"].get("text", "") == ""


def test_session_ends_when_nobody_uses_it(
    memory: McpUpstream, callers: list[Api], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_session, "IDLE_SECONDS", 0.3)
    callers[0].exec(WRITE, {"text": "secret"})

    eventually(lambda: not session_pool._open, what="the end of the session")

    assert callers[0].exec(READ)["result"].get("text", "") == ""


@pytest.fixture
def program(memory: McpUpstream, settings: Any, tmp_path: Path) -> Iterator[None]:
    """Replace the server with a program that keeps a text."""
    settings.GATEWAY_MCP_COMMANDS = {"memory": get_command(tmp_path)}
    set_connection(transport="stdio", command="memory")
    yield
    close_sessions()


@pytest.mark.usefixtures("program")
def test_end_users_have_programs_of_their_own_and_the_least_used_ends_first(
    callers: list[Api], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_pool, "MAX_PROGRAMS", 2)
    alice, bob, client = callers[:3]

    def read(caller: Api) -> str:
        assert len(session_pool._open) <= 2
        return str(caller.exec(READ)["result"]["kept"])

    for caller, text in ((alice, "of alice"), (bob, "of bob")):
        assert caller.exec(WRITE, {"text": text})["ok"] is True
    assert (read(alice), read(bob), read(alice)) == ("of alice", "of bob", "of alice")
    assert read(client) == ""  # takes the place of bob, who waited longest
    assert (read(alice), read(bob)) == ("of alice", "")


def test_session_that_runs_a_call_is_not_closed_for_another(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_pool, "MAX_PROGRAMS", 1)
    settings.GATEWAY_MCP_COMMANDS = {"memory": get_command(tmp_path)}
    config = ConnectionConfig("notes", "mcp", transport="stdio", command="memory")

    async def hold_two() -> bool:
        async with session_pool.hold_session(config, ClientSubject(1, "alice"), AsyncCall()) as session:
            with pytest.raises(TooManySessions):
                async with session_pool.hold_session(config, ClientSubject(1, "bob"), AsyncCall()):
                    pass
            await asyncio.sleep(0)
            return session.is_open

    try:
        assert session_pool.run_on_loop(hold_two(), seconds=20) is True
    finally:
        close_sessions()
