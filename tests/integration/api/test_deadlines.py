"""The gateway ends calls at their deadline, whatever queries a handler runs."""

import time
from dataclasses import replace

import pytest
from django.db import connection

from gateway.models import IdempotencyRecord
from registry.catalog import cache
from tests.support.clients.api import Api, assert_refused
from tests.support.clients.batches import wrap_handler
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID
from workspace.models import Task

pytestmark = pytest.mark.both_databases

HANDLER_SECONDS = 20.0  # far beyond every deadline of these tests


def keep_database_busy() -> None:
    """Keep the database busy: in one statement if the database can cancel it, else in many short ones."""
    end = time.monotonic() + HANDLER_SECONDS
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_sleep(%s)", [HANDLER_SECONDS])
        while time.monotonic() < end:
            cursor.execute("SELECT 1")


@pytest.fixture(autouse=True)
def _slow_ops(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give two ops a slow handler and a deadline of 100 ms."""
    for name in ("create_onto_task", "get_onto_task_details"):
        wrap_handler(monkeypatch, name, after=keep_database_busy)
    ops = cache.get_live_catalog().ops
    for op in ("onto.task.create", "onto.task.get"):
        monkeypatch.setitem(ops, op, replace(ops[op], timeout_ms=100))


@pytest.mark.django_db(transaction=True)
def test_write_is_ended_and_undone_at_its_deadline(api: Api) -> None:
    body = {"op": "onto.task.create", "args": {"project_id": DEMO_PROJECT_ID, "title": "x"}, "idempotency_key": "k"}
    before = Task.objects.count()

    start = time.monotonic()
    response = api.post("exec", body)

    error = assert_refused(response, 504, "timeout")
    assert (error["code"], error["details"]["retryable"]) == ("INTERNAL", True)
    assert time.monotonic() - start < HANDLER_SECONDS / 2
    assert Task.objects.count() == before
    assert not IdempotencyRecord.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_read_is_ended_at_its_deadline(api: Api) -> None:
    start = time.monotonic()
    response = api.post("exec", {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}})

    assert_refused(response, 504, "timeout")
    assert time.monotonic() - start < HANDLER_SECONDS / 2


@pytest.mark.django_db(transaction=True)
def test_deadline_of_a_call_does_not_affect_later_queries(api: Api) -> None:
    api.post("exec", {"op": "onto.task.create", "args": {"project_id": DEMO_PROJECT_ID, "title": "x"}})

    with connection.cursor() as cursor:
        for _ in range(3):
            cursor.execute("SELECT pg_sleep(0.15)" if connection.vendor == "postgresql" else "SELECT 1")

    assert api.exec("onto.task.list")["ok"] is True
