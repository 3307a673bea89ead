"""The exec endpoint, in the order of its pipeline: find the op, validate and normalise args, run, answer."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from analytics.events.models import OperationEvent
from core.handler_contract import OpHandler, OpOutcome
from gateway.models import IdempotencyRecord
from tests.support.clients.api import Api, assert_refused
from tests.support.loops import for_each
from tests.support.rows.factories import ProjectFactory, TaskFactory
from workspace.demo import DEMO_COLLEAGUE, DEMO_PROJECT_ID, DEMO_TASK_ID
from workspace.handlers import HANDLERS
from workspace.models import Project, Task

DEMO_TASK_TITLE = "Draft the homepage copy"
UNKNOWN_ID = "11111111-2222-4333-8444-555555555555"


def read_workspace_rows() -> list[Any]:
    """Return all projects and tasks, to check that nothing changed."""
    return [*Project.objects.order_by("pk").values(), *Task.objects.order_by("pk").values()]


def codes_by_path(error: dict[str, Any]) -> dict[str, str]:
    return {each["path"]: each["code"] for each in error["details"]["field_errors"]}


# --- resolving the op -------------------------------------------------------------------------------------------------


@for_each("name", ["onto.task.get", "get_onto_task_details", "onto.tasks.get", "get_task"])
def test_exec_answers_with_the_canonical_op_name_for_every_known_name(api: Api, name: str) -> None:
    done = api.exec(name, {"task_id": DEMO_TASK_ID})
    failed = api.exec(name, {"task_id": UNKNOWN_ID})

    assert (done["op"], done["ok"]) == ("onto.task.get", True)
    assert (failed["op"], failed["error"]["code"]) == ("onto.task.get", "NOT_FOUND")


@for_each(
    "name, help_path, close",
    [
        ("onto.task.updat", "onto.task", "onto.task.update"),
        ("onto.task.Update", "onto.task", "onto.task.update"),  # matched exactly, never case-folded
        ("onto.task.update ", "onto.task", "onto.task.update"),  # nor trimmed
        ("update_onto_tasks", "root", "onto.task.update"),
        ("onto.task.nothing.at.all", "onto.task", None),
        ("zzzzzz", "root", None),
        ("onto.task", "onto.task", None),  # a group does not run
        ("root", "root", None),
    ],
)
def test_exec_suggests_the_nearest_ops_for_an_unknown_op(
    api: Api, name: str, help_path: str, close: str | None
) -> None:
    response = api.post("exec", {"op": name, "args": {}})

    error = assert_refused(response, 404, "unknown_op")
    assert error["code"] == "NOT_FOUND"
    assert response.json()["op"] == name
    assert error["help_path"] == help_path
    assert "operation" not in response.json()["meta"]
    assert api.post("help", {"path": error["help_path"]}).status_code == 200
    if close:
        assert close in error["details"]["did_you_mean"]


def test_did_you_mean_omits_ops_that_the_caller_cannot_use(make_api: Callable[..., Api], live_catalog: Any) -> None:
    api = make_api(scopes=["help", "exec:read"])

    error = assert_refused(api.post("exec", {"op": "onto.task.updat", "args": {}}), 404, "unknown_op")

    assert "onto.task.update" not in str(error)


# --- malformed args and retry_with ----------------------------------------------------------------------


@for_each(
    "body",
    [
        {"op": "onto.task.get", "args": f'{{"task_id": "{DEMO_TASK_ID}"}}'},  # args in a string
        {"op": "get_onto_task_details", "args": f'{{"task_id": "{DEMO_TASK_ID}"}}'},
        {"op": "onto.task.get", "task_id": DEMO_TASK_ID},  # args next to op
        {"op": "onto.task.get", "args": {}, "task_id": DEMO_TASK_ID},
    ],
)
def test_malformed_call_gets_the_corrected_call_in_retry_with(api: Api, body: dict[str, Any]) -> None:
    error = assert_refused(api.post("exec", body), 400, "malformed_call")

    retry_with = error["details"]["retry_with"]
    assert retry_with == {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}}
    assert api.post("exec", retry_with).status_code == 200


def test_retry_with_keeps_idempotency_key_and_dry_run(api: Api) -> None:
    kept = {"op": "onto.task.delete", "dry_run": True, "idempotency_key": "k"}

    error = assert_refused(api.post("exec", kept | {"task_id": DEMO_TASK_ID}), 400, "malformed_call")

    assert error["details"]["retry_with"] == kept | {"args": {"task_id": DEMO_TASK_ID}}


@for_each(
    "body",
    [
        {"op": "onto.task.get", "args": "task_id=1"},  # not JSON
        {"op": "onto.task.get", "args": "[]"},
        {"op": "onto.task.get", "args": '{"a": 1, "a": 2}'},
        {"op": "onto.task.get", "nonsense": 1},  # not an argument of the op
        {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}, "task_id": UNKNOWN_ID},  # two different ids
        {"op": "nothing", "args": "{}"},
        {"op": "onto.task.get", "args": "{}", "dry_run": "yes"},
        {"op": "onto.task.create", "args": f'{{"title": "{"x" * 5_000}"}}'},  # too long to send back
    ],
)
def test_malformed_call_gets_no_retry_with_when_its_meaning_is_unclear(api: Api, body: dict[str, Any]) -> None:
    error = assert_refused(api.post("exec", body), 400, "malformed_call")

    assert "retry_with" not in error["details"]


# --- validation -------------------------------------------------------------------------------------------------------


def test_validation_reports_all_field_errors_at_once(api: Api) -> None:
    before = read_workspace_rows()
    args = {"title": 5, "state_key": "dnoe", "priority": 9, "due_at": "tomorrow", "colour": "red", "type_key": "x"}

    error = assert_refused(api.post("exec", {"op": "onto.task.create", "args": args}), 400, "invalid_args")

    assert codes_by_path(error) == {
        "/project_id": "required",
        "/title": "type",
        "/state_key": "enum",
        "/priority": "maximum",
        "/due_at": "format",
        "/colour": "unknown_argument",
        "/type_key": "pattern",
    }
    assert all(each["message"] for each in error["details"]["field_errors"])
    assert error["help_path"] == "onto.task.create"
    assert read_workspace_rows() == before


@for_each("op", ["onto.task.get", "onto.task.update", "onto.task.delete"])
def test_invalid_id_is_refused_before_the_workspace_is_queried(api: Api, op: str) -> None:
    args = {"task_id": ": "} | ({"state_key": "done"} if op == "onto.task.update" else {})

    with CaptureQueriesContext(connection) as queries:
        response = api.post("exec", {"op": op, "args": args})

    error = assert_refused(response, 400, "invalid_args")
    assert codes_by_path(error) == {"/task_id": "format"}
    message = error["details"]["field_errors"][0]["message"]
    assert "placeholder" in message
    assert "onto.task.list" in message
    assert not [query for query in queries if "workspace_" in query["sql"]]


@for_each("change", [{}, {"props": {}, "task_title": "Only shown", "description": ""}])
def test_update_without_changes_is_refused(api: Api, change: dict[str, Any]) -> None:
    response = api.post("exec", {"op": "onto.task.update", "args": {"task_id": DEMO_TASK_ID, **change}})

    error = assert_refused(response, 400, "invalid_args")
    assert [(each["path"], each["code"]) for each in error["details"]["field_errors"]] == [("", "no_change")]
    assert "state_key" in error["details"]["field_errors"][0]["message"]


# --- normalising ------------------------------------------------------------------------------------------------------


def test_unknown_field_of_the_answer_stops_the_update(api: Api) -> None:
    before = Task.objects.get(pk=DEMO_TASK_ID)

    refused = api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "title": "New", "fields": ["colour"]})

    assert refused["error"]["details"]["field_errors"][0]["path"] == "/fields/0"
    assert Task.objects.get(pk=DEMO_TASK_ID).title == before.title


# --- the envelope -----------------------------------------------------------------------------------------------------


def test_success_envelope_of_a_read_has_the_documented_keys(api: Api) -> None:
    envelope = api.exec("onto.task.get", {"task_id": DEMO_TASK_ID})

    assert set(envelope) == {"op", "ok", "result", "meta"}
    assert set(envelope["meta"]) == {"trace_id", "latency_ms", "warnings", "operation"}
    assert envelope["meta"]["operation"] == {
        "entity": "task",
        "action": "get",
        "entity_id": DEMO_TASK_ID,
        "entity_name": envelope["result"]["task"]["title"],
    }


@for_each(
    "op, args, operation",
    [
        # an update without a change, an alias of an argument, a name and an id that are wrong, an aliased op
        ("onto.task.update", {"task_id": DEMO_TASK_ID}, {"entity_id": DEMO_TASK_ID, "entity_name": DEMO_TASK_TITLE}),
        ("update_task", {"taskId": DEMO_TASK_ID}, {"entity_id": DEMO_TASK_ID, "entity_name": DEMO_TASK_TITLE}),
        (
            "onto.task.update",
            {"task_id": DEMO_TASK_ID, "task_title": "Other", "state_key": "x"},
            {"entity_id": DEMO_TASK_ID, "entity_name": DEMO_TASK_TITLE},
        ),
        (
            "onto.task.update",
            {"task_id": UNKNOWN_ID, "task_title": "The one", "state_key": "done"},
            {"entity_id": UNKNOWN_ID, "entity_name": "The one"},
        ),
        ("onto.task.update", {"task_id": ": "}, {}),
    ],
)
def test_failed_operation_says_what_it_was_about(
    api: Api, op: str, args: dict[str, Any], operation: dict[str, str]
) -> None:
    envelope = api.exec(op, args)

    assert envelope["ok"] is False
    assert envelope["meta"]["operation"] == {"entity": "task", "action": "update"} | operation


def test_failed_create_names_the_row_that_it_did_not_create(api: Api) -> None:
    task = api.exec("onto.task.create", {"project_id": UNKNOWN_ID, "title": "Call"})
    project = api.exec(
        "onto.project.create",
        {
            "project": {"name": "Spring", "type_key": "project.business.product_launch"},
            "entities": [{"temp_id": "t1", "kind": "task", "title": "Call", "due_at": "31 April"}],
        },
    )

    assert (task["ok"], project["ok"]) == (False, False)
    assert task["meta"]["operation"] == {"entity": "task", "action": "create", "entity_name": "Call"}
    assert project["meta"]["operation"] == {"entity": "project", "action": "create", "entity_name": "Spring"}


def test_failed_operation_repeats_no_value_of_invalid_args(api: Api) -> None:
    envelope = api.exec("onto.task.create", {"project_id": DEMO_PROJECT_ID, "title": "Secret", "due_at": 7})

    assert envelope["meta"]["operation"] == {"entity": "task", "action": "create"}


def test_failed_operation_names_no_row_that_the_caller_may_not_see(
    make_api: Callable[..., Api], live_catalog: Any
) -> None:
    hidden = TaskFactory(title="Secret", project=ProjectFactory(created_by="stranger"))
    args = {"task_id": str(hidden.pk)}
    writer = make_api(scopes=["exec:write"])

    invisible = make_api().exec("onto.task.update", args | {"state_key": "done"})
    forbidden = writer.exec("onto.task.get", {"task_id": DEMO_TASK_ID})

    assert invisible["meta"]["operation"] == {"entity": "task", "action": "update", "entity_id": str(hidden.pk)}
    assert forbidden["meta"]["operation"] == {"entity": "task", "action": "get", "entity_id": DEMO_TASK_ID}


@for_each("op", ["onto.entity.links.get", "onto.entity.relationships.get", "onto.entity.history"], undone=True)
def test_operation_on_a_row_of_any_kind_says_which_kind(
    api: Api, read_events: Callable[[], list[OperationEvent]], op: str
) -> None:
    kind = {} if op == "onto.entity.relationships.get" else {"entity_kind": "task"}

    envelope = api.exec(op, {"entity_id": DEMO_TASK_ID, **kind})

    operation = {"entity": "task", "action": op.rpartition(".")[2], "entity_id": DEMO_TASK_ID}
    assert envelope["meta"]["operation"] == operation | {"entity_name": DEMO_TASK_TITLE}
    assert [(event.entity, event.entity_id) for event in read_events()] == [("task", DEMO_TASK_ID)]


def test_domain_errors_have_their_codes(make_api: Callable[..., Api], live_catalog: Any) -> None:
    viewer = make_api(acts_for=DEMO_COLLEAGUE)
    invisible_task = TaskFactory(project=ProjectFactory(created_by="stranger"))

    invisible = viewer.post("exec", {"op": "onto.task.get", "args": {"task_id": str(invisible_task.pk)}})
    missing = viewer.post("exec", {"op": "onto.task.get", "args": {"task_id": UNKNOWN_ID}})
    forbidden = viewer.post("exec", {"op": "onto.task.delete", "args": {"task_id": DEMO_TASK_ID}})

    unknown = assert_refused(missing, 404, "not_found")
    assert assert_refused(invisible, 404, "not_found") == unknown  # callers cannot tell them apart
    assert unknown["code"] == "NOT_FOUND"
    assert assert_refused(forbidden, 403, "viewer_may_not_change")["code"] == "PERMISSION_DENIED"


# --- dry run ----------------------------------------------------------------------------------------------------------


@for_each(
    "op, args",
    [
        ("onto.task.create", {"project_id": DEMO_PROJECT_ID, "title": "New"}),
        ("onto.task.update", {"task_id": DEMO_TASK_ID, "title": "New"}),
        ("onto.task.delete", {"task_id": DEMO_TASK_ID}),
        ("onto.project.create", {"project": {"name": "New", "type_key": "project.business.launch"}}),
    ],
    undone=True,
)
def test_dry_run_returns_the_result_and_changes_nothing(api: Api, op: str, args: dict[str, Any]) -> None:
    before = read_workspace_rows()

    dry_run = api.exec(op, args, dry_run=True, idempotency_key="once")

    assert dry_run["ok"] is True
    assert dry_run["meta"]["dry_run"] is True
    assert dry_run["meta"]["warnings"][0] == "Dry run: nothing was saved. The result shows what would change."
    assert read_workspace_rows() == before
    assert not IdempotencyRecord.objects.exists()
    done = api.exec(op, args, idempotency_key="once")
    assert "replayed" not in done["meta"]
    assert read_workspace_rows() != before


def test_dry_run_ignores_a_used_idempotency_key(api: Api) -> None:
    api.exec("onto.task.delete", {"task_id": DEMO_TASK_ID}, idempotency_key="once")

    other = {"project_id": DEMO_PROJECT_ID, "title": "x"}
    dry_run = api.exec("onto.task.create", other, idempotency_key="once", dry_run=True)

    assert dry_run["ok"] is True
    assert "replayed" not in dry_run["meta"]


def test_dry_run_is_refused_when_the_domain_refuses_the_call(api: Api) -> None:
    response = api.post("exec", {"op": "onto.task.delete", "args": {"task_id": UNKNOWN_ID}, "dry_run": True})

    assert_refused(response, 404, "not_found")
    assert response.json()["meta"]["dry_run"] is True


def test_dry_run_of_a_read_returns_the_read(api: Api) -> None:
    read = api.exec("onto.task.list", dry_run=True)

    assert (read["result"]["total"], read["meta"]["warnings"]) == (Task.objects.count(), [])


def test_exec_of_a_group_explains_that_it_is_not_an_op(api: Api) -> None:
    error = api.exec("onto.task")["error"]

    assert error["message"].startswith("onto.task is a group, not an op.")
    assert "onto.task" not in error["details"]["did_you_mean"]


def test_write_is_undone_when_its_result_cannot_be_rendered(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    create = HANDLERS["create_onto_task"]
    monkeypatch.setitem(
        HANDLERS,
        "create_onto_task",
        OpHandler(lambda request: OpOutcome(create.apply(request).result | {"odd": object()})),
    )
    project_id = api.exec("onto.project.list")["result"]["projects"][0]["id"]

    envelope = api.exec("onto.task.create", {"project_id": project_id, "title": "Lost"})

    assert envelope["error"]["code"] == "INTERNAL"
    assert not Task.objects.filter(title="Lost").exists()
