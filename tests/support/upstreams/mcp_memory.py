"""MCP servers that keep what a caller stored, in its session or in its program, and tell it to whoever is there."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from mcp_types import CallToolResult

from tests.support.upstreams.mcp_upstream import Context, McpUpstream, build_text, close_sessions

# A server without the SDK, which takes a second to load. The protocol is that of 2025-06-18.
PROGRAM = """
import json, os, sys
kept = ""
schema = {"type": "object", "properties": {"text": {"type": "string"}}}
tools = [{"name": name, "description": f"About {name}.", "inputSchema": schema} for name in ("read", "write")]
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params") or {}
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        server = {"name": "memory", "version": "1"}
        answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
    elif method == "tools/list":
        answer["result"] = {"tools": tools}
    elif method == "tools/call":
        if params["name"] == "write":
            kept = params["arguments"]["text"]
        content = {"kept": kept, "process": os.getpid()}
        answer["result"] = {"content": [], "structuredContent": content}
    else:
        answer["error"] = {"code": -32601, "message": "Unknown method."}
    print(json.dumps(answer), flush=True)
"""


def get_command(folder: Path) -> list[str]:
    """Return the command of a program that keeps what a caller stored."""
    file = folder / "memory_server.py"
    file.write_text(PROGRAM)
    return [sys.executable, str(file)]


@contextmanager
def run_memory_server() -> Iterator[McpUpstream]:
    """Run a server that keeps a text for each Mcp-Session-Id: `write` stores it, `read` returns it."""
    texts: dict[str, str] = {}
    session: ContextVar[str] = ContextVar("session")

    async def note_session(context: Context) -> None:
        session.set(context.request.headers["mcp-session-id"])

    def write(arguments: dict[str, Any]) -> CallToolResult:
        texts[session.get()] = arguments["text"]
        return build_text("Stored.")

    server = McpUpstream(stateless=False)
    server.on_call = note_session
    server.add_tool("write", write)
    server.add_tool("read", lambda _: build_text(texts.get(session.get(), "")))
    try:
        yield server
    finally:
        close_sessions()
        server.stop()
