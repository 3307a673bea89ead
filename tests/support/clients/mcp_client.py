"""A client of /mcp for tests in this process: it writes messages as both generations of the protocol do."""

import json
from itertools import count
from typing import Any

from django.http import HttpResponse

from tests.support.clients.api import Api

MODERN, LEGACY = "2026-07-28", "2025-11-25"
ACCEPT = "application/json, text/event-stream"
FORM_CAPABILITY = {"elicitation": {"form": {}}}

_ids = count(1)


class McpClient:
    """Sends messages with the key and the subject of an API client, in one version of the protocol."""

    def __init__(self, api: Api, version: str = MODERN, capabilities: dict[str, Any] | None = None) -> None:
        self.api, self.version, self.capabilities = api, version, capabilities or {}

    def send(self, method: str, params: dict[str, Any] | None = None, **headers: str) -> HttpResponse:
        """Send one message and return the response. Header names may have underscores."""
        params = dict(params or {})
        sent = self.api.headers | {"Accept": ACCEPT, "MCP-Protocol-Version": self.version}
        if self.version == MODERN:
            sent["Mcp-Method"] = method
            if name := params.get("name") or params.get("uri"):
                sent["Mcp-Name"] = name
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": self.version,
                "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            }
        message = {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": params}
        return self.post(message, **sent | {name.replace("_", "-"): value for name, value in headers.items()})

    def post(self, message: Any, **headers: str) -> HttpResponse:
        """Send a body with these headers only."""
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.api.http.generic("POST", "/mcp", raw, "application/json", headers=headers)

    def ask(self, method: str, params: dict[str, Any] | None = None, **headers: str) -> dict[str, Any]:
        """Send one message and return its result. Fails if the answer is an error."""
        answer = self.send(method, params, **headers).json()
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, tool: str, arguments: dict[str, Any] | None = None, /, **more: Any) -> dict[str, Any]:
        return self.ask("tools/call", {"name": tool, "arguments": arguments or {}, **more})

    def list_tools(self, **headers: str) -> list[dict[str, Any]]:
        tools: list[dict[str, Any]] = self.ask("tools/list", **headers)["tools"]
        return tools
