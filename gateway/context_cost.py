"""Count the context tokens of discovery against sending every op definition, for docs/context-cost.md.

Counts whole requests as a chat service sends them to a model: tool definitions and the turn's messages so far.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from core import tokens
from gateway import tools
from registry import catalogs, help
from registry.catalogs import Catalog, CatalogOp
from registry.models import ROOT

TARGET = "onto.task.update"  # the op that every turn runs in the end
ASKED = "Move the printer task to Friday and make it urgent."
EXPLORED = 10  # groups, and ops, that the worst turn reads: the largest ones
SIZES = (200, 1_000)

PAGE = """\
# What discovery costs in context

{notice}

All figures are `o200k_base` tokens of the JSON of whole requests, as a chat service sends them: tool definitions and
every message of the turn so far. Other models count tokens differently, but the shares hardly change.

| turn | what happens |
|---|---|
| initial | the user's sentence, nothing called yet |
| typical | help of the root, of a group and of `{target}`, then the call |
| worst | the root, the {explored} largest groups, the {explored} largest ops in full, a refused call, then the call |

The other side sends every op's definition (name, description, JSON Schema) in each request and calls at once; in the
worst turn its call is refused once too. The op's answer is the same on both sides. Catalogs larger than the shipped one
repeat it under other groups.

## The largest request of a turn

| ops | turn | discovery | every definition | saved |
|---|---|---|---|---|
{largest}

## All requests of a turn together

Discovery takes more requests, and each request repeats the earlier messages. This is what you pay for a model without a
prompt cache. In a small catalog, an agent that reads much of it costs more than one that gets all of it at once.

| ops | turn | requests | discovery | requests | every definition | saved |
|---|---|---|---|---|---|---|
{together}

## The levels of help

The gateway's own tools take {handed} tokens in total, whatever the size of the catalog.

| what is read | tokens |
|---|---|
{levels}
"""

Message = dict[str, Any]
Call = tuple[str, dict[str, Any], str]  # tool, arguments, answer


@dataclass(frozen=True, slots=True)
class Turn:
    """The tokens of each request of one turn, in order."""

    requests: list[int]

    @property
    def largest(self) -> int:
        """Return the tokens of the last request, which contains all earlier ones."""
        return self.requests[-1]


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one kind of turn, with discovery and with every definition in each request."""

    name: str
    discovered: Turn
    injected: Turn

    @property
    def saved(self) -> str:
        """Return the share of the largest request that discovery saves, formatted."""
        return _share(self.discovered.largest, self.injected.largest)

    @property
    def saved_in_all(self) -> str:
        """Return the share of all requests together that discovery saves, formatted."""
        return _share(sum(self.discovered.requests), sum(self.injected.requests))


def grown(content: dict[str, Any], number: int) -> dict[str, Any]:
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


def costs(content: dict[str, Any]) -> list[Cost]:
    """Return the cost of an initial, a typical and a worst turn with a release's content."""
    catalog = catalogs.build("", content)
    definitions = [_defined(op) for op in catalog.ops.values()]
    handed = [_function(tool) for tool in tools.DEFINITIONS]
    run = _run(catalog.ops[TARGET])
    path = [_help(catalog, path) for path in (ROOT, TARGET.rpartition(".")[0], TARGET)]
    explored = [_help(catalog, ROOT), *_groups(catalog), *_ops(catalog), _refused(catalog.ops[TARGET])]
    direct = (run[1]["op"].replace(".", "_"), run[1]["args"], run[2])
    return [
        Cost("initial", _turn(handed, ()), _turn(definitions, ())),
        Cost("typical", _turn(handed, (*path, run)), _turn(definitions, (direct,))),
        Cost("worst", _turn(handed, (*explored, run)), _turn(definitions, (_refused_directly(explored[-1]), direct))),
    ]


def page(content: dict[str, Any], made: str) -> str:
    """Return docs/context-cost.md for the shipped catalog's content. `made` is the notice at its top."""
    found = {number: costs(grown(content, number)) for number in (len(content["ops"]), *SIZES)}
    return PAGE.format(
        notice=made,
        target=TARGET,
        explored=EXPLORED,
        handed=_count([_function(tool) for tool in tools.DEFINITIONS]),
        largest="\n".join(_largest(number, cost) for number, each in found.items() for cost in each),
        together="\n".join(_together(number, cost) for number, each in found.items() for cost in each),
        levels="\n".join(f"| {name} | {value} |" for name, value in _levels(content)),
    )


def _largest(number: int, cost: Cost) -> str:
    sides = f"{cost.discovered.largest:,} | {cost.injected.largest:,}"
    return f"| {number:,} | {cost.name} | {sides} | **{cost.saved}** |"


def _together(number: int, cost: Cost) -> str:
    sides = [f"{len(turn.requests)} | {sum(turn.requests):,}" for turn in (cost.discovered, cost.injected)]
    return f"| {number:,} | {cost.name} | {' | '.join(sides)} | {cost.saved_in_all} |"


def _levels(content: dict[str, Any]) -> Iterable[tuple[str, str]]:
    catalog = catalogs.build("", content)
    listed = [len(page["items"]) for page in _bodies(catalog, _group_paths(catalog))]
    sizes = [tokens.count(_body(catalog, path)) for path in _group_paths(catalog)]
    yield "an item of a group", f"{sum(sizes) / sum(listed):.0f} on average"
    for form in ("short", "full"):
        found = sorted(tokens.count(_body(catalog, path, form)) for path in catalog.ops)
        yield f"an op, {form}", f"{found[len(found) // 2]} median, {found[-1]:,} at most"
    path = [_body(catalog, path) for path in (ROOT, TARGET.rpartition(".")[0], TARGET)]
    name, sent, answer = _run(catalog.ops[TARGET])
    spent = sum(map(tokens.count, (*path, json.dumps(sent), answer, name)))
    yield f"root → group → `{TARGET}` → its call and answer", f"{spent:,}"


def _turn(definitions: Sequence[dict[str, Any]], calls: Sequence[Call]) -> Turn:
    """Count the tokens of a turn's requests: one before each call, and one after the last answer."""
    said: list[list[Message]] = [[{"role": "user", "content": ASKED}], *map(_messages, range(len(calls)), calls)]
    head = _count(definitions)
    return Turn([head + _count(messages) for messages in accumulate(said)])


def _messages(number: int, call: Call) -> list[Message]:
    name, sent, answer = call
    id = f"call_{number}"
    function = {"name": name, "arguments": json.dumps(sent)}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": id, "content": answer},
    ]


def _help(catalog: Catalog, path: str, form: str = "short") -> Call:
    return (
        tools.HELP["name"],
        {"path": path} | ({"format": form} if form != "short" else {}),
        _body(catalog, path, form),
    )


def _body(catalog: Catalog, path: str, form: str = "short") -> str:
    return help.answer(catalog, help.HelpQuery(path=path, format="full" if form == "full" else "short")).body.decode()


def _bodies(catalog: Catalog, paths: Iterable[str]) -> list[dict[str, Any]]:
    return [json.loads(_body(catalog, path)) for path in paths]


def _group_paths(catalog: Catalog) -> list[str]:
    return [path for path in catalog.view(catalogs.EVERYTHING).children if path != ROOT]


def _groups(catalog: Catalog) -> list[Call]:
    largest = sorted(_group_paths(catalog), key=lambda path: (-len(_body(catalog, path)), path))
    return [_help(catalog, path) for path in largest[:EXPLORED]]


def _ops(catalog: Catalog) -> list[Call]:
    largest = sorted(catalog.ops, key=lambda path: (-len(_body(catalog, path, "full")), path))
    return [_help(catalog, path, "full") for path in largest[:EXPLORED]]


def _run(op: CatalogOp) -> Call:
    """Return a call with the args of the op's first example, whose answer repeats them."""
    args = op.examples[0]["args"]
    answer = {"op": op.op, "ok": True, "result": {op.entity: args, "message": "Updated."}, "meta": {"warnings": []}}
    return tools.EXEC["name"], {"op": op.op, "args": args}, json.dumps(answer)


def _refused(op: CatalogOp) -> Call:
    """Return the same call with an unknown argument, refused with a corrected call."""
    args = op.examples[0]["args"]
    wrong = {"path": "/due", "code": "unknown", "message": "due is no argument; send due_at.", "got": "Friday"}
    details = {"field_errors": [wrong], "reason": "invalid_args", "retry_with": {"op": op.op, "args": args}}
    error = {"code": "VALIDATION_ERROR", "message": wrong["message"], "details": details, "help_path": op.op}
    answer = {"op": op.op, "ok": False, "error": error, "meta": {"warnings": []}}
    return tools.EXEC["name"], {"op": op.op, "args": {**args, "due": "Friday"}}, json.dumps(answer)


def _refused_directly(call: Call) -> Call:
    _, sent, answer = call
    return sent["op"].replace(".", "_"), sent["args"], answer


def _defined(op: CatalogOp) -> dict[str, Any]:
    """Return an op as a function definition, without our own schema annotations (x-…)."""
    description = f"{op.summary}. {op.description}".strip()
    return _function({"name": op.tool_name, "description": description, "parameters": _plain(op.schema)})


def _function(tool: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": tool}


def _plain(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {name: _plain(value) for name, value in schema.items() if not name.startswith("x-")}
    return [_plain(each) for each in schema] if isinstance(schema, list) else schema


def _count(value: Any) -> int:
    return tokens.count(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def _share(small: int, large: int) -> str:
    return f"{1 - small / large:.1%}"
