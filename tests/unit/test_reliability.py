"""docs/reliability.md names only existing tests."""

import ast
import re

from tools.databases import ROOT

TEST_NAME = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_reliability_docs_name_existing_tests() -> None:
    names = TEST_NAME.findall((ROOT / "docs/reliability.md").read_text())
    functions = {path: _list_functions(path) for path in {path for path, _ in names}}

    assert len(names) > 20
    assert [f"{path}::{name}" for path, name in names if name not in functions[path]] == []


def _list_functions(path: str) -> set[str]:
    return {each.name for each in ast.parse((ROOT / path).read_text()).body if isinstance(each, ast.FunctionDef)}
