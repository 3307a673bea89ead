"""Render discovery: what a model reads on the discovery surface about the tools of one domain, or about agents.

Three levels, as in a command line: a list, one tool, one of its parameters or all of its help.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal

from core.text import english, token_budget
from registry.catalog.model import Catalog, CatalogDomain, CatalogOp, Visibility
from registry.help import answers, help_pages
from registry.help.answers import (
    BadHelpQuery,
    HelpAnswer,
    UnknownPath,
    build_answer,
    drop_empty,
    get_or_render_answer,
)
from registry.help.help_pages import HelpQuery
from registry.jsonschema import signatures
from registry.models import ROOT
from registry.snapshot.copy_kinds import AGENT_PREFIX, AGENTS_PATH

DISCOVER_AGENTS = "discover_agents"
MAX_PARAMETER_TOKENS = 60  # of level 3; examples that do not fit are left out
MAX_DESCRIPTION_WORDS = 12  # of the first sentence in level 2; a longer one is replaced by the summary
_SENTENCE_END = re.compile(r"[.!?](?=\s|\Z)")


@dataclass(frozen=True, slots=True)
class DiscoveryQuery:
    """A call of a discovery tool, by its name. Without `tool` (or the name of an agent), it lists."""

    name: str
    tool: str | None = None
    parameter: str | None = None
    level: Literal["full"] | None = None


class ToolOfAnotherDomain(UnknownPath):
    """The tool exists, but another discovery tool describes it."""


def answer_query(catalog: Catalog, query: DiscoveryQuery, visibility: Visibility) -> HelpAnswer:
    """Return the answer to a discovery call, from the cache if possible. Raises UnknownPath and BadHelpQuery."""
    return get_or_render_answer(catalog, (visibility, query), lambda: _render_answer(catalog, query, visibility))


def list_domains(catalog: Catalog, visibility: Visibility) -> list[CatalogDomain]:
    """Return the domains with at least one op that this caller can run, by the name of their tool."""
    domains_by_op = _map_ops_to_domains(catalog, visibility)
    names = {domain.name for domain in domains_by_op.values()}
    return [catalog.domains[name] for name in sorted(names)]


def _render_answer(catalog: Catalog, query: DiscoveryQuery, visibility: Visibility) -> HelpAnswer:
    for field in ("parameter", "level"):
        if query.tool is None and getattr(query, field) is not None:
            raise BadHelpQuery("tool", f"Send tool with {field}: {field} only applies to one tool.")
    if query.name == DISCOVER_AGENTS:
        return _answer_about_agents(catalog, query, visibility)
    domains_by_op = _map_ops_to_domains(catalog, visibility)
    domain = _find_domain(query.name, domains_by_op)
    if query.tool is None:
        ops = (catalog.ops[path] for path in sorted(domains_by_op) if domains_by_op[path] == domain)
        tools = [{"name": op.tool_name, "summary": op.summary} for op in ops]
        return build_answer({"tools": tools}, domain.path, len(tools))
    op = _find_tool(catalog, query.tool, domain, domains_by_op)
    if query.parameter is not None:
        if query.level is not None:
            raise BadHelpQuery("level", "Send parameter or level, not both.")
        return _answer_about_parameter(op, query.parameter)
    if query.level is not None:
        return help_pages.answer_about_op(op, HelpQuery(format="full"))
    return build_answer(_describe_tool(op), op.op, op_kind=op.kind)


def _describe_tool(op: CatalogOp) -> dict[str, Any]:
    body = {
        "name": op.tool_name,
        "description": _get_short_description(op),
        "parameters": sorted(op.arguments, key=lambda name: name not in op.required),
        "usage": {
            "op": op.tool_name,
            "args": signatures.build_usage_args(op.schema, op.examples[0]["args"] if op.examples else None),
        },
    }
    return drop_empty(body, always_kept=("parameters",))


def _get_short_description(op: CatalogOp) -> str:
    """Return the first sentence of the description, or the summary if that is long. The full level has all of it."""
    end = _SENTENCE_END.search(op.description)
    sentence = op.description[: end.end()] if end else op.description
    return sentence if 0 < len(sentence.split()) <= MAX_DESCRIPTION_WORDS else op.summary


def _answer_about_parameter(op: CatalogOp, name: str) -> HelpAnswer:
    body = help_pages.build_argument_body(op, name)["arg"]
    body["type"] = signatures.format_expected_value(op.arguments[body["name"]], op.schema)
    shown = {key: body[key] for key in ("name", "type", "description", "required", "default") if key in body}
    if examples := _choose_examples(shown, body.get("examples", [])):
        shown["examples"] = examples
    return build_answer(shown, op.op, op_kind=op.kind)


def _choose_examples(shown: dict[str, Any], examples: list[Any]) -> list[Any]:
    """Return the examples that fit. A list or an object always has one, because its type says too little."""
    useful = [example for example in examples if example not in ([], {})]
    for count in range(len(useful), 0, -1):
        if token_budget.count_json({**shown, "examples": useful[:count]}) <= MAX_PARAMETER_TOKENS:
            return useful[:count]
    structured = [example for example in useful if isinstance(example, list | dict)]
    return sorted(structured, key=token_budget.count_json)[:1]


def _answer_about_agents(catalog: Catalog, query: DiscoveryQuery, visibility: Visibility) -> HelpAnswer:
    if query.parameter is not None:
        raise BadHelpQuery("parameter", 'An agent has no parameters. Send level "full" for its full help.')
    agents = answers.list_visible_agents(catalog, visibility)
    if not agents:
        raise UnknownPath("There are no agents here.", help_path=ROOT, did_you_mean=[])
    if query.tool is None:
        items = [{"name": agent.name, "summary": agent.summary} for agent in agents]
        return build_answer({"agents": items}, AGENTS_PATH, len(items))
    agent = answers.find_visible_agent(catalog, visibility, query.tool)
    body = answers.describe_agent(catalog, agent, visibility, is_full=query.level is not None, names_are_tools=True)
    return build_answer(body, f"{AGENT_PREFIX}{agent.name}")


def _map_ops_to_domains(catalog: Catalog, visibility: Visibility) -> dict[str, CatalogDomain]:
    """Return {path: domain} of the visible ops. The domain of an op is the nearest group above it that has a tool."""
    by_path = {domain.path: domain for domain in catalog.domains.values()}
    domains_by_op = {}
    for path in catalog.view_for(visibility).ops:
        parts = path.split(".")
        above = (".".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))
        if domain := next((by_path[group] for group in above if group in by_path), None):
            domains_by_op[path] = domain
    return domains_by_op


def _find_domain(name: str, domains_by_op: dict[str, CatalogDomain]) -> CatalogDomain:
    """Return the domain of a discovery tool, or with the path of its group. Raises UnknownPath."""
    domains = {domain.name: domain for domain in domains_by_op.values()}
    domain = domains.get(name) or next((each for each in domains.values() if each.path == name), None)
    if domain is None:
        close_names = english.find_similar(name, domains) or sorted(domains)[:5]
        hint = f" Did you mean {', '.join(close_names)}?" if close_names else ""
        raise UnknownPath(f"There is no discovery tool {name[:100]}.{hint}", help_path=ROOT, did_you_mean=close_names)
    return domain


def _find_tool(
    catalog: Catalog, name: str, domain: CatalogDomain, domains_by_op: dict[str, CatalogDomain]
) -> CatalogOp:
    """Return the op of a tool of this domain, by any of its names. Raises UnknownPath and ToolOfAnotherDomain."""
    op = catalog.find_op(name)
    op_domain = domains_by_op.get(op.op) if op else None
    if op is not None and op_domain == domain:
        return op
    if op is not None and op_domain is not None:
        raise ToolOfAnotherDomain(
            f"{op.tool_name} is a tool of {op_domain.name}. Call that.", help_path=op.op, did_you_mean=[op_domain.name]
        )
    tool_names = {catalog.ops[path].tool_name: path for path, each in domains_by_op.items() if each == domain}
    close_names = english.find_similar(name, tool_names)
    hint = (
        f" Did you mean {', '.join(close_names)}?" if close_names else f" {domain.name} without tool lists its tools."
    )
    raise UnknownPath(f"There is no tool {name[:100]}.{hint}", help_path=domain.path, did_you_mean=close_names)
