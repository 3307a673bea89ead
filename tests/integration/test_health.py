"""Health endpoints: /healthz answers while the process runs, /readyz when calls can be served."""

import time

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import Client

from core import poller
from gateway.batches import broker
from registry.catalog import cache
from registry.models import Activation
from tests.support.api import Api


def test_healthz_needs_neither_key_nor_database(client: Client) -> None:
    response = client.get("/healthz")

    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_readyz_is_ok_with_a_live_release(api: Api, client: Client) -> None:
    response = client.get("/readyz")

    assert response.status_code == 200
    assert response.json() == {"status": "ok", "checks": {"database": "ok", "release": "ok", "broker": "ok"}}
    assert "no-cache" in response.headers["Cache-Control"]


def test_readyz_is_ok_without_a_broker(api: Api, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker._sender, "_failed_at", time.monotonic())

    response = client.get("/readyz")

    assert (response.status_code, response.json()["status"]) == (200, "ok")
    assert response.json()["checks"]["broker"].startswith("takes no messages")


def test_readyz_fails_before_the_first_release(client: Client, db: None) -> None:
    cache.clear_cache()

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json()["checks"] == {"database": "ok", "release": "none is live", "broker": "ok"}


def test_readyz_fails_when_no_release_is_live_any_more(api: Api, client: Client) -> None:
    Activation.objects.all().delete()
    poller.refresh()

    assert client.get("/readyz").status_code == 503


@pytest.mark.parametrize("failure", [OperationalError("gone"), InterfaceError("connection already closed")])
def test_readyz_fails_while_the_database_does_not_answer(
    api: Api, client: Client, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fail() -> None:
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", fail)
        ready, alive = client.get("/readyz"), client.get("/healthz")

    assert ready.status_code == 503
    assert ready.json()["checks"] == {"database": "does not answer", "release": "ok", "broker": "ok"}
    assert "gone" not in ready.content.decode()
    assert alive.status_code == 200


@pytest.mark.parametrize("failure", [OperationalError("gone"), InterfaceError("connection already closed")])
def test_exec_is_unavailable_and_help_works_without_the_database(
    api: Api, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fail() -> None:
        raise failure

    api.help("root")
    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", fail)
        help_response, list_response = api.post("help", {}), api.post("exec", {"op": "onto.task.list", "args": {}})

    assert help_response.status_code == 200  # from memory
    assert list_response.status_code == 503
    assert list_response.json()["error"]["details"]["reason"] == "unavailable"
    assert list_response.headers["Retry-After"] == "1"
