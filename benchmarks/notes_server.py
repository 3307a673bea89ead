"""The MCP server behind the figures of proxies: python -m benchmarks.notes_server --port PORT.

It answers each message at once, from one event loop, so that what a proxy adds is most of the time. It knows as much of
the protocol as clients of 2025-11-25 need, without sessions.
"""

import asyncio
import json
import sys
from typing import Any

ARGUMENTS = ("-m", "benchmarks.notes_server")
PATH = "/mcp"
TOOL = "get_note"
AUTHOR = "Ana Ruiz"

NOTE = {"id": "n-1", "author": AUTHOR, "text": "Order more pens.", "tags": ["office", "todo"], "pinned": False}
RESULTS: dict[str, dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "notes", "version": "1"},
    },
    "ping": {},
    "tools/list": {
        "tools": [
            {
                "name": TOOL,
                "description": "Get a note.",
                "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
                "annotations": {"readOnlyHint": True},
            }
        ]
    },
    "tools/call": {"content": [{"type": "text", "text": json.dumps(NOTE)}], "structuredContent": NOTE},
}


async def serve(port: int) -> None:
    """Serve on a loopback port until the process ends."""
    server = await asyncio.start_server(_answer, "127.0.0.1", port, backlog=128)
    async with server:
        await server.serve_forever()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            _, _, length = head.partition(b"content-length:")
            body = await reader.readexactly(int(length.split(b"\r\n")[0])) if length else b""
            writer.write(_build_response(head, body))
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def _build_response(head: bytes, body: bytes) -> bytes:
    if not head.startswith(b"post"):
        is_probe = head.startswith(b"get / ")
        return b"HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n" % (b"200 OK" if is_probe else b"405 Method Not Allowed")
    message = json.loads(body)
    if "id" not in message:
        return b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    if (result := RESULTS.get(message["method"])) is None:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    else:
        answer["result"] = result
    text = json.dumps(answer).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[sys.argv.index("--port") + 1])))
