"""Placing rows with arguments such as plan_id, parent and connections."""

from typing import Any

from tests.support.clients.api import Api
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID
from workspace.demo.rows import get_demo_id

GOAL, MILESTONE, PLAN = (get_demo_id(kind, 1) for kind in ("goal", "milestone", "plan"))


def create_row(api: Api, kind: str = "task", **args: Any) -> dict[str, Any]:
    return api.exec(f"onto.{kind}.create", {"project_id": DEMO_PROJECT_ID, "title": "New", **args})


def describe_edges(response: dict[str, Any]) -> list[str]:
    return [f"{each['src_kind']} {each['rel']} {each['dst_kind']}" for each in response["result"].get("edges", [])]


def test_task_is_linked_as_its_arguments_say(api: Api) -> None:
    response = create_row(
        api,
        planId=f" {PLAN} ",
        goal_id=GOAL,
        parent={"kind": "milestone", "id": MILESTONE},
        connections=[{"kind": "task", "id": DEMO_TASK_ID, "rel": "depends on"}],
    )

    assert describe_edges(response) == [
        "plan has_task task",
        "task supports_goal goal",
        "task targets_milestone milestone",
        "task depends_on task",
    ]
    assert response["meta"]["warnings"] == [
        "Read planId as plan_id.",
        "Read connections/0/rel as task depends_on task.",
        "A task has one parent, here plan_id; stored parent/id as task targets_milestone milestone. "
        "Send allow_multi_parent: true to keep all parents.",
    ]
