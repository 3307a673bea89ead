"""The rules of the gateway on two labelled sets: turns that steal data, and turns that users want.

The ops are those that are shipped, those of the example shop's document, and tools of services that are only named in
the set. The last two get their labels and their kind from the import.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.shop import service
from gateway.data_flow import policy
from gateway.data_flow.policy import FlowPolicy, ReplayedCall
from gateway.data_flow.rules import GATEWAY_RULES
from gateway.models import FlowMode
from registry.catalog import builder
from registry.catalog.connections import Connections
from registry.catalog.model import Catalog, CatalogOp
from registry.imports import document_source, mcp_import
from registry.imports.openapi import parse_document
from registry.imports.run_import import build_op_entry

SETS: dict[str, Any] = yaml.safe_load((Path(__file__).parents[3] / "data" / "data_flow.yaml").read_text())
ENFORCED = FlowPolicy(FlowMode.ENFORCE, GATEWAY_RULES)
MOST_TOUCHED = 0.02


@pytest.fixture
def ops(live_catalog: Catalog) -> dict[str, CatalogOp]:
    """Return the ops of the sets, by name."""
    names = {name for first, then, _ in SETS["exfiltrations"] for name in (first, then)}
    ops = dict(live_catalog.ops)
    document = parse_document(json.dumps(service.load_document()).encode())
    for each in document_source.build_source(document, whole=document).ops:
        tool_name = next(key for key in _list_operation_ids() if key.lower() == each.tool_name.replace("_", "").lower())
        entry = build_op_entry(each, path="shop.op", tool_name=each.tool_name, connection="shop")
        ops[f"shop.{tool_name}"] = builder.build_op(entry)
    for name in names - ops.keys():
        connection, _, tool = name.partition(".")
        tools = [{"name": tool, "description": "", "inputSchema": {"type": "object"}}]
        (source_op,) = mcp_import.build_source(tools, group=connection, needs_subject=False).ops
        entry = build_op_entry(source_op, path=f"{connection}.op", tool_name=tool, connection=connection)
        ops[name] = builder.build_op(entry)
    return ops


def _list_operation_ids() -> list[str]:
    paths = service.load_document()["paths"].values()
    return [each["operationId"] for path in paths for each in path.values() if "operationId" in each]


def replay(ops: dict[str, CatalogOp], names: list[str]) -> list[ReplayedCall]:
    return policy.replay(ENFORCED, [ops[name] for name in names], Connections())


def judge(calls: list[ReplayedCall]) -> str:
    decision = calls[-1].decision
    if decision is None:
        return "runs"
    return "refused" if decision.refuses else "asked"


def test_each_exfiltration_is_refused_or_asked_as_the_rules_say(ops: dict[str, CatalogOp]) -> None:
    assert len(SETS["exfiltrations"]) == 100
    wrong = [
        (first, then, wanted, result)
        for first, then, wanted in SETS["exfiltrations"]
        if (result := judge(replay(ops, [first, then]))) != wanted
    ]
    assert wrong == []


def test_few_benign_turns_are_touched(ops: dict[str, CatalogOp]) -> None:
    turns = SETS["benign"]
    assert (len(turns), len(set(map(tuple, turns)))) == (500, 500)

    touched = [turn for turn in turns if any(call.decision for call in replay(ops, turn))]

    assert 0 < len(touched) <= MOST_TOUCHED * len(turns), touched
