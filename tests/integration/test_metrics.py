"""/metrics: who may read it, and that each answer is counted once, however the call ended."""

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError
from django.test import Client

import gateway.api.metrics
from core import logs, metrics, poller
from registry.catalog import model
from tests.support.api import Api
from tests.support.metric_values import value
from workspace.demo import DEMO_PROJECT_ID

TOKEN = "a token of thirty-two characters"


def ask(client: Client, token: str = "", **options: Any) -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    response = client.get("/metrics", headers=headers, **options)
    return response.status_code, response.content.decode()


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_metrics_are_open_to_this_machine_in_local_mode(client: Client, address: str) -> None:
    response = client.get("/metrics", REMOTE_ADDR=address)

    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/plain")
    assert "gateway_calls_total" in response.content.decode()


@pytest.mark.parametrize(
    ("token", "production", "sent", "address"),
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
def test_metrics_are_nowhere_for_others(
    client: Client, settings: Any, token: str, production: bool, sent: str, address: str
) -> None:
    settings.GATEWAY_METRICS_TOKEN, settings.PRODUCTION = token, production

    status, text = ask(client, sent, REMOTE_ADDR=address)

    assert status == 404
    assert json.loads(text)["error"]["details"]["reason"] == "unknown_address"


def test_metrics_are_for_whoever_has_the_token(client: Client, settings: Any) -> None:
    settings.GATEWAY_METRICS_TOKEN, settings.PRODUCTION = TOKEN, True

    assert ask(client, TOKEN, REMOTE_ADDR="10.0.0.7")[0] == 200


def counted(type: str, kind: str, code: str = "OK", reason: str = "") -> float:
    return value("gateway_calls_total", type=type, kind=kind, code=code, reason=reason)


@pytest.mark.parametrize(
    ("call", "labels"),
    [
        (lambda api: api.help("onto"), ("help", "")),
        (lambda api: api.help("onto.task.get"), ("help", "read")),
        (lambda api: api.get("help?path=onto"), ("help", "")),
        (lambda api: api.help(query="task"), ("search", "")),
        (lambda api: api.post("help", {"path": "nowhere"}), ("help", "", "NOT_FOUND", "unknown_path")),
        (lambda api: api.exec("onto.task.list"), ("exec", "read")),
        (
            lambda api: api.exec("onto.task.create", {"project_id": DEMO_PROJECT_ID, "title": "x"}),
            ("exec", "write"),
        ),
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
def test_every_answer_is_counted_once(api: Api, call: Callable[[Api], Any], labels: tuple[str, ...]) -> None:
    before, all_before = counted(*labels), total()

    call(api)

    assert counted(*labels) == before + 1
    assert total() == all_before + 1


def total() -> float:
    return sum(
        sample.value for family in metrics.CALLS.collect() for sample in family.samples if "_total" in sample.name
    )


def test_a_write_whose_commit_fails_is_counted_as_what_was_answered(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Any) -> None:
        raise DatabaseError("the commit failed")

    ok, failed, all_before = counted("exec", "write"), counted("exec", "write", "INTERNAL", "internal"), total()
    monkeypatch.setattr("gateway.execution.local_write.event_log.record_event", fails)

    api.exec("onto.task.create", {"project_id": DEMO_PROJECT_ID, "title": "x"})

    assert counted("exec", "write") == ok
    assert counted("exec", "write", "INTERNAL", "internal") == failed + 1
    assert total() == all_before + 1


def test_the_follower_takes_release_buffer_and_its_own_success(api: Api) -> None:
    api.help("onto")
    poller.refresh()

    assert value("gateway_release_live") == 1
    assert value("gateway_release_loaded_timestamp_seconds") > 1.7e9
    assert value("gateway_followed_timestamp_seconds") > 1.7e9
    assert value("gateway_events_buffered") >= 1

    model.clear_cache()
    gateway.api.metrics.follow()
    assert value("gateway_release_live") == 0


def test_a_request_leaves_nothing_for_the_next_line_of_its_thread(api: Api) -> None:
    api.exec("onto.task.list")
    api.post("help", {"path": "nowhere"})

    assert (logs.trace.get(), logs.release.get()) == ("", "")


def test_a_failed_call_is_logged_with_its_trace_and_release(api: Api) -> None:
    seen: list[tuple[str, str]] = []

    class Look(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append((logs.trace.get(), logs.release.get()))

    logger = logging.getLogger("gateway.execution.pipeline")
    look = Look()
    logger.addHandler(look)
    response = api.post("exec", {"op": "nothing"})
    logger.removeHandler(look)

    assert seen == [(response.headers["Gateway-Trace"], response.headers["Gateway-Release"])]


@pytest.mark.django_db(transaction=True)
def test_each_entry_of_a_batch_is_counted(api: Api) -> None:
    before = counted("exec", "read"), counted("help", "", "NOT_FOUND", "unknown_path")

    api.post("batch", {"ops": [{"type": "exec", "op": "onto.task.list"}, {"type": "help", "path": "no.such"}]})

    after = counted("exec", "read"), counted("help", "", "NOT_FOUND", "unknown_path")
    assert [now - was for was, now in zip(before, after, strict=True)] == [1, 1]
