"""Twins: calls with one key at the same moment, on connections of their own. One effect, whoever wins."""

import threading
import time
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse

from gateway.models import IdempotencyRecord
from registry.catalog import model
from tests.support.api import Api, refused
from tests.support.concurrency import at_once
from workspace.contract import OpHandler, OpOutcome, OpRequest
from workspace.demo import DEMO_OTHER_PROJECT_ID, DEMO_PROJECT_ID, DEMO_TASK_ID
from workspace.demo.rows import get_demo_id
from workspace.handlers import HANDLERS
from workspace.models import CalendarEvent, ProjectCalendar, Task

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db(transaction=True), pytest.mark.chance]

CREATE = {"op": "onto.task.create", "args": {"project_id": DEMO_PROJECT_ID, "title": "Call the printer"}}


def test_twenty_twins_have_one_effect_and_one_answer(api: Api) -> None:
    answers = at_once([lambda: api.post("exec", CREATE | {"idempotency_key": "one"})] * 20)

    assert Task.objects.filter(title="Call the printer").count() == 1
    assert IdempotencyRecord.objects.count() == 1
    done = [answer.json() for answer in answers if answer.status_code == 200]
    assert len({envelope["result"]["task"]["id"] for envelope in done}) == 1
    assert sum("replayed" not in envelope["meta"] for envelope in done) == 1
    for answer in answers:
        if answer.status_code != 200:
            refused(answer, 409, "in_progress")


def test_twenty_calls_with_keys_of_their_own_all_have_their_effect(api: Api) -> None:
    calls = [lambda key=key: api.post("exec", CREATE | {"idempotency_key": str(key)}) for key in range(20)]

    answers = at_once(calls)

    assert [answer.status_code for answer in answers] == [200] * 20
    assert Task.objects.filter(title="Call the printer").count() == 20


def test_twenty_updates_of_one_row_all_succeed(api: Api) -> None:
    calls = [
        lambda number=number: api.post(
            "exec", {"op": "onto.task.update", "args": {"task_id": DEMO_TASK_ID, "props": {f"n{number}": number}}}
        )
        for number in range(20)
    ]

    answers = at_once(calls)

    assert {answer.status_code for answer in answers} == {200}
    kept = Task.objects.get(pk=DEMO_TASK_ID).props
    assert {f"n{number}" for number in range(20)} <= set(kept)  # none overwrote another's


def test_a_task_and_its_event_changed_at_once_stay_in_step(api: Api) -> None:
    event = CalendarEvent.objects.get(task=DEMO_TASK_ID, task_event_kind="due")
    calls = []
    for day in range(1, 11):
        moved = {"event_id": str(event.pk), "end_at": f"2027-03-{day:02}T17:00:00Z"}
        due = {"task_id": DEMO_TASK_ID, "due_at": f"2027-04-{day:02}T17:00:00Z", "title": f"Title {day}"}
        calls += [
            lambda args=moved: api.post("exec", {"op": "cal.event.update", "args": args}),
            lambda args=due: api.post("exec", {"op": "onto.task.update", "args": args}),
        ]

    answers = at_once(calls)

    assert {answer.status_code for answer in answers} == {200}
    task = Task.objects.get(pk=DEMO_TASK_ID)
    [shown] = task.events.filter(deleted_at=None)
    assert (shown.pk, shown.end_at, shown.title) == (event.pk, task.due_at, f"Due: {task.title}")


def test_ten_first_calendars_of_a_project_are_one(api: Api) -> None:
    args = {"project_id": DEMO_OTHER_PROJECT_ID}

    answers = at_once([lambda: api.post("exec", {"op": "cal.project.set", "args": args})] * 10)

    assert {answer.status_code for answer in answers} == {200}
    assert ProjectCalendar.objects.filter(project=DEMO_OTHER_PROJECT_ID).count() == 1


def slow(monkeypatch: pytest.MonkeyPatch, began: threading.Event, go_on: threading.Event) -> None:
    """Make create wait inside its transaction until told to go on."""
    whole = HANDLERS["create_onto_task"]

    def waits(request: OpRequest) -> OpOutcome:
        outcome = whole.apply(request)
        began.set()
        assert go_on.wait(10)
        return outcome

    monkeypatch.setitem(HANDLERS, "create_onto_task", OpHandler(waits))


def limited(op: str, milliseconds: int) -> None:
    """Give an op of the live catalog a shorter deadline."""
    ops = model.get_live_catalog().ops  # of this test alone
    ops[op] = replace(ops[op], timeout_ms=milliseconds)


def test_twin_waits_for_the_first_and_is_answered_the_same(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    began, go_on = threading.Event(), threading.Event()
    slow(monkeypatch, began, go_on)

    def first() -> HttpResponse:
        return api.post("exec", CREATE | {"idempotency_key": "one"})

    def twin() -> HttpResponse:
        assert began.wait(10)
        threading.Timer(0.2, go_on.set).start()  # the twin is at the claim by then
        return api.post("exec", CREATE | {"idempotency_key": "one"})

    answers = at_once([first, twin])

    assert [answer.status_code for answer in answers] == [200, 200], [answer.content for answer in answers]
    assert answers[1].json()["meta"]["replayed"] is True
    assert Task.objects.filter(title="Call the printer").count() == 1


def test_twin_is_told_that_the_first_is_in_progress_at_its_own_deadline(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on = threading.Event(), threading.Event()
    slow(monkeypatch, began, go_on)

    def first() -> HttpResponse:
        return api.post("exec", CREATE | {"idempotency_key": "one"})

    def twin() -> HttpResponse:
        assert began.wait(10)
        limited("onto.task.create", 300)
        started = time.monotonic()
        try:
            answer = api.post("exec", CREATE | {"idempotency_key": "one"})
        finally:
            go_on.set()
        assert time.monotonic() - started >= 0.2
        return answer

    answers = at_once([first, twin])

    error = refused(answers[1], 409, "in_progress")
    assert error["code"] == "CONFLICT"
    assert error["details"]["retryable"] is True
    assert answers[1].headers["Retry-After"] == "1"
    assert answers[0].status_code == 200
    assert Task.objects.filter(title="Call the printer").count() == 1


def test_write_that_cannot_have_its_row_in_time_is_a_conflict(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    began, go_on = threading.Event(), threading.Event()
    whole = HANDLERS["update_onto_task"]

    def waits(request: OpRequest) -> OpOutcome:
        outcome = whole.apply(request)
        if request.args.get("title") == "First":
            began.set()
            assert go_on.wait(10)
        return outcome

    monkeypatch.setitem(HANDLERS, "update_onto_task", OpHandler(waits))

    def update(title: str) -> HttpResponse:
        return api.post("exec", {"op": "onto.task.update", "args": {"task_id": DEMO_TASK_ID, "title": title}})

    def second() -> HttpResponse:
        assert began.wait(10)
        limited("onto.task.update", 300)
        try:
            return update("Second")
        finally:
            go_on.set()

    answers: list[Any] = at_once([lambda: update("First"), second])

    assert refused(answers[1], 409, "busy")["code"] == "CONFLICT"
    assert Task.objects.get(pk=DEMO_TASK_ID).title == "First"


def test_a_write_that_loses_a_deadlock_runs_again(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("by design: SQLite has one write lock for all rows")
    both_hold_one = threading.Barrier(2)
    runs: list[str] = []
    whole = HANDLERS["update_onto_task"]
    other = {get_demo_id("task", 3): get_demo_id("task", 5), get_demo_id("task", 5): get_demo_id("task", 3)}

    def crosswise(request: OpRequest) -> OpOutcome:
        outcome = whole.apply(request)
        runs.append(request.args["task_id"])
        if len(runs) <= 2:
            both_hold_one.wait(10)
        whole.apply(replace(request, args=request.args | {"task_id": other[request.args["task_id"]]}))
        return outcome

    monkeypatch.setitem(HANDLERS, "update_onto_task", replace(whole, apply=crosswise))
    calls = [
        {"op": "onto.task.update", "args": {"task_id": id, "title": f"Once {id}"}, "idempotency_key": id}
        for id in other
    ]

    answers = at_once([lambda call=call: api.post("exec", call) for call in calls])

    assert [answer.status_code for answer in answers] == [200, 200]
    assert len(runs) == 3  # the one that lost began anew, and its first beginning was undone
    assert len(set(Task.objects.filter(pk__in=other).values_list("title", flat=True))) == 1
