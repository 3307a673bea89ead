"""The Python SDK, version 1, which speaks the protocol before 2026-07-28, reads, writes and fails."""

import asyncio
import os

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ResourceTemplateReference

DELETE = {"op": "onto.task.delete", "args": {"task_id": os.environ["TASK_ID"]}}


async def main() -> None:
    """Call the gateway at MCP_URL."""
    headers = {"Authorization": f"Bearer {os.environ['GATEWAY_API_KEY']}"}
    async with (
        httpx.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        streamable_http_client(os.environ["MCP_URL"], http_client=http) as (reader, writer, _),
        ClientSession(reader, writer) as session,
    ):
        await check_gateway(session)


async def check_gateway(session: ClientSession) -> None:
    """Fail if an answer is not what it must be."""
    hello = await session.initialize()
    assert (hello.protocolVersion, hello.serverInfo.name) == ("2025-11-25", "tool-gateway"), hello
    assert hello.instructions.startswith("Use when ")
    tools = (await session.list_tools()).tools
    assert [tool.name for tool in tools] == ["tool_help", "tool_exec", "tool_batch"], tools

    help_page = await session.call_tool("tool_help", {"path": "onto.task"})
    assert help_page.structuredContent["path"] == "onto.task", help_page
    args = {"project_id": os.environ["PROJECT_ID"], "title": "Written by Python"}
    written = await session.call_tool("tool_exec", {"op": "onto.task.create", "args": args})
    assert written.structuredContent["ok"] is True, written
    batch = await session.call_tool("tool_batch", {"ops": [{"type": "help"}]})
    assert batch.structuredContent["summary"]["succeeded"] == 1, batch
    failed = await session.call_tool("tool_exec", {"op": "onto.task.get", "args": {"task_id": "7"}})
    assert failed.isError, failed
    refused = await session.call_tool("tool_exec", DELETE)
    assert refused.structuredContent["error"]["details"]["reason"] == "confirmation_required", refused

    resources = (await session.list_resources()).resources
    contents = (await session.read_resource(resources[0].uri)).contents
    assert '"root"' in contents[0].text, contents
    prompts = (await session.list_prompts()).prompts
    prompt = await session.get_prompt(prompts[0].name)
    assert "tool_help" in prompt.messages[0].content.text, prompt
    reference = ResourceTemplateReference(type="ref/resource", uri="gateway://help/{path}")
    completion = (await session.complete(reference, {"name": "path", "value": "onto.task.u"})).completion
    assert completion.values == ["onto.task.update"], completion


asyncio.run(main())
print("ok")
