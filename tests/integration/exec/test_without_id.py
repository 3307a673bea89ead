"""A get op without its id runs the list op instead, with a warning."""

from collections.abc import Callable
from typing import Any

from analytics.events.models import OperationEvent
from registry.models import Op
from tests.support.clients.api import Api, assert_refused
from tests.support.loops import for_each
from tests.support.rows.catalog_fixture import publish_draft
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID

IN_PROJECT = f'type=project, project_id="{DEMO_PROJECT_ID}"'
ENTITIES = ("task", "goal", "plan", "document", "milestone", "risk")


def test_get_ops_that_fall_back_to_a_list(live_catalog: Any) -> None:
    list_ops = {path: op.without_id for path, op in live_catalog.ops.items() if op.without_id}

    assert list_ops == {f"onto.{entity}.get": f"onto.{entity}.list" for entity in ENTITIES}


@for_each("entity", ENTITIES)
def test_get_without_its_id_runs_the_list(api: Api, entity: str) -> None:
    response = api.exec(f"onto.{entity}.get")

    list_response = api.exec(f"onto.{entity}.list")
    assert (response["op"], response["ok"]) == (f"onto.{entity}.get", True)
    assert response["result"] == list_response["result"]
    assert response["result"]["total"] > 0
    assert response["meta"]["executed_op"] == f"onto.{entity}.list"
    assert response["meta"]["operation"] == {"entity": entity, "action": "list"}
    assert response["meta"]["warnings"] == [
        f"{entity}_id is missing, so onto.{entity}.list ran instead; send {entity}_id for one complete row."
    ]


@for_each("args", [{"task_id": ""}, {"task_id": "  "}, {"task_id": None}, {"id": ""}, {"taskId": None}])
def test_blank_and_null_ids_are_missing(api: Api, args: dict[str, Any]) -> None:
    response = api.exec("onto.task.get", args)

    assert response["meta"]["executed_op"] == "onto.task.list"


def test_list_gets_limit_and_project_of_the_call_or_context(api: Api) -> None:
    explicit = api.exec("get_task", {"projectId": DEMO_PROJECT_ID, "limit": 2})
    response = api.post("exec", {"op": "onto.task.get", "args": {"limit": 2}}, Gateway_Context=IN_PROJECT)

    assert len(explicit["result"]["tasks"]) == 2
    assert explicit["result"]["project_id"] == DEMO_PROJECT_ID
    assert response.json()["result"] == explicit["result"]
    assert response.json()["meta"]["applied_defaults"] == {"project_id": DEMO_PROJECT_ID}
    assert "Read projectId as project_id." in explicit["meta"]["warnings"]


def test_arguments_of_a_single_row_are_ignored_with_a_warning(api: Api) -> None:
    op = Op.objects.get(op="onto.task.get")
    op.parameters_schema["properties"]["deep"] = {"type": "boolean", "default": True}
    op.save()
    publish_draft()

    response = api.exec("onto.task.get", {"deep": False})
    without_args = api.exec("onto.task.get")

    assert response["meta"]["executed_op"] == without_args["meta"]["executed_op"] == "onto.task.list"
    assert "Ignored deep: it applies to one row." in response["meta"]["warnings"]
    assert len(without_args["meta"]["warnings"]) == 1  # no warning for a default


@for_each("args", [{"task_id": "7e3b9f20"}, {"task_id": 5}, {"tsk_id": DEMO_TASK_ID}, {"query": "x"}])
def test_malformed_or_misspelt_id_does_not_run_the_list(api: Api, args: dict[str, Any]) -> None:
    response = api.post("exec", {"op": "onto.task.get", "args": args})

    assert_refused(response, 400, "invalid_args")
    assert "executed_op" not in response.json()["meta"]


@for_each(
    "op, args, error",
    [
        ("onto.project.get", {}, ("/project_id", "required")),
        ("onto.requirement.get", {}, ("/requirement_id", "required")),
        ("onto.task.get", {"limit": 500}, ("/limit", "maximum")),  # of the list
    ],
)
def test_other_gets_need_their_id_and_a_list_valid_args(
    api: Api, op: str, args: dict[str, int], error: tuple[str, str]
) -> None:
    refused = assert_refused(api.post("exec", {"op": op, "args": args}), 400, "invalid_args")

    assert [(each["path"], each["code"]) for each in refused["details"]["field_errors"]] == [error]


def test_list_does_not_run_without_permission(live_catalog: Any, make_api: Callable[..., Api]) -> None:
    api = make_api(op_patterns=["onto.task.get"])

    error = assert_refused(api.post("exec", {"op": "onto.task.get", "args": {}}), 400, "invalid_args")

    assert "onto.task.list" not in error["message"]


def test_list_does_not_run_when_retired(api: Api) -> None:
    Op.objects.filter(op="onto.task.list").update(status=Op.Status.RETIRED)
    publish_draft()

    assert_refused(api.post("exec", {"op": "onto.task.get", "args": {}}), 400, "invalid_args")


def test_event_has_the_op_that_was_called(api: Api, read_events: Callable[[], list[OperationEvent]]) -> None:
    api.exec("onto.task.get", {}, dry_run=True, idempotency_key="k")

    [event] = read_events()
    assert (event.op, event.kind, event.ok, event.entity, event.entity_id) == (
        "onto.task.get",
        "read",
        True,
        "task",
        "",
    )
