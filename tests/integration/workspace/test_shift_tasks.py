"""onto.task.shift through the API: a call never moves more than it names."""

from typing import Any

from tests.support.clients.api import Api
from tests.support.loops import for_each
from workspace.demo import DEMO_OTHER_PROJECT_ID, DEMO_PROJECT_ID, DEMO_TASK_ID

IN_OTHER_PROJECT = f'type=project, project_id="{DEMO_OTHER_PROJECT_ID}"'


@for_each("task_ids", [[], "", " "])
@for_each("args", [{}, {"project_id": DEMO_PROJECT_ID}])
def test_empty_task_ids_are_refused_without_a_wider_call(api: Api, task_ids: Any, args: dict[str, Any]) -> None:
    error = api.exec("onto.task.shift", {"days": 1, "task_ids": task_ids, **args})["error"]

    assert error["code"] == "VALIDATION_ERROR"
    assert error["details"]["field_errors"][0]["path"].startswith("/task_ids")
    assert "retry_with" not in error["details"]


def test_ids_move_whatever_project_the_user_looks_at(api: Api) -> None:
    body = {"op": "onto.task.shift", "args": {"days": 1, "task_ids": [DEMO_TASK_ID]}}

    envelope = api.post("exec", body, Gateway_Context=IN_OTHER_PROJECT).json()

    assert [task["id"] for task in envelope["result"]["tasks"]] == [DEMO_TASK_ID]
    assert "applied_defaults" not in envelope["meta"]
