"""docs/reliability.md and docs/security.md name only existing tests."""

import ast
import re

from tools.databases import ROOT

TEST_PATH = re.compile(r"`(tests/[\w/]+(?:\.py)?)`")
TEST_NAME = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_reliability_docs_name_existing_tests() -> None:
    names = TEST_NAME.findall((ROOT / "docs/reliability.md").read_text())
    functions = {path: _list_functions(path) for path in {path for path, _ in names}}

    assert len(names) > 20
    assert [f"{path}::{name}" for path, name in names if name not in functions[path]] == []


def test_security_docs_name_existing_tests() -> None:
    paths = TEST_PATH.findall((ROOT / "docs/security.md").read_text())

    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


def _list_functions(path: str) -> set[str]:
    return {each.name for each in ast.parse((ROOT / path).read_text()).body if isinstance(each, ast.FunctionDef)}
