"""Suggestions for connected services, from the ops of the live release."""

from typing import Any

import pytest

from chat.gateway import service_suggestions
from chat.gateway.client import Credentials, GatewayClient, GatewayUnavailable


def build_release_op(op: str, summary: str, kind: str = "read", status: str = "active") -> dict[str, str]:
    return {"op": op, "kind": kind, "summary": summary, "status": status}


OPS = [
    build_release_op("clinic.patient.create", "Add a patient", kind="write"),
    build_release_op("clinic.patient.get", "Get a patient"),
    build_release_op("clinic.patient.list", "List patients."),
    build_release_op("clinic.room.list", "List rooms"),
    build_release_op("crm.contact.list", "List contacts", status="retired"),
    build_release_op("onto.task.list", "List tasks"),
    build_release_op("old_shop.order.list_open", "List open orders"),
]


def test_each_service_has_one_suggestion_that_is_its_first_list() -> None:
    assert service_suggestions.build_suggestions(OPS) == [
        {"title": "Clinic", "text": "List patients"},
        {"title": "Old shop", "text": "List open orders"},
    ]


def test_ops_of_a_release_are_fetched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fetch(_: GatewayClient, path: str) -> dict[str, Any]:
        asked.append(path)
        if len(asked) > 3:
            raise GatewayUnavailable("timeout")
        releases = [{"version": "b", "live": False}, {"version": "a", "live": True}]
        return {"results": releases} if path == "releases" else {"ops": OPS}

    monkeypatch.setattr(GatewayClient, "fetch", fetch)
    monkeypatch.setattr(service_suggestions, "_last", (("", ""), []))
    caller = Credentials("key", "ana")

    found = [service_suggestions.list_service_suggestions(caller) for _ in range(3)]

    assert asked == ["releases", "releases/a", "releases", "releases"]
    assert [len(each) for each in found] == [2, 2, 0], "a gateway that does not answer has none"
