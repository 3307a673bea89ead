"""An MCP server behind the gateway under test, with tools of the conformance suite that ask their user (elicitation).

The gateway imports them like those of any other server, and passes their questions on.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

Context = ServerRequestContext[Any, Any]
Result = CallToolResult | InputRequiredResult
START_SECONDS = 30.0


def ask(key: str, message: str, field: str, kind: str = "string", state: str | None = None) -> InputRequiredResult:
    """Return the question of a form with one field."""
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    request = ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))
    return InputRequiredResult(input_requests={key: request}, request_state=state)


def answer(text: str) -> CallToolResult:
    """Return a result of one text."""
    return CallToolResult(content=[TextContent(type="text", text=text)])


def elicitation(params: CallToolRequestParams) -> Result:
    """Ask for a name, without a state."""
    if "user_name" not in (params.input_responses or {}):
        return ask("user_name", "What is your name?", "name")
    return answer("Hello!")


def request_state(params: CallToolRequestParams) -> Result:
    """Ask for a confirmation, with a state that must come back."""
    if params.request_state is None:
        return ask("confirm", "Please confirm", "ok", "boolean", state="state-1")
    return answer("state-ok" if params.request_state == "state-1" else "state-lost")


def multi_round(params: CallToolRequestParams) -> Result:
    """Ask twice, with another state."""
    if params.request_state is None:
        return ask("step1", "Step 1: What is your name?", "name", state="round-1")
    if params.request_state == "round-1":
        return ask("step2", "Step 2: What is your favorite color?", "color", state="round-2")
    return answer("Done.")


TOOLS: dict[str, Callable[[CallToolRequestParams], Result]] = {
    "test_input_required_result_elicitation": elicitation,
    "test_input_required_result_request_state": request_state,
    "test_input_required_result_tampered_state": request_state,
    "test_input_required_result_multi_round": multi_round,
}


async def list_tools(_: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
    """Return the definitions of the tools."""
    schema = {"type": "object", "properties": {}}
    described = {name: function.__doc__ for name, function in TOOLS.items()}
    return ListToolsResult(
        tools=[Tool(name=name, description=text, input_schema=schema) for name, text in described.items()]
    )


async def call_tool(_: Context, params: CallToolRequestParams) -> Result:
    """Run a tool."""
    return TOOLS[params.name](params)


@contextmanager
def run_upstream() -> Iterator[str]:
    """Run the server on this machine, and yield its URL."""
    server = Server("conformance-upstream", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    app = server.streamable_http_app(streamable_http_path="/mcp", json_response=True, stateless_http=True)
    running = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    until = time.monotonic() + START_SECONDS
    while not running.started:
        if not thread.is_alive() or time.monotonic() > until:
            raise SystemExit("The server behind the gateway did not start.")
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}/mcp"
    finally:
        running.should_exit = True
        thread.join()
