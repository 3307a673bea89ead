"""Clients of MCP that others wrote talk to a running gateway: over HTTP, and over standard input and output.

The official Python client always runs, in both generations of the protocol. Older and other clients (mcp_clients/) are
installed in make test-all.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.conf import settings as project_settings
from django.test import override_settings
from django.utils import timezone
from mcp.client import Client, ClientRequestContext
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, ElicitRequestParams, ElicitResult, ResourceTemplateReference
from pytest_django.plugin import DjangoDbBlocker

from analytics.events.models import OperationEvent
from core.version import VERSION
from demo.traffic import rollout
from gateway.contracts import tool_definitions
from tests.support.clients.mcp_client import LEGACY, MODERN
from tests.support.servers import stores
from tests.support.servers.environment import PEPPER, build_environment, make_key
from tests.support.servers.processes import PLAIN_HTTP, Server, eventually, run_server
from tests.support.servers.stores import Store
from tests.support.upstreams.mcp_programs import CLIENTS, INSPECTOR, needs_clients, run
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID
from workspace.models import Task

pytestmark = pytest.mark.server

VERSIONS = {"auto": MODERN, "legacy": LEGACY}  # by the mode of the client
MODES = pytest.mark.parametrize("mode", list(VERSIONS))
GATEWAY_TOOLS = [tool["name"] for tool in tool_definitions.GATEWAY_TOOLS]
ANSWERS_WITHIN = 60.0  # seconds
PYTHON_1 = "mcp==1.30.0"

Use = Callable[[Client], Awaitable[Any]]


@dataclass(frozen=True)
class Gateway:
    """A running gateway with the demo's user on the gateway surface, and how clients connect to it.

    The gateway asks the user of its key for agreement before it deletes.
    """

    server: Server
    environment: dict[str, str]

    @property
    def url(self) -> str:
        return f"{self.server.url}/mcp"

    def use_over_http(self, use: Use, *, mode: str, **options: Any) -> Any:
        """Connect a client to the server, and return what a function does with it."""

        async def connect() -> Any:
            async with httpx2.AsyncClient(headers=self.server.headers, timeout=ANSWERS_WITHIN, **PLAIN_HTTP) as http:
                return await use_client(streamable_http_client(self.url, http_client=http), use, mode=mode, **options)

        return asyncio.run(connect())

    def use_over_stdio(self, use: Use, *, mode: str, **options: Any) -> Any:
        """Let a client start the gateway as a process of its own, and return what a function does with it."""
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["manage.py", "mcp_stdio"],
            env=self.environment | {"GATEWAY_API_KEY": self.server.key},
            cwd=project_settings.BASE_DIR,
        )
        return asyncio.run(use_client(parameters, use, mode=mode, **options))


async def use_client(transport: Any, use: Use, *, mode: str, **options: Any) -> Any:
    async with Client(transport, mode=mode, read_timeout_seconds=ANSWERS_WITHIN, **options) as client:
        return await use(client)


@pytest.fixture(scope="module")
def serve_gateway(
    set_up_store: Store, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, dict[str, str], Store]]:
    """One server for the tests of this module, with a database of its own."""
    folder = tmp_path_factory.mktemp("mcp-clients")
    with django_db_blocker.unblock(), override_settings(GATEWAY_KEY_PEPPER=PEPPER):
        store = stores.create_store(folder, set_up_store)
        with store.connected():
            rollout.create_demo_cohort(timezone.now())
            key = make_key()
    environment = build_environment(store, folder)
    with run_server(environment=environment, key=key) as server:
        yield server, environment, store
    with django_db_blocker.unblock():
        stores.drop_store(store)


@pytest.fixture
def gateway(
    serve_gateway: tuple[Server, dict[str, str], Store], django_db_blocker: DjangoDbBlocker
) -> Iterator[Gateway]:
    """The gateway of this module. Its database is this process's, too."""
    server, environment, store = serve_gateway
    with django_db_blocker.unblock(), store.connected():
        yield Gateway(server, environment)


@pytest.fixture
def task(gateway: Gateway) -> Task:
    """A task of the demo's user."""
    args = {"project_id": DEMO_PROJECT_ID, "title": "Written by a test"}
    return Task.objects.get(pk=gateway.server.exec("onto.task.create", args).json()["result"]["task"]["id"])


def is_there(task: Task) -> bool:
    return Task.objects.filter(pk=task.pk, deleted_at=None).exists()


async def delete(client: Client, task: Task) -> CallToolResult:
    return await client.call_tool("tool_exec", {"op": "onto.task.delete", "args": {"task_id": str(task.pk)}})


class Asked:
    """The callback of a client whose user declines the first time and agrees the second time."""

    def __init__(self) -> None:
        self.questions: list[str] = []

    async def __call__(self, _: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.questions.append(params.message)
        if len(self.questions) == 1:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={"agree": True})


@MODES
def test_client_connects_reads_and_writes(gateway: Gateway, mode: str, task: Task) -> None:
    title = f"Changed in mode {mode}"
    update = {"op": "onto.task.update", "args": {"task_id": str(task.pk), "title": title}}

    async def use(client: Client) -> dict[str, Any]:
        calls = {
            "help": ("tool_help", {"path": "onto.task"}),
            "read": ("tool_exec", {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}}),
            "write": ("tool_exec", update),
            "batch": ("tool_batch", {"ops": [{"type": "help"}, {"type": "exec", "op": "onto.task.list"}]}),
            "error": ("tool_exec", {"op": "onto.task.get", "args": {"task_id": "7"}}),
        }
        return {
            "server": (client.protocol_version, client.server_info.name, client.server_info.version),
            "instructions": client.instructions,
            "tools": (await client.list_tools()).tools,
            **{name: await client.call_tool(*call) for name, call in calls.items()},
        }

    seen = gateway.use_over_http(use, mode=mode)

    assert seen["server"] == (VERSIONS[mode], "tool-gateway", VERSION)
    assert seen["instructions"].startswith("Use when ")
    assert [tool.name for tool in seen["tools"]] == GATEWAY_TOOLS
    assert seen["help"].structured_content["path"] == "onto.task"
    assert seen["read"].structured_content["result"]["task"]["id"] == DEMO_TASK_ID
    assert seen["write"].structured_content["ok"] is True
    assert Task.objects.get(pk=task.pk).title == title
    assert seen["batch"].structured_content["summary"] == {"succeeded": 2, "failed": 0, "skipped": 0}
    assert seen["error"].is_error is True
    assert '"VALIDATION_ERROR"' in seen["error"].content[0].text
    trace_id = seen["write"].structured_content["meta"]["trace_id"]
    event = OperationEvent.objects.filter(trace_id=trace_id, source="mcp", op="onto.task.update")
    eventually(event.exists, what="writing the event")


@MODES
def test_client_reads_resources_and_prompts_and_completes_paths(gateway: Gateway, mode: str) -> None:
    template = "gateway://help/{path}"

    async def use(client: Client) -> dict[str, Any]:
        reference = ResourceTemplateReference(type="ref/resource", uri=template)
        with pytest.raises(MCPError) as unknown:
            await client.read_resource("gateway://help/onto.tsk")
        return {
            "resources": [str(resource.uri) for resource in (await client.list_resources()).resources],
            "templates": [each.uri_template for each in (await client.list_resource_templates()).resource_templates],
            "resource": (await client.read_resource("gateway://help/onto.task")).contents[0].text,
            "unknown": unknown.value.error,
            "prompts": [prompt.name for prompt in (await client.list_prompts()).prompts],
            "prompt": (await client.get_prompt("explorer", {"task": "Find the plan."})).messages[0].content.text,
            "values": (await client.complete(reference, {"name": "path", "value": "onto.task.u"})).completion.values,
        }

    seen = gateway.use_over_http(use, mode=mode)

    assert "gateway://help/onto.task" in seen["resources"]
    assert seen["templates"] == [template, "gateway://files/{id}"]
    assert '"onto.task.update"' in seen["resource"]
    assert seen["unknown"].code == INVALID_PARAMS
    assert "gateway://help/onto.task" in seen["unknown"].data["did_you_mean"]
    assert seen["prompts"] == ["how_to_use_the_tools", "explorer"]
    assert seen["prompt"].endswith("Find the plan.")
    assert seen["values"] == ["onto.task.update"]


@MODES
def test_client_starts_the_gateway_reads_and_asks_its_user(gateway: Gateway, mode: str, task: Task) -> None:
    asked = Asked()

    async def use(client: Client) -> dict[str, Any]:
        return {
            "version": client.protocol_version,
            "tools": [tool.name for tool in (await client.list_tools()).tools],
            "help": await client.call_tool("tool_help", {"path": "onto.task"}),
            "resources": (await client.list_resources()).resources,
            "error": await client.call_tool("tool_exec", {"op": "onto.task.get", "args": {"task_id": "7"}}),
            "declined": await delete(client, task),
            "accepted": await delete(client, task),
        }

    seen = gateway.use_over_stdio(use, mode=mode, elicitation_callback=asked)

    assert (seen["version"], seen["tools"]) == (VERSIONS[mode], GATEWAY_TOOLS)
    assert seen["help"].structured_content["path"] == "onto.task"
    assert seen["resources"][0].uri == "gateway://help/root"
    assert seen["error"].is_error is True
    assert asked.questions == [f"Really delete task “{task.title}”?"] * 2
    assert seen["declined"].structured_content["error"]["details"]["reason"] == "confirmation_declined"
    assert seen["accepted"].structured_content["ok"] is True  # so the first answer had kept it
    assert not is_there(task)


# --- clients that make test-all installs ------------------------------------------------------------------------------


def build_variables(gateway: Gateway, task: Task) -> dict[str, str]:
    """Return the variables that the programs of mcp_clients/ read."""
    ids = {"PROJECT_ID": DEMO_PROJECT_ID, "TASK_ID": str(task.pk)}
    return {"MCP_URL": gateway.url, "GATEWAY_API_KEY": gateway.server.key, **ids}


@needs_clients
def test_older_python_client_reads_writes_and_fails(gateway: Gateway, task: Task, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "client", folder=tmp_path)
    python = str(tmp_path / "client" / "bin" / "python")
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PYTHON_1, folder=tmp_path)

    output = run(python, str(CLIENTS / "python_1.py"), folder=tmp_path, **build_variables(gateway, task))

    assert output == "ok\n"
    assert is_there(task)


@needs_clients
@pytest.mark.parametrize(("program", "deletes"), [("typescript-1.mjs", False), ("typescript-2.mjs", True)])
def test_typescript_client_reads_writes_and_fails(
    gateway: Gateway, task: Task, node_folder: Path, program: str, deletes: bool
) -> None:
    output = run("npx", "node", program, folder=node_folder, **build_variables(gateway, task))

    assert output == "ok\n"
    assert is_there(task) is not deletes


@needs_clients
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_inspector_lists_and_calls_tools(gateway: Gateway, node_folder: Path, era: str) -> None:
    def inspect(method: str, *arguments: str) -> dict[str, Any]:
        server = ["--server-url", gateway.url, "--transport", "http", "--protocol-era", era]
        header = ["--header", f"Authorization: Bearer {gateway.server.key}"]
        home = {"HOME": str(node_folder)}  # it writes settings there
        output = run(*INSPECTOR, *server, *header, "--method", method, *arguments, folder=node_folder, **home)
        result: dict[str, Any] = json.loads(output)["result"]
        return result

    tools = inspect("tools/list", "--strict")
    called = inspect("tools/call", "--tool-name", "tool_help", "--tool-arg", "path=onto.task")
    resource = inspect("resources/read", "--uri", "gateway://help/onto.task")
    prompts = inspect("prompts/list")

    assert [tool["name"] for tool in tools["tools"]] == GATEWAY_TOOLS
    assert called["structuredContent"]["path"] == "onto.task"
    assert json.loads(resource["contents"][0]["text"])["path"] == "onto.task"
    assert prompts["prompts"][0]["name"] == "how_to_use_the_tools"
