"""The gateway as an MCP server: the calls, checks and events of the API, in both generations of the protocol."""

import json
import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from mcp_types import jsonrpc

from analytics.events import event_log
from analytics.events.models import OperationEvent
from analytics.flags import FlagKey, Surface
from analytics.rollout import assignment, exposures
from analytics.rollout.models import Assignment, Cohort
from gateway.access import key_verification, surface_names
from gateway.contracts import tool_definitions
from gateway.mcp_server import tool_list
from gateway.models import Scope
from registry.catalog import cache
from registry.catalog.model import Catalog
from registry.files import loader
from registry.help.op_names import OpToolNames
from registry.models import Op
from tests.support.clients.api import Api
from tests.support.clients.mcp_client import ACCEPT, FORM_CAPABILITY, LEGACY, MODERN, McpClient
from tests.support.loops import for_each
from workspace.demo import DEMO_SUBJECT, DEMO_TASK_ID, DEMO_TASK_TO_DELETE_ID
from workspace.models import Task

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("gateway_enabled")]

OPS = loader.read_shipped_catalog()["ops"]
EXAMPLES = [(op["op"], op["tool_name"], example["args"]) for op in OPS for example in op["examples"]]
GATEWAY_TOOLS = [tool["name"] for tool in tool_definitions.GATEWAY_TOOLS]
DELETE = {"op": "onto.task.delete", "args": {"task_id": DEMO_TASK_TO_DELETE_ID}}
# What differs between two runs of the same call.
CHANGING = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)?|tr_[0-9a-f]{32}"
)
VERSIONS = pytest.mark.parametrize("version", [MODERN, LEGACY])


@pytest.fixture
def mcp(api: Api) -> McpClient:
    """Return a client of 2026-07-28 with all scopes, on the gateway surface."""
    put_all_on(Surface.GATEWAY)
    return McpClient(api)


def put_all_on(surface: Surface) -> None:
    Cohort.objects.filter(flag_id=FlagKey.SURFACE).delete()
    Cohort.objects.create(name="all", flag_id=FlagKey.SURFACE, variant=surface, percentage=100)
    assignment.refresh_rollout()


def mask(envelope: dict[str, Any]) -> Any:
    """Return an envelope without what differs between two runs of the same call."""
    envelope["meta"].pop("latency_ms")
    return json.loads(CHANGING.sub("…", json.dumps(envelope)))


def read_events(**fields: Any) -> list[OperationEvent]:
    event_log.flush()
    return list(OperationEvent.objects.filter(**fields).order_by("time"))


# --- tools ------------------------------------------------------------------------------------------------------------


@VERSIONS
def test_tools_are_those_of_the_surface_in_a_fixed_order(mcp: McpClient, version: str) -> None:
    client = McpClient(mcp.api, version)

    assert [tool["name"] for tool in client.list_tools()] == GATEWAY_TOOLS
    for surface in (Surface.DISCOVERY, Surface.HYBRID, Surface.LEGACY):
        put_all_on(surface)
        toolset = mcp.api.post("toolset", {"format": "mcp"}).json()
        assert [tool["name"] for tool in client.list_tools()] == [tool["name"] for tool in toolset["tools"]]
    put_all_on(Surface.NATIVE)  # whose search is that of a provider
    assert [tool["name"] for tool in client.list_tools()] == GATEWAY_TOOLS


def test_own_tools_say_when_to_use_them_and_are_always_loaded(mcp: McpClient) -> None:
    for surface in (Surface.GATEWAY, Surface.DISCOVERY):
        put_all_on(surface)
        for tool in mcp.list_tools():
            if "tool_name" not in tool and tool["name"] not in {op["tool_name"] for op in OPS}:
                assert tool["description"].startswith("Use when ")
                assert len(tool["description"].encode()) < tool_list.MAX_BYTES
                assert tool["_meta"] == {"anthropic/alwaysLoad": True}


def test_annotations_tell_reads_from_writes(mcp: McpClient) -> None:
    annotations = {tool["name"]: tool["annotations"] for tool in mcp.list_tools()}
    assert annotations["tool_help"]["readOnlyHint"] is True
    assert annotations["tool_exec"] == annotations["tool_batch"]
    assert annotations["tool_exec"]["readOnlyHint"] is False
    assert annotations["tool_exec"]["destructiveHint"] is True

    put_all_on(Surface.LEGACY)
    annotations = {tool["name"]: tool["annotations"] for tool in mcp.list_tools()}
    for op in Op.objects.filter(tool_name__in=annotations):
        assert annotations[op.tool_name]["readOnlyHint"] is (op.kind == "read"), op.tool_name
    assert annotations["create_onto_project"]["destructiveHint"] is False
    assert annotations["delete_calendar_event"]["destructiveHint"] is True


def test_list_may_be_kept_by_this_caller_only_and_is_an_exposure_to_the_flag(mcp: McpClient) -> None:
    result = mcp.ask("tools/list")

    assert (result["ttlMs"], result["cacheScope"]) == (60_000, "private")
    exposures.flush()
    assert Assignment.objects.get(flag=FlagKey.SURFACE).subject == DEMO_SUBJECT


@pytest.mark.usefixtures("internet_for_examples")
@for_each("path, tool, args", EXAMPLES, undone=True)
def test_call_has_the_same_envelope_on_both_doors(api: Api, path: str, tool: str, args: dict[str, Any]) -> None:
    client = McpClient(api)
    for number in range(3 if path == "onto.history.undo" else 0):  # writes to undo
        api.exec("onto.task.update", {"task_id": DEMO_TASK_TO_DELETE_ID, "title": f"Title {number}"})
    over_http = run_and_undo(lambda: api.exec(path, args))
    over_mcp = run_and_undo(lambda: client.call("tool_exec", {"op": path, "args": args}))
    as_tool = run_and_undo(lambda: McpClient(api, LEGACY).call(tool, args))

    assert over_mcp["isError"] is False
    assert json.loads(over_mcp["content"][0]["text"]) == over_mcp["structuredContent"]
    # On this surface, ops are tools, and messages name them so. Over HTTP, only a toolset would tell.
    catalog = cache.get_live_catalog()
    names = OpToolNames.of(catalog)
    named = surface_names.name_ops_in_envelope(over_http, catalog, names, surface=Surface.LEGACY)  # type: ignore[arg-type]
    assert mask(over_mcp["structuredContent"]) == mask(as_tool["structuredContent"]) == mask(named)  # type: ignore[arg-type]


def run_and_undo(call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    with transaction.atomic():
        result = call()
        transaction.set_rollback(True)
    return result


@VERSIONS
def test_refused_call_is_a_result_with_the_envelope_of_the_error(mcp: McpClient, version: str) -> None:
    body = {"op": "onto.task.get", "args": {"task_id": "7"}}

    result = McpClient(mcp.api, version).call("tool_exec", body)

    assert result["isError"] is True
    assert mask(result["structuredContent"]) == mask(mcp.api.post("exec", body).json())
    event = read_events(source="mcp")[0]
    assert (event.op, event.code, event.subject) == ("onto.task.get", "VALIDATION_ERROR", DEMO_SUBJECT)


def test_help_answers_what_the_api_answers(mcp: McpClient) -> None:
    for body in ({}, {"query": "overdue tasks"}, {"path": "onto.task.update", "format": "full"}):
        assert mcp.call("tool_help", body)["structuredContent"] == mcp.api.post("help", body).json()
    assert [event.type for event in read_events(source="mcp")] == ["help", "search", "help"]

    unknown = mcp.call("tool_help", {"path": "onto.tsk"})
    assert unknown["isError"] is True
    assert mask(unknown["structuredContent"]) == mask(mcp.api.post("help", {"path": "onto.tsk"}).json())


def test_batch_answers_what_the_api_answers(mcp: McpClient) -> None:
    body = {"ops": [{"type": "help"}, {"type": "exec", "op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}}]}

    result = mcp.call("tool_batch", body)

    assert result["isError"] is False
    assert result["structuredContent"]["summary"] == {"succeeded": 2, "failed": 0, "skipped": 0}
    assert mcp.call("tool_batch", {"ops": []})["structuredContent"]["error"]["code"] == "VALIDATION_ERROR"


def test_discovery_tools_answer_what_the_api_answers(mcp: McpClient) -> None:
    put_all_on(Surface.DISCOVERY)
    name = next(tool["name"] for tool in mcp.list_tools() if tool["name"].startswith("discover"))

    assert mcp.call(name)["structuredContent"] == mcp.api.post(f"discover/{name}", {}).json()
    assert read_events(source="mcp")[0].type == "discover"


def test_unknown_tool_is_an_error_of_the_protocol_that_names_close_ones(mcp: McpClient) -> None:
    error = mcp.send("tools/call", {"name": "tool_hepl", "arguments": {}}).json()["error"]

    assert error["code"] == jsonrpc.INVALID_PARAMS
    assert error["data"]["did_you_mean"][0] == "tool_help"


def test_key_without_a_scope_reads_why_in_the_result(live_catalog: Catalog, make_key: Callable[..., str]) -> None:
    client = McpClient(Api(make_key(scopes=[Scope.EXEC_READ])))
    calls = {
        "tool_help": {},
        "tool_batch": {"ops": [{"type": "help"}]},
        "tool_exec": {"op": "onto.task.delete", "args": {"task_id": DEMO_TASK_ID}},
    }

    for tool, arguments in calls.items():
        result = client.call(tool, arguments)
        assert result["structuredContent"]["error"]["details"]["reason"] == "scope_missing", tool


def test_write_with_the_same_idempotency_key_runs_once_on_both_doors(mcp: McpClient) -> None:
    body = {"op": "onto.task.update", "args": {"task_id": DEMO_TASK_ID, "title": "Once"}, "idempotency_key": "key-1"}

    first = mcp.api.post("exec", body).json()
    again = mcp.call("tool_exec", body)["structuredContent"]

    assert again["meta"]["replayed"] is True
    assert again["result"] == first["result"]


# --- confirmation -----------------------------------------------------------------------------------------------------


@pytest.fixture
def confirming(live_catalog: Catalog, make_key: Callable[..., str]) -> McpClient:
    """Return a client that can ask its user, with a key whose users the gateway asks."""
    put_all_on(Surface.GATEWAY)
    return McpClient(Api(make_key(confirms=True)), capabilities=FORM_CAPABILITY)


def answer(result: dict[str, Any], action: str, content: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what a client adds to a call when its user has answered."""
    reply = {"action": action} | ({"content": content} if content else {})
    return {"inputResponses": dict.fromkeys(result["inputRequests"], reply), "requestState": result["requestState"]}


def test_client_asks_its_user_and_sends_the_call_again(confirming: McpClient) -> None:
    asked = confirming.call("tool_exec", DELETE)
    title = Task.objects.get(pk=DEMO_TASK_TO_DELETE_ID).title
    question = asked["inputRequests"]["agreement"]["params"]
    assert asked["resultType"] == "input_required"
    assert question["message"] == f"Really delete task “{title}”?"

    done = confirming.call("tool_exec", DELETE, **answer(asked, "accept", {"agree": True}))

    assert done["structuredContent"]["ok"] is True
    assert not Task.objects.filter(pk=DEMO_TASK_TO_DELETE_ID, deleted_at=None).exists()


@for_each("action, content", [("decline", None), ("cancel", None), ("accept", {"agree": False})])
def test_nothing_is_done_if_the_user_does_not_agree(confirming: McpClient, action: str, content: Any) -> None:
    asked = confirming.call("tool_exec", DELETE)

    refused = confirming.call("tool_exec", DELETE, **answer(asked, action, content))

    assert refused["isError"] is True
    assert refused["structuredContent"]["error"]["details"]["reason"] == "confirmation_declined"
    assert Task.objects.filter(pk=DEMO_TASK_TO_DELETE_ID, deleted_at=None).exists()
    assert read_events(reason="confirmation_declined")[0].op == "onto.task.delete"


def test_agreement_to_one_call_does_not_run_another(confirming: McpClient) -> None:
    asked = confirming.call("tool_exec", DELETE)
    other = {"op": "onto.task.delete", "args": {"task_id": DEMO_TASK_ID}}

    result = confirming.call("tool_exec", other, **answer(asked, "accept", {"agree": True}))

    assert result["resultType"] == "input_required"
    assert Task.objects.filter(pk=DEMO_TASK_ID, deleted_at=None).exists()


@VERSIONS
def test_client_that_cannot_ask_reads_the_envelope(confirming: McpClient, version: str) -> None:
    result = McpClient(confirming.api, version).call("tool_exec", DELETE)

    assert result["isError"] is True
    assert result["structuredContent"]["error"]["details"]["reason"] == "confirmation_required"


# --- help as resources, prompts ---------------------------------------------------------------------------------------


@VERSIONS
def test_groups_are_resources(mcp: McpClient, version: str) -> None:
    client = McpClient(mcp.api, version)
    uris = [resource["uri"] for resource in client.ask("resources/list")["resources"]]
    assert uris[0] == "gateway://help/root"
    assert "gateway://help/onto.task" in uris

    contents = client.ask("resources/read", {"uri": "gateway://help/onto.task"})["contents"][0]

    assert json.loads(contents["text"]) == mcp.api.help("onto.task")
    assert client.ask("resources/templates/list")["resourceTemplates"][0]["uriTemplate"] == "gateway://help/{path}"


def test_files_of_the_caller_are_resources(mcp: McpClient, make_key: Callable[..., str]) -> None:
    def upload(name: str, content: bytes) -> str:
        file = SimpleUploadedFile(name, content, content_type="")
        stored = mcp.api.http.post("/api/v1/files", {"file": file}, headers=mcp.api.headers).json()
        return f"gateway://files/{stored['id']}"

    text, image = upload("a.csv", "ü,1".encode()), upload("a.gif", b"GIF89a\xff")

    [contents] = mcp.ask("resources/read", {"uri": text})["contents"]
    assert (contents["text"], contents["mimeType"]) == ("ü,1", "text/csv")
    [contents] = mcp.ask("resources/read", {"uri": image})["contents"]
    assert (contents["blob"], contents["mimeType"]) == ("R0lGODlh/w==", "image/gif")
    stranger = McpClient(Api(make_key(), "ben"))
    for client, uri in ((stranger, text), (mcp, "gateway://files/x"), (mcp, f"gateway://files/{uuid4()}")):
        assert client.send("resources/read", {"uri": uri}).json()["error"]["code"] == jsonrpc.INVALID_PARAMS


def test_unknown_resource_names_close_ones(mcp: McpClient) -> None:
    error = mcp.send("resources/read", {"uri": "gateway://help/onto.tsk"}).json()["error"]

    assert error["code"] == jsonrpc.INVALID_PARAMS
    assert error["data"]["uri"] == "gateway://help/onto.tsk"
    assert "gateway://help/onto.task" in error["data"]["did_you_mean"]
    assert mcp.send("resources/read", {"uri": "file:///etc/passwd"}).json()["error"]["code"] == jsonrpc.INVALID_PARAMS


def test_prompts_are_how_to_use_the_tools_and_the_agents(mcp: McpClient, make_key: Callable[..., str]) -> None:
    prompts = {prompt["name"]: prompt for prompt in mcp.ask("prompts/list")["prompts"]}
    assert list(prompts) == ["how_to_use_the_tools", "explorer"]

    how = mcp.ask("prompts/get", {"name": "how_to_use_the_tools"})["messages"][0]["content"]["text"]
    agent = mcp.ask("prompts/get", {"name": "explorer", "arguments": {"task": "Find the plan."}})

    assert "tool_help" in how
    assert agent["messages"][0]["content"]["text"].endswith("Find the plan.")
    assert mcp.send("prompts/get", {"name": "explore"}).json()["error"]["data"]["did_you_mean"] == ["explorer"]
    reader = McpClient(Api(make_key(scopes=[Scope.HELP])))  # who may not run models
    assert [prompt["name"] for prompt in reader.ask("prompts/list")["prompts"]] == ["how_to_use_the_tools"]


# --- who may call -----------------------------------------------------------------------------------------------------


def test_only_a_missing_or_invalid_key_is_answered_with_401(mcp: McpClient, make_key: Callable[..., str]) -> None:
    for headers in ({}, {"Authorization": "Bearer gw_wrong"}):
        response = mcp.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, **headers)
        assert response.status_code == 401
        assert response.headers["WWW-Authenticate"] == 'Bearer realm="Tool Gateway"'
        assert response.json()["error"]["data"]["details"]["reason"] == "unauthenticated"

    other = McpClient(Api(make_key(subject="somebody"), subject="another"))
    listing = other.send("tools/list")
    assert (listing.status_code, "error" in listing.json()) == (400, True)
    refused = other.call("tool_exec", {"op": "onto.task.list"})
    assert refused["structuredContent"]["error"]["details"]["reason"] == "subject_not_allowed"


def test_rate_limit_is_an_envelope_for_a_tool_and_an_error_for_the_rest(
    live_catalog: Catalog, make_key: Callable[..., str]
) -> None:
    client = McpClient(Api(make_key(rate=1)))
    responses = [client.send("tools/call", {"name": "tool_help", "arguments": {}}) for _ in range(8)]
    results = [response.json()["result"] for response in responses]
    refused = [result for result in results if result["isError"]]

    assert {response.status_code for response in responses} == {200}
    assert refused[0]["structuredContent"]["error"]["details"]["reason"] == "rate_limited"
    assert client.send("tools/list").json()["error"]["data"]["details"]["reason"] == "rate_limited"


@for_each("version", [MODERN, LEGACY])
@for_each("method", ["ping", "notifications/initialized", "logging/setLevel", "nonsense", "tools/list"])
def test_every_message_counts_against_the_rate_once(
    live_catalog: Catalog, api: Api, monkeypatch: pytest.MonkeyPatch, method: str, version: str
) -> None:
    take, taken = key_verification.take_call, []
    monkeypatch.setattr(key_verification, "take_call", lambda key: taken.append(key.prefix) or take(key))

    McpClient(api, version).send(method)

    assert len(taken) == 1


@for_each("method", ["get", "delete", "put"])
def test_other_methods_of_http_are_refused(mcp: McpClient, method: str) -> None:
    response = getattr(mcp.api.http, method)("/mcp", headers=mcp.api.headers)

    assert (response.status_code, response.headers["Allow"]) == (405, "POST")


def test_pages_of_other_sites_are_refused(mcp: McpClient) -> None:
    assert mcp.send("tools/list", Origin="https://evil.example").status_code == 403
    assert mcp.send("tools/list", Origin="http://[::1").status_code == 403
    assert mcp.send("tools/list", Origin="null").status_code == 403
    assert mcp.send("tools/list", Origin="http://testserver").status_code == 200


@for_each(
    "body, code",
    [
        (b"", jsonrpc.PARSE_ERROR),
        (b"{", jsonrpc.PARSE_ERROR),
        (b"\xff", jsonrpc.PARSE_ERROR),
        (b"[]", jsonrpc.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"ping"}', jsonrpc.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}', jsonrpc.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":"nothing"}', jsonrpc.METHOD_NOT_FOUND),
    ],
)
def test_malformed_messages_get_an_error_of_the_protocol(mcp: McpClient, body: bytes, code: int) -> None:
    headers = mcp.api.headers | {"Accept": ACCEPT, "MCP-Protocol-Version": LEGACY}
    response = mcp.post(body, **headers)

    assert response.json()["error"]["code"] == code
    assert response.status_code < 500


def test_client_that_wants_to_listen_for_changes_reads_that_it_cannot(mcp: McpClient) -> None:
    response = mcp.send("subscriptions/listen", {"notifications": {"toolsListChanged": True}})

    assert (response.status_code, response.json()["error"]["code"]) == (404, jsonrpc.METHOD_NOT_FOUND)


def test_body_that_is_too_large_is_refused(mcp: McpClient, settings: Any) -> None:
    settings.GATEWAY_BODY_MAX_BYTES = 1_000

    assert mcp.send("tools/call", {"name": "tool_help", "arguments": {"query": "a" * 2_000}}).status_code == 413


def test_notification_is_accepted_without_an_answer(mcp: McpClient) -> None:
    message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    headers = mcp.api.headers | {"Accept": ACCEPT, "MCP-Protocol-Version": LEGACY}

    response = mcp.post(message, **headers)

    assert (response.status_code, response.content) == (202, b"")


def test_client_without_permission_for_an_op_does_not_find_it(
    live_catalog: Catalog, make_key: Callable[..., str]
) -> None:
    key = make_key(op_patterns=["cal.*"])
    client = McpClient(Api(key))
    put_all_on(Surface.GATEWAY)

    assert "(onto)" not in json.dumps(client.list_tools())
    assert all("onto" not in each["uri"] for each in client.ask("resources/list")["resources"])
    result = client.call("tool_exec", {"op": "onto.task.list"})["structuredContent"]
    assert result["error"]["details"]["reason"] == "op_not_allowed"
