"""Changes of a connection that go step by step: what its import said, and where its ops are sent."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from analytics.rollout import assignment
from core.background import poller
from registry.catalog import cache, connections
from registry.models import Connection, Op
from tests.support.clients.api import Api
from tests.support.console.admin_pages import read_text
from tests.support.upstreams.http_upstream import READ, HttpUpstream
from tests.support.upstreams.openapi_documents import build_document

OP = "crm.order.get"
USERS = [f"user-{number}" for number in range(100)]
ORDER_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
REGION = {"name": "region", "in": "query", "required": True, "schema": {"type": "string", "enum": ["eu", "us"]}}


@pytest.fixture
def second_server() -> Iterator[HttpUpstream]:
    """The new address of a service."""
    server = HttpUpstream()
    yield server
    server.server.stop()


def import_crm(folder: Path, base_url: str, *parameters: dict[str, Any], **options: Any) -> None:
    """Import a document with one operation."""
    operation = {"operationId": "getOrder", "summary": "Get one order of a customer", "parameters": [*parameters]}
    file = folder / "crm.json"
    file.write_text(json.dumps(build_document({"/orders/{id}": {"get": operation}})))
    options |= {"format": "openapi", "group": "crm", "base_url": base_url}
    call_command("import_ops", str(file), **options)
    poller.refresh()


def release_steps(pattern: str) -> None:
    call_command("catalog", "release", "--steps", "20:1, 50:1", "--note", "Try it", "--only", pattern)
    assignment.refresh_rollout()
    cache.refresh_live()
    connections.clear_connections()


def call(api: Api, user: str, op: str, **args: str) -> Any:
    return api.post("exec", {"op": op, "args": args}, Gateway_Subject=user).json()


def test_imported_again_goes_step_by_step(
    live_catalog: Any, api: Api, http_upstream: HttpUpstream, tmp_path: Path
) -> None:
    import_crm(tmp_path, http_upstream.base_url, ORDER_ID, publish=True)
    assert Op.objects.get(op=OP).connection == Connection.objects.get(name="crm")
    import_crm(tmp_path, http_upstream.base_url, ORDER_ID, REGION)
    release_steps("crm.*")

    for user in USERS:
        call(api, user, OP, id="7", region="eu")
    sent = [request.partition(b" HTTP")[0].decode() for request in http_upstream.requests]

    assert 8 < sent.count("GET /v1/orders/7?region=eu") < 35
    known = [api.get(f"help?path={OP}", Gateway_Subject=user).json()["args"].keys() for user in USERS]
    assert sum("region" in args for args in known) == sent.count("GET /v1/orders/7?region=eu")


def test_new_address_goes_step_by_step_as_a_second_connection(
    live_catalog: Any, api: Api, shop: HttpUpstream, second_server: HttpUpstream
) -> None:
    moved = Connection.objects.create(name="shop-2", kind="http", base_url=second_server.base_url)
    Op.objects.filter(op=READ).update(connection=moved)
    release_steps("shop.*")

    for user in USERS:
        assert call(api, user, READ, order_id="7")["ok"]

    assert 8 < len(second_server.requests) < 35
    assert len(shop.requests) + len(second_server.requests) == len(USERS)


def test_page_of_a_connection_says_what_does_not_go_step_by_step(admin_client: Client, shop: HttpUpstream) -> None:
    pk = Connection.objects.get(name="shop").pk

    page = read_text(admin_client.get(reverse("admin:registry_connection_change", args=[pk])))

    assert "apply to all users immediately, whatever release they read" in page
    assert "add a second connection, choose it on the ops, and release the draft step by step" in page
    assert reverse("admin:guide", args=["rollout-guide"]) in page
