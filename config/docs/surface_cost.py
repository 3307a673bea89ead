"""Count the context tokens of each surface, and of discovery against sending everything, for docs/context-cost.md."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson

from analytics.flags import Surface
from core.text import token_budget
from gateway.access.request_context import UserContext
from gateway.toolset import rendering, surfaces
from gateway.toolset.shown_tools import ToolsetRequest
from registry.catalog import builder
from registry.catalog.model import FULL_VISIBILITY, Catalog
from registry.help import answers, discovery_pages
from registry.help.discovery_pages import DISCOVER_AGENTS, DiscoveryQuery
from registry.help.typed_tools import TypedTools
from registry.snapshot.entries import AgentEntry, GroupEntry, OpEntry, Snapshot

TOOL_COUNT, AGENT_COUNT, DOMAIN_COUNT = 50, 20, 4  # of the comparison, as in the proposal for discovery tools
DOMAIN_NAMES = ("file", "shell", "crm", "database")
TYPICAL_DETAILS = 2  # tools that a typical turn reads about

SECTION_TEMPLATE = """\

## The surfaces

This table shows the tools and the prompt before the first call, for the shipped catalog and a user who looks at a
project. Hybrid has the shipped pins, and legacy has every tool of the context. [surfaces.md](surfaces.md) says when to
choose which.

| surface | tools | tokens of the tools | tokens of the prompt |
|---|---|---|---|
{surfaces}

## Discovery tools

| part of the help | tokens |
|---|---|
{levels}

Lists have no blanks, and their keys are part of the API, so the summary is all that could be shorter. It is not cut:
summaries have seven words on average and no filler, and most would lose what a model chooses a tool by. Cut to four
words, "Change a document's title, text, state or type" is "Change a document's title,", for example, and that saves
three tokens.

The next table compares discovery tools for {domains} domains with sending {tools} tools and {agents} agents, with all
their documentation, in each request. It counts everything except `tool_exec` and the call itself. A typical turn lists
one domain and reads {details} tools and one parameter of medium size. A wide turn lists every domain, and the widest
turn also lists the agents. Most tokens of the last two turns are names and summaries of tools and agents.

| turn | discovery | everything | saved |
|---|---|---|---|
{turns}
"""


@dataclass(frozen=True, slots=True)
class DiscoveryTurn:
    """One kind of turn with discovery tools, and what everything would cost instead."""

    name: str
    discovered: int
    injected: int

    @property
    def saved(self) -> float:
        """The share that discovery saves, 0 to 1."""
        return 1 - self.discovered / self.injected


def render_section(content: Snapshot) -> str:
    """Return the section about surfaces for the shipped catalog's content."""
    catalog = builder.build_catalog("", content)
    return SECTION_TEMPLATE.format(
        surfaces="\n".join(_format_surfaces(catalog)),
        levels="\n".join(f"| {name} | {value} |" for name, value in measure_levels(catalog)),
        tools=TOOL_COUNT,
        agents=AGENT_COUNT,
        domains=DOMAIN_COUNT,
        details=TYPICAL_DETAILS,
        turns="\n".join(
            f"| {turn.name} | {turn.discovered:,} | {turn.injected:,} | **{turn.saved:.1%}** |"
            for turn in compute_discovery_turns(content)
        ),
    )


def measure_levels(catalog: Catalog) -> Iterator[tuple[str, str]]:
    """Yield what the levels of discovery cost: what is read, and its tokens."""
    shown = surfaces.select_tools(Surface.DISCOVERY, catalog, ToolsetRequest(FULL_VISIBILITY)).tools
    definitions = [token_budget.count_json(rendering.to_openai(tool)) for tool in shown if tool.name != "tool_exec"]
    yield "the definition of a discovery tool", f"{max(definitions)} at most"
    lists, bare_lists, details, parameters = [], [], [], []
    for domain in discovery_pages.list_domains(catalog, FULL_VISIBILITY):
        body = _discover(catalog, DiscoveryQuery(domain.name))
        names = [tool["name"] for tool in orjson.loads(body)["tools"]]
        lists.append(token_budget.count(body) / len(names))
        bare_tools = [{"name": name, "summary": ""} for name in names]
        bare_lists.append(token_budget.count_json({"tools": bare_tools}) / len(names))
        for name in names:
            detail = _discover(catalog, DiscoveryQuery(domain.name, name))
            details.append(token_budget.count(detail))
            parameters += [
                token_budget.count(_discover(catalog, DiscoveryQuery(domain.name, name, parameter)))
                for parameter in orjson.loads(detail)["parameters"]
            ]
    yield (
        "level 1: a tool in a list",
        f"{statistics.fmean(lists):.0f} on average, {statistics.fmean(bare_lists):.0f} of them its name and the keys",
    )
    yield "level 2: one tool", f"{statistics.median(details):.0f} median, {max(details)} at most"
    longer = sum(count > discovery_pages.MAX_PARAMETER_TOKENS for count in parameters)
    yield (
        "level 3: one parameter",
        f"{statistics.median(parameters):.0f} median, {discovery_pages.MAX_PARAMETER_TOKENS} at most, except {longer} "
        f"of {len(parameters)} that hold lists or objects ({max(parameters)} at most)",
    )


def compute_discovery_turns(content: Snapshot) -> list[DiscoveryTurn]:
    """Return an initial, a typical, a wide and the widest turn with four domains, against sending everything."""
    catalog = builder.build_catalog("", _regroup(content))
    surface_tools = surfaces.select_tools(Surface.DISCOVERY, catalog, ToolsetRequest(FULL_VISIBILITY))
    prompt = surfaces.build_prompt(Surface.DISCOVERY, catalog, surface_tools)
    shown = [rendering.to_openai(tool) for tool in surface_tools.tools if tool.name != "tool_exec"]
    initial = token_budget.count_json(shown) + token_budget.count(prompt)
    injected = _count_injection(catalog)
    domains = [domain.name for domain in discovery_pages.list_domains(catalog, FULL_VISIBILITY)]
    details = _choose_middle_details(catalog, domains[0])
    lists = [DiscoveryQuery(name) for name in domains]
    queries_by_turn = {
        "initial": [],
        "typical": [lists[0], *details],
        "wide": [*lists, *details],
        "widest": [*lists, *details, DiscoveryQuery(DISCOVER_AGENTS)],
    }
    return [
        DiscoveryTurn(name, initial + _count_answers(catalog, queries), injected)
        for name, queries in queries_by_turn.items()
    ]


def _choose_middle_details(catalog: Catalog, domain: str) -> list[DiscoveryQuery]:
    """Return queries about the tools of middle size in a domain, and about a parameter of the first of them."""
    names = [tool["name"] for tool in orjson.loads(_discover(catalog, DiscoveryQuery(domain)))["tools"]]
    by_size = sorted((DiscoveryQuery(domain, name) for name in names), key=lambda query: len(_discover(catalog, query)))
    start = (len(by_size) - TYPICAL_DETAILS) // 2
    details = by_size[start : start + TYPICAL_DETAILS]
    parameters = orjson.loads(_discover(catalog, details[0]))["parameters"]
    return [*details, DiscoveryQuery(domain, details[0].tool, parameters[0])]


def _format_surfaces(catalog: Catalog) -> Iterator[str]:
    for surface in Surface:
        request = ToolsetRequest(FULL_VISIBILITY, UserContext("project"))
        surface_tools = surfaces.select_tools(surface, catalog, request)
        at_first = [rendering.to_openai(tool) for tool in surface_tools.tools if not tool.is_deferred]
        prompt = surfaces.build_prompt(surface, catalog, surface_tools)
        cost = token_budget.count_json(at_first)
        yield f"| `{surface}` | {len(at_first)} | {cost:,} | {token_budget.count(prompt)} |"


def _regroup(content: Snapshot) -> Snapshot:
    """Return a catalog of 50 shipped ops in four domains of the same size, with 20 agents like the shipped one."""
    groups: list[GroupEntry] = [
        {
            "path": name,
            "summary": f"Example domain {name}",
            "discovery_name": f"discover_{name}_tools",
            "discovery_summary": f"Tools for {name}",
        }
        for name in DOMAIN_NAMES
    ]
    chosen = [op for op in content["ops"] if not op.get("required_scope")][:TOOL_COUNT]
    runner = [op for op in content["ops"] if op["action"] == "run"]
    moved: list[OpEntry] = [
        {**op, "op": f"{DOMAIN_NAMES[index % DOMAIN_COUNT]}.{op['tool_name']}", "aliases": [], "without_id": ""}
        for index, op in enumerate(chosen)
    ]
    agents: list[AgentEntry] = [
        {**content["agents"][0], "name": f"agent_{number}", "ops": ["*"]} for number in range(AGENT_COUNT)
    ]
    other_groups = [group for group in content["groups"] if not group.get("discovery_name")]
    return {**content, "groups": [*other_groups, *groups], "ops": [*moved, *runner], "agents": agents}


def _count_injection(catalog: Catalog) -> int:
    """Count every tool and agent with all their documentation, as one request would send them."""
    tools = TypedTools.of(catalog)
    agents = [
        answers.describe_agent(catalog, agent, FULL_VISIBILITY, is_full=True) for agent in catalog.agents.values()
    ]
    documented = [
        {"notes": op.notes, "policy": op.policy, "examples": list(op.examples)} for op in catalog.ops.values()
    ]
    return sum(tools[path].tokens for path in catalog.ops) + token_budget.count_json([agents, documented])


def _count_answers(catalog: Catalog, queries: Sequence[DiscoveryQuery]) -> int:
    return sum(token_budget.count(_discover(catalog, query)) for query in queries)


def _discover(catalog: Catalog, query: DiscoveryQuery) -> str:
    return discovery_pages.answer_query(catalog, query, FULL_VISIBILITY).body.decode()
