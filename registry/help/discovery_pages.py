"""Render discovery: what a model reads on the discovery surface about the tools of one domain, or about agents.

Three levels, as in a command line: a list, one tool, one of its parameters or all of its help.
"""

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from core.text import english, token_budget
from registry import search
from registry.catalog.model import Catalog, CatalogDomain, CatalogOp, Visibility
from registry.help import answers, fitted_help, help_pages
from registry.help.answers import (
    BadHelpQuery,
    HelpAnswer,
    UnknownPath,
    build_answer,
    drop_empty,
    get_or_render_answer,
)
from registry.help.help_pages import NOTHING_FITS, SEARCH_TOKENS, HelpQuery
from registry.jsonschema import signatures
from registry.models import ROOT
from registry.snapshot.copy_kinds import AGENT_PREFIX, AGENTS_PATH

DISCOVER_AGENTS = "discover_agents"
# The tool for the ops of groups without a discovery tool, such as those of connected services.
OTHER_DOMAIN = CatalogDomain("discover_other_tools", ROOT, "Tools of connected services")
GATEWAY_GROUP = "x"  # of ops about the registry and agents, which have tools of their own
MAX_LISTED = 50  # tools of groups without a discovery tool that are listed; a query finds the others
MAX_SERVICES = 6  # named in the summary of the tool for other ops
MAX_PARAMETER_TOKENS = 60  # of level 3; examples that do not fit are left out
NOTHING_FOUND = "No tool of this domain fits. Try another discovery tool, or tell the user that this cannot be done."
REQUIRED_SUFFIX = ", required"
MAX_DESCRIPTION_WORDS = 12  # of the first sentence in level 2; a longer one is replaced by the summary
_SENTENCE_END = re.compile(r"[.!?](?=\s|\Z)")


@dataclass(frozen=True, slots=True)
class DiscoveryQuery:
    """A call of a discovery tool, by its name. Without `tool` (or the name of an agent), it lists."""

    name: str
    tool: str | None = None
    parameter: str | None = None
    level: Literal["full"] | None = None
    query: str | None = None


class ToolOfAnotherDomain(UnknownPath):
    """The tool exists, but another discovery tool describes it."""


def answer_query(catalog: Catalog, query: DiscoveryQuery, visibility: Visibility) -> HelpAnswer:
    """Return the answer to a discovery call, from the cache if possible. Raises UnknownPath and BadHelpQuery."""
    if query.query is not None:  # too many different searches to cache
        return _render_answer(catalog, query, visibility)
    return get_or_render_answer(catalog, (visibility, query), lambda: _render_answer(catalog, query, visibility))


def list_domains(catalog: Catalog, visibility: Visibility) -> list[CatalogDomain]:
    """Return the domains with at least one op that this caller can run, by the name of their tool.

    The one for the ops of all other groups comes last; its summary names them.
    """
    domains_by_op = _map_ops_to_domains(catalog, visibility)
    domains = {domain.name: domain for domain in domains_by_op.values()}
    other = domains.pop(OTHER_DOMAIN.name, None)
    listed = [domains[name] for name in sorted(domains)]
    if other is None:
        return listed
    groups = sorted({path.partition(".")[0] for path, domain in domains_by_op.items() if domain is other})
    more = ", …" if len(groups) > MAX_SERVICES else ""
    summary = f"{other.summary}: {', '.join(groups[:MAX_SERVICES])}{more}. A query searches them"
    return [*listed, replace(other, summary=summary)]


def find_discovery_tool(catalog: Catalog, group: str) -> str:
    """Return the discovery tool for the ops of a group; the root's path where there is none, as for that of ours."""
    if group == AGENTS_PATH:
        return DISCOVER_AGENTS
    above = _find_domain_above(f"{group}.", {domain.path: domain for domain in catalog.domains.values()})
    return above.name if above else ROOT if group in (ROOT, GATEWAY_GROUP) else OTHER_DOMAIN.name


def _render_answer(catalog: Catalog, query: DiscoveryQuery, visibility: Visibility) -> HelpAnswer:
    for field in ("parameter", "level"):
        if query.tool is None and getattr(query, field) is not None:
            raise BadHelpQuery("tool", f"Send tool with {field}: {field} only applies to one tool.")
    if query.tool is not None and query.query is not None:
        raise BadHelpQuery("query", "Send query or tool, not both.")
    if query.name == DISCOVER_AGENTS:
        return _answer_about_agents(catalog, query, visibility)
    domains_by_op = _map_ops_to_domains(catalog, visibility)
    domain = _find_domain(query.name, domains_by_op)
    if query.tool is None:
        paths = sorted(path for path, each in domains_by_op.items() if each == domain)
        return _answer_list(catalog, domain, paths, query.query, visibility)
    op = _find_tool(catalog, query.tool, domain, domains_by_op)
    if query.parameter is not None:
        if query.level is not None:
            raise BadHelpQuery("level", "Send parameter or level, not both.")
        return _answer_about_parameter(op, query.parameter)
    if query.level is not None:
        return help_pages.answer_about_op(op, HelpQuery(format="full"))
    return build_answer(_describe_tool(op), op.op, op_kind=op.kind)


def _answer_list(
    catalog: Catalog, domain: CatalogDomain, paths: list[str], query: str | None, visibility: Visibility
) -> HelpAnswer:
    """Return the tools of a domain, or those that a query finds among them: the first ones with their parameters."""
    message, found, is_clear = "", list[str](), False
    if query is not None:
        view = replace(catalog.view_for(visibility), ops=frozenset(paths))
        result = search.search_ops(catalog, view, query)
        found = paths = result.paths
        is_clear = bool(result.is_clear and found)
        message = "" if is_clear else NOTHING_FITS if found else NOTHING_FOUND
    elif domain is OTHER_DOMAIN and len(paths) > MAX_LISTED:
        message = f"{MAX_LISTED} of {len(paths)} tools. Send query to search them all."
        paths = paths[:MAX_LISTED]
    tools = [_build_item(catalog, catalog.ops[path]) for path in paths]
    body = drop_empty({"message": message, "tools": tools}, always_kept=("tools",))
    if is_clear:
        ops = [catalog.ops[path] for path in paths]
        fitted_help.add_arguments(body, ops, query or "", SEARCH_TOKENS, items="tools", key="parameters")
    return build_answer(body, domain.path, len(tools), found_paths=tuple(found))


def _build_item(catalog: Catalog, op: CatalogOp) -> dict[str, Any]:
    return drop_empty({"name": op.tool_name, "summary": op.summary, "service": answers.get_service(catalog, op)})


def _describe_tool(op: CatalogOp) -> dict[str, Any]:
    body = {
        "name": op.tool_name,
        "description": _get_short_description(op),
        "parameters": sorted(op.arguments, key=lambda name: name not in op.required),
        "required": sorted(op.required),
        "types": _list_types(op),
        "usage": {
            "op": op.tool_name,
            "args": signatures.build_usage_args(op.schema, op.examples[0]["args"] if op.examples else None),
        },
    }
    return drop_empty(body, always_kept=("parameters",))


def _list_types(op: CatalogOp) -> dict[str, str]:
    """Return the signatures of the parameters, but of those that are plain strings, or ids that the usage shows."""
    types = {
        name: each.removesuffix(REQUIRED_SUFFIX)
        for name, each in signatures.format_arguments(op.schema, outline=True).items()
    }
    return {
        name: each for name, each in types.items() if each != "string" and not (each == "uuid" and name in op.required)
    }


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
        items = [answers.summarize_agent(agent) for agent in agents]
        return build_answer({"agents": items}, AGENTS_PATH, len(items))
    agent = answers.find_visible_agent(catalog, visibility, query.tool)
    body = answers.describe_agent(catalog, agent, visibility, is_full=query.level is not None, names_are_tools=True)
    return build_answer(body, f"{AGENT_PREFIX}{agent.name}")


def _map_ops_to_domains(catalog: Catalog, visibility: Visibility) -> dict[str, CatalogDomain]:
    """Return {path: domain} of the visible ops. The domain of an op is the nearest group above it that has a tool."""
    by_path = {domain.path: domain for domain in catalog.domains.values()}
    domains_by_op = {}
    for path in catalog.view_for(visibility).ops:
        if domain := _find_domain_above(path, by_path):
            domains_by_op[path] = domain
        elif path.partition(".")[0] != GATEWAY_GROUP:
            domains_by_op[path] = OTHER_DOMAIN
    return domains_by_op


def _find_domain_above(path: str, by_path: dict[str, CatalogDomain]) -> CatalogDomain | None:
    """Return the domain of the nearest group above a path."""
    parts = path.split(".")
    above = (".".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))
    return next((by_path[group] for group in above if group in by_path), None)


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
