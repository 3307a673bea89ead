"""Answers of help and discovery, rendered once per catalog and cached; pages about agents."""

import hashlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from core.text import english, json_text
from registry.catalog.model import Catalog, CatalogAgent, CatalogOp, Visibility
from registry.snapshot.copy_kinds import AGENT_PREFIX, AGENTS_PATH

MAX_CACHED_ANSWERS = 20_000  # cached per catalog, about 1 kB each: enough for a few clients of 10,000 ops
PROMPT_SCOPE = "toolset"  # of callers that can read the prompts of agents: those that run models


@dataclass(frozen=True, slots=True)
class HelpAnswer:
    """A body as sent, its strong ETag, and the path and result count for the operation event."""

    body: bytes
    etag: str
    path: str
    result_count: int | None = None
    op_kind: str = ""  # "read" or "write" for help on an op
    found_paths: tuple[str, ...] = ()  # of the ops that a search found, best first


class UnknownPath(Exception):
    """There is no such node, or this caller cannot see it."""

    def __init__(self, message: str, *, help_path: str, did_you_mean: list[str]) -> None:
        super().__init__(message)
        self.help_path = help_path
        self.did_you_mean = did_you_mean


class UnknownArgument(UnknownPath):
    """The op has no such argument."""


class BadHelpQuery(Exception):
    """A field of the query does not apply to this node."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def get_or_render_answer(catalog: Catalog, key: Hashable, render: Callable[[], HelpAnswer]) -> HelpAnswer:
    """Return the catalog's cached answer for a key; rendered if there is none."""
    cached: HelpAnswer | None = catalog.answers.get(key)
    if cached is None:
        cached = render()
        if len(catalog.answers) >= MAX_CACHED_ANSWERS:
            catalog.answers.clear()
        catalog.answers[key] = cached
    return cached


def build_answer(
    body: dict[str, Any],
    path: str = "",
    result_count: int | None = None,
    *,
    op_kind: str = "",
    found_paths: tuple[str, ...] = (),
) -> HelpAnswer:
    """Return a body as an answer, rendered, with its ETag."""
    text = bytes(memoryview(json_text.dump(body)))  # copied, because orjson's bytes keep a buffer of 4 kB or more
    etag = f'"{hashlib.sha256(text).hexdigest()[:32]}"'
    return HelpAnswer(text, etag, path, result_count, op_kind, found_paths)


@dataclass(frozen=True)
class _Services:
    """The connected services of a catalog's active ops."""

    names: frozenset[str]


def get_service(catalog: Catalog, op: CatalogOp) -> str:
    """Return the connection of an op of a connected service, where there are several; "" if the path begins with it."""
    services = catalog.get_or_derive(
        _Services,
        lambda: _Services(frozenset(each.connection for each in catalog.ops.values() if each.is_of_service)),
    )
    is_said = english.to_snake_case(op.connection) == op.group
    return op.connection if op.is_of_service and len(services.names) > 1 and not is_said else ""


def drop_empty(body: dict[str, Any], always_kept: tuple[str, ...] = ("args",)) -> dict[str, Any]:
    """Return a body without None and empty strings, lists and objects. False and 0 stay."""
    return {key: value for key, value in body.items() if key in always_kept or value not in ("", [], {}, (), None)}


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
    return any(map(runs_agents, ops)) and bool(list_visible_agents(catalog, visibility))


def runs_agents(op: CatalogOp) -> bool:
    """Return whether an op hands a task to an agent."""
    return (op.entity, op.action) == ("agent", "run")


def summarize_agent(agent: CatalogAgent) -> dict[str, str]:
    """Return the item of an agent in a list."""
    return {"name": agent.name, "summary": agent.summary}


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

    `names_are_tools`: its ops are listed by tool name, as on the discovery surface.
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
    """Return the paths and patterns of an agent's ops that match an op which this caller sees."""
    visible = catalog.view_for(visibility).ops
    return [
        pattern
        for pattern in agent.ops
        if pattern in visible or ("*" in pattern and any(fnmatchcase(path, pattern) for path in visible))
    ]
