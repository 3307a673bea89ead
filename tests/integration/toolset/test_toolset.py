"""The toolset endpoint: the tools of a turn in each provider's format, and the token that pins the turn to them."""

import json
from datetime import timedelta
from typing import Any

import mcp.types
import pydantic
import pytest
import time_machine
from anthropic.types import ToolParam
from django.utils import timezone
from openai.types.chat import ChatCompletionToolParam

from analytics.events import event_log
from analytics.events.models import OperationEvent
from analytics.flags import FlagKey
from analytics.rollout import assignment, exposures
from analytics.rollout.models import Assignment, Cohort, CohortRule
from analytics.turns.models import Feedback, ToolSelection
from core.background import poller
from core.text import token_budget
from gateway.access import api_keys, key_verification, release_routing
from gateway.contracts import tool_definitions
from gateway.models import ApiKey, Scope
from gateway.toolset import feedback, rendering
from registry.catalog import cache
from registry.models import Op, PromptSection
from registry.releases import lifecycle, stored_releases
from tests.support.clients.api import Api, assert_refused
from tests.support.loops import for_each
from tests.support.rows.catalog_fixture import publish_draft
from workspace.demo import DEMO_PROJECT_ID, DEMO_SUBJECT, DEMO_TASK_ID

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("gateway_enabled")]

# Each provider's own type for a tool, and where it keeps name and parameters.
TOOL_TYPES: dict[str, Any] = {
    "openai": (pydantic.TypeAdapter(ChatCompletionToolParam), lambda tool: tool["function"], "parameters"),
    "anthropic": (pydantic.TypeAdapter(ToolParam), lambda tool: tool, "input_schema"),
    "mcp": (pydantic.TypeAdapter(mcp.types.Tool), lambda tool: tool, "inputSchema"),
}
PROJECT_CONTEXT = f'type=project, project_id="{DEMO_PROJECT_ID}"'
GATEWAY_TOOLS = {tool["name"] for tool in tool_definitions.GATEWAY_TOOLS}


def create_cohort(
    name: str = "dev-team", flag: FlagKey = FlagKey.SURFACE, *rules: dict[str, Any], **fields: Any
) -> Cohort:
    created = Cohort.objects.create(**{"name": name, "flag_id": flag, "variant": "gateway", "percentage": 100} | fields)
    for rule in rules:
        CohortRule.objects.create(cohort=created, **rule)
    assignment.refresh_rollout()
    return created


def request_toolset(api: Api, body: dict[str, Any] | None = None, **headers: str) -> dict[str, Any]:
    response = api.post("toolset", {"format": "openai"} | (body or {}), **headers)
    assert response.status_code == 200, response.content
    return response.json()


def publish_next(summary: str = "Read one task") -> tuple[str, str]:
    """Publish a release with another summary. Returns the previous and the new version."""
    before = stored_releases.get_live_release().version
    Op.objects.filter(op="onto.task.get").update(summary=summary)
    return before, publish_draft().version


@for_each("surface", ["gateway", "legacy"])
@for_each("format", TOOL_TYPES)
def test_tools_match_the_types_of_the_providers(api: Api, format: str, surface: str) -> None:
    tool_type, get_definition, parameters = TOOL_TYPES[format]

    toolset = request_toolset(api, {"format": format, "surface": surface}, Gateway_Context=PROJECT_CONTEXT)

    assert toolset["tools"]
    for tool in toolset["tools"]:
        tool_type.validate_python(tool, strict=True)
        schema = get_definition(tool)[parameters]
        assert schema["type"] == "object"
        assert not {"anyOf", "oneOf", "allOf", "not", "enum", "const", "$schema"} & set(schema)
        assert len(get_definition(tool)["name"]) <= 64


def test_gateway_surface_has_exactly_the_gateway_tools(api: Api) -> None:
    create_cohort()

    toolset = request_toolset(api)

    functions = [tool["function"] for tool in toolset["tools"]]
    assert json.dumps(functions) == json.dumps(list(tool_definitions.GATEWAY_TOOLS))
    assert (toolset["surface"], toolset["cohort"]) == ("gateway", "dev-team")
    assert toolset["release"] == cache.get_live_catalog().version
    assert "selection" not in toolset
    tools = json.dumps(toolset["tools"], separators=(",", ":"), ensure_ascii=False)
    assert toolset["tokens"] == token_budget.count(tools) + token_budget.count(toolset["prompt"])


def test_toolset_without_a_cohort_is_legacy_with_all_tools_of_the_context(api: Api) -> None:
    project = request_toolset(api, Gateway_Context=PROJECT_CONTEXT)
    no_context = request_toolset(api)

    names = {tool["function"]["name"] for tool in project["tools"]}
    assert (project["surface"], project["cohort"]) == ("legacy", "")
    assert names == {
        op.tool_name for op in cache.get_live_catalog().ops.values() if {"project", "base"} & set(op.contexts)
    }
    assert project["selection"] == {"kind": "static", "count": len(names)}
    assert {tool["function"]["name"] for tool in no_context["tools"]} < names
    assert not names & GATEWAY_TOOLS


def test_legacy_surface_has_only_tools_that_the_key_may_run(live_catalog: Any, make_key: Any) -> None:
    toolset = request_toolset(Api(make_key(scopes=[Scope.TOOLSET, Scope.EXEC_READ])), Gateway_Context=PROJECT_CONTEXT)

    ops = [cache.get_live_catalog().find_op(tool["function"]["name"]) for tool in toolset["tools"]]
    assert ops
    assert not any(op.is_write for op in ops if op)


@for_each(
    "rule, headers",
    [
        ({"attribute": "environment", "values": ["dev"]}, {"Gateway-Environment": "dev"}),
        ({"attribute": "model_family", "values": ["claude"]}, {"Gateway-Model": "anthropic/claude-sonnet-4-5"}),
        ({"attribute": "context", "values": ["project"]}, {"Gateway-Context": PROJECT_CONTEXT}),
        ({"attribute": "trait", "trait": "plan", "values": ["pro"]}, {"Gateway-Traits": "plan=pro"}),
    ],
    undone=True,
)
def test_cohort_rules_match_request_headers(api: Api, rule: dict[str, Any], headers: dict[str, str]) -> None:
    create_cohort("some", FlagKey.SURFACE, rule)

    assert request_toolset(api, **headers)["surface"] == "gateway"
    assert request_toolset(api)["surface"] == "legacy"


@for_each("traits", ["", "plan", "x=(1 2)", "=", "plan=" + "x" * 101, ", ".join(f"a{n}=1" for n in range(51))])
def test_toolset_refuses_malformed_traits(api: Api, traits: str) -> None:
    response = api.post("toolset", {"format": "openai"}, Gateway_Traits=traits)

    if traits == "plan":  # a boolean that is true
        assert response.status_code == 200
    else:
        assert "plan=pro" in assert_refused(response, 400, "bad_header")["message"]


def test_toolset_pins_a_turn_to_its_release_and_surface(api: Api) -> None:
    create_cohort()
    turn = request_toolset(api)
    before, after = publish_next()
    Cohort.objects.all().delete()
    assignment.refresh_rollout()

    pinned = api.post("help", {"path": "onto.task.get"}, Gateway_Toolset=turn["id"], Gateway_Model="gpt-5-mini")
    unpinned = api.post("help", {"path": "onto.task.get"})
    exec_response = api.post(
        "exec", {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}}, Gateway_Toolset=turn["id"]
    )
    batch = api.post("batch", {"ops": [{"type": "help", "path": "onto.task.get"}]}, Gateway_Toolset=turn["id"])

    releases = [each.headers["Gateway-Release"] for each in (pinned, unpinned, exec_response, batch)]
    assert releases == [before, after, before, before]
    assert pinned.json()["summary"] != unpinned.json()["summary"] == "Read one task"
    assert batch.json()["results"][0]["result"]["summary"] == pinned.json()["summary"]
    event_log.flush()
    events = list(OperationEvent.objects.order_by("id").values_list("surface", "cohort", "release", "model"))
    with_toolset = ("gateway", "dev-team", before)
    expected = [(*with_toolset, "gpt"), (*with_toolset, ""), (*with_toolset, ""), ("legacy", "", after, "")]
    assert sorted(events) == sorted(expected)


def test_flags_decide_the_release_of_a_call_without_a_toolset(api: Api) -> None:
    before, after = publish_next()
    create_cohort("copy-a", FlagKey.RELEASE, variant=before)

    pinned = api.post("help", {"path": "onto.task.get"})

    exposures.flush()
    assert pinned.headers["Gateway-Release"] == before != after
    assert Assignment.objects.get(flag=FlagKey.RELEASE).variant == before


def test_toolset_id_is_refused_for_another_client_or_subject(api: Api, make_key: Any) -> None:
    id = request_toolset(api)["id"]

    assert_refused(api.post("help", {}, Gateway_Toolset=id, Gateway_Subject="somebody-else"), 403, "toolset_of_another")
    stranger = Api(make_key())
    assert_refused(stranger.post("help", {}, Gateway_Toolset=id), 403, "toolset_of_another")
    assert_refused(
        api.post("help", {}, Gateway_Toolset=id[:-1] + ("A" if id[-1] != "A" else "B")), 400, "unknown_toolset"
    )


def test_toolset_id_is_refused_when_expired_or_its_release_is_withdrawn(api: Api) -> None:
    now = timezone.now()
    with time_machine.travel(now, tick=False):
        id = request_toolset(api)["id"]
    with time_machine.travel(now + timedelta(minutes=14), tick=False):
        assert api.post("help", {}, Gateway_Toolset=id).status_code == 200
    with time_machine.travel(now + timedelta(minutes=16), tick=False):
        assert_refused(api.post("help", {}, Gateway_Toolset=id), 400, "toolset_expired")

    id = request_toolset(api)["id"]
    before, _ = publish_next()
    lifecycle.withdraw_release(version=before, reason="Wrong", by="tests", at=timezone.now())
    cache.drop_withdrawn()

    assert_refused(api.post("exec", {"op": "onto.task.list"}, Gateway_Toolset=id), 400, "toolset_withdrawn")


def test_cohort_of_a_withdrawn_release_gets_the_live_one_without_a_query(
    api: Api, django_assert_num_queries: Any
) -> None:
    before, after = publish_next()
    create_cohort("copy-a", FlagKey.RELEASE, variant=before)
    lifecycle.withdraw_release(version=before, reason="Wrong", by="tests", at=timezone.now())
    poller.refresh()
    api.post("help", {"path": "onto.task.get"})

    with django_assert_num_queries(0):
        response = api.post("help", {"path": "onto.task.get"})

    assert response.headers["Gateway-Release"] == after
    with django_assert_num_queries(0):
        release_routing.preload_cohort_releases()  # the poller does not read it again


def test_toolset_records_exposures_and_a_preview_does_not(api: Api, make_key: Any) -> None:
    create_cohort()

    preview = request_toolset(api, {"surface": "legacy"})
    exposures.flush()
    assert (preview["surface"], Assignment.objects.count()) == ("legacy", 0)
    for _ in range(2):
        request_toolset(api)
    exposures.flush()

    assignments = Assignment.objects.order_by("flag").values_list("flag", "variant", "cohort", "subject")
    assert list(assignments) == [
        (FlagKey.SURFACE, "gateway", "dev-team", DEMO_SUBJECT),
        (FlagKey.RELEASE, "live", "", DEMO_SUBJECT),
    ]
    plain = Api(make_key(scopes=[Scope.TOOLSET]))
    assert_refused(plain.post("toolset", {"format": "openai", "surface": "gateway"}), 403, "scope_missing")


@for_each(
    "body, path",
    [
        ({}, "/format"),
        ({"format": "gemini"}, "/format"),
        ({"format": "mcp", "surface": "raw"}, "/surface"),
        ({"format": "mcp", "surface": "native"}, "/surface"),
    ],
)
def test_toolset_reports_the_invalid_field_of_a_malformed_body(api: Api, body: dict[str, Any], path: str) -> None:
    error = assert_refused(api.post("toolset", body), 400, "malformed_call")

    assert path in [each["path"] for each in error["details"]["field_errors"]]


def test_prompt_section_about_a_tool_is_sent_only_with_that_tool(api: Api, make_key: Any) -> None:
    PromptSection.objects.create(
        prompt="legacy_surface", name="tasks", position=20, title="Tasks", text="Call update_onto_task to close one."
    )
    publish_draft()
    reader = Api(make_key(scopes=[Scope.TOOLSET, Scope.EXEC_READ]))

    writable = request_toolset(api, Gateway_Context=PROJECT_CONTEXT)
    read_only = request_toolset(reader, Gateway_Context=PROJECT_CONTEXT)
    no_context = request_toolset(api)

    assert "update_onto_task" in writable["prompt"]
    assert "update_onto_task" not in read_only["prompt"]
    assert "update_onto_task" not in no_context["prompt"]
    assert read_only["prompt"].startswith("How to act")


def test_toolset_is_built_while_another_thread_clears_the_cache(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    class ClearingCache(rendering._ToolsetCache):
        def __setitem__(self, key: Any, built: rendering.BuiltToolset) -> None:
            super().__setitem__(key, built)
            self.clear()  # as another thread does when the cache is full

    monkeypatch.setattr(rendering, "_ToolsetCache", ClearingCache)

    assert request_toolset(api)["tools"]


def test_telemetry_is_stored_once_per_turn_and_the_last_report_wins(api: Api) -> None:
    create_cohort()
    turn = request_toolset(api)
    body = {"toolset": turn["id"], "turn": "t1", "tools_loaded": ["tool_help", "tool_exec"], "tools_used": []}

    first = api.post("telemetry", body, Gateway_Session="s1", Gateway_Model="claude-haiku")
    more = {"tools_used": ["tool_exec"], "tool_misses": ["get_task"], "tokens": 1234, "outcome": "succeeded"}
    api.post("telemetry", body | more, Gateway_Session="s1", Gateway_Model="claude-haiku")

    assert (first.status_code, first.json()["ok"]) == (200, True)
    row = ToolSelection.objects.get()
    assert (row.surface, row.cohort, row.release) == ("gateway", "dev-team", turn["release"])
    assert (row.subject, row.session, row.turn, row.model) == (DEMO_SUBJECT, "s1", "t1", "claude")
    assert (row.used, row.missed, row.tokens, row.outcome) == (["tool_exec"], ["get_task"], 1234, "succeeded")


def test_telemetry_is_refused_for_another_subject(live_catalog: Any, make_key: Any) -> None:
    client = ApiKey.objects.get(prefix=make_key()[: key_verification.PREFIX_LENGTH]).client
    ana, ben = (Api(api_keys.issue(client=client, by="tests", subject=name)[1], subject="") for name in ("ana", "ben"))
    ana_toolset, ben_toolset = (request_toolset(each)["id"] for each in (ana, ben))
    ana.post("telemetry", {"toolset": ana_toolset, "turn": "t1"}, Gateway_Session="s1")

    with_other_toolset = ben.post("telemetry", {"toolset": ana_toolset, "turn": "t2"}, Gateway_Session="s1")
    for_other_turn = ben.post("telemetry", {"toolset": ben_toolset, "turn": "t1"}, Gateway_Session="s1")

    assert_refused(with_other_toolset, 403, "toolset_of_another")
    assert_refused(for_other_turn, 403, "toolset_of_another")
    assert [(row.subject, row.turn) for row in ToolSelection.objects.all()] == [("ana", "t1")]


def test_telemetry_is_accepted_for_a_day_after_the_toolset_expired(api: Api) -> None:
    now = timezone.now()
    with time_machine.travel(now, tick=False):
        id = request_toolset(api)["id"]
    with time_machine.travel(now + timedelta(hours=1), tick=False):
        assert api.post("telemetry", {"toolset": id, "turn": "t1"}).status_code == 200
    with time_machine.travel(now + timedelta(hours=25), tick=False):
        assert_refused(api.post("telemetry", {"toolset": id, "turn": "t1"}), 400, "toolset_expired")


def test_feedback_is_stored_once_per_turn_and_subject_and_the_last_one_wins(api: Api) -> None:
    create_cohort()
    turn = request_toolset(api)
    api.post("telemetry", {"toolset": turn["id"], "turn": "t1"}, Gateway_Session="s1", Gateway_Model="claude-haiku")

    first = api.post("feedback", {"turn": "t1", "thumb": "up"}, Gateway_Session="s1")
    body = {"turn": "t1", "thumb": "down", "reason": " Ask ana@example.com first. "}
    api.post("feedback", body, Gateway_Session="s1")

    assert (first.status_code, first.json()["meta"]["warnings"]) == (200, [])
    row = Feedback.objects.get()
    assert (row.thumb, row.reason) == ("down", "Ask [redacted e-mail] first.")
    assert (row.subject, row.surface, row.cohort) == (DEMO_SUBJECT, "gateway", "dev-team")
    assert (row.release, row.model) == (turn["release"], "claude")


def test_feedback_before_the_report_of_its_turn_gets_its_cohort_later(api: Api) -> None:
    create_cohort()
    turn = request_toolset(api)

    early = api.post("feedback", {"turn": "t1", "thumb": "up"}, Gateway_Session="s1")
    api.post("telemetry", {"toolset": turn["id"], "turn": "t1"}, Gateway_Session="s1")

    assert early.json()["meta"]["warnings"] == [feedback.UNKNOWN_TURN]
    assert Feedback.objects.get().cohort == "dev-team"


def test_feedback_without_telemetry_is_about_the_calls_of_the_turn(api: Api) -> None:
    api.post("help", {}, Gateway_Session="s1", Gateway_Turn="t1")
    event_log.flush()

    api.post("feedback", {"turn": "t1", "thumb": "up"}, Gateway_Session="s1")

    assert Feedback.objects.get().release


def test_feedback_is_refused_for_a_malformed_body_and_a_turn_of_another_subject(api: Api) -> None:
    turn = request_toolset(api)
    api.post("telemetry", {"toolset": turn["id"], "turn": "t1"}, Gateway_Session="s1")

    assert_refused(api.post("feedback", {"turn": "t1", "thumb": 1}), 400, "malformed_call")
    of_another = api.post("feedback", {"turn": "t1", "thumb": "up"}, Gateway_Session="s1", Gateway_Subject="ben")
    assert_refused(of_another, 403, "turn_of_another")
    assert not Feedback.objects.exists()
