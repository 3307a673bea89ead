"""Rows placed where their arguments say, from the caller's side."""

from typing import Any

import pytest

from tests.support.api import Api
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID
from workspace.demo.rows import get_demo_id
from workspace.models import Edge

GOAL, MILESTONE, PLAN = (get_demo_id(kind, 1) for kind in ("goal", "milestone", "plan"))


def create(api: Api, kind: str = "task", **sent: Any) -> dict[str, Any]:
    return api.exec(f"onto.{kind}.create", {"project_id": DEMO_PROJECT_ID, "title": "New", **sent})


def edges(answer: dict[str, Any]) -> list[str]:
    return [f"{each['src_kind']} {each['rel']} {each['dst_kind']}" for each in answer["result"].get("edges", [])]


def test_a_task_is_placed_by_its_arguments(api: Api) -> None:
    answer = create(
        api,
        planId=f" {PLAN} ",
        goal_id=GOAL,
        parent={"kind": "milestone", "id": MILESTONE},
        connections=[{"kind": "task", "id": DEMO_TASK_ID, "rel": "depends on"}],
    )

    assert edges(answer) == [
        "plan has_task task",
        "task supports_goal goal",
        "task targets_milestone milestone",
        "task depends_on task",
    ]
    assert answer["meta"]["warnings"] == [
        "Read planId as plan_id.",
        "Read connections/0/rel as task depends_on task.",
        "A task has one parent, here plan_id; stored parent/id as task targets_milestone milestone. "
        "Send allow_multi_parent: true to keep all parents.",
    ]


def test_blank_and_empty_ties_are_none(api: Api) -> None:
    assert edges(create(api, plan_id=" ", parents=[], connections=[])) == []


def test_a_task_changes_its_goal_and_gives_it_up(api: Api) -> None:
    task_id = create(api, goal_id=GOAL)["result"]["task"]["id"]

    same = api.exec("onto.task.update", {"task_id": task_id, "goal_id": GOAL})
    gone = api.exec("onto.task.update", {"task_id": task_id, "goal_id": None})

    assert same["meta"]["warnings"] == ["unchanged"]
    assert (gone["ok"], gone["result"]["message"]) == (True, "Changed goal_id.")
    assert not Edge.objects.filter(src_id=task_id, deleted_at=None).exists()


@pytest.mark.parametrize("parent", [{"kind": "document", "id": PLAN}, {"kind": "risk", "id": PLAN}, {"id": PLAN}])
def test_a_parent_that_cannot_be_is_a_field_error(api: Api, parent: dict[str, str]) -> None:
    answer = create(api, parent=parent)

    [error] = answer["error"]["details"]["field_errors"]
    assert (answer["error"]["code"], error["path"]) == ("VALIDATION_ERROR", "/parent/kind")
    assert "kind" not in parent or "plan, milestone, goal, project" in error["message"]


def test_what_lies_elsewhere_is_not_found(api: Api) -> None:
    answer = create(api, plan_id=get_demo_id("plan", 21))

    assert answer["error"]["code"] == "NOT_FOUND"
    assert "plan_id" in answer["error"]["message"]
