"""Reading and reorganizing the graph of a project through the API, also by several callers at once."""

from functools import partial
from typing import Any

import pytest

from tests.support.clients.api import Api
from tests.support.concurrency import run_at_once
from tests.support.loops import for_each
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID
from workspace.demo.rows import get_demo_id
from workspace.models import Edge, Plan

pytestmark = pytest.mark.both_databases

TASK, DOCUMENT = get_demo_id("task", 3), get_demo_id("document", 1)
PLANS = [get_demo_id("plan", number) for number in (1, 3, 4)]


def build_node(id: str = TASK, kind: str = "task", *connections: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": id, "kind": kind, "connections": list(connections)} | more


def place_under_plan(plan: str, id: str = TASK) -> dict[str, Any]:
    return build_node(id, "task", {"kind": "plan", "id": plan})


def build_args(*nodes: dict[str, Any], **options: Any) -> dict[str, Any]:
    return {"project_id": DEMO_PROJECT_ID, "nodes": list(nodes)} | ({"options": options} if options else {})


def reorganize(api: Api, *nodes: dict[str, Any], **options: Any) -> dict[str, Any]:
    return api.exec("onto.project.graph.reorganize", build_args(*nodes, **options))


def find_parents(id: str = TASK) -> list[str]:
    return [str(edge.src_id) for edge in Edge.objects.filter(dst_id=id, rel="has_task", deleted_at=None)]


def test_graph_is_reorganized_as_planned(api: Api, db: None) -> None:
    graph = api.exec("onto.project.graph.get", {"project_id": DEMO_PROJECT_ID})
    [task] = [each for each in graph["result"]["nodes"] if each["id"] == TASK]
    [plan] = [each for each in graph["result"]["nodes"] if each["id"] == PLANS[0]]

    dry_run_result = reorganize(api, place_under_plan(plan["id"], task["id"]), dry_run=True)
    assert find_parents() == []
    result = reorganize(api, place_under_plan(plan["id"], task["id"]), plan_hash=dry_run_result["result"]["plan_hash"])

    assert (result["result"]["counts"], find_parents()) == ({"created": 1, "deleted": 0, "updated": 0}, [plan["id"]])
    assert result["meta"]["operation"]["entity_id"] == DEMO_PROJECT_ID
    again = api.exec("onto.project.graph.get", {"project_id": DEMO_PROJECT_ID})["result"]["edges"]
    assert result["result"]["changes"]["created"][0]["id"] in {edge["id"] for edge in again}


def test_parent_can_be_named_by_its_title(api: Api, db: None) -> None:
    title = Plan.objects.get(pk=PLANS[0]).name

    result = reorganize(api, build_node(TASK, "task", {"kind": "plan", "title": f" {title.upper()} "}))

    assert (result["result"]["counts"]["created"], find_parents()) == (1, [PLANS[0]])
    both = reorganize(api, build_node(TASK, "task", {"kind": "plan", "id": PLANS[0], "title": "Any"}))
    assert "Ignored nodes/0/connections/0/title: nodes/0/connections/0/id was also sent." in both["meta"]["warnings"]


@for_each("both", [False, True], undone=True)
def test_dry_run_of_the_call_changes_nothing(api: Api, db: None, both: bool) -> None:
    envelope = api.exec(
        "onto.project.graph.reorganize",
        build_args(place_under_plan(PLANS[0]), **({"dry_run": True} if both else {})),
        dry_run=True,
    )

    assert (envelope["meta"]["dry_run"], envelope["result"]["counts"]["created"]) == (True, 1)
    assert find_parents() == []
    assert reorganize(api, place_under_plan(PLANS[0]), plan_hash=envelope["result"]["plan_hash"])["ok"] is True


@for_each(
    "node, path, code, words",
    [
        (build_node(DOCUMENT, "document"), "kind", "enum", "kind: Documents have their own tree"),
        (build_node(DEMO_PROJECT_ID, "project"), "kind", "enum", "kind: The project contains the nodes"),
        (build_node("t1"), "id", "format", "id must be a UUID"),
        ({"id": TASK, "kind": "task"}, "connections", "required", "connections is required"),
        (build_node(TASK, "task", {"kind": "plan", "id": "x"}), "connections/0/id", "format", "UUID"),
        (build_node(TASK, "task", {"kind": "plan"}), "connections/0/id", "required", "send the row's title"),
        (
            build_node(TASK, "task", {"kind": "plan", "title": "No such"}),
            "connections/0/title",
            "no_such_title",
            "no plan in this project has this name",
        ),
    ],
)
def test_invalid_node_is_a_field_error_with_its_path(
    api: Api, db: None, node: dict[str, Any], path: str, code: str, words: str
) -> None:
    envelope = reorganize(api, node)

    [error] = envelope["error"]["details"]["field_errors"]
    assert (error["path"], error["code"]) == (f"/nodes/0/{path}", code)
    assert words in error["message"]


@pytest.mark.django_db(transaction=True)
def test_twelve_concurrent_calls_leave_a_row_with_one_parent(api: Api) -> None:
    bodies = [
        {"op": "onto.project.graph.reorganize", "args": build_args(place_under_plan(PLANS[number % 3]))}
        for number in range(12)
    ]

    responses = run_at_once([partial(api.post, "exec", body) for body in bodies])

    assert {response.status_code for response in responses} == {200}
    assert len(find_parents()) == 1
    created = [response.json()["result"]["counts"]["created"] for response in responses]
    deleted = [response.json()["result"]["counts"]["deleted"] for response in responses]
    assert sum(created) - sum(deleted) == 1  # each call saw the result of the one before


@pytest.mark.django_db(transaction=True)
def test_one_of_twelve_calls_with_the_same_plan_succeeds(api: Api) -> None:
    plan_hash = reorganize(api, place_under_plan(PLANS[0]), dry_run=True)["result"]["plan_hash"]
    call = {"op": "onto.project.graph.reorganize", "args": build_args(place_under_plan(PLANS[0]), plan_hash=plan_hash)}

    responses = run_at_once([lambda: api.post("exec", call)] * 12)

    assert sorted(response.status_code for response in responses) == [200] + [409] * 11
    refused = [response.json()["error"] for response in responses if response.status_code == 409]
    assert {error["details"]["reason"] for error in refused} == {"stale_plan"}
    assert find_parents() == [PLANS[0]]


@pytest.mark.django_db(transaction=True)
def test_concurrent_calls_with_nodes_in_any_order_do_not_deadlock(api: Api) -> None:
    tasks = [DEMO_TASK_ID, *(get_demo_id("task", number) for number in (3, 5, 7, 9, 20))]
    plans = [build_node(id, "plan", {"kind": "goal", "id": get_demo_id("goal", 1)}) for id in PLANS]

    def call(number: int) -> Any:
        nodes = [place_under_plan(PLANS[number % 3], id) for id in tasks] + plans
        return api.post(
            "exec", {"op": "onto.project.graph.reorganize", "args": build_args(*(nodes[::-1] if number % 2 else nodes))}
        )

    responses = run_at_once([lambda number=number: call(number) for number in range(12)])

    assert {response.status_code for response in responses} == {200}
    assert len({tuple(find_parents(id)) for id in tasks}) == 1  # one call placed all of them


@pytest.mark.django_db(transaction=True)
def test_concurrent_link_and_unlink_leave_one_edge(api: Api) -> None:
    edge = reorganize(api, place_under_plan(PLANS[0]))["result"]["changes"]["created"][0]["id"]
    link = {"src_kind": "plan", "src_id": PLANS[1], "dst_kind": "task", "dst_id": TASK, "rel": "has_task"}
    bodies = [
        {"op": "onto.project.graph.reorganize", "args": build_args(place_under_plan(PLANS[1]))},
        {"op": "onto.edge.link", "args": link},
        {"op": "onto.edge.unlink", "args": {"edge_id": edge}},
        {"op": "onto.project.graph.reorganize", "args": build_args(place_under_plan(PLANS[1]))},
    ]

    responses = run_at_once([partial(api.post, "exec", body) for body in bodies])

    assert {response.status_code for response in responses} <= {200, 404, 409}
    refused = [response.json()["error"] for response in responses if response.status_code == 409]
    assert {error["details"]["reason"] for error in refused} <= {"stale_plan"}
    assert find_parents().count(PLANS[1]) == 1
