"""How the answer of a write says that it can be undone."""

from collections.abc import Callable
from typing import Any

from core.text import token_budget
from registry.catalog import model
from tests.support.clients.api import Api
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID
from workspace.models import Task

UNDO = "onto.history.undo"
MOST_TOKENS = 12  # that this adds to an answer


def set_title(api: Api, title: str, **more: Any) -> dict[str, Any]:
    return api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "title": title}, **more)


def test_answer_of_a_write_has_the_args_that_undo_exactly_this_write(api: Api) -> None:
    before = Task.objects.get(pk=DEMO_TASK_ID).title
    undo = set_title(api, "Renamed")["meta"]["undo"]
    api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "priority": 1})

    answer = api.exec(UNDO, undo)

    task = Task.objects.get(pk=DEMO_TASK_ID)
    assert answer["ok"] is True
    assert (task.title, task.priority) == (before, 1)
    assert token_budget.count_json({"undo": undo}) <= MOST_TOKENS


def test_times_of_undone_writes_are_in_utc_like_those_of_rows(api: Api) -> None:
    set_title(api, "Renamed")

    [write] = api.exec(UNDO, {})["result"]["writes"]

    assert write["at"].endswith("Z")


def test_each_entry_of_a_batch_and_each_row_of_a_loop_can_be_undone_alone(api: Api) -> None:
    listing = {"type": "exec", "op": "onto.task.list", "args": {"limit": 2}}
    new = {"project_id": DEMO_PROJECT_ID, "title": "New"}
    create = {"type": "exec", "op": "onto.task.create", "args": new}
    loop = {"type": "exec", "op": "onto.task.update", "for_each": {"$result": "0#/result/tasks"}}
    rename = {**loop, "args": {"task_id": {"$item": "/id"}, "title": "Renamed"}}

    _, created, renamed = api.post("batch", {"ops": [listing, create, rename]}).json()["results"]

    undos = [each["meta"]["undo"] for each in (created, *renamed["items"])]
    assert len(undos) == 3
    assert all(api.exec(UNDO, undo)["ok"] for undo in undos)
    assert not Task.objects.filter(title="Renamed").exists()


def test_answer_says_nothing_about_undo_where_nothing_can_be_undone(api: Api) -> None:
    title = Task.objects.get(pk=DEMO_TASK_ID).title

    assert "undo" not in set_title(api, "Renamed", dry_run=True)["meta"]
    assert "undo" not in set_title(api, title)["meta"]
    assert "undo" not in api.exec("onto.task.get", {"task_id": DEMO_TASK_ID})["meta"]
    undone = api.exec(UNDO, set_title(api, "Renamed")["meta"]["undo"])
    assert "undo" not in undone["meta"]


def test_answer_says_nothing_about_undo_to_a_caller_that_cannot_run_it(
    live_catalog: model.Catalog, make_key: Callable[..., str]
) -> None:
    without_undo = Api(make_key(op_patterns=["onto.task.*"]))

    assert "undo" not in set_title(without_undo, "Renamed")["meta"]
