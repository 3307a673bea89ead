"""Deadlines are ours to keep, whatever a handler's queries would like."""

import time
from dataclasses import replace

import pytest
from django.db import connection

from gateway.models import IdempotencyRecord
from registry.catalog import model
from tests.support.api import Api, refused
from workspace.contract import OpHandler, OpOutcome, OpRequest
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID
from workspace.handlers import HANDLERS
from workspace.models import Task

pytestmark = pytest.mark.both_databases

ENDLESS = 20.0  # seconds; far beyond any deadline of these tests


def dawdle() -> None:
    """Keep the database busy: in one statement where it can be cancelled, in many where it cannot."""
    until = time.monotonic() + ENDLESS
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_sleep(%s)", [ENDLESS])
        while time.monotonic() < until:
            cursor.execute("SELECT 1")


@pytest.fixture(autouse=True)
def slow(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ops that never end, with a deadline of 100 ms."""
    for name in ("create_onto_task", "get_onto_task_details"):
        whole = HANDLERS[name]

        def dawdles(request: OpRequest, whole: OpHandler = whole) -> OpOutcome:
            outcome = whole.apply(request)
            dawdle()
            return outcome

        monkeypatch.setitem(HANDLERS, name, OpHandler(dawdles))
    ops = model.get_live_catalog().ops
    for op in ("onto.task.create", "onto.task.get"):
        monkeypatch.setitem(ops, op, replace(ops[op], timeout_ms=100))


@pytest.mark.django_db(transaction=True)
def test_write_beyond_its_deadline_is_ended_and_undone(api: Api) -> None:
    body = {"op": "onto.task.create", "args": {"project_id": DEMO_PROJECT_ID, "title": "x"}, "idempotency_key": "k"}
    before = Task.objects.count()

    started = time.monotonic()
    response = api.post("exec", body)

    error = refused(response, 504, "timeout")
    assert (error["code"], error["details"]["retryable"]) == ("INTERNAL", True)
    assert time.monotonic() - started < ENDLESS / 2
    assert Task.objects.count() == before
    assert not IdempotencyRecord.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_read_beyond_its_deadline_is_ended(api: Api) -> None:
    started = time.monotonic()
    response = api.post("exec", {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}})

    refused(response, 504, "timeout")
    assert time.monotonic() - started < ENDLESS / 2


@pytest.mark.django_db(transaction=True)
def test_deadline_of_one_call_does_not_shorten_the_next(api: Api) -> None:
    api.post("exec", {"op": "onto.task.create", "args": {"project_id": DEMO_PROJECT_ID, "title": "x"}})

    with connection.cursor() as cursor:
        for _ in range(3):
            cursor.execute("SELECT pg_sleep(0.15)" if connection.vendor == "postgresql" else "SELECT 1")

    assert api.exec("onto.task.list")["ok"] is True
