"""No answer names an op in the words of another surface: by path on the gateway, by tool name where ops are tools."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from registry.catalog.model import Catalog
from registry.models import ROOT
from tests.support.clients.api import Api
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID

pytestmark = pytest.mark.django_db

CORPUS = Path(__file__).parents[2] / "data" / "malformed_calls.jsonl"
NAMES = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*")
TEXT_OPS = ("util.buildos.overview", "util.buildos.usage_guide", "util.schema.field_info", "x.registry.help")
FAILING_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("onto.task.get", {"task_id": "00000000-0000-4000-8000-000000000000"}),
    ("onto.task.gett", {}),
    ("onto.task.complete", {"task_id": DEMO_TASK_ID}),
    ("onto.edge.unlink", {"edge_id": "00000000-0000-4000-8000-000000000000"}),
    ("cal.event.get", {"event_id": "00000000-0000-4000-8000-000000000000"}),
    ("onto.task.update", {"task_id": DEMO_TASK_ID}),
    ("onto.task.get", {}),
    ("onto.task.frobnicate", {}),
    ("cal.frobnicate", {}),
    ("frobnicate", {}),
]


@pytest.fixture
def api_on(api: Api, live_catalog: Catalog, gateway_enabled: None, request: pytest.FixtureRequest) -> Api:
    """Return the client with the toolset of the surface that the test names, and its definitions as `toolset`."""
    toolset = api.post("toolset", {"format": "openai", "surface": request.param}).json()
    api.headers |= {"Gateway-Toolset": toolset["id"]}
    api.toolset = toolset  # type: ignore[attr-defined]
    return api


def find_names(value: Any, names: set[str], sent: str = "") -> set[str]:
    """Return the names in the texts of an answer, without what was sent and the canonical op of an envelope."""
    if isinstance(value, str):
        return {each for each in NAMES.findall(value) if each in names and each not in sent}
    if isinstance(value, dict):
        members = [each for key, each in value.items() if not (key == "op" and "meta" in value)]
        return set().union(*(find_names(each, names, sent) for each in members)) if members else set()
    return (
        set().union(*(find_names(each, names, sent) for each in value)) if isinstance(value, list) and value else set()
    )


def list_calls() -> list[tuple[str, dict[str, Any]]]:
    corpus = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    sampled = [(call["op"], call["args"]) for call in corpus[::6] if isinstance(call.get("args"), dict)]
    return [
        *FAILING_CALLS,
        *sampled,
        *((op, {}) for op in TEXT_OPS),
        ("onto.task.list", {"project_id": DEMO_PROJECT_ID}),
    ]


@pytest.mark.parametrize("api_on", ["discovery", "legacy", "native"], indirect=True)
def test_tool_surfaces_name_ops_by_tool_name(api_on: Api, live_catalog: Catalog) -> None:
    paths = {path for path in live_catalog.ops if "." in path}
    toolset = api_on.toolset  # type: ignore[attr-defined]
    assert find_names({"tools": toolset["tools"], "prompt": toolset["prompt"]}, paths) == set()

    bodies = []
    for op, args in list_calls():
        name = live_catalog.ops[op].tool_name if op in live_catalog.ops else op
        envelope = api_on.exec(name, args, dry_run=True)
        assert (
            find_names(envelope, paths, sent=f"{op} {json.dumps(args)}" if op not in live_catalog.ops else "") == set()
        )
        bodies.append(envelope)
    calls = [{"type": "exec", "op": op, "args": args} for op, args in FAILING_CALLS if op in live_catalog.ops]
    batch = api_on.post("batch", {"ops": calls}).json()
    assert find_names(batch["results"], paths) == set()
    tool_names = {op.tool_name for op in live_catalog.ops.values()}
    places = {each["error"]["help_path"] for each in (*bodies, *batch["results"]) if not each["ok"]}
    assert places - tool_names <= {*(tool["function"]["name"] for tool in toolset["tools"] if "function" in tool), ROOT}
    retries = [retry for body in bodies if (retry := body.get("error", {}).get("details", {}).get("retry_with"))]
    assert retries
    assert all(retry["op"] in tool_names for retry in retries)


@pytest.mark.parametrize("api_on", ["discovery"], indirect=True)
def test_discovery_names_ops_by_tool_name_at_all_levels(api_on: Api, live_catalog: Catalog) -> None:
    paths = {path for path in live_catalog.ops if "." in path}
    names = [tool["function"]["name"] for tool in api_on.toolset["tools"]]  # type: ignore[attr-defined]
    for name in [each for each in names if each.startswith("discover_") and each != "discover_agents"]:
        for tool in api_on.post(f"discover/{name}", {}).json()["tools"]:
            short = api_on.post(f"discover/{name}", {"tool": tool["name"]}).json()
            full = api_on.post(f"discover/{name}", {"tool": tool["name"], "level": "full"}).json()
            assert find_names([tool, short, full], paths) == set()
            assert full["usage"]["op"] == tool["name"]
    unknown = api_on.post("discover/discover_project_tools", {"tool": "get_onto_taskk"}).json()
    other = api_on.post("discover/discover_project_tools", {"tool": "list_calendar_events"}).json()
    nobody = api_on.post("discover/discover_agents", {"agent": "nobody"}).json()
    agents = api_on.post("discover/discover_agents", {}).json()
    assert find_names([unknown, other, nobody, agents], paths) == set()
    help_paths = [each["error"]["help_path"] for each in (unknown, other, nobody)]
    assert help_paths == ["discover_project_tools", "list_calendar_events", "discover_agents"]
    refused = [api_on.exec(op)["error"]["help_path"] for op in ("onto.task.frobnicate", "cal.frobnicate", "frobnicate")]
    assert refused == ["discover_project_tools", "discover_calendar_tools", ROOT]


@pytest.mark.parametrize("api_on", ["gateway"], indirect=True)
def test_gateway_names_ops_by_path(api_on: Api, live_catalog: Catalog) -> None:
    tool_names = {op.tool_name for op in live_catalog.ops.values() if "_" in op.tool_name}
    tool_names -= {name for op in live_catalog.ops.values() for name in op.arguments}
    toolset = api_on.toolset  # type: ignore[attr-defined]
    assert find_names({"tools": toolset["tools"], "prompt": toolset["prompt"]}, tool_names) == set()

    for op, args in list_calls():
        assert find_names(api_on.exec(op, args, dry_run=True), tool_names, sent=f"{op} {json.dumps(args)}") == set()
    for path in live_catalog.ops:
        assert find_names(api_on.help(path, format="full"), tool_names) == set()


@pytest.mark.parametrize("api_on", ["hybrid"], indirect=True)
def test_hybrid_names_each_op_in_one_way(api_on: Api, live_catalog: Catalog) -> None:
    """By the name of its tool if it is shown as one, and otherwise by its path."""
    own_tools = {name: each["op"] for name, each in api_on.toolset["ops"].items()}  # type: ignore[attr-defined]
    others = {op.tool_name for op in live_catalog.ops.values() if "_" in op.tool_name} - own_tools.keys()
    wrong = {*own_tools.values(), *others} - {name for op in live_catalog.ops.values() for name in op.arguments}
    toolset = api_on.toolset  # type: ignore[attr-defined]
    assert find_names({"tools": toolset["tools"], "prompt": toolset["prompt"]}, wrong) == set()

    for op, args in list_calls():
        assert find_names(api_on.exec(op, args, dry_run=True), wrong, sent=f"{op} {json.dumps(args)}") == set()
    calls = [{"type": "exec", "op": op, "args": args} for op, args in FAILING_CALLS if op in live_catalog.ops]
    batch = api_on.post("batch", {"ops": [*calls, {"type": "help", "query": "list my tasks"}]}).json()
    assert find_names(batch["results"], wrong) == set()
    for path in live_catalog.ops:
        assert find_names(api_on.help(path, format="full"), wrong) == set()
    found = [item["path"] for item in api_on.help(query="list my tasks")["items"]]
    assert "list_onto_tasks" in found
    assert api_on.help("list_onto_tasks")["path"] == "list_onto_tasks"
