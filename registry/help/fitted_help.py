"""Fit a help body into a number of tokens. Drop the least useful parts first, and never a required argument."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from core.text import token_budget
from registry.catalog.model import CatalogOp
from registry.jsonschema import dialect, signatures
from registry.jsonschema.arguments import iter_arguments
from registry.jsonschema.dialect import Schema
from registry.search import tokenizer

MAX_STEPS = 32  # in which optional arguments are dropped; each step counts tokens, and an op may have hundreds
MAX_NAMED = 12  # dropped optional arguments listed by name; with more, `omitted` has args.*
MAX_LIKELY = 6  # arguments of such an item that are not required
MIN_MORE = 3  # others that are only counted; fewer are shown
MAX_WITH_ARGUMENTS = 4  # items of a search that show their args; the right op is hardly ever further down
PROSE_FIELDS = ("notes", "policy", "agents", "usage", "description", "summary")


def fit_op_body(body: dict[str, Any], schema: Schema, max_tokens: int | None) -> dict[str, Any]:
    """Return an op's body that fits. Drops examples first, then the schema, optional arguments and prose.

    `omitted` lists what was dropped. If nothing fits, the smallest form is returned.
    """
    if max_tokens is None or token_budget.count_json(body) <= max_tokens:
        return body
    smallest = body
    for smaller in _iter_smaller_bodies(body, schema):
        if token_budget.count_json(smaller) <= max_tokens:
            return smaller
        smallest = min(smallest, smaller, key=token_budget.count_json)
    return smallest


def fit_argument_body(body: dict[str, Any], max_tokens: int | None) -> dict[str, Any]:
    """Return one argument's body that fits. Drops examples first, then the nested schema, then the description."""
    argument, omitted = dict(body["arg"]), list[str]()
    for part in ("examples", "schema", "description"):
        if max_tokens is None or token_budget.count_json(_build_argument_body(body, argument, omitted)) <= max_tokens:
            break
        if argument.pop(part, None) is not None:
            omitted.append(part)
    return _build_argument_body(body, argument, omitted)


def _build_argument_body(body: dict[str, Any], argument: Schema, omitted: list[str]) -> dict[str, Any]:
    return {**body, "arg": argument} | ({"omitted": omitted} if omitted else {})


def count_fitting_items(body: dict[str, Any], max_tokens: int | None) -> int:
    """Return how many items of a list fit: at least one if there are any, so that paging makes progress."""
    items: list[Any] = body["items"]
    if max_tokens is None or token_budget.count_json(body) <= max_tokens:
        return len(items)
    tokens_left = max_tokens - token_budget.count_json({**body, "items": []}) - 10  # 10 for next_cursor
    return max(token_budget.find_last_row(items, tokens_left), min(len(items), 1))


def add_arguments(
    body: dict[str, Any],
    ops: Sequence[CatalogOp],
    query: str,
    max_tokens: int,
    *,
    items: str = "items",
    key: str = "args",
) -> None:
    """Add the arguments to as many of the first items of a search as fit, so that a call can follow without more help.

    `ops` are those of the items. An item shows what its op requires and the likeliest other arguments; more_args counts
    the rest. Nested objects show what most calls send. Signatures that are too long only name what objects and lists
    hold, are folded, or are left out. `items` and `key` are the names of both in the body.
    """
    tokens_left = max_tokens - token_budget.count_json(body)
    stems = _list_stems(query)
    for item, op in zip(body[items][:MAX_WITH_ARGUMENTS], ops, strict=False):
        shown = _choose_arguments(op, stems)
        for form in ("lean", "outline", "fold"):
            args = signatures.format_arguments(op.schema, **{form: True})
            part: dict[str, Any] = {key: {name: each for name, each in args.items() if name in shown}}
            if more := len(args) - len(part[key]):
                part[f"more_{key}"] = more
            cost = token_budget.count_json(part)
            if cost <= tokens_left:
                item.update(part)
                tokens_left -= cost
                break


def _choose_arguments(op: CatalogOp, stems: frozenset[str]) -> frozenset[str]:
    """Return the arguments to show for a request: required ones, and others that it names or that calls often have."""
    optional = [name for name in op.arguments if name not in op.required]
    if len(optional) < MAX_LIKELY + MIN_MORE:
        return frozenset((*op.arguments, signatures.OTHERS))
    uses = Counter(name for example in op.examples for name in example["args"])

    def rank(name: str) -> tuple[bool, bool, int]:  # equal ones stay in the order of the schema
        is_rare = bool(op.arguments[name].get(dialect.RARE))
        return stems.isdisjoint(_list_stems(_describe_in_words(name, op.arguments[name]))), is_rare, -uses[name]

    return frozenset((*op.required, *sorted(optional, key=rank)[:MAX_LIKELY]))


def _describe_in_words(name: str, argument: Schema) -> str:
    """Return the words by which a request names an argument: its name, its choices, and what short help notes."""
    items = argument.get("items")
    choices = argument.get("enum") or (items.get("enum") if isinstance(items, dict) else None) or ()
    note = str(argument.get(dialect.SHORT_NOTE) or "")
    return " ".join((name, note, *(each for each in choices if isinstance(each, str))))


def _list_stems(text: str) -> frozenset[str]:
    return frozenset(map(tokenizer.stem, tokenizer.split_words(text))) - {""}


def _iter_smaller_bodies(body: dict[str, Any], schema: Schema) -> Iterator[dict[str, Any]]:
    """Yield the body at least once, each time with one more part dropped."""
    body = dict(body)
    omitted: list[str] = []
    for part in ("examples", "schema"):
        if body.pop(part, None) is not None:
            omitted.append(part)
            yield {**body, "omitted": list(omitted)}
    if isinstance(body.get("args"), dict):
        body["args"] = signatures.format_arguments(schema, fold=True)
        yield {**body, "omitted": list(omitted)} if omitted else dict(body)
    optional = [name for name, _, required in iter_arguments(schema) if not required][::-1]
    step = 1 + len(optional) // MAX_STEPS
    for start in range(0, len(optional), step):
        names = optional[start : start + step]
        body["args"] = _drop_arguments(body["args"], frozenset(names))
        omitted += [f"args.{name}" for name in names]
        yield {**body, "omitted": list(omitted)}
    if len(optional) > MAX_NAMED:
        omitted = [part for part in omitted if not part.startswith("args.")] + ["args.*"]
        yield {**body, "omitted": list(omitted)}
    for part in PROSE_FIELDS:
        if body.pop(part, None) is not None:
            omitted.append(part)
            yield {**body, "omitted": list(omitted)}
    if isinstance(body["args"], list) and any("description" in arg for arg in body["args"]):
        body["args"] = [{key: arg[key] for key in arg if key != "description"} for arg in body["args"]]
        omitted.append("args.*.description")
    yield {**body, "omitted": list(omitted)} if omitted else dict(body)


def _drop_arguments(args: Any, names: frozenset[str]) -> Any:
    if isinstance(args, dict):
        return {key: value for key, value in args.items() if key not in names}
    return [arg for arg in args if arg["name"] not in names]
