"""Health endpoints: /healthz answers while the process runs, /readyz when calls can be served."""

import time
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import QuerySet
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analytics.events import event_log
from core.background import poller
from gateway.batches import broker
from gateway.jobs import runner
from registry.catalog import cache
from registry.models import Activation
from tests.support.clients.api import Api


def test_healthz_needs_neither_key_nor_database(client: Client) -> None:
    response = client.get("/healthz")

    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_readyz_is_ok_with_a_live_release_also_without_a_broker(
    api: Api, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    response = client.get("/readyz")
    assert response.status_code == 200
    checks = dict.fromkeys(["database", "release", "broker", "jobs", "events"], "ok")
    assert response.json() == {"status": "ok", "checks": checks}
    assert "no-cache" in response.headers["Cache-Control"]

    monkeypatch.setattr(broker._sender, "_failed_at", time.monotonic())
    response = client.get("/readyz")
    assert (response.status_code, response.json()["status"]) == (200, "ok")
    assert response.json()["checks"]["broker"].startswith("takes no messages")

    monkeypatch.setattr(event_log._buffer, "is_full", True)
    response = client.get("/readyz")
    assert (response.status_code, response.json()["status"]) == (200, "ok")
    assert response.json()["checks"]["events"] == "lost; memory and disk are full"

    Activation.objects.all().delete()
    poller.refresh()
    assert client.get("/readyz").status_code == 503


def test_readyz_fails_before_the_first_release(client: Client, db: None) -> None:
    cache.clear_cache()

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json()["checks"] == {
        "database": "ok",
        "release": "none is live",
        "broker": "ok",
        "jobs": "ok",
        "events": "ok",
    }


@pytest.mark.parametrize("failure", [OperationalError("gone"), InterfaceError("connection already closed")])
def test_readyz_fails_while_the_database_does_not_answer(
    api: Api, client: Client, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", Mock(side_effect=failure))
        ready, alive = client.get("/readyz"), client.get("/healthz")

    assert ready.status_code == 503
    assert ready.json()["checks"] == {
        "database": "does not answer",
        "release": "ok",
        "broker": "ok",
        "jobs": "ok",
        "events": "ok",
    }
    assert "gone" not in ready.content.decode()
    assert alive.status_code == 200


@pytest.mark.both_databases
def test_readyz_names_the_command_for_a_database_without_tables(api: Api, client: Client) -> None:
    cache.clear_cache()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE registry_activation RENAME TO gone")
        response = client.get("/readyz")
        transaction.set_rollback(True)

    assert response.status_code == 503
    assert response.json()["checks"]["release"] == "has no tables; run manage.py migrate"


@pytest.mark.both_databases
def test_calls_and_pages_name_the_command_for_a_database_without_tables(api: Api, client: Client) -> None:
    client.raise_request_exception = False
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE workspace_task RENAME TO gone_task")
        cursor.execute("ALTER TABLE django_session RENAME TO gone_session")
        with transaction.atomic():
            called = api.post("exec", {"op": "onto.task.list", "args": {}})
            transaction.set_rollback(True)
        client.cookies["sessionid"] = "a" * 32
        with transaction.atomic():
            page = client.get("/admin/", headers={"Accept": "text/html"})
            transaction.set_rollback(True)
        transaction.set_rollback(True)

    assert (called.status_code, called.json()["error"]["details"]["reason"]) == (503, "not_migrated")
    assert page.status_code == 503
    for response in (called, page):
        assert "Run: python manage.py migrate" in response.content.decode()


def test_readyz_fails_while_the_database_takes_no_writes(
    api: Api, client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "gateway.jobs.runner")
    monkeypatch.setattr(runner, "_is_failing", False)

    def check(error: Exception | None = None) -> None:
        monkeypatch.setattr(runner, "_next_check", 0.0)
        with monkeypatch.context() as patch:
            if error:
                patch.setattr(QuerySet, "update", Mock(side_effect=error))
            runner.check_when_due()

    check()
    assert client.get("/readyz").status_code == 200
    check(OperationalError("database or disk is full"))
    check(OperationalError("database or disk is full"))
    full = client.get("/readyz")
    check(OperationalError("database is locked"))  # by another writer: that tells nothing
    assert client.get("/readyz").status_code == 503
    check()
    assert client.get("/readyz").status_code == 200

    assert full.status_code == 503
    assert full.json()["checks"]["database"] == "takes no writes"
    assert [record.getMessage() for record in caplog.records if record.name == runner.__name__] == [
        "database.not_writable reason='database or disk is full'",
        "database.writable",
    ]


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="by design: PostgreSQL may be on another machine")
def test_readyz_fails_before_the_disk_of_sqlite_is_full(
    api: Api, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_is_failing", False)
    with monkeypatch.context() as patch:
        patch.setattr(runner, "_next_check", 0.0)
        patch.setattr(runner.shutil, "disk_usage", lambda _: SimpleNamespace(free=4_000_000))
        runner.check_when_due()

    assert client.get("/readyz").json()["checks"]["database"] == "takes no writes"


def test_write_check_writes_at_most_every_few_seconds(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    runner.run_due_jobs(at=timezone.now())
    monkeypatch.setattr(runner, "_next_check", 0.0)

    with CaptureQueriesContext(connection) as queries:
        runner.check_when_due()
        runner.check_when_due()

    assert len([query for query in queries if "UPDATE" in query["sql"]]) == 1


@pytest.mark.parametrize("failure", [OperationalError("gone"), InterfaceError("connection already closed")])
def test_exec_is_unavailable_and_help_works_without_the_database(
    api: Api, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    api.help("root")
    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", Mock(side_effect=failure))
        help_response, list_response = api.post("help", {}), api.post("exec", {"op": "onto.task.list", "args": {}})

    assert help_response.status_code == 200  # from memory
    assert list_response.status_code == 503
    assert list_response.json()["error"]["details"]["reason"] == "unavailable"
    assert list_response.headers["Retry-After"] == "1"
