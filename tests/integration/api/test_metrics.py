"""The metrics endpoint: who may read it, and that every response is counted once."""

import json
import logging
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import DatabaseError
from django.test import Client

from analytics.events import event_log
from core import logs, metrics
from core.background import poller
from registry.catalog import cache
from tests.support.clients.api import Api
from tests.support.clients.metric_values import read_metric
from tests.support.loops import for_each
from workspace.demo import DEMO_PROJECT_ID

TOKEN = "a token of thirty-two characters"


def read_metrics(client: Client, token: str = "", **options: Any) -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    response = client.get("/metrics", headers=headers, **options)
    return response.status_code, response.content.decode()


@for_each("address", ["127.0.0.1", "::1"])
def test_metrics_are_open_to_the_local_machine_in_local_mode(client: Client, address: str) -> None:
    response = client.get("/metrics", REMOTE_ADDR=address)

    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/plain")
    assert "gateway_calls_total" in response.content.decode()


@for_each(
    "token, production, sent_token, address",
    [
        ("", False, "", "10.0.0.7"),
        ("", True, "", "127.0.0.1"),
        ("", True, TOKEN, "127.0.0.1"),
        (TOKEN, False, "", "127.0.0.1"),
        (TOKEN, True, "", "127.0.0.1"),
        (TOKEN, True, "another", "127.0.0.1"),
        (TOKEN, True, "añother", "127.0.0.1"),
    ],
)
def test_metrics_are_not_found_without_the_token(
    client: Client, settings: Any, token: str, production: bool, sent_token: str, address: str
) -> None:
    settings.GATEWAY_METRICS_TOKEN, settings.PRODUCTION = token, production

    status, text = read_metrics(client, sent_token, REMOTE_ADDR=address)

    assert status == 404
    assert json.loads(text)["error"]["details"]["reason"] == "unknown_address"


def test_metrics_are_served_with_the_token(client: Client, settings: Any) -> None:
    settings.GATEWAY_METRICS_TOKEN, settings.PRODUCTION = TOKEN, True

    assert read_metrics(client, TOKEN, REMOTE_ADDR="10.0.0.7")[0] == 200


def count_calls(type: str, kind: str, code: str = "OK", reason: str = "") -> float:
    return read_metric("gateway_calls_total", type=type, kind=kind, code=code, reason=reason)


@for_each(
    "call, labels",
    [
        (lambda api: api.help("onto"), ("help", "")),
        (lambda api: api.help("onto.task.get"), ("help", "read")),
        (lambda api: api.get("help?path=onto"), ("help", "")),
        (lambda api: api.help(query="task"), ("search", "")),
        (lambda api: api.post("help", {"path": "nowhere"}), ("help", "", "NOT_FOUND", "unknown_path")),
        (lambda api: api.exec("onto.task.list"), ("exec", "read")),
        (lambda api: api.exec("onto.task.create", {"project_id": DEMO_PROJECT_ID, "title": "x"}), ("exec", "write")),
        (lambda api: api.exec("onto.task.create"), ("exec", "write", "VALIDATION_ERROR", "invalid_args")),
        (lambda api: api.exec("nothing"), ("exec", "", "NOT_FOUND", "unknown_op")),
        (lambda api: api.post("exec", raw=b"{"), ("exec", "", "VALIDATION_ERROR", "invalid_json")),
        (
            lambda api: api.post("exec", {}, Authorization="Bearer no"),
            ("exec", "", "PERMISSION_DENIED", "unauthenticated"),
        ),
        (lambda api: api.get("exec"), ("exec", "", "NOT_FOUND", "method_not_allowed")),
    ],
)
def test_every_response_is_counted_once(api: Api, call: Callable[[Api], Any], labels: tuple[str, ...]) -> None:
    before, all_before = count_calls(*labels), count_all_calls()

    call(api)

    assert count_calls(*labels) == before + 1
    assert count_all_calls() == all_before + 1


def count_all_calls() -> float:
    return sum(
        sample.value for family in metrics.CALLS.collect() for sample in family.samples if "_total" in sample.name
    )


def test_write_whose_commit_fails_is_counted_as_failed(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ok, failed, all_before = (
        count_calls("exec", "write"),
        count_calls("exec", "write", "INTERNAL", "internal"),
        count_all_calls(),
    )
    failure = Mock(side_effect=DatabaseError("the commit failed"))
    monkeypatch.setattr("gateway.execution.local_write.event_log.record_event", failure)

    api.exec("onto.task.create", {"project_id": DEMO_PROJECT_ID, "title": "x"})

    assert count_calls("exec", "write") == ok
    assert count_calls("exec", "write", "INTERNAL", "internal") == failed + 1
    assert count_all_calls() == all_before + 1


def test_poller_updates_release_and_poll_metrics(api: Api) -> None:
    api.help("onto")
    poller.refresh()
    event_log.update_gauges()

    assert read_metric("gateway_release_live") == 1
    assert read_metric("gateway_release_loaded_timestamp_seconds") > 1.7e9
    assert read_metric("gateway_last_poll_timestamp_seconds") > 1.7e9
    assert read_metric("gateway_events_buffered") >= 1

    cache.clear_cache()
    cache.update_metrics()
    assert read_metric("gateway_release_live") == 0


def test_failed_call_is_logged_with_trace_and_release_which_its_thread_forgets(api: Api) -> None:
    contexts: list[tuple[str, str]] = []
    handler = logging.Handler()
    handler.emit = lambda _: contexts.append((logs.trace.get(), logs.release.get()))  # type: ignore
    logger = logging.getLogger("gateway.execution.pipeline")
    logger.addHandler(handler)
    response = api.post("exec", {"op": "nothing"})
    logger.removeHandler(handler)

    assert contexts == [(response.headers["Gateway-Trace"], response.headers["Gateway-Release"])]
    assert (logs.trace.get(), logs.release.get()) == ("", "")


@pytest.mark.django_db(transaction=True)
def test_every_batch_entry_is_counted(api: Api) -> None:
    before = count_calls("exec", "read"), count_calls("help", "", "NOT_FOUND", "unknown_path")

    api.post("batch", {"ops": [{"type": "exec", "op": "onto.task.list"}, {"type": "help", "path": "no.such"}]})

    after = count_calls("exec", "read"), count_calls("help", "", "NOT_FOUND", "unknown_path")
    assert [end - start for start, end in zip(before, after, strict=True)] == [1, 1]
