"""Twenty end users at once, at a gateway of two workers: what each stored at an MCP server, no other sees."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from registry.catalog import cache
from tests.support.servers.environment import make_key
from tests.support.servers.processes import Server, eventually
from tests.support.servers.stores import Store
from tests.support.upstreams.mcp_memory import run_memory_server
from tests.support.upstreams.mcp_upstream import publish_tools

pytestmark = [
    pytest.mark.server,
    pytest.mark.thorough,
]

SUBJECTS = 20
CALLS = 2_000
READ, WRITE = "notes.tool.read", "notes.tool.write"


def run_op(http: httpx2.Client, op: str, text: str = "") -> dict[str, Any]:
    """Run an op until it is not refused, as it is while the connection has as many calls as it may have."""

    def send() -> dict[str, Any] | None:
        result: dict[str, Any] | None = (
            http.post("/api/v1/exec", json={"op": op, "args": {"text": text}}).json().get("result")
        )
        return result

    return eventually(send, within=60, what=f"a call of {op}")  # type: ignore[return-value]  # it is true, so not None


def test_nobody_sees_what_another_stored(store: Store, serve: Callable[..., Server]) -> None:
    with run_memory_server() as memory:
        cache.refresh_live()
        publish_tools(memory)
        server = serve()
        key = make_key(subject="")

        def call_as(subject: str) -> list[str]:
            """Write and read in turns, and return what was read that is another's."""
            headers = {"Authorization": f"Bearer {key}", "Gateway-Subject": subject}
            with server.client(headers=headers) as http:
                texts = []
                for number in range(CALLS // SUBJECTS // 2):
                    run_op(http, WRITE, f"{subject} {number}")
                    texts.append(run_op(http, READ).get("text", ""))
            return [text for text in texts if text and not text.startswith(f"{subject} ")]

        with ThreadPoolExecutor(SUBJECTS) as pool:
            found = list(pool.map(call_as, [f"subject-{number}" for number in range(SUBJECTS)]))

        assert [text for foreign in found for text in foreign] == []
        assert len(memory.calls) >= CALLS
