"""Quality and speed of search on an external set of tools and queries.

The folder contains `tools.jsonl` ({"name", "description", "parameters": JSON Schema}) and `queries.jsonl` ({"query",
"gold": [all needed tool names], "alt"?: {name: [accepted equivalents]}, "source"?}). Either may be gzipped.
"""

import gzip
import json
import re
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import memory
from benchmarks.figures import Figure, percentile
from core import nearest
from registry import catalogs, search
from registry.catalogs import EVERYTHING, Catalog
from registry.models import Op
from registry.search import actions, words

GROUP = "evaluated"
MOST = 5  # results per query
SUMMARY = 120  # characters

_SENTENCE = re.compile(r".+?[.!?。](?=\s|$)", re.DOTALL)
_SIGNS = re.compile(r"[^a-z0-9_]+")


class NoSet(Exception):
    """The folder lacks tools.jsonl or queries.jsonl."""


@dataclass(frozen=True, slots=True)
class Found:
    """The result of one query: the rank (from 0) of each needed op, None if not found, and the time taken."""

    source: str
    places: list[int | None]
    milliseconds: float

    def recall(self, most: int) -> float:
        """Return the share of the needed ops among the first `most` results."""
        return statistics.fmean(place is not None and place < most for place in self.places)

    @property
    def reciprocal_rank(self) -> float:
        return max((1 / (place + 1) for place in self.places if place is not None), default=0.0)


def measure(folder: Path) -> list[Figure]:
    """Return the figures for the set in a folder. Raises NoSet if a file is missing."""
    tools, requests = _read(folder, "tools.jsonl"), _read(folder, "queries.jsonl")
    before = memory.own_mb() if memory.is_told() else 0.0
    catalog = _catalog(tools)
    started = time.perf_counter()
    search.warm(catalog)
    indexed = time.perf_counter() - started
    paths = {tool["name"]: path for tool, path in zip(tools, catalog.ops, strict=True)}
    found = [_find(catalog, request, paths) for request in requests]
    told = f"{len(tools):,} tools, {len(found):,} requests"
    grown = [Figure("memory.mb", round(memory.own_mb() - before, 1), "MB", "catalog, vectors, index")] if before else []
    return [*_figures(found, told), Figure("index.s", round(indexed, 2), "s", "vectors, index, once"), *grown]


def _read(folder: Path, name: str) -> list[dict[str, Any]]:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            text = path.read_bytes()
            lines = (gzip.decompress(text) if path.suffix == ".gz" else text).decode().splitlines()
            return [json.loads(line) for line in lines if line.strip()]
    raise NoSet(f"{folder} has no {name}. Use a folder with tools.jsonl and queries.jsonl: make bench-search EVALS=…")


def _catalog(tools: list[dict[str, Any]]) -> Catalog:
    """Build a catalog as an import of bare functions would: without keywords, policy or examples."""
    paths: dict[str, None] = {}
    entries = [_entry(tool, paths) for tool in tools]
    groups = [{"path": GROUP, "summary": "Tools to be found"}]
    return catalogs.build("0" * 64, {"ops": entries, "groups": groups})


def _entry(tool: dict[str, Any], taken: dict[str, None]) -> dict[str, Any]:
    base = path = f"{GROUP}.{_SIGNS.sub('_', nearest.snake_case(tool['name'])).strip('_')}"
    while path in taken:
        path = f"{base}_{len(taken)}"
    taken[path] = None
    description = tool.get("description") or ""
    sentence = _SENTENCE.match(description.strip())
    action = actions.of_request(words.split(tool["name"]))
    return {
        "op": path,
        "tool_name": tool["name"],
        "kind": Op.Kind.READ if action in ("", actions.READ) else Op.Kind.WRITE,
        "summary": (sentence.group() if sentence else description)[:SUMMARY] or tool["name"],
        "description": description,
        "parameters_schema": tool["parameters"],
    }


def _find(catalog: Catalog, request: dict[str, Any], paths: dict[str, str]) -> Found:
    started = time.perf_counter()
    answered = search.find(catalog, catalog.view(EVERYTHING), request["query"], limit=MOST)
    took = (time.perf_counter() - started) * 1000
    accepted = [{paths.get(name) for name in (needed, *_alternatives(request, needed))} for needed in request["gold"]]
    places = [next((at for at, path in enumerate(answered) if path in any_of), None) for any_of in accepted]
    return Found(request.get("source", ""), places, took)


def _alternatives(request: dict[str, Any], needed: str) -> list[str]:
    named: list[str] = (request.get("alt") or {}).get(needed, [])
    return named


def _figures(found: list[Found], told: str) -> Iterator[Figure]:
    by_source: dict[str, list[Found]] = defaultdict(list)
    for each in found:
        by_source[each.source].append(each)
    yield Figure("recall@1", _mean(each.recall(1) for each in found), "", told)
    yield Figure("recall@5", _mean(each.recall(MOST) for each in found), "", told)
    for source, some in sorted(by_source.items()) if len(by_source) > 1 else ():
        yield Figure(f"recall@5 {source}", _mean(each.recall(MOST) for each in some), "", f"{len(some):,} requests")
    yield Figure("mrr", _mean(each.reciprocal_rank for each in found), "", f"first {MOST} answers")
    for percent in (50, 95):
        took = percentile([each.milliseconds for each in found], percent)
        yield Figure(f"p{percent}", round(took, 1), "ms", "in process, one at a time")


def _mean(values: Iterator[float]) -> float:
    return round(statistics.fmean(values), 3)
