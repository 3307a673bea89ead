"""The graph of a project read and hung otherwise, from the caller's side, also by several callers at once."""

from typing import Any

import pytest

from tests.support.api import Api, refused
from tests.support.concurrency import at_once
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID
from workspace.demo.rows import get_demo_id
from workspace.models import Edge, Plan

pytestmark = pytest.mark.both_databases

TASK = get_demo_id("task", 3)
PLANS = [get_demo_id("plan", number) for number in (1, 3, 4)]


def node(id: str = TASK, kind: str = "task", *connections: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": id, "kind": kind, "connections": list(connections)} | more


def under(plan: str, id: str = TASK) -> dict[str, Any]:
    return node(id, "task", {"kind": "plan", "id": plan})


def args(*nodes: dict[str, Any], **options: Any) -> dict[str, Any]:
    return {"project_id": DEMO_PROJECT_ID, "nodes": list(nodes)} | ({"options": options} if options else {})


def reorganize(api: Api, *nodes: dict[str, Any], **options: Any) -> dict[str, Any]:
    return api.exec("onto.project.graph.reorganize", args(*nodes, **options))


def parents(id: str = TASK) -> list[str]:
    return [str(edge.src_id) for edge in Edge.objects.filter(dst_id=id, rel="has_task", deleted_at=None)]


def test_a_graph_is_read_planned_and_rearranged(api: Api, db: None) -> None:
    graph = api.exec("onto.project.graph.get", {"project_id": DEMO_PROJECT_ID})
    [task] = [each for each in graph["result"]["nodes"] if each["id"] == TASK]
    [plan] = [each for each in graph["result"]["nodes"] if each["id"] == PLANS[0]]

    dry = reorganize(api, under(plan["id"], task["id"]), dry_run=True)
    assert parents() == []
    done = reorganize(api, under(plan["id"], task["id"]), plan_hash=dry["result"]["plan_hash"])

    assert (done["result"]["counts"], parents()) == ({"created": 1, "deleted": 0, "updated": 0}, [plan["id"]])
    assert done["meta"]["operation"]["entity_id"] == DEMO_PROJECT_ID
    again = api.exec("onto.project.graph.get", {"project_id": DEMO_PROJECT_ID})["result"]["edges"]
    assert done["result"]["changes"]["created"][0]["id"] in {edge["id"] for edge in again}


def test_a_stale_plan_is_a_conflict(api: Api, db: None) -> None:
    plan_hash = reorganize(api, under(PLANS[0]), dry_run=True)["result"]["plan_hash"]
    reorganize(api, under(PLANS[1]))

    answer = api.post(
        "exec", {"op": "onto.project.graph.reorganize", "args": args(under(PLANS[0]), plan_hash=plan_hash)}
    )

    assert refused(answer, 409, "stale_plan")["code"] == "CONFLICT"
    assert parents() == [PLANS[1]]


def test_a_parent_is_named_by_its_title_where_no_id_is_known(api: Api, db: None) -> None:
    title = Plan.objects.get(pk=PLANS[0]).name

    done = reorganize(api, node(TASK, "task", {"kind": "plan", "title": f" {title.upper()} "}))

    assert (done["result"]["counts"]["created"], parents()) == (1, [PLANS[0]])
    both = reorganize(api, node(TASK, "task", {"kind": "plan", "id": PLANS[0], "title": "Any"}))
    assert "Ignored nodes/0/connections/0/title: nodes/0/connections/0/id was sent too." in both["meta"]["warnings"]


def test_a_title_of_several_rows_is_refused_with_their_ids(api: Api, db: None) -> None:
    Plan.objects.filter(pk=PLANS[1]).update(name="Launch")
    Plan.objects.filter(pk=PLANS[2]).update(name="launch ")

    error = refused(
        api.post(
            "exec",
            {
                "op": "onto.project.graph.reorganize",
                "args": args(node(TASK, "task", {"kind": "plan", "title": "LAUNCH"})),
            },
        ),
        400,
        "invalid_args",
    )

    [told] = error["details"]["field_errors"]
    assert (told["path"], told["code"]) == ("/nodes/0/connections/0/title", "ambiguous_title")
    assert {each["id"] for each in told["expected"]} == set(PLANS[1:])
    assert parents() == []


@pytest.mark.parametrize("both", [False, True])
def test_a_dry_run_of_the_whole_call_keeps_nothing_either(api: Api, db: None, both: bool) -> None:
    answer = api.exec(
        "onto.project.graph.reorganize", args(under(PLANS[0]), **({"dry_run": True} if both else {})), dry_run=True
    )

    assert (answer["meta"]["dry_run"], answer["result"]["counts"]["created"]) == (True, 1)
    assert parents() == []
    assert reorganize(api, under(PLANS[0]), plan_hash=answer["result"]["plan_hash"])["ok"] is True


@pytest.mark.parametrize(
    ("nodes", "path", "code", "words"),
    [
        ([node(get_demo_id("document", 1), "document")], "/nodes/0/kind", "enum", "kind: Documents hang in a tree"),
        ([node(DEMO_PROJECT_ID, "project")], "/nodes/0/kind", "enum", "kind: The project holds the others"),
        ([node("t1")], "/nodes/0/id", "format", "id must be a UUID"),
        ([{"id": TASK, "kind": "task"}], "/nodes/0/connections", "required", "connections is required"),
        ([], "/nodes", "minItems", "at least 1"),
        ([node(), node()], "/nodes/1/id", "duplicate", "list each row once"),
        ([node(TASK, "task", {"kind": "plan", "id": "x"})], "/nodes/0/connections/0/id", "format", "UUID"),
        ([node(TASK, "task", {"kind": "plan"})], "/nodes/0/connections/0/id", "required", "send the row's title"),
        (
            [node(TASK, "task", {"kind": "plan", "title": "No such"})],
            "/nodes/0/connections/0/title",
            "no_such_title",
            "no plan in this project has this name",
        ),
        ([node(get_demo_id("task", 21))], "/nodes/0/id", "not_found", "No task of this project"),
    ],
)
def test_what_cannot_be_rearranged_is_told_at_its_pointer(
    api: Api, db: None, nodes: list[Any], path: str, code: str, words: str
) -> None:
    answer = reorganize(api, *nodes)

    [error] = answer["error"]["details"]["field_errors"]
    assert (error["path"], error["code"]) == (path, code)
    assert words in error["message"]


@pytest.mark.django_db(transaction=True)
def test_twelve_at_once_leave_a_row_under_one_parent(api: Api) -> None:
    calls = [
        lambda number=number: api.post(
            "exec", {"op": "onto.project.graph.reorganize", "args": args(under(PLANS[number % 3]))}
        )
        for number in range(12)
    ]

    answers = at_once(calls)

    assert {answer.status_code for answer in answers} == {200}
    assert len(parents()) == 1
    created = [answer.json()["result"]["counts"]["created"] for answer in answers]
    deleted = [answer.json()["result"]["counts"]["deleted"] for answer in answers]
    assert sum(created) - sum(deleted) == 1  # each has seen what the one before left


@pytest.mark.django_db(transaction=True)
def test_of_twelve_with_one_plan_one_has_its_way(api: Api) -> None:
    plan_hash = reorganize(api, under(PLANS[0]), dry_run=True)["result"]["plan_hash"]
    call = {"op": "onto.project.graph.reorganize", "args": args(under(PLANS[0]), plan_hash=plan_hash)}

    answers = at_once([lambda: api.post("exec", call)] * 12)

    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 11
    assert {answer.json()["error"]["details"]["reason"] for answer in answers if answer.status_code == 409} == {
        "stale_plan"
    }
    assert parents() == [PLANS[0]]


@pytest.mark.django_db(transaction=True)
def test_nodes_in_any_order_wait_for_each_other_without_a_deadlock(api: Api) -> None:
    tasks = [DEMO_TASK_ID, *(get_demo_id("task", number) for number in (3, 5, 7, 9, 20))]
    plans = [node(id, "plan", {"kind": "goal", "id": get_demo_id("goal", 1)}) for id in PLANS]

    def call(number: int) -> Any:
        nodes = [under(PLANS[number % 3], id) for id in tasks] + plans
        return api.post(
            "exec", {"op": "onto.project.graph.reorganize", "args": args(*(nodes[::-1] if number % 2 else nodes))}
        )

    answers = at_once([lambda number=number: call(number) for number in range(12)])

    assert {answer.status_code for answer in answers} == {200}
    assert len({tuple(parents(id)) for id in tasks}) == 1  # all of them as one call hung them


@pytest.mark.django_db(transaction=True)
def test_what_is_linked_and_unlinked_meanwhile_is_never_doubled(api: Api) -> None:
    edge = reorganize(api, under(PLANS[0]))["result"]["changes"]["created"][0]["id"]
    link = {"src_kind": "plan", "src_id": PLANS[1], "dst_kind": "task", "dst_id": TASK, "rel": "has_task"}
    calls = [
        lambda op=op, sent=sent: api.post("exec", {"op": op, "args": sent})
        for op, sent in [
            ("onto.project.graph.reorganize", args(under(PLANS[1]))),
            ("onto.edge.link", link),
            ("onto.edge.unlink", {"edge_id": edge}),
            ("onto.project.graph.reorganize", args(under(PLANS[1]))),
        ]
    ]

    answers = at_once(calls)

    assert {answer.status_code for answer in answers} <= {200, 404, 409}
    assert {answer.json()["error"]["details"]["reason"] for answer in answers if answer.status_code == 409} <= {
        "stale_plan"
    }
    assert parents().count(PLANS[1]) == 1
