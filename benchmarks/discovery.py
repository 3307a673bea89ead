"""How many calls and tokens it takes from an end user's request to the right call.

Measured on the shipped catalog alone, and with thousands of other tools added.

A scripted searcher sends the request itself as a query. It knows the right op when it sees it, as a good model does,
but not the op's args: it reads help until it has seen those that the call needs. If the search does not show the op, it
walks down from the root.
"""

import json
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from benchmarks import synthetic
from benchmarks.figures import BenchmarkFigure
from core.text import token_budget
from gateway.contracts.validation import find_field_errors
from registry import search
from registry.catalog import builder
from registry.catalog.model import FULL_VISIBILITY, Catalog
from registry.help import help_pages
from registry.help.help_pages import HelpQuery
from registry.snapshot.entries import GroupEntry, Snapshot

DATA = Path(__file__).parents[1] / "tests" / "data"
REQUESTS = DATA / "discovery_requests.jsonl"  # {"request", "op", "args"}: the whole request and the one right call
PLAIN_REQUESTS = DATA / "plain_requests.jsonl"  # {"request", "ops"}: in words of users, and all right first choices
FIRST_HITS = 3


class InvalidRequestSet(Exception):
    """A request names an op that the catalog does not have, or args that are invalid."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """The way from one request to its call: the calls sent, the last of which runs the op, and the tokens read."""

    calls: int
    tokens: int


def measure_discovery(catalog: Catalog, requests: Path = REQUESTS, *, name: str = "discovery") -> list[BenchmarkFigure]:
    """Return the mean calls and tokens for a catalog. Raises InvalidRequestSet."""
    ways = [
        _discover(catalog, entry["request"], entry["op"], entry["args"]) for entry in _read_requests(catalog, requests)
    ]
    against = f"{len(ways)} requests, {len(catalog.ops):,} ops"
    return [
        BenchmarkFigure(f"{name}.calls", round(statistics.fmean(way.calls for way in ways), 2), "calls", against),
        BenchmarkFigure(f"{name}.tokens", round(statistics.fmean(way.tokens for way in ways)), "tokens", against),
    ]


def measure_plain_requests(catalog: Catalog, plain: Path = PLAIN_REQUESTS) -> BenchmarkFigure:
    """Return the share of requests in words of users that find a right op among the first. Raises InvalidRequestSet."""
    ranks = list(_find_ranks(catalog, plain))
    return BenchmarkFigure(
        "search.plain.top3",
        round(statistics.fmean(rank is not None and rank < FIRST_HITS for rank in ranks), 3),
        "",
        f"{len(ranks)} requests in words of users",
    )


def add_tools(content: Snapshot, number: int) -> Catalog:
    """Return the catalog of a release's content (see registry.snapshot.snapshot) with this many other tools."""
    others = synthetic.build_ops(number)
    groups: list[GroupEntry] = [
        {"path": path, "summary": summary} for path, summary in synthetic.build_groups(others).items()
    ]
    return builder.build_catalog(
        "0" * 64, {**content, "ops": [*content["ops"], *others], "groups": [*content["groups"], *groups]}
    )


def _discover(catalog: Catalog, request: str, op: str, args: dict[str, Any]) -> Discovery:
    body, tokens = _read_help(catalog, HelpQuery(query=request))
    calls = 1
    found = next((item for item in body["items"] if item["path"] == op), None)
    if found is None:
        for path in _list_ancestors(op):
            tokens += _read_help(catalog, HelpQuery(path=path))[1]
            calls += 1
    if found is None or not args.keys() <= found.get("args", {}).keys():
        tokens += _read_help(catalog, HelpQuery(path=op))[1]
        calls += 1
    return Discovery(calls + 1, tokens)


def _read_help(catalog: Catalog, query: HelpQuery) -> tuple[dict[str, Any], int]:
    answer = help_pages.answer_query(catalog, query)
    return orjson.loads(answer.body), token_budget.count(answer.body)


def _list_ancestors(op: str) -> list[str]:
    parts = op.split(".")
    return ["root", *(".".join(parts[:end]) for end in range(1, len(parts)))]


def _find_ranks(catalog: Catalog, path: Path) -> Iterator[int | None]:
    """Yield for each plain request the rank (from 0) of the best right op, None if no search result is right."""
    view = catalog.view_for(FULL_VISIBILITY)
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        if unknown := set(entry["ops"]) - catalog.ops.keys():
            raise InvalidRequestSet(f"{entry['request']}: no op {', '.join(sorted(unknown))}")
        paths = search.search_ops(catalog, view, entry["request"]).paths
        yield next((rank for rank, path in enumerate(paths) if path in entry["ops"]), None)


def _read_requests(catalog: Catalog, path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        op = catalog.ops.get(entry["op"])
        if op is None or find_field_errors(op.validator, entry["args"]):
            raise InvalidRequestSet(f"{entry['request']}: {entry['op']} does not take these args")
        yield entry
