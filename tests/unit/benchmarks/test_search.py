"""Measuring search, on a set small enough to be told by hand."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import search

TOOLS = [
    {"name": "getWeather", "description": "Weather of a city. Now.", "parameters": {"type": "object"}},
    {"name": "get_weather", "description": "Forecast of the weather of a city", "parameters": {"type": "object"}},
    {"name": "deleteInvoice", "description": "Delete an invoice", "parameters": {"type": "object"}},
]
REQUESTS = [
    {"query": "deleteInvoice", "gold": ["deleteInvoice"], "source": "a"},
    {"query": "weather", "gold": ["no such tool"], "alt": {"no such tool": ["getWeather", "get_weather"]}},
    {"query": "invoice", "gold": ["deleteInvoice", "no such tool"], "source": "a"},
    {"query": "zzzz", "gold": ["deleteInvoice"]},
]


def write(folder: Path, name: str, lines: list[dict[str, Any]]) -> None:
    (folder / name).write_text("\n".join(map(json.dumps, lines)) + "\n\n")


def test_measure_tells_recall_ranks_and_time(tmp_path: Path) -> None:
    write(tmp_path, "queries.jsonl", REQUESTS)
    (tmp_path / "tools.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, TOOLS)).encode()))

    values = {figure.name: figure.value for figure in search.measure_search(tmp_path)}

    assert values["recall@1"] == values["recall@5"] == pytest.approx((1 + 1 + 0.5 + 0) / 4, abs=1e-3)
    assert values["recall@5 a"] == 0.75
    assert values["mrr"] == 0.75
    assert values["p95"] >= values["p50"] > 0
    assert "index.s" in values


def test_measure_says_what_is_missing(tmp_path: Path) -> None:
    write(tmp_path, "tools.jsonl", TOOLS)

    with pytest.raises(search.MissingSearchSet, match=r"has no queries\.jsonl"):
        search.measure_search(tmp_path)
