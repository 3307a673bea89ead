"""Concurrent changes of one document tree and of one document: no circle, no gap, no lost change."""

import threading
from functools import partial
from typing import Any

import pytest
from django.db import connection

from core.handler_contract import OpHandler, OpOutcome, OpRequest
from tests.support.clients.api import Api
from tests.support.concurrency import run_at_once
from tests.support.rows.document_forest import read_dense_titles
from workspace.demo import DEMO_DOCUMENT_ID, DEMO_PROJECT_ID
from workspace.demo.rows import get_demo_id
from workspace.handlers import HANDLERS
from workspace.models import Document, Project

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db(transaction=True)]

ROOT = [get_demo_id("document", number) for number in (1, 3, 9)]


def move_document(api: Api, id: str, parent_id: str | None, **args: Any) -> Any:
    return api.post(
        "exec", {"op": "onto.document.tree.move", "args": {"document_id": id, "new_parent_id": parent_id} | args}
    )


def get_project() -> Project:
    return Project.objects.get(pk=DEMO_PROJECT_ID)


def test_opposite_moves_create_no_circle(api: Api) -> None:
    one, other = ROOT[:2]
    for _ in range(5):
        responses = run_at_once([lambda: move_document(api, one, other), lambda: move_document(api, other, one)])

        assert sorted(response.status_code for response in responses) == [200, 400]
        [refusal] = [response.json() for response in responses if response.status_code == 400]
        assert refusal["error"]["details"]["field_errors"][0]["code"] == "circle"
        read_dense_titles(get_project())
        for id in ROOT:
            assert move_document(api, id, None).status_code == 200


def test_three_moves_in_a_ring_create_no_circle(api: Api) -> None:
    ring = list(zip(ROOT, ROOT[1:] + ROOT[:1], strict=True))

    responses = run_at_once(
        [lambda id=id, parent_id=parent_id: move_document(api, id, parent_id) for id, parent_id in ring]
    )

    assert sorted(response.status_code for response in responses) == [200, 200, 400]
    read_dense_titles(get_project())


def test_at_most_one_of_many_moves_from_one_version_succeeds(api: Api) -> None:
    ids = [str(id) for id in Document.objects.filter(project=DEMO_PROJECT_ID).values_list("pk", flat=True)][:6]
    version = get_project().tree_version
    last = {"new_position": 99, "expected_version": version}

    responses = run_at_once([lambda id=id: move_document(api, id, None, **last) for id in ids])

    bodies = [response.json() for response in responses]
    stale = [each for each in bodies if not each["ok"] and each["error"]["details"]["reason"] == "stale_version"]
    changed = [each for each in bodies if each["ok"] and not each["meta"]["warnings"]]
    assert len(changed) <= 1
    assert len(stale) + sum(each["ok"] for each in bodies) == len(ids)
    assert get_project().tree_version == version + len(changed)
    read_dense_titles(get_project())


def test_concurrent_creates_moves_and_deletes_leave_no_gaps(api: Api) -> None:
    def call(op: str, **args: Any) -> Any:
        return lambda: api.post("exec", {"op": op, "args": args})

    nested_ids = Document.objects.filter(project=DEMO_PROJECT_ID).exclude(parent=None).values_list("pk", flat=True)
    calls = [
        *(call("onto.document.create", project_id=DEMO_PROJECT_ID, title=f"N{n}", position=0) for n in range(4)),
        *(call("onto.document.create", project_id=DEMO_PROJECT_ID, title=f"M{n}", parent_id=ROOT[0]) for n in range(4)),
        *(call("onto.document.tree.move", document_id=str(id), new_parent_id=ROOT[1]) for id in list(nested_ids)[:3]),
        call("onto.document.delete", document_id=ROOT[0]),
        call("onto.document.delete", document_id=ROOT[2], children="promote"),
    ]

    responses = run_at_once(calls)

    assert {response.status_code for response in responses} <= {200, 404}, [response.content for response in responses]
    assert {f"N{n}" for n in range(4)} <= set(read_dense_titles(get_project()))
    assert not Document.objects.filter(parent=ROOT[0], deleted_at=None).exists()


def test_concurrent_appends_lose_no_text(api: Api) -> None:
    parts = [f"Part {number}." for number in range(12)]
    args = {"document_id": DEMO_DOCUMENT_ID, "update_strategy": "append"}
    bodies = [{"op": "onto.document.update", "args": args | {"content": part}} for part in parts]

    responses = run_at_once([partial(api.post, "exec", body) for body in bodies])

    assert {response.status_code for response in responses} == {200}
    content = Document.objects.get(pk=DEMO_DOCUMENT_ID).content
    assert content.startswith("# Tone guide")
    assert sorted(content.split("\n\n")[-12:]) == sorted(parts)


def test_document_text_can_change_while_another_call_locks_the_tree(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("by design: SQLite has one write lock for all rows")
    started, release = threading.Event(), threading.Event()
    original = HANDLERS["move_document_in_tree"]

    def apply_and_wait(request: OpRequest) -> OpOutcome:
        outcome = original.apply(request)
        started.set()
        assert release.wait(10)
        return outcome

    monkeypatch.setitem(HANDLERS, "move_document_in_tree", OpHandler(apply_and_wait))

    def update() -> Any:
        assert started.wait(10)
        try:
            args = {"document_id": get_demo_id("document", 21), "content": "New"}
            other_project = api.post("exec", {"op": "onto.document.update", "args": args})
            args = {"project_id": DEMO_PROJECT_ID, "title": "A task needs no place"}
            return [other_project, api.post("exec", {"op": "onto.task.create", "args": args})]
        finally:
            release.set()

    _, responses = run_at_once([lambda: move_document(api, ROOT[0], ROOT[1]), update])

    assert [response.status_code for response in responses] == [200, 200]
