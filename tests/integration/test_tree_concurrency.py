"""Changes of one tree, and of one document, at the same moment: no circle, no gap, nothing lost."""

import threading
from typing import Any

import pytest
from django.db import connection

from tests.support.api import Api
from tests.support.concurrency import at_once
from tests.support.document_forest import dense
from workspace.contract import OpHandler, OpOutcome, OpRequest
from workspace.demo import DEMO_DOCUMENT_ID, DEMO_PROJECT_ID
from workspace.demo.rows import get_demo_id
from workspace.handlers import HANDLERS
from workspace.models import Document, Project

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db(transaction=True), pytest.mark.chance]

ROOT = [get_demo_id("document", number) for number in (1, 3, 9)]


def move(api: Api, id: str, under: str | None, **args: Any) -> Any:
    return api.post(
        "exec", {"op": "onto.document.tree.move", "args": {"document_id": id, "new_parent_id": under} | args}
    )


def project() -> Project:
    return Project.objects.get(pk=DEMO_PROJECT_ID)


def test_opposite_moves_make_no_circle(api: Api) -> None:
    one, other = ROOT[:2]
    for _ in range(5):
        answers = at_once([lambda: move(api, one, other), lambda: move(api, other, one)])

        assert sorted(answer.status_code for answer in answers) == [200, 400]
        [refused] = [answer.json() for answer in answers if answer.status_code == 400]
        assert refused["error"]["details"]["field_errors"][0]["code"] == "circle"
        dense(project())
        for id in ROOT:
            assert move(api, id, None).status_code == 200


def test_three_moves_in_a_ring_make_no_circle(api: Api) -> None:
    ring = list(zip(ROOT, ROOT[1:] + ROOT[:1], strict=True))

    answers = at_once([lambda id=id, under=under: move(api, id, under) for id, under in ring])

    assert sorted(answer.status_code for answer in answers) == [200, 200, 400]
    dense(project())


def test_one_of_many_moves_from_the_same_version_is_made(api: Api) -> None:
    ids = [str(id) for id in Document.objects.filter(project=DEMO_PROJECT_ID).values_list("pk", flat=True)][:6]
    version = project().tree_version
    last = {"new_position": 99, "expected_version": version}

    answers = at_once([lambda id=id: move(api, id, None, **last) for id in ids])

    told = [answer.json() for answer in answers]
    stale = [each for each in told if not each["ok"] and each["error"]["details"]["reason"] == "stale_version"]
    changed = [each for each in told if each["ok"] and not each["meta"]["warnings"]]
    assert len(changed) <= 1
    assert len(stale) + sum(each["ok"] for each in told) == len(ids)
    assert project().tree_version == version + len(changed)
    dense(project())


def test_creates_moves_and_deletes_at_once_leave_a_tree_without_gaps(api: Api) -> None:
    def call(op: str, **args: Any) -> Any:
        return lambda: api.post("exec", {"op": op, "args": args})

    below = Document.objects.filter(project=DEMO_PROJECT_ID).exclude(parent=None).values_list("pk", flat=True)
    calls = [
        *(call("onto.document.create", project_id=DEMO_PROJECT_ID, title=f"N{n}", position=0) for n in range(4)),
        *(call("onto.document.create", project_id=DEMO_PROJECT_ID, title=f"M{n}", parent_id=ROOT[0]) for n in range(4)),
        *(call("onto.document.tree.move", document_id=str(id), new_parent_id=ROOT[1]) for id in list(below)[:3]),
        call("onto.document.delete", document_id=ROOT[0]),
        call("onto.document.delete", document_id=ROOT[2], children="promote"),
    ]

    answers = at_once(calls)

    assert {answer.status_code for answer in answers} <= {200, 404}, [answer.content for answer in answers]
    assert {f"N{n}" for n in range(4)} <= set(dense(project()))
    assert not Document.objects.filter(parent=ROOT[0], deleted_at=None).exists()


def test_appends_at_once_lose_nothing(api: Api) -> None:
    parts = [f"Part {number}." for number in range(12)]

    answers = at_once(
        [
            lambda part=part: api.post(
                "exec",
                {
                    "op": "onto.document.update",
                    "args": {"document_id": DEMO_DOCUMENT_ID, "content": part, "update_strategy": "append"},
                },
            )
            for part in parts
        ]
    )

    assert {answer.status_code for answer in answers} == {200}
    content = Document.objects.get(pk=DEMO_DOCUMENT_ID).content
    assert content.startswith("# Tone guide")
    assert sorted(content.split("\n\n")[-12:]) == sorted(parts)


def test_a_text_is_changed_while_another_call_holds_the_tree(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("by design: SQLite has one write lock for all rows")
    began, go_on = threading.Event(), threading.Event()
    whole = HANDLERS["move_document_in_tree"]

    def waits(request: OpRequest) -> OpOutcome:
        outcome = whole.apply(request)
        began.set()
        assert go_on.wait(10)
        return outcome

    monkeypatch.setitem(HANDLERS, "move_document_in_tree", OpHandler(waits))

    def update() -> Any:
        assert began.wait(10)
        try:
            args = {"document_id": get_demo_id("document", 21), "content": "New"}
            elsewhere = api.post("exec", {"op": "onto.document.update", "args": args})
            args = {"project_id": DEMO_PROJECT_ID, "title": "A task needs no place"}
            return [elsewhere, api.post("exec", {"op": "onto.task.create", "args": args})]
        finally:
            go_on.set()

    _, answers = at_once([lambda: move(api, ROOT[0], ROOT[1]), update])

    assert [answer.status_code for answer in answers] == [200, 200]
