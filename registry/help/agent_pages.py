"""Render what a model reads about agents: a list, one agent, or one agent with its prompt."""

from fnmatch import fnmatchcase
from typing import Any

from core.text import english
from registry.catalog.model import Catalog, CatalogAgent, Visibility
from registry.help.answers import UnknownPath, drop_empty
from registry.snapshot.copy_kinds import AGENT_PREFIX, AGENTS_PATH

PROMPT_SCOPE = "toolset"  # of callers that may read the prompts of agents: those that run models


def list_visible_agents(catalog: Catalog, visibility: Visibility) -> list[CatalogAgent]:
    """Return the agents that can run at least one op for this caller. An agent sees no other agents."""
    if visibility.agent is not None or not catalog.agents:
        return []
    visible_ops = [catalog.ops[path] for path in catalog.view_for(visibility).ops]
    agents = (catalog.agents[name] for name in sorted(catalog.agents))
    return [agent for agent in agents if any(agent.allows(op) for op in visible_ops)]


def can_run_agents(catalog: Catalog, visibility: Visibility) -> bool:
    """Return whether the caller sees an agent and an op that runs it. Otherwise lists do not mention agents."""
    ops = (catalog.ops[path] for path in catalog.view_for(visibility).ops)
    can_run = any((op.entity, op.action) == ("agent", "run") for op in ops)
    return can_run and bool(list_visible_agents(catalog, visibility))


def find_visible_agent(catalog: Catalog, visibility: Visibility, name: str) -> CatalogAgent:
    """Return the agent with this name, or with this path in help. Raises UnknownPath."""
    agents = {agent.name: agent for agent in list_visible_agents(catalog, visibility)}
    agent = agents.get(name.removeprefix(AGENT_PREFIX))
    if agent is None:
        close_names = english.find_similar(name.removeprefix(AGENT_PREFIX), agents) or list(agents)[:5]
        hint = f" Did you mean {', '.join(close_names)}?" if close_names else ""
        raise UnknownPath(f"There is no such agent.{hint}", help_path=AGENTS_PATH, did_you_mean=close_names)
    return agent


def describe_agent(
    catalog: Catalog, agent: CatalogAgent, visibility: Visibility, *, is_full: bool, names_are_tools: bool = False
) -> dict[str, Any]:
    """Return the body about one agent. Full adds examples, edge cases and, with the scope for it, the system prompt.

    `names_are_tools`: its ops are told by tool name, as the discovery surface does.
    """
    paths = _list_visible_ops(catalog, agent, visibility)
    tools = [catalog.ops[path].tool_name if names_are_tools and path in catalog.ops else path for path in paths]
    body: dict[str, Any] = {
        "name": agent.name,
        "summary": agent.summary,
        "description": agent.description,
        "when_to_use": agent.when_to_use,
        "tools": tools,
        "constraints": list(agent.constraints),
    }
    if is_full:
        body["system_prompt"] = agent.system_prompt if visibility.has_scope(PROMPT_SCOPE) else ""
        body["examples"] = list(agent.examples)
        body["edge_cases"] = list(agent.edge_cases)
    return drop_empty(body)


def _list_visible_ops(catalog: Catalog, agent: CatalogAgent, visibility: Visibility) -> list[str]:
    """Return the paths and patterns of an agent's ops that name an op which this caller sees."""
    visible = catalog.view_for(visibility).ops
    return [
        pattern
        for pattern in agent.ops
        if pattern in visible or ("*" in pattern and any(fnmatchcase(path, pattern) for path in visible))
    ]
