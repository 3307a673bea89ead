"""An MCP server that is written out: it can list and answer what the SDK would refuse to send."""

from typing import Any

import orjson

from tests.support.upstreams.http_servers import Server, build_response

VERSION = "2025-06-18"


class RawMcpServer:
    """Answers JSON over streamable HTTP. `pages` are its lists by cursor, `results` what its tools answer, as bytes."""

    path = "/mcp"

    def __init__(self, *tools: dict[str, Any]) -> None:
        self.pages: dict[str | None, dict[str, Any]] = {None: {"tools": list(tools)}}
        self.results: dict[str, bytes] = {}
        self.calls: list[str] = []
        self.server = Server(self._answer)

    @property
    def url(self) -> str:
        return self.server.url(self.path)

    def list_definitions(self) -> list[dict[str, Any]]:
        """Return the tools that follow the protocol, as `publish_tools` wants them."""
        tools = [tool for page in self.pages.values() for tool in page["tools"]]
        return [tool for tool in tools if isinstance(tool.get("inputSchema"), dict)]

    def _answer(self, request: bytes) -> bytes:
        head, _, body = request.partition(b"\r\n\r\n")
        if not head.startswith(b"POST"):
            return build_response(b"", "405 Method Not Allowed")
        message = orjson.loads(body)
        if "id" not in message:
            return build_response(b"", "202 Accepted")
        result = self._build_result(message["method"], message.get("params") or {})
        id = orjson.dumps(message["id"])
        if result is None:
            error = b'{"code": -32601, "message": "No such method"}'
            return build_json_rpc(b'{"jsonrpc": "2.0", "id": %b, "error": %b}' % (id, error))
        return build_json_rpc(b'{"jsonrpc": "2.0", "id": %b, "result": %b}' % (id, result))

    def _build_result(self, method: str, params: dict[str, Any]) -> bytes | None:
        if method == "initialize":
            info = {"name": "raw", "version": "1"}
            return orjson.dumps({"protocolVersion": VERSION, "capabilities": {"tools": {}}, "serverInfo": info})
        if method == "tools/list":
            return orjson.dumps(self.pages[params.get("cursor")])
        if method == "tools/call":
            self.calls.append(params["name"])
            return self.results[params["name"]]
        return None


def build_json_rpc(message: bytes) -> bytes:
    """Return a response with one message."""
    return build_response(message, Content_Type="application/json")
