"""Prompts: how to use the tools of the surface, and the agents of the release."""

from mcp_types import GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage, TextContent

from core.text import english
from gateway.mcp_server import tool_list
from gateway.mcp_server.caller_source import McpCall
from gateway.mcp_server.errors import build_unknown_error
from registry.catalog.model import CatalogAgent
from registry.help import answers

SURFACE_PROMPT = "how_to_use_the_tools"
TASK = "task"
TTL_MS = 60_000


def list_prompts(call: McpCall) -> ListPromptsResult:
    """Return the prompt of the surface and one for each agent whose prompt the caller may read."""
    prompts = [
        Prompt(name=SURFACE_PROMPT, title="How to use the tools", description="Rules for calling the tools well")
    ]
    prompts += [
        Prompt(
            name=agent.name,
            description=agent.summary,
            arguments=[PromptArgument(name=TASK, description="What the agent should do", required=False)],
        )
        for agent in _list_agents(call)
    ]
    return ListPromptsResult(prompts=prompts, ttl_ms=TTL_MS, cache_scope="private")


def get_prompt(call: McpCall, name: str, arguments: dict[str, str]) -> GetPromptResult:
    """Return a prompt as the message of a user. Raises MCPError for an unknown one."""
    if name == SURFACE_PROMPT:
        return _build_result("How to use the tools", tool_list.build_prompt(call, call.load_catalog()))
    agents = {agent.name: agent for agent in _list_agents(call)}
    if name not in agents:
        raise build_unknown_error("prompt", name, english.find_similar(name, [SURFACE_PROMPT, *agents]))
    parts = (agents[name].system_prompt, arguments.get(TASK, ""))
    return _build_result(agents[name].summary, "\n\n".join(part for part in parts if part))


def _list_agents(call: McpCall) -> list[CatalogAgent]:
    """Return the agents whose prompts the caller may read: those that run models."""
    visibility = call.caller.visibility
    if not visibility.has_scope(answers.PROMPT_SCOPE):
        return []
    return answers.list_visible_agents(call.load_catalog(), visibility)


def _build_result(description: str, text: str) -> GetPromptResult:
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=description, messages=[message])
