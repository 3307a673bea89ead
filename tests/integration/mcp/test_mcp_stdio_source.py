"""Calls over standard input: the key is checked again for each message."""

from collections.abc import Callable

import anyio
import pytest
from django.db import connection
from django.utils import timezone

from gateway.access import api_keys, key_verification
from gateway.contracts.errors import PermissionDeniedError
from gateway.mcp_server import stdio, tool_calls
from gateway.mcp_server.stdio import _StdioSource
from gateway.models import ApiKey
from registry.catalog.model import Catalog

pytestmark = pytest.mark.django_db


def test_call_with_a_key_that_was_revoked_meanwhile_reads_why(
    live_catalog: Catalog, make_key: Callable[..., str]
) -> None:
    source = _StdioSource(make_key(subject="ana"), {})
    assert source.open_call().caller.subject == "ana"
    api_keys.revoke(ApiKey.objects.get(), by="tests", at=timezone.now())
    key_verification.clear_cache()

    with pytest.raises(PermissionDeniedError) as refused:
        source.open_call()
    answer = tool_calls.answer_failure(source.open_unchecked(), "tool_help", {}, refused.value)

    assert answer.is_error
    assert answer.body["error"]["details"]["reason"] == "unauthenticated"


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_thread_that_reads_the_input_keeps_no_connection_of_the_pool(
    live_catalog: Catalog, make_key: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("by design: SQLite has a connection for each thread")
    kept: list[bool] = []
    monkeypatch.setattr(anyio, "run", lambda _: kept.append(connection.connection is not None))

    stdio.serve(make_key(subject="ana"))

    assert kept == [False]
