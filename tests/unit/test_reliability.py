"""docs/reliability.md names tests that are there."""

import ast
import re

from tools.databases import ROOT

NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_test_that_a_promise_names_exists() -> None:
    named = NAMED.findall((ROOT / "docs/reliability.md").read_text())
    there = {path: _functions(path) for path in {path for path, _ in named}}

    assert len(named) > 20
    assert [f"{path}::{name}" for path, name in named if name not in there[path]] == []


def _functions(path: str) -> set[str]:
    return {each.name for each in ast.parse((ROOT / path).read_text()).body if isinstance(each, ast.FunctionDef)}
