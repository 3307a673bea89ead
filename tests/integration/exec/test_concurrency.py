"""Concurrent calls, each on its own connection: duplicates of one key, and writes of the same rows."""

import threading
import time
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse

from core.handler_contract import OpOutcome, OpRequest
from gateway.models import IdempotencyRecord
from registry.catalog import cache
from tests.support.clients.api import Api, assert_refused
from tests.support.clients.batches import wrap_handler
from tests.support.concurrency import run_at_once
from workspace.demo import DEMO_OTHER_PROJECT_ID, DEMO_PROJECT_ID, DEMO_TASK_ID
from workspace.demo.rows import get_demo_id
from workspace.handlers import HANDLERS
from workspace.models import CalendarEvent, ProjectCalendar, Task

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db(transaction=True)]


def create(api: Api, key: str) -> HttpResponse:
    args = {"project_id": DEMO_PROJECT_ID, "title": "Call the printer"}
    return api.post("exec", {"op": "onto.task.create", "args": args, "idempotency_key": key})


def test_twenty_duplicates_have_one_effect_and_one_result(api: Api) -> None:
    responses = run_at_once([lambda: create(api, "one")] * 20)

    assert Task.objects.filter(title="Call the printer").count() == 1
    assert IdempotencyRecord.objects.count() == 1
    done = [response.json() for response in responses if response.status_code == 200]
    assert len({envelope["result"]["task"]["id"] for envelope in done}) == 1
    assert sum("replayed" not in envelope["meta"] for envelope in done) == 1
    for response in responses:
        if response.status_code != 200:
            assert_refused(response, 409, "in_progress")


def test_twenty_calls_with_different_keys_all_take_effect(api: Api) -> None:
    calls = [lambda key=key: create(api, str(key)) for key in range(20)]

    responses = run_at_once(calls)

    assert [response.status_code for response in responses] == [200] * 20
    assert Task.objects.filter(title="Call the printer").count() == 20


def test_twenty_updates_of_one_row_all_succeed(api: Api) -> None:
    calls = [
        lambda number=number: api.post(
            "exec", {"op": "onto.task.update", "args": {"task_id": DEMO_TASK_ID, "props": {f"n{number}": number}}}
        )
        for number in range(20)
    ]

    responses = run_at_once(calls)

    assert {response.status_code for response in responses} == {200}
    props = Task.objects.get(pk=DEMO_TASK_ID).props
    assert {f"n{number}" for number in range(20)} <= set(props)  # no update overwrote another one


def test_concurrent_updates_keep_a_task_and_its_event_consistent(api: Api) -> None:
    event = CalendarEvent.objects.get(task=DEMO_TASK_ID, task_event_kind="due")
    calls = []
    for day in range(1, 11):
        event_args = {"event_id": str(event.pk), "end_at": f"2027-03-{day:02}T17:00:00Z"}
        task_args = {"task_id": DEMO_TASK_ID, "due_at": f"2027-04-{day:02}T17:00:00Z", "title": f"Title {day}"}
        calls += [
            lambda args=event_args: api.post("exec", {"op": "cal.event.update", "args": args}),
            lambda args=task_args: api.post("exec", {"op": "onto.task.update", "args": args}),
        ]

    responses = run_at_once(calls)

    assert {response.status_code for response in responses} == {200}
    task = Task.objects.get(pk=DEMO_TASK_ID)
    [current] = task.events.filter(deleted_at=None)
    assert (current.pk, current.end_at, current.title) == (event.pk, task.due_at, f"Due: {task.title}")


def test_concurrent_first_calls_create_one_calendar(api: Api) -> None:
    args = {"project_id": DEMO_OTHER_PROJECT_ID}

    responses = run_at_once([lambda: api.post("exec", {"op": "cal.project.set", "args": args})] * 10)

    assert {response.status_code for response in responses} == {200}
    assert ProjectCalendar.objects.filter(project=DEMO_OTHER_PROJECT_ID).count() == 1


def hold_first_call(monkeypatch: pytest.MonkeyPatch, tool_name: str) -> tuple[threading.Event, threading.Event]:
    """Make the first call of a tool wait inside its transaction. Return the events of its start and its release."""
    started, release = threading.Event(), threading.Event()

    def wait() -> None:
        if not started.is_set():
            started.set()
            assert release.wait(10)

    wrap_handler(monkeypatch, tool_name, after=wait)
    return started, release


def shorten_deadline(op: str, milliseconds: int) -> None:
    """Give an op of the live catalog a shorter deadline."""
    ops = cache.get_live_catalog().ops  # the catalog of this test only
    ops[op] = replace(ops[op], timeout_ms=milliseconds)


def test_duplicate_waits_for_the_first_call_and_gets_its_result(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    started, release = hold_first_call(monkeypatch, "create_onto_task")

    def send_duplicate() -> HttpResponse:
        assert started.wait(10)
        threading.Timer(0.2, release.set).start()  # by then the duplicate waits for the key
        return create(api, "one")

    responses = run_at_once([lambda: create(api, "one"), send_duplicate])

    assert [response.status_code for response in responses] == [200, 200], [response.content for response in responses]
    assert responses[1].json()["meta"]["replayed"] is True
    assert Task.objects.filter(title="Call the printer").count() == 1


def test_duplicate_gets_in_progress_at_its_own_deadline(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    started, release = hold_first_call(monkeypatch, "create_onto_task")

    def send_duplicate() -> HttpResponse:
        assert started.wait(10)
        shorten_deadline("onto.task.create", 300)
        start = time.monotonic()
        try:
            response = create(api, "one")
        finally:
            release.set()
        assert time.monotonic() - start >= 0.2
        return response

    responses = run_at_once([lambda: create(api, "one"), send_duplicate])

    error = assert_refused(responses[1], 409, "in_progress")
    assert error["code"] == "CONFLICT"
    assert error["details"]["retryable"] is True
    assert responses[1].headers["Retry-After"] == "1"
    assert responses[0].status_code == 200
    assert Task.objects.filter(title="Call the printer").count() == 1


def test_write_is_a_conflict_when_its_row_stays_locked(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    started, release = hold_first_call(monkeypatch, "update_onto_task")

    def update(title: str) -> HttpResponse:
        return api.post("exec", {"op": "onto.task.update", "args": {"task_id": DEMO_TASK_ID, "title": title}})

    def send_second() -> HttpResponse:
        assert started.wait(10)
        shorten_deadline("onto.task.update", 2_000)  # a busy machine takes some of it before it waits
        try:
            return update("Second")
        finally:
            release.set()

    responses: list[Any] = run_at_once([lambda: update("First"), send_second])

    assert assert_refused(responses[1], 409, "busy")["code"] == "CONFLICT"
    assert Task.objects.get(pk=DEMO_TASK_ID).title == "First"


def test_write_that_loses_a_deadlock_runs_again(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("by design: SQLite has one write lock for all rows")
    both_hold_a_lock = threading.Barrier(2)
    runs: list[str] = []
    original = HANDLERS["update_onto_task"]
    other = {get_demo_id("task", 3): get_demo_id("task", 5), get_demo_id("task", 5): get_demo_id("task", 3)}

    def update_both(request: OpRequest) -> OpOutcome:
        outcome = original.apply(request)
        runs.append(request.args["task_id"])
        if len(runs) <= 2:
            both_hold_a_lock.wait(10)
        original.apply(replace(request, args=request.args | {"task_id": other[request.args["task_id"]]}))
        return outcome

    monkeypatch.setitem(HANDLERS, "update_onto_task", replace(original, apply=update_both))
    calls = [
        {"op": "onto.task.update", "args": {"task_id": id, "title": f"Once {id}"}, "idempotency_key": id}
        for id in other
    ]

    responses = run_at_once([lambda call=call: api.post("exec", call) for call in calls])

    assert [response.status_code for response in responses] == [200, 200]
    assert len(runs) > 2  # the call that lost was undone and ran again
    assert len(set(Task.objects.filter(pk__in=other).values_list("title", flat=True))) == 1
