"""Render help: what a model reads about one node of the tree, at the requested size.

A body has only what the model should read. It is rendered once per catalog, visibility and query, then cached.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from core.text import english, lists, token_budget
from registry import search
from registry.catalog.model import FULL_VISIBILITY, Catalog, CatalogAgent, CatalogOp, CatalogView, Visibility
from registry.help import answers, fitted_help
from registry.help.answers import (
    BadHelpQuery,
    HelpAnswer,
    UnknownArgument,
    UnknownPath,
    build_answer,
    drop_empty,
    get_or_render_answer,
)
from registry.jsonschema import pattern_examples, signatures
from registry.models import ROOT, get_parent_path
from registry.snapshot.copy_kinds import AGENT_PREFIX, AGENTS_PATH

MAX_LIMIT = 200
GROUP_LIMIT = 50
NOTHING_FITS = "Nothing clearly fits; these are only the nearest."
MAX_SUGGESTIONS = 3
MIN_GROUP_NAME = 3  # letters from which the beginning of a name counts as the name of a group
MAX_ECHO = 40  # characters of a query in its answer: the caller knows the rest
SEARCH_TOKENS = 500  # of a search that sends no max_tokens: as many of the first ops show their args as fit


@dataclass(frozen=True, slots=True)
class HelpQuery:
    """A request for help. `path` "" is the root. If `query` is set, `path` is ignored."""

    path: str = ROOT
    query: str | None = None
    arg: str | None = None
    format: Literal["short", "full"] = "short"
    include_examples: bool | None = None  # None: only full has them
    include_schemas: bool = False
    max_tokens: int | None = None
    limit: int | None = None
    cursor: str | None = None


def answer_query(catalog: Catalog, query: HelpQuery, visibility: Visibility = FULL_VISIBILITY) -> HelpAnswer:
    """Return the answer to a query, from the cache if possible. Raises UnknownPath and BadHelpQuery."""

    def render() -> HelpAnswer:
        return _render_answer(catalog, visibility, query)

    if query.query is not None or query.cursor is not None:  # too many different searches and cursors to cache
        return render()
    return get_or_render_answer(catalog, (visibility, query), render)


def answer_about_op(op: CatalogOp, query: HelpQuery, *, agents: Sequence[CatalogAgent] = ()) -> HelpAnswer:
    """Return help on one op; the path of the query is ignored. `agents` are those that it can run.

    Raises BadHelpQuery, and UnknownPath for an argument.
    """
    if query.cursor is not None:
        raise BadHelpQuery("cursor", f"{op.op} is an op and has no pages. Remove the cursor.")
    if query.arg is not None:
        argument_body = fitted_help.fit_argument_body(build_argument_body(op, query.arg), query.max_tokens)
        return build_answer(argument_body, op.op, op_kind=op.kind)
    body = _build_full_body(op, query) if query.format == "full" else _build_short_body(op, query)
    if agents:
        body["agents"] = [answers.summarize_agent(agent) for agent in agents]
    return build_answer(fitted_help.fit_op_body(body, op.schema, query.max_tokens), op.op, op_kind=op.kind)


def resolve_path(catalog: Catalog, view: CatalogView, name: str) -> str:
    """Return the canonical path of a group or visible op, given a path, tool name or alias. Raises UnknownPath."""
    if name in ("", ROOT):
        return ROOT
    op = catalog.find_op(name)
    if op is not None and (op.op in view.ops or not op.is_active):
        if not op.is_active and op.successor in view.ops:
            raise UnknownPath(
                f"{op.op} is retired. Use {op.successor}.", help_path=op.successor, did_you_mean=[op.successor]
            )
        if op.is_active:
            return op.op
    if name in view.children:
        return name
    if switch_message := view.off_reasons.get(op.op if op else name):
        raise UnknownPath(switch_message, help_path=find_nearest_ancestor(view, op.op if op else name), did_you_mean=[])
    close_names = suggest_paths(catalog, view, name)
    hint = f" Did you mean {', '.join(close_names)}?" if close_names else ""
    short_name = name if len(name) <= 100 else name[:100] + "…"
    raise UnknownPath(
        f"There is no op or group {short_name}.{hint}",
        help_path=find_nearest_ancestor(view, name),
        did_you_mean=close_names,
    )


def find_nearest_ancestor(view: CatalogView, path: str) -> str:
    """Return the deepest group above a path that this caller can read."""
    path = path[:200]  # no path is longer, but a request may send a million dots
    while path != ROOT:
        path = get_parent_path(path)
        if path in view.children:
            return path
    return ROOT


def find_readable_path(view: CatalogView, path: str) -> str:
    """Return a path if this caller can read it, else the nearest readable group above it."""
    return path if path in view.ops or path in view.children else find_nearest_ancestor(view, path)


def suggest_paths(catalog: Catalog, view: CatalogView, name: str) -> list[str]:
    """Return up to three visible paths similar to a name, from search results, its would-be siblings and groups."""
    search_results = search.find_ops(catalog, view, name, limit=20, use_endpoint=False)
    siblings = view.children.get(find_nearest_ancestor(view, name), ())
    candidates = dict.fromkeys([*search_results, *siblings, *(path for path in view.children if path != ROOT)])
    tool_names = {catalog.ops[path].tool_name: path for path in candidates if path in catalog.ops}
    matches = english.find_similar(name, [*candidates, *tool_names], cutoff=0.65)
    groups = _find_named_groups(view, name)
    return list(dict.fromkeys([*groups, *(tool_names.get(match, match) for match in matches)]))[:MAX_SUGGESTIONS]


def _find_named_groups(view: CatalogView, name: str) -> list[str]:
    """Return the groups whose own name a name begins with: onto.task for tasks, cal for calendar."""
    last = name[:200].rpartition(".")[2].lower()
    own_names = {path: path.rpartition(".")[2] for path in view.children if path != ROOT}
    groups = [path for path, own in own_names.items() if len(own) >= MIN_GROUP_NAME and last.startswith(own)]
    return sorted(groups, key=lambda path: (-len(own_names[path]), -len(view.children[path]), path))


def _render_answer(catalog: Catalog, visibility: Visibility, query: HelpQuery) -> HelpAnswer:
    view = catalog.view_for(visibility)
    if query.query is not None:
        return _answer_search(catalog, view, query, query.query)
    if query.path == AGENTS_PATH or query.path.startswith(AGENT_PREFIX):
        return _answer_about_agents(catalog, visibility, query)
    path = resolve_path(catalog, view, query.path)
    if path in catalog.ops:
        op = catalog.ops[path]
        agents = answers.list_visible_agents(catalog, visibility) if answers.runs_agents(op) else ()
        return answer_about_op(op, query, agents=agents)
    if query.arg is not None:
        raise BadHelpQuery("arg", f"{path} is a group and has no arguments. Give the path of an op.")
    if path == ROOT and answers.can_run_agents(catalog, visibility):
        return _answer_group(catalog, path, tuple(sorted([*view.children[ROOT], AGENTS_PATH])), query)
    return _answer_group(catalog, path, view.children.get(path, ()), query)


def _build_short_body(op: CatalogOp, query: HelpQuery) -> dict[str, Any]:
    body: dict[str, Any] = {"path": op.op, "type": "op", "kind": op.kind, "summary": op.summary}
    body["args"] = signatures.format_arguments(op.schema)
    if query.include_examples:
        body["examples"] = list(op.examples)
    return drop_empty(body | _build_schema_part(op, query))


def _build_full_body(op: CatalogOp, query: HelpQuery) -> dict[str, Any]:
    body: dict[str, Any] = {"path": op.op, "type": "op", "kind": op.kind, "summary": op.summary}
    body |= {"entity": op.entity, "action": op.action, "description": op.description}
    body["usage"] = {
        "op": op.op,
        "args": signatures.build_usage_args(op.schema, op.examples[0]["args"] if op.examples else None),
    }
    body["args"] = signatures.describe_arguments(op.schema)
    body["policy"] = {key: op.policy[key] for key in ("do", "dont", "edge_cases") if op.policy.get(key)}
    body["notes"] = op.notes
    if query.include_examples is not False:
        body["examples"] = list(op.examples)
    return drop_empty(body | _build_schema_part(op, query))


def _build_schema_part(op: CatalogOp, query: HelpQuery) -> dict[str, Any]:
    return {"schema": signatures.strip_annotations(op.schema)} if query.include_schemas else {}


def build_argument_body(op: CatalogOp, name: str) -> dict[str, Any]:
    if name not in op.arguments:
        name = op.argument_aliases.get(name, name)
    if name not in op.arguments:
        close_names = english.find_similar(name, op.arguments)
        hint = f"Its arguments are {', '.join(op.arguments)}." if op.arguments else "It has no arguments."
        raise UnknownArgument(f"{op.op} has no such argument. {hint}", help_path=op.op, did_you_mean=close_names)
    description = signatures.describe_argument(op.schema, name)
    values = _list_example_values(op, name)
    described = {**pattern_examples.replace_patterns(description, values)}
    described.setdefault("examples", values)
    return {"path": op.op, "type": "arg", "arg": drop_empty(described)}


def _list_example_values(op: CatalogOp, name: str) -> list[Any]:
    """Return the different values of an argument in the op's examples. An id is not shown: it exists nowhere else."""
    if op.arguments[name].get("format") == "uuid":
        return []
    values: list[Any] = []
    for example in op.examples:
        if name in example["args"] and example["args"][name] not in values:
            values.append(example["args"][name])
    return values


def _answer_about_agents(catalog: Catalog, visibility: Visibility, query: HelpQuery) -> HelpAnswer:
    for field in ("arg", "cursor"):
        if getattr(query, field) is not None:
            raise BadHelpQuery(field, f"Help on agents does not take {field}. Remove it.")
    if query.path == AGENTS_PATH:
        agents = answers.list_visible_agents(catalog, visibility)
        if not agents:
            raise UnknownPath("There are no agents here.", help_path=ROOT, did_you_mean=[])
        items = [{"path": f"{AGENT_PREFIX}{agent.name}", "summary": agent.summary} for agent in agents]
        body = {"path": AGENTS_PATH, "type": "group", "summary": catalog.groups.get(AGENTS_PATH, ""), "items": items}
        return build_answer(drop_empty(body), AGENTS_PATH, len(items))
    agent = answers.find_visible_agent(catalog, visibility, query.path)
    path = f"{AGENT_PREFIX}{agent.name}"
    about = answers.describe_agent(catalog, agent, visibility, is_full=query.format == "full")
    return build_answer({"path": path, "type": "agent", **about}, path)


def _answer_group(catalog: Catalog, path: str, children: tuple[str, ...], query: HelpQuery) -> HelpAnswer:
    start = _find_page_start(children, query.cursor)
    page = children[start : start + (query.limit or GROUP_LIMIT)]
    body: dict[str, Any] = {"path": path, "type": "group", "summary": catalog.groups.get(path, "")}
    body["items"] = items = [_build_group_item(catalog, child) for child in page]
    for count in range(fitted_help.count_fitting_items(body, query.max_tokens), 0, -1):
        body["items"] = items[:count]
        if start + count < len(children):
            body["next_cursor"] = lists.encode_cursor(page[count - 1])
        if query.max_tokens is None or token_budget.count_json(body) <= query.max_tokens:
            break
    return build_answer(drop_empty(body, always_kept=("items",)), path, len(body["items"]))


def _build_group_item(catalog: Catalog, path: str) -> dict[str, Any]:
    if op := catalog.ops.get(path):
        return {"path": path, "summary": op.summary, "kind": op.kind}
    return drop_empty({"path": path, "summary": catalog.groups.get(path, "")})


def _answer_search(catalog: Catalog, view: CatalogView, query: HelpQuery, text: str) -> HelpAnswer:
    for field in ("arg", "cursor"):
        if getattr(query, field) is not None:
            raise BadHelpQuery(field, f"A search does not take {field}. Remove it, or send a path instead of a query.")
    result = search.search_ops(catalog, view, text, limit=query.limit)
    paths = result.paths
    if paths:
        items = [_build_search_item(catalog, catalog.ops[path]) for path in paths]
    else:
        items = [
            drop_empty({"path": path, "summary": catalog.groups.get(path, ""), "ops": view.counts[path]})
            for path in search.find_nearest_groups(catalog, view, text)
        ]
    echo = text if len(text) <= MAX_ECHO else f"{text[:MAX_ECHO]}…"
    message = NOTHING_FITS if paths and not result.is_clear else ""
    body = drop_empty({"query": echo, "type": "search", "message": message, "items": items}, always_kept=("items",))
    body["items"] = shown_items = items[: fitted_help.count_fitting_items(body, query.max_tokens)]
    if len(shown_items) < len(items):
        body["omitted"] = ["items"]
    elif paths and result.is_clear:
        fitted_help.add_arguments(body, [catalog.ops[path] for path in paths], text, query.max_tokens or SEARCH_TOKENS)
    return build_answer(body, result_count=len(paths), found_paths=tuple(paths))


def _build_search_item(catalog: Catalog, op: CatalogOp) -> dict[str, Any]:
    service = answers.get_service(catalog, op)
    return drop_empty({"path": op.op, "service": service, "summary": op.summary, "kind": op.kind})


def _find_page_start(children: tuple[str, ...], cursor: str | None) -> int:
    """Return the index where a page begins: after the path in the cursor, even if that path is gone."""
    if cursor is None:
        return 0
    try:
        last = lists.decode_cursor(cursor)
    except lists.InvalidCursor:
        raise BadHelpQuery("cursor", "The cursor is invalid. Send the next_cursor of the previous page.") from None
    return sum(child <= last for child in children)
