"""Fitting a help body into a number of tokens, the least useful part first, a required argument never."""

from collections.abc import Iterator
from typing import Any

import orjson

from core import tokens
from registry import signatures
from registry.arguments import properties

STEPS = 32  # in which the optional arguments go: each is counted, and an op may have hundreds
NAMED = 12  # optional arguments that are named when all of them are left out
PROSE = ("notes", "policy", "usage", "description", "summary")


def fitted(body: dict[str, Any], schema: dict[str, Any], max_tokens: int | None) -> dict[str, Any]:
    """Return an op's body that fits: without examples, then optional arguments, then prose.

    What was left out is named in `omitted`. Below the smallest form the smallest form is returned.
    """
    if max_tokens is None or size(body) <= max_tokens:
        return body
    smallest = body
    for smaller in _ever_smaller(body, schema):
        if size(smaller) <= max_tokens:
            return smaller
        smallest = min(smallest, smaller, key=size)
    return smallest


def argument_fitted(body: dict[str, Any], max_tokens: int | None) -> dict[str, Any]:
    """Return one argument's body that fits: without examples, then the schema of its parts, then its description."""
    told, omitted = dict(body["arg"]), list[str]()
    for part in ("examples", "schema", "description"):
        if max_tokens is None or size(_argument_body(body, told, omitted)) <= max_tokens:
            break
        if told.pop(part, None) is not None:
            omitted.append(part)
    return _argument_body(body, told, omitted)


def _argument_body(body: dict[str, Any], told: dict[str, Any], omitted: list[str]) -> dict[str, Any]:
    return {**body, "arg": told} | ({"omitted": omitted} if omitted else {})


def items_that_fit(body: dict[str, Any], max_tokens: int | None) -> int:
    """Return how many of a list's items fit, at least one where there are any: a page of nothing leads nowhere."""
    items: list[Any] = body["items"]
    if max_tokens is None or size(body) <= max_tokens:
        return len(items)
    left = max_tokens - size({**body, "items": []}) - 10  # ten for the cursor and its name
    for index, item in enumerate(items):
        left -= size(item) + 1
        if left < 0:
            return max(index, 1)
    return len(items)


def size(body: Any) -> int:
    """Return the o200k_base tokens of a body as it is sent."""
    return size_of(orjson.dumps(body))


def size_of(body: bytes) -> int:
    """Return the o200k_base tokens of a body that is rendered already."""
    return tokens.count(body.decode())


def _ever_smaller(body: dict[str, Any], schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the body with one thing less each time; there is at least one, the smallest."""
    body = dict(body)
    omitted: list[str] = []
    for part in ("examples", "schema"):
        if body.pop(part, None) is not None:
            omitted.append(part)
            yield {**body, "omitted": list(omitted)}
    if isinstance(body.get("args"), dict):
        body["args"] = signatures.short(schema, fold=True)
        yield {**body, "omitted": list(omitted)} if omitted else dict(body)
    optional = [name for name, _, required in properties(schema) if not required][::-1]
    step = 1 + len(optional) // STEPS
    for start in range(0, len(optional), step):
        names = optional[start : start + step]
        body["args"] = _without(body["args"], frozenset(names))
        omitted += [f"args.{name}" for name in names]
        yield {**body, "omitted": list(omitted)}
    if len(optional) > NAMED:
        omitted = [part for part in omitted if not part.startswith("args.")] + ["args.*"]
        yield {**body, "omitted": list(omitted)}
    for part in PROSE:
        if body.pop(part, None) is not None:
            omitted.append(part)
            yield {**body, "omitted": list(omitted)}
    if isinstance(body["args"], list) and any("description" in arg for arg in body["args"]):
        body["args"] = [{key: arg[key] for key in arg if key != "description"} for arg in body["args"]]
        omitted.append("args.*.description")
    yield {**body, "omitted": list(omitted)} if omitted else dict(body)


def _without(args: Any, names: frozenset[str]) -> Any:
    if isinstance(args, dict):
        return {key: value for key, value in args.items() if key not in names}
    return [arg for arg in args if arg["name"] not in names]
