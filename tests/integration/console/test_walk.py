"""The path of a model through the API: root, group, op, exec, error, corrected exec."""

from analytics.events import event_log
from analytics.events.models import OperationEvent
from tests.support.clients.api import Api
from workspace.demo import DEMO_TASK_ID


def test_model_finds_an_op_from_the_root_and_corrects_its_call(api: Api) -> None:
    root = api.help("root")
    assert "onto" in [item["path"] for item in root["items"]]

    onto = api.help("onto")
    assert "onto.task" in [item["path"] for item in onto["items"]]

    group = api.help("onto.task")
    assert {"path": "onto.task.update", "kind": "write"}.items() <= next(
        item for item in group["items"] if item["path"] == "onto.task.update"
    ).items()

    op = api.help("onto.task.update")
    assert op["args"]["task_id"] == "uuid, required"

    refused = api.exec("onto.task.update", {"task_id": ": "})
    assert refused["ok"] is False
    assert refused["error"]["code"] == "VALIDATION_ERROR"
    assert refused["error"]["help_path"] == "onto.task.update"
    assert {error["path"]: error["code"] for error in refused["error"]["details"]["field_errors"]} == {
        "/task_id": "format",
        "": "no_change",
    }

    task_list = api.exec("onto.task.list", {"limit": 50})
    assert DEMO_TASK_ID in [task["id"] for task in task_list["result"]["tasks"]]

    full_help = api.help(refused["error"]["help_path"], format="full")
    assert full_help["usage"]["op"] == "onto.task.update"

    repaired = api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "state_key": "done"})
    assert repaired["ok"] is True
    assert repaired["result"]["task"]["state_key"] == "done"
    assert repaired["meta"]["operation"]["entity_id"] == DEMO_TASK_ID

    event_log.flush()
    events = list(OperationEvent.objects.order_by("id").values_list("type", "op", "ok"))
    assert ("exec", "onto.task.update", True) in events
    assert ("exec", "onto.task.update", False) in events
    assert ("help", "onto.task", True) in events
