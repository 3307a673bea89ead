"""Count the context tokens of discovery against sending every op definition, for docs/context-cost.md.

Counts whole requests as a chat service sends them to a model: tool definitions and the turn's messages so far.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from config.docs import surface_cost
from core.text import token_budget
from gateway.contracts import tool_definitions
from registry.catalog import builder, model
from registry.catalog.model import Catalog, CatalogOp
from registry.help import help_pages
from registry.models import ROOT
from registry.snapshot.entries import Snapshot

TARGET = "onto.task.update"  # the op that every turn runs in the end
USER_MESSAGE = "Move the printer task to Friday and make it urgent."
MAX_EXPLORED = 10  # groups, and ops, that the worst turn reads: the largest ones
CATALOG_SIZES = (200, 1_000)

PAGE_TEMPLATE = """\
# What discovery costs in context

{notice}

All figures are `o200k_base` tokens of the JSON of whole requests, as a chat service sends them: tool definitions and
every message of the turn so far. Other models count tokens differently, but the shares hardly change.

| turn | what happens |
|---|---|
| initial | the user's sentence, before any call |
| typical | help of the root, of a group and of `{target}`, then the call |
| worst | the root, the {explored} largest groups, the {explored} largest ops in full, a refused call, then the call |

*Every definition* is an agent without discovery: it sends every op's definition (name, description, JSON Schema) in
each request and calls the op immediately. In the worst turn, its call is also refused once. The op's answer is the same
on both sides. Larger catalogs repeat the shipped catalog under other groups.

## The largest request of a turn

| ops | turn | discovery | every definition | saved |
|---|---|---|---|---|
{largest}

## All requests of a turn together

Discovery takes more requests, and each request repeats the earlier messages. Without a prompt cache, you pay for all of
these tokens. In a small catalog, an agent that reads much of the help costs more than an agent that gets all
definitions.

| ops | turn | requests | discovery | requests | every definition | saved |
|---|---|---|---|---|---|---|
{together}

## The levels of help

The gateway's own tools take {handed} tokens in total, for a catalog of any size.

| part of the help | tokens |
|---|---|
{levels}
"""

Message = dict[str, Any]
ToolCall = tuple[str, dict[str, Any], str]  # tool, arguments, answer


@dataclass(frozen=True, slots=True)
class TurnCost:
    """The tokens of each request of one turn, in order."""

    requests: list[int]

    @property
    def largest(self) -> int:
        """Return the tokens of the last request, which contains all earlier ones."""
        return self.requests[-1]


@dataclass(frozen=True, slots=True)
class ContextCost:
    """The cost of one kind of turn, with discovery and with every definition in each request."""

    name: str
    discovered: TurnCost
    injected: TurnCost

    @property
    def saved_share(self) -> str:
        """Return the share of the largest request that discovery saves, formatted."""
        return _format_saved_share(self.discovered.largest, self.injected.largest)

    @property
    def total_saved_share(self) -> str:
        """Return the share of all requests together that discovery saves, formatted."""
        return _format_saved_share(sum(self.discovered.requests), sum(self.injected.requests))


def repeat_ops(content: Snapshot, number: int) -> Snapshot:
    """Return a release's content with `number` ops, repeating its own under other groups."""
    ops, groups = list(content["ops"]), list(content["groups"])
    copy = 1
    while len(ops) < number:
        copy += 1
        prefix = f"area{copy}"
        groups += [{"path": prefix, "summary": f"All there is to do in area {copy}"}]
        groups += [
            {**group, "path": f"{prefix}.{group['path']}"} for group in content["groups"] if group["path"] != ROOT
        ]
        ops += [
            {**op, "op": f"{prefix}.{op['op']}", "tool_name": f"{prefix}_{op['tool_name']}", "aliases": []}
            for op in content["ops"]
        ]
    return {**content, "ops": ops[:number], "groups": groups}


def compute_costs(content: Snapshot) -> list[ContextCost]:
    """Return the cost of an initial, a typical and a worst turn with a release's content."""
    catalog = builder.build_catalog("", content)
    definitions = [_define_op(op) for op in catalog.ops.values()]
    gateway_tools = [_wrap_function(tool) for tool in tool_definitions.GATEWAY_TOOLS]
    exec_call = _build_exec_call(catalog.ops[TARGET])
    typical_calls = [
        _build_help_call(catalog, typical_calls) for typical_calls in (ROOT, TARGET.rpartition(".")[0], TARGET)
    ]
    worst_calls = [
        _build_help_call(catalog, ROOT),
        *_build_group_calls(catalog),
        *_build_op_calls(catalog),
        _build_refused_call(catalog.ops[TARGET]),
    ]
    direct_call = (exec_call[1]["op"].replace(".", "_"), exec_call[1]["args"], exec_call[2])
    return [
        ContextCost("initial", _count_turn(gateway_tools, ()), _count_turn(definitions, ())),
        ContextCost(
            "typical", _count_turn(gateway_tools, (*typical_calls, exec_call)), _count_turn(definitions, (direct_call,))
        ),
        ContextCost(
            "worst",
            _count_turn(gateway_tools, (*worst_calls, exec_call)),
            _count_turn(definitions, (_build_direct_refused_call(worst_calls[-1]), direct_call)),
        ),
    ]


def render_page(content: Snapshot, notice: str) -> str:
    """Return docs/context-cost.md for the shipped catalog's content. `notice` goes at its top."""
    costs_by_size = {
        number: compute_costs(repeat_ops(content, number)) for number in (len(content["ops"]), *CATALOG_SIZES)
    }
    page = PAGE_TEMPLATE.format(
        notice=notice,
        target=TARGET,
        explored=MAX_EXPLORED,
        handed=_count_tokens([_wrap_function(tool) for tool in tool_definitions.GATEWAY_TOOLS]),
        largest="\n".join(_format_largest_row(number, cost) for number, each in costs_by_size.items() for cost in each),
        together="\n".join(_format_total_row(number, cost) for number, each in costs_by_size.items() for cost in each),
        levels="\n".join(f"| {name} | {value} |" for name, value in _measure_levels(content)),
    )
    return page + surface_cost.render_section(content)


def _format_largest_row(number: int, cost: ContextCost) -> str:
    sides = f"{cost.discovered.largest:,} | {cost.injected.largest:,}"
    return f"| {number:,} | {cost.name} | {sides} | **{cost.saved_share}** |"


def _format_total_row(number: int, cost: ContextCost) -> str:
    sides = [f"{len(turn.requests)} | {sum(turn.requests):,}" for turn in (cost.discovered, cost.injected)]
    return f"| {number:,} | {cost.name} | {' | '.join(sides)} | {cost.total_saved_share} |"


def _measure_levels(content: Snapshot) -> Iterable[tuple[str, str]]:
    catalog = builder.build_catalog("", content)
    item_counts = [len(page["items"]) for page in _render_help_pages(catalog, _list_group_paths(catalog))]
    sizes = [token_budget.count(_render_help(catalog, help_bodies)) for help_bodies in _list_group_paths(catalog)]
    yield "an item of a group", f"{sum(sizes) / sum(item_counts):.0f} on average"
    for form in ("short", "full"):
        counts = sorted(token_budget.count(_render_help(catalog, help_bodies, form)) for help_bodies in catalog.ops)
        yield f"an op, {form}", f"{counts[len(counts) // 2]} median, {counts[-1]:,} at most"
    help_bodies = [_render_help(catalog, help_bodies) for help_bodies in (ROOT, TARGET.rpartition(".")[0], TARGET)]
    name, args, answer = _build_exec_call(catalog.ops[TARGET])
    token_count = sum(map(token_budget.count, (*help_bodies, json.dumps(args), answer, name)))
    yield f"root → group → `{TARGET}` → its call and answer", f"{token_count:,}"


def _count_turn(definitions: Sequence[dict[str, Any]], calls: Sequence[ToolCall]) -> TurnCost:
    """Count the tokens of a turn's requests: one before each call, and one after the last answer."""
    message_groups: list[list[Message]] = [
        [{"role": "user", "content": USER_MESSAGE}],
        *map(_build_messages, range(len(calls)), calls),
    ]
    definition_tokens = _count_tokens(definitions)
    return TurnCost([definition_tokens + _count_tokens(messages) for messages in accumulate(message_groups)])


def _build_messages(number: int, call: ToolCall) -> list[Message]:
    name, args, answer = call
    id = f"call_{number}"
    function = {"name": name, "arguments": json.dumps(args)}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": id, "content": answer},
    ]


def _build_help_call(catalog: Catalog, path: str, form: str = "short") -> ToolCall:
    return (
        tool_definitions.HELP_TOOL["name"],
        {"path": path} | ({"format": form} if form != "short" else {}),
        _render_help(catalog, path, form),
    )


def _render_help(catalog: Catalog, path: str, form: str = "short") -> str:
    return help_pages.answer_query(
        catalog, help_pages.HelpQuery(path=path, format="full" if form == "full" else "short")
    ).body.decode()


def _render_help_pages(catalog: Catalog, paths: Iterable[str]) -> list[dict[str, Any]]:
    return [json.loads(_render_help(catalog, path)) for path in paths]


def _list_group_paths(catalog: Catalog) -> list[str]:
    return [path for path in catalog.view_for(model.FULL_VISIBILITY).children if path != ROOT]


def _build_group_calls(catalog: Catalog) -> list[ToolCall]:
    largest = sorted(_list_group_paths(catalog), key=lambda path: (-len(_render_help(catalog, path)), path))
    return [_build_help_call(catalog, path) for path in largest[:MAX_EXPLORED]]


def _build_op_calls(catalog: Catalog) -> list[ToolCall]:
    largest = sorted(catalog.ops, key=lambda path: (-len(_render_help(catalog, path, "full")), path))
    return [_build_help_call(catalog, path, "full") for path in largest[:MAX_EXPLORED]]


def _build_exec_call(op: CatalogOp) -> ToolCall:
    """Return a call with the args of the op's first example, whose answer repeats them."""
    args = op.examples[0]["args"]
    answer = {"op": op.op, "ok": True, "result": {op.entity: args, "message": "Updated."}, "meta": {"warnings": []}}
    return tool_definitions.EXEC_TOOL["name"], {"op": op.op, "args": args}, json.dumps(answer)


def _build_refused_call(op: CatalogOp) -> ToolCall:
    """Return the same call with an unknown argument, refused with a corrected call."""
    args = op.examples[0]["args"]
    wrong = {"path": "/due", "code": "unknown", "message": "due is no argument; send due_at.", "got": "Friday"}
    details = {"field_errors": [wrong], "reason": "invalid_args", "retry_with": {"op": op.op, "args": args}}
    error = {"code": "VALIDATION_ERROR", "message": wrong["message"], "details": details, "help_path": op.op}
    answer = {"op": op.op, "ok": False, "error": error, "meta": {"warnings": []}}
    return tool_definitions.EXEC_TOOL["name"], {"op": op.op, "args": {**args, "due": "Friday"}}, json.dumps(answer)


def _build_direct_refused_call(call: ToolCall) -> ToolCall:
    _, args, answer = call
    return args["op"].replace(".", "_"), args["args"], answer


def _define_op(op: CatalogOp) -> dict[str, Any]:
    """Return an op as a function definition, without our own schema annotations (x-…)."""
    description = f"{op.summary}. {op.description}".strip()
    return _wrap_function(
        {"name": op.tool_name, "description": description, "parameters": _strip_annotations(op.schema)}
    )


def _wrap_function(tool: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": tool}


def _strip_annotations(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {name: _strip_annotations(value) for name, value in schema.items() if not name.startswith("x-")}
    return [_strip_annotations(each) for each in schema] if isinstance(schema, list) else schema


def _count_tokens(value: Any) -> int:
    return token_budget.count(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def _format_saved_share(small: int, large: int) -> str:
    return f"{1 - small / large:.1%}"
