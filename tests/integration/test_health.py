"""Probes: alive as long as the process answers, ready when calls can be served."""

import time

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import Client

from core import poller
from gateway.batches import broker
from registry.catalog import model
from registry.models import Activation
from tests.support.api import Api


def test_alive_needs_neither_key_nor_database(client: Client) -> None:
    response = client.get("/healthz")

    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_ready_with_a_live_release(api: Api, client: Client) -> None:
    response = client.get("/readyz")

    assert response.status_code == 200
    assert response.json() == {"status": "ok", "checks": {"database": "ok", "release": "ok", "broker": "ok"}}
    assert "no-cache" in response.headers["Cache-Control"]


def test_ready_though_the_broker_is_away(api: Api, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker._sender, "_failed_at", time.monotonic())

    response = client.get("/readyz")

    assert (response.status_code, response.json()["status"]) == (200, "ok")
    assert response.json()["checks"]["broker"].startswith("takes no messages")


def test_not_ready_before_the_first_release(client: Client, db: None) -> None:
    model.clear_cache()

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json()["checks"] == {"database": "ok", "release": "none is live", "broker": "ok"}


def test_not_ready_once_no_release_is_live_any_more(api: Api, client: Client) -> None:
    Activation.objects.all().delete()
    poller.refresh()

    assert client.get("/readyz").status_code == 503


@pytest.mark.parametrize("failure", [OperationalError("gone"), InterfaceError("connection already closed")])
def test_not_ready_while_the_database_does_not_answer(
    api: Api, client: Client, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fails() -> None:
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", fails)
        ready, alive = client.get("/readyz"), client.get("/healthz")

    assert ready.status_code == 503
    assert ready.json()["checks"] == {"database": "does not answer", "release": "ok", "broker": "ok"}
    assert "gone" not in ready.content.decode()
    assert alive.status_code == 200


@pytest.mark.parametrize("failure", [OperationalError("gone"), InterfaceError("connection already closed")])
def test_calls_are_unavailable_while_the_database_does_not_answer(
    api: Api, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fails() -> None:
        raise failure

    api.help("root")
    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", fails)
        helped, listed = api.post("help", {}), api.post("exec", {"op": "onto.task.list", "args": {}})

    assert helped.status_code == 200  # from memory
    assert listed.status_code == 503
    assert listed.json()["error"]["details"]["reason"] == "unavailable"
    assert listed.headers["Retry-After"] == "1"
