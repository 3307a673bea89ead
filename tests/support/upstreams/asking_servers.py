"""MCP servers whose tools ask their user: over HTTP by 2026-07-28, and a program that asks while the call runs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp_types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    InputRequest,
    InputRequiredResult,
)

from registry.catalog import connections
from registry.models import Connection
from tests.support.upstreams.mcp_upstream import NAME, McpUpstream, approve, close_sessions, publish_tools

STATE = "opaque-state-of-the-service"
NAME_FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2},
        "size": {"type": "string", "enum": ["small", "large"], "enumNames": ["Small", "Large"]},
        "copies": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
        "gift": {"type": "boolean", "default": False},
    },
    "required": ["name"],
}

# A program without the SDK, which takes a second to load. The protocol is that of 2025-06-18, or 2026-07-28 if the
# command names it: then only the program that asked takes the answer. `write` asks its user before it answers; `read`
# reports progress and ends when it is cancelled, or after `text` seconds.
PROGRAM = """
import json, os, sys, threading, time
lock, answers, cancelled, next_id = threading.Lock(), {}, set(), iter(range(1000, 10**6))
schema = {"type": "object", "properties": {"text": {"type": "string"}}}
form = {"type": "object", "properties": {"name": {"type": "string", "minLength": 2}}, "required": ["name"]}
is_modern, state = sys.argv[2] == "2026-07-28", os.urandom(8).hex()
tools = [{"name": name, "description": f"About {name}.", "inputSchema": schema} for name in ("read", "write")]

def send(message):
    with lock:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def ask(params):
    id, done = next(next_id), threading.Event()
    answers[id] = [done, None]
    send({"id": id, "method": "elicitation/create", "params": params})
    done.wait()
    return answers[id][1]

def call_again(id, params):
    given, is_second = params.get("inputResponses") or {}, params.get("requestState") == state + "2"
    if given and params.get("requestState") not in (state, state + "2"):
        send({"id": id, "error": {"code": -32602, "message": "Invalid or expired requestState"}})
    elif not given or (params["arguments"].get("text") == "twice" and not is_second):
        question = {"message": "And where to?" if given else "Who is it for?", "mode": "form", "requestedSchema": form}
        asked = {"it": {"method": "elicitation/create", "params": question}}
        back = state + "2" if given else state
        send({"id": id, "result": {"resultType": "input_required", "inputRequests": asked, "requestState": back}})
    else:
        text = given["it"]["action"] + " " + str((given["it"].get("content") or {}).get("name"))
        content = [{"type": "text", "text": f"{text} in {os.getpid()}"}]
        send({"id": id, "result": {"resultType": "complete", "content": content}})

def call(id, params):
    if params["name"] == "write" and is_modern:
        call_again(id, params)
        return
    if params["name"] == "write":
        answer = ask({"message": "Who is it for?", "requestedSchema": form})
        if params["arguments"].get("text") == "twice" and answer["action"] == "accept":
            answer = ask({"message": "And where to?", "requestedSchema": form})
        text = answer["action"] + " " + str((answer.get("content") or {}).get("name"))
        send({"id": id, "result": {"content": [{"type": "text", "text": f"{text} in {os.getpid()}"}]}})
        return
    token = (params.get("_meta") or {}).get("progressToken")
    until = time.monotonic() + float(params["arguments"].get("text") or 0)
    while time.monotonic() < until and id not in cancelled:
        progress = {"progressToken": token, "progress": 3, "total": 10, "message": "Reading page 3"}
        send({"method": "notifications/progress", "params": progress})
        time.sleep(0.05)
    if id in cancelled:
        open(sys.argv[1], "w").write("cancelled")
        return
    send({"id": id, "result": {"content": [{"type": "text", "text": "Read."}]}})

for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params") or {}
    if method is None and message.get("id") in answers:
        waiting = answers[message["id"]]
        waiting[1] = message.get("result")
        waiting[0].set()
    elif method == "notifications/cancelled":
        cancelled.add(params.get("requestId"))
    elif method == "server/discover" and is_modern:
        result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete"}
        send({"id": message["id"], "result": result | {"ttlMs": 0, "cacheScope": "private"}})
    elif method == "initialize":
        server = {"name": "asking", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
        send({"id": message["id"], "result": result})
    elif method == "tools/list":
        more = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if is_modern else {}
        send({"id": message["id"], "result": {"tools": tools} | more})
    elif method == "tools/call":
        threading.Thread(target=call, args=(message["id"], params), daemon=True).start()
    elif "id" in message:
        send({"id": message["id"], "error": {"code": -32601, "message": "Unknown method."}})
"""


def get_asking_command(folder: Path, version: str = "2025-06-18") -> list[str]:
    """Return the command of the program. It writes into the file `cancelled` of the folder if a call is cancelled."""
    file = folder / "asking_server.py"
    file.write_text(PROGRAM)
    return [sys.executable, str(file), str(folder / "cancelled"), version]


@contextmanager
def publish_asking_program(
    server: McpUpstream, settings: Any, folder: Path, *, version: str = "2025-06-18"
) -> Iterator[Path]:
    """Publish the tools of the program, which starts with their first call. `server` lists the same definitions."""
    server.add_tool("read")
    server.add_tool("write")
    publish_tools(server)
    settings.GATEWAY_MCP_COMMANDS = {"asking": get_asking_command(folder, version)}
    Connection.objects.filter(name=NAME).update(transport="stdio", command="asking", base_url="")
    approve(server)
    connections.clear_connections()
    try:
        yield folder
    finally:
        close_sessions()


def build_form(message: str = "What is your name?", schema: dict[str, Any] | None = None) -> ElicitRequest:
    """Return a question with a form."""
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema or NAME_FORM))


def build_page(url: str = "https://pay.example/7") -> ElicitRequest:
    """Return a question with a page to open."""
    return ElicitRequest(params=ElicitRequestURLParams(message="Pay for the order.", url=url))


def publish_asking_tools(server: McpUpstream, requests: dict[str, InputRequest] | None = None, **fields: Any) -> None:
    """Publish `read` and `write`, which ask these questions first and then answer with what they were told."""

    def handle(_: dict[str, Any]) -> CallToolResult | InputRequiredResult:
        params = server.params[-1]
        if params.input_responses is None:
            return InputRequiredResult(input_requests=requests or {"who": build_form()}, request_state=STATE)
        told = {name: each.model_dump(mode="json") for name, each in params.input_responses.items()}
        content = {name: {key: each.get(key) for key in ("action", "content")} for name, each in told.items()}
        return CallToolResult(content=[], structured_content={"told": content, "state": params.request_state})

    for name in ("read", "write"):
        server.add_tool(name, handle)
    publish_tools(server, **fields)
