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

from benchmarks import usage
from benchmarks.figures import BenchmarkFigure, compute_percentile
from core.text import english
from registry import search
from registry.catalog import builder
from registry.catalog.model import FULL_VISIBILITY, Catalog
from registry.models import Op
from registry.search import intent, tokenizer
from registry.snapshot.entries import GroupEntry, OpEntry

GROUP_PATH = "evaluated"
MAX_RESULTS = 5  # results per query
MAX_SUMMARY_LENGTH = 120  # characters

_SENTENCE = re.compile(r".+?[.!?。](?=\s|$)", re.DOTALL)
_NON_NAME_CHARACTERS = re.compile(r"[^a-z0-9_]+")


class MissingSearchSet(Exception):
    """The folder lacks tools.jsonl or queries.jsonl."""


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """The result of one query: the rank (from 0) of each needed op, None if not found, and the time taken."""

    source: str
    ranks: list[int | None]
    milliseconds: float

    def compute_recall(self, limit: int) -> float:
        """Return the share of the needed ops among the first `most` results."""
        return statistics.fmean(place is not None and place < limit for place in self.ranks)

    @property
    def reciprocal_rank(self) -> float:
        return max((1 / (place + 1) for place in self.ranks if place is not None), default=0.0)


def measure_search(folder: Path) -> list[BenchmarkFigure]:
    """Return the figures for the set in a folder. Raises MissingSearchSet if a file is missing."""
    tools, requests = _read_lines(folder, "tools.jsonl"), _read_lines(folder, "queries.jsonl")
    before = usage.get_own_mb() if usage.is_available() else 0.0
    catalog = _build_catalog(tools)
    started = time.perf_counter()
    search.warm_catalog(catalog)
    index_seconds = time.perf_counter() - started
    paths = {tool["name"]: path for tool, path in zip(tools, catalog.ops, strict=True)}
    results = [_run_query(catalog, request, paths) for request in requests]
    against = f"{len(tools):,} tools, {len(results):,} requests"
    memory_figures = (
        [BenchmarkFigure("memory.mb", round(usage.get_own_mb() - before, 1), "MB", "catalog, vectors, index")]
        if before
        else []
    )
    return [
        *_build_figures(results, against),
        BenchmarkFigure("index.s", round(index_seconds, 2), "s", "vectors, index, once"),
        *memory_figures,
    ]


def _read_lines(folder: Path, name: str) -> list[dict[str, Any]]:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            text = path.read_bytes()
            lines = (gzip.decompress(text) if path.suffix == ".gz" else text).decode().splitlines()
            return [json.loads(line) for line in lines if line.strip()]
    raise MissingSearchSet(
        f"{folder} has no {name}. Use a folder with tools.jsonl and queries.jsonl: make bench-search EVALS=…"
    )


def _build_catalog(tools: list[dict[str, Any]]) -> Catalog:
    """Build a catalog as an import of bare functions would: without keywords, policy or examples."""
    paths: dict[str, None] = {}
    entries = [_build_entry(tool, paths) for tool in tools]
    groups: list[GroupEntry] = [{"path": GROUP_PATH, "summary": "Tools to be found"}]
    return builder.build_catalog("0" * 64, {"ops": entries, "groups": groups})


def _build_entry(tool: dict[str, Any], taken: dict[str, None]) -> OpEntry:
    base = path = f"{GROUP_PATH}.{_NON_NAME_CHARACTERS.sub('_', english.to_snake_case(tool['name'])).strip('_')}"
    while path in taken:
        path = f"{base}_{len(taken)}"
    taken[path] = None
    description = tool.get("description") or ""
    sentence = _SENTENCE.match(description.strip())
    action = intent.detect_request_action(tokenizer.split_words(tool["name"]))
    return {
        "op": path,
        "tool_name": tool["name"],
        "kind": Op.Kind.READ if action in ("", intent.READ) else Op.Kind.WRITE,
        "summary": (sentence.group() if sentence else description)[:MAX_SUMMARY_LENGTH] or tool["name"],
        "description": description,
        "parameters_schema": tool["parameters"],
    }


def _run_query(catalog: Catalog, request: dict[str, Any], paths: dict[str, str]) -> RankedQuery:
    started = time.perf_counter()
    matches = search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), request["query"], limit=MAX_RESULTS)
    milliseconds = (time.perf_counter() - started) * 1000
    accepted = [
        {paths.get(name) for name in (needed, *_get_alternatives(request, needed))} for needed in request["gold"]
    ]
    ranks = [next((at for at, path in enumerate(matches) if path in any_of), None) for any_of in accepted]
    return RankedQuery(request.get("source", ""), ranks, milliseconds)


def _get_alternatives(request: dict[str, Any], needed: str) -> list[str]:
    names: list[str] = (request.get("alt") or {}).get(needed, [])
    return names


def _build_figures(results: list[RankedQuery], against: str) -> Iterator[BenchmarkFigure]:
    by_source: dict[str, list[RankedQuery]] = defaultdict(list)
    for each in results:
        by_source[each.source].append(each)
    yield BenchmarkFigure("recall@1", _round_mean(each.compute_recall(1) for each in results), "", against)
    yield BenchmarkFigure("recall@5", _round_mean(each.compute_recall(MAX_RESULTS) for each in results), "", against)
    for source, source_results in sorted(by_source.items()) if len(by_source) > 1 else ():
        yield BenchmarkFigure(
            f"recall@5 {source}",
            _round_mean(each.compute_recall(MAX_RESULTS) for each in source_results),
            "",
            f"{len(source_results):,} requests",
        )
    yield BenchmarkFigure(
        "mrr", _round_mean(each.reciprocal_rank for each in results), "", f"first {MAX_RESULTS} answers"
    )
    for percent in (50, 95):
        milliseconds = compute_percentile([each.milliseconds for each in results], percent)
        yield BenchmarkFigure(f"p{percent}", round(milliseconds, 1), "ms", "in process, one at a time")


def _round_mean(values: Iterator[float]) -> float:
    return round(statistics.fmean(values), 3)
