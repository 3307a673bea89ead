"""The copy of the example domains is as complete as the shipped one, and every example runs."""

from pathlib import Path
from typing import Any

import pytest

from demo import manifest
from gateway.executors import explain_missing, in_process
from registry import checks
from registry.catalog.connections import ConnectionConfig, UpstreamTarget
from registry.files import loader
from registry.models import Connection
from tests.support.loops import for_each
from tests.support.rows.example_domains import COPY, create_data, run

EXAMPLES = ConnectionConfig("examples", Connection.Kind.EXAMPLE)
SHIPPED = loader.read_shipped_catalog()
OPS = {op["op"]: op for op in COPY["ops"]}
GROUPS = {group["path"]: group for group in COPY["groups"]}
EXAMPLE_CALLS = [(path, example["args"]) for path, op in OPS.items() for example in op["examples"]]


def test_copy_joins_the_shipped_catalog_without_findings() -> None:
    whole = {**SHIPPED, **{key: [*SHIPPED[key], *COPY[key]] for key in ("groups", "ops")}}

    assert [str(finding) for finding in checks.check_content(whole)] == []


def test_ops_and_handlers_match() -> None:
    assert {op["tool_name"] for op in OPS.values()} == set(manifest.HANDLERS)
    assert {op["connection"] for op in OPS.values()} == {"examples"}
    assert explain_missing(EXAMPLES, UpstreamTarget("examples", "read_file")) == ""
    assert 'no handler for the tool "x"' in explain_missing(EXAMPLES, UpstreamTarget("examples", "x"))
    assert in_process.get_executor("examples").transactional is False  # our transaction does not undo their writes


@for_each("path", OPS)
def test_op_copy_is_complete(path: str) -> None:
    op = OPS[path]
    has_choices = op["parameters_schema"].get("required", []) != [*op["parameters_schema"]["properties"]]

    assert op["description"].endswith(".")
    assert op["keywords"]
    assert op["aliases"]
    assert op["contexts"] == ["examples"]  # in no context of the legacy surface
    assert not op.get("needs_subject", False)
    assert len(op["examples"]) >= (2 if has_choices and op["parameters_schema"]["properties"] else 1)
    assert op["policy"].get("do")
    assert op["policy"].get("dont") or op["kind"] == "read"
    assert op["action"]
    assert op["parameters_schema"]["additionalProperties"] is False
    if op["kind"] == "write":
        assert "A dry run checks the call" in op["description"]
        text = " ".join([op["description"], *op["policy"].get("edge_cases", [])])
        assert any(words in text for words in ("nothing undoes a write", "Nothing undoes a write", "stays if a later"))


def test_domains_are_labelled_as_examples() -> None:
    named = {path: group for path, group in GROUPS.items() if "discovery_name" in group}

    assert set(named) == {"files", "shell", "crm", "database"}
    for group in named.values():
        assert group["summary"].startswith("Example domain")
        assert "xample" in group["discovery_summary"]


@pytest.mark.parametrize(("path", "args"), EXAMPLE_CALLS, ids=str)
def test_example_runs(settings: Any, tmp_path: Path, path: str, args: dict[str, Any]) -> None:
    create_data(settings, tmp_path)

    assert run(OPS[path]["tool_name"], **args)["message"]
