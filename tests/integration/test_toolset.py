"""toolset: what the model is shown in a turn, in each provider's form, and the token that holds the turn to it."""

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
from analytics.models import Assignment, Cohort, CohortRule, OperationEvent, ToolSelection
from analytics.rollout import exposures, rollout_cache
from analytics.rollout.flags import FlagKey
from core import poller, tokens
from gateway.clients import api_keys
from gateway.contracts import tool_definitions
from gateway.models import ApiKey, Scope
from gateway.routing import release_routing
from gateway.toolset import service
from registry.catalog import model
from registry.models import Op, PromptSection
from registry.releases import publishing
from tests.support.api import Api, refused
from workspace.demo import DEMO_PROJECT_ID, DEMO_SUBJECT, DEMO_TASK_ID

pytestmark = pytest.mark.django_db

# The vendors' own types of a tool, and where each keeps name and parameters.
SHAPES: dict[str, Any] = {
    "openai": (pydantic.TypeAdapter(ChatCompletionToolParam), lambda tool: tool["function"], "parameters"),
    "anthropic": (pydantic.TypeAdapter(ToolParam), lambda tool: tool, "input_schema"),
    "mcp": (pydantic.TypeAdapter(mcp.types.Tool), lambda tool: tool, "inputSchema"),
}
PROJECT = f'type=project, project_id="{DEMO_PROJECT_ID}"'
GATEWAY_TOOLS = {tool["name"] for tool in tool_definitions.GATEWAY_TOOLS}


@pytest.fixture(autouse=True)
def _switched_on(settings: Any) -> None:
    settings.AGENTIC_CHAT_TOOL_GATEWAY = True


def cohort(name: str = "dev-team", flag: FlagKey = FlagKey.SURFACE, *rules: dict[str, Any], **fields: Any) -> Cohort:
    made = Cohort.objects.create(**{"name": name, "flag_id": flag, "variant": "gateway", "percentage": 100} | fields)
    for rule in rules:
        CohortRule.objects.create(cohort=made, **rule)
    rollout_cache.refresh()
    return made


def ask(api: Api, body: dict[str, Any] | None = None, **headers: str) -> dict[str, Any]:
    response = api.post("toolset", {"format": "openai"} | (body or {}), **headers)
    assert response.status_code == 200, response.content
    return response.json()


def publish_next(summary: str = "Read one task") -> tuple[str, str]:
    """Publish a release with another summary; return the version before and the new one."""
    before = publishing.get_live_release().version
    Op.objects.filter(op="onto.task.get").update(summary=summary)
    after = publishing.publish_draft(note="Next", by="tests", at=timezone.now()).version
    model.refresh_live()
    return before, after


@pytest.mark.parametrize("surface", ["gateway", "legacy"])
@pytest.mark.parametrize("format", SHAPES)
def test_tools_are_what_the_vendors_types_take(api: Api, format: str, surface: str) -> None:
    shape, within, parameters = SHAPES[format]

    found = ask(api, {"format": format, "surface": surface}, Gateway_Context=PROJECT)

    assert found["tools"]
    for tool in found["tools"]:
        shape.validate_python(tool, strict=True)
        schema = within(tool)[parameters]
        assert schema["type"] == "object"
        assert not {"anyOf", "oneOf", "allOf", "not", "enum", "const", "$schema"} & set(schema)
        assert len(within(tool)["name"]) <= 64


def test_the_gateway_surface_is_the_three_tools_byte_for_byte(api: Api) -> None:
    cohort()

    found = ask(api)

    assert json.dumps([tool["function"] for tool in found["tools"]]) == json.dumps(list(tool_definitions.GATEWAY_TOOLS))
    assert (found["surface"], found["cohort"], found["release"]) == (
        "gateway",
        "dev-team",
        model.get_live_catalog().version,
    )
    assert "selection" not in found
    sent = json.dumps(found["tools"], separators=(",", ":"), ensure_ascii=False)
    assert found["tokens"] == tokens.count(sent) + tokens.count(found["prompt"])


def test_nobodys_cohort_is_legacy_with_every_tool_of_the_context(api: Api) -> None:
    project = ask(api, Gateway_Context=PROJECT)
    nowhere = ask(api)

    names = {tool["function"]["name"] for tool in project["tools"]}
    assert (project["surface"], project["cohort"]) == ("legacy", "")
    assert names == {
        op.tool_name for op in model.get_live_catalog().ops.values() if {"project", "base"} & set(op.contexts)
    }
    assert project["selection"] == {"kind": "static", "count": len(names)}
    assert {tool["function"]["name"] for tool in nowhere["tools"]} < names
    assert not names & GATEWAY_TOOLS


def test_legacy_shows_only_what_the_key_may_run(live_catalog: Any, make_key: Any) -> None:
    found = ask(Api(make_key(scopes=[Scope.TOOLSET, Scope.EXEC_READ])), Gateway_Context=PROJECT)

    shown = [model.get_live_catalog().find_op(tool["function"]["name"]) for tool in found["tools"]]
    assert shown
    assert not any(op.is_write for op in shown if op)


def test_off_the_master_switch_everybody_is_legacy(api: Api, settings: Any) -> None:
    cohort()
    settings.AGENTIC_CHAT_TOOL_GATEWAY = False

    assert ask(api)["surface"] == "legacy"


@pytest.mark.parametrize(
    ("rule", "headers"),
    [
        ({"attribute": "environment", "values": ["dev"]}, {"Gateway-Environment": "dev"}),
        ({"attribute": "model_family", "values": ["claude"]}, {"Gateway-Model": "anthropic/claude-sonnet-4-5"}),
        ({"attribute": "context", "values": ["project"]}, {"Gateway-Context": PROJECT}),
        ({"attribute": "project", "values": [DEMO_PROJECT_ID]}, {"Gateway-Context": PROJECT}),
        ({"attribute": "trait", "trait": "plan", "values": ["pro"]}, {"Gateway-Traits": "plan=pro"}),
        ({"attribute": "trait", "trait": "beta", "values": ["true"]}, {"Gateway-Traits": "beta, seats=5"}),
        (
            {"attribute": "trait", "trait": "n", "operator": "at_least", "values": ["5"]},
            {"Gateway-Traits": "n=5.5"},
        ),
    ],
)
def test_rules_read_the_headers(api: Api, rule: dict[str, Any], headers: dict[str, str]) -> None:
    cohort("some", FlagKey.SURFACE, rule)

    assert ask(api, **headers)["surface"] == "gateway"
    assert ask(api)["surface"] == "legacy"


@pytest.mark.parametrize(
    "traits", ["", "plan", "x=(1 2)", "=", "plan=" + "x" * 101, ", ".join(f"a{n}=1" for n in range(51))]
)
def test_traits_that_are_none_are_refused(api: Api, traits: str) -> None:
    response = api.post("toolset", {"format": "openai"}, Gateway_Traits=traits)

    if traits == "plan":  # a boolean that is true
        assert response.status_code == 200
    else:
        assert "plan=pro" in refused(response, 400, "bad_header")["message"]


def test_a_turn_stays_on_its_release_and_surface(api: Api) -> None:
    cohort()
    turn = ask(api)
    before, after = publish_next()
    Cohort.objects.all().delete()
    rollout_cache.refresh()

    held = api.post("help", {"path": "onto.task.get"}, Gateway_Toolset=turn["id"], Gateway_Model="gpt-5-mini")
    free = api.post("help", {"path": "onto.task.get"})
    run = api.post("exec", {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}}, Gateway_Toolset=turn["id"])
    batch = api.post("batch", {"ops": [{"type": "help", "path": "onto.task.get"}]}, Gateway_Toolset=turn["id"])

    assert [each.headers["Gateway-Release"] for each in (held, free, run, batch)] == [before, after, before, before]
    assert held.json()["summary"] != free.json()["summary"] == "Read one task"
    assert batch.json()["results"][0]["result"]["summary"] == held.json()["summary"]
    event_log.flush()
    told = list(OperationEvent.objects.order_by("id").values_list("surface", "cohort", "release", "model"))
    assert sorted(told) == sorted(
        [
            ("gateway", "dev-team", before, "gpt"),
            ("legacy", "", after, ""),
            ("gateway", "dev-team", before, ""),
            ("gateway", "dev-team", before, ""),
        ]
    )


def test_without_a_toolset_the_flags_decide_each_call(api: Api) -> None:
    before, after = publish_next()
    cohort("copy-a", FlagKey.RELEASE, variant=before)

    pinned = api.post("help", {"path": "onto.task.get"})

    exposures.flush()
    assert pinned.headers["Gateway-Release"] == before != after
    assert Assignment.objects.get(flag=FlagKey.RELEASE).variant == before


def test_a_toolset_is_of_its_client_and_subject_and_of_no_other(api: Api, make_key: Any) -> None:
    id = ask(api)["id"]

    refused(api.post("help", {}, Gateway_Toolset=id, Gateway_Subject="somebody-else"), 403, "toolset_of_another")
    stranger = Api(make_key())
    refused(stranger.post("help", {}, Gateway_Toolset=id), 403, "toolset_of_another")
    refused(api.post("help", {}, Gateway_Toolset=id[:-1] + ("A" if id[-1] != "A" else "B")), 400, "unknown_toolset")


def test_a_toolset_is_void_after_its_time_and_once_its_release_is_withdrawn(api: Api) -> None:
    now = timezone.now()
    with time_machine.travel(now, tick=False):
        id = ask(api)["id"]
    with time_machine.travel(now + timedelta(minutes=14), tick=False):
        assert api.post("help", {}, Gateway_Toolset=id).status_code == 200
    with time_machine.travel(now + timedelta(minutes=16), tick=False):
        refused(api.post("help", {}, Gateway_Toolset=id), 400, "toolset_expired")

    id = ask(api)["id"]
    before, _ = publish_next()
    publishing.withdraw_release(version=before, reason="Wrong", by="tests", at=timezone.now())
    model.drop_withdrawn()

    refused(api.post("exec", {"op": "onto.task.list"}, Gateway_Toolset=id), 400, "toolset_withdrawn")


def test_a_cohort_on_a_withdrawn_release_follows_what_is_live_without_a_query(
    api: Api, django_assert_num_queries: Any
) -> None:
    before, after = publish_next()
    cohort("copy-a", FlagKey.RELEASE, variant=before)
    publishing.withdraw_release(version=before, reason="Wrong", by="tests", at=timezone.now())
    poller.refresh()
    api.post("help", {"path": "onto.task.get"})

    with django_assert_num_queries(0):
        served = api.post("help", {"path": "onto.task.get"})

    assert served.headers["Gateway-Release"] == after
    with django_assert_num_queries(0):
        release_routing.follow()  # nor is it read twice a second


def test_a_toolset_is_an_exposure_and_a_preview_is_none(api: Api, make_key: Any) -> None:
    cohort()

    preview = ask(api, {"surface": "legacy"})
    exposures.flush()
    assert (preview["surface"], Assignment.objects.count()) == ("legacy", 0)
    for _ in range(2):
        ask(api)
    exposures.flush()

    said = Assignment.objects.order_by("flag").values_list("flag", "variant", "cohort", "subject")
    assert list(said) == [
        (FlagKey.SURFACE, "gateway", "dev-team", DEMO_SUBJECT),
        (FlagKey.RELEASE, "live", "", DEMO_SUBJECT),
    ]
    plain = Api(make_key(scopes=[Scope.TOOLSET]))
    refused(plain.post("toolset", {"format": "openai", "surface": "gateway"}), 403, "scope_missing")


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "/format"),
        ({"format": "gemini"}, "/format"),
        ({"format": "mcp", "surface": "hybrid"}, "/surface"),
        ({"format": "mcp", "x": 1}, "/x"),
    ],
)
def test_a_body_that_is_none_is_told_what_to_send(api: Api, body: dict[str, Any], place: str) -> None:
    error = refused(api.post("toolset", body), 400, "malformed_call")

    assert place in [each["path"] for each in error["details"]["field_errors"]]


def test_legacy_tools_call_each_other_by_the_names_that_the_model_has(api: Api) -> None:
    catalog = model.get_live_catalog()

    tools = json.dumps(ask(api, Gateway_Context=PROJECT)["tools"])

    assert not [path for path in catalog.ops if path in tools]
    assert "update_onto_task does" in tools


@pytest.mark.parametrize("surface", ["gateway", "legacy"])
def test_the_prompt_names_nothing_that_is_not_on_the_surface(api: Api, surface: str) -> None:
    found = ask(api, {"surface": surface}, Gateway_Context=PROJECT)

    catalog = model.get_live_catalog()
    shown = {tool["function"]["name"] for tool in found["tools"]}
    names = GATEWAY_TOOLS | {op.tool_name for op in catalog.ops.values()}
    assert {name for name in names if name in found["prompt"]} <= shown
    if surface == "legacy":
        assert not [path for path in catalog.ops if path in found["prompt"]]
    assert 0 < tokens.count(found["prompt"]) <= 200


def test_a_passage_that_names_a_tool_is_handed_out_beside_that_tool_alone(api: Api, make_key: Any) -> None:
    PromptSection.objects.create(
        prompt="legacy_surface", name="tasks", position=20, title="Tasks", text="Call update_onto_task to close one."
    )
    publishing.publish_draft(note="Next", by="tests", at=timezone.now())
    model.refresh_live()
    reads = Api(make_key(scopes=[Scope.TOOLSET, Scope.EXEC_READ]))

    writes, only_reads, nowhere = ask(api, Gateway_Context=PROJECT), ask(reads, Gateway_Context=PROJECT), ask(api)

    assert ["update_onto_task" in found["prompt"] for found in (writes, only_reads, nowhere)] == [True, False, False]
    assert only_reads["prompt"].startswith("How to act")


def test_a_toolset_is_told_while_others_drop_what_is_kept(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    class Dropped(service._ToolsetCache):
        def __setitem__(self, key: Any, made: service.BuiltToolset) -> None:
            super().__setitem__(key, made)
            self.clear()  # as another thread does that finds it full

    monkeypatch.setattr(service, "_ToolsetCache", Dropped)

    assert ask(api)["tools"]


def test_telemetry_is_kept_once_a_turn_the_later_telling_counts(api: Api) -> None:
    cohort()
    turn = ask(api)
    body = {"toolset": turn["id"], "turn": "t1", "tools_loaded": ["tool_help", "tool_exec"], "tools_used": []}

    first = api.post("telemetry", body, Gateway_Session="s1", Gateway_Model="claude-haiku")
    more = {"tools_used": ["tool_exec"], "tool_misses": ["get_task"], "tokens": 1234, "outcome": "succeeded"}
    api.post("telemetry", body | more, Gateway_Session="s1", Gateway_Model="claude-haiku")

    assert (first.status_code, first.json()["ok"]) == (200, True)
    row = ToolSelection.objects.get()
    assert (row.surface, row.cohort, row.release) == ("gateway", "dev-team", turn["release"])
    assert (row.subject, row.session, row.turn, row.model) == (DEMO_SUBJECT, "s1", "t1", "claude")
    assert (row.used, row.missed, row.tokens, row.outcome) == (["tool_exec"], ["get_task"], 1234, "succeeded")


def test_telemetry_is_of_the_subject_of_its_toolset_and_of_no_other(live_catalog: Any, make_key: Any) -> None:
    client = ApiKey.objects.get(prefix=make_key()[: api_keys.PREFIX_LENGTH]).client
    ana, ben = (Api(api_keys.issue(client=client, by="tests", subject=name)[1], subject="") for name in ("ana", "ben"))
    of_ana, of_ben = (ask(each)["id"] for each in (ana, ben))
    ana.post("telemetry", {"toolset": of_ana, "turn": "t1"}, Gateway_Session="s1")

    borrowed = ben.post("telemetry", {"toolset": of_ana, "turn": "t2"}, Gateway_Session="s1")
    told_over = ben.post("telemetry", {"toolset": of_ben, "turn": "t1"}, Gateway_Session="s1")

    refused(borrowed, 403, "toolset_of_another")
    refused(told_over, 403, "toolset_of_another")
    assert [(row.subject, row.turn) for row in ToolSelection.objects.all()] == [("ana", "t1")]


def test_telemetry_of_a_long_turn_is_taken_after_its_toolsets_time(api: Api) -> None:
    now = timezone.now()
    with time_machine.travel(now, tick=False):
        id = ask(api)["id"]
    with time_machine.travel(now + timedelta(hours=1), tick=False):
        assert api.post("telemetry", {"toolset": id, "turn": "t1"}).status_code == 200
    with time_machine.travel(now + timedelta(hours=25), tick=False):
        refused(api.post("telemetry", {"toolset": id, "turn": "t1"}), 400, "toolset_expired")


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"turn": ""}, "/turn"),
        ({"tools_used": "x"}, "/tools_used"),
        ({"tokens": -1}, "/tokens"),
        ({"tokens": 1.5}, "/tokens"),
        ({"outcome": "great"}, "/outcome"),
        ({"extra": 1}, "/extra"),
        ({"tool_misses": ["x" * 201]}, "/tool_misses/0"),
    ],
)
def test_telemetry_that_is_none_is_told_what_to_send(api: Api, wrong: dict[str, Any], place: str) -> None:
    error = refused(api.post("telemetry", {"toolset": "x", "turn": "t1"} | wrong), 400, "malformed_call")

    assert place in [each["path"] for each in error["details"]["field_errors"]]
