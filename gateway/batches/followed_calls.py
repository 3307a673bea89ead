"""A call of exec whose caller follows its progress: it runs as a batch of one entry, which can be polled and cancelled.

Only MCP servers report progress, so all other calls run as they always do.
"""

import time
from datetime import timedelta
from typing import Any

from django.conf import settings

from gateway.access import policies, release_routing
from gateway.access.request_context import Caller
from gateway.batches import broker, references, responses, runner, scheduling, store
from gateway.batches.service import POLL_INTERVALS, WORKER_HEAD_START
from gateway.contracts import request_schemas
from gateway.contracts.envelopes import Trace
from gateway.models import Batch, BatchEntry, Scope
from registry.catalog import connections
from registry.models import Connection

WAIT_SECONDS = 1.0  # for calls that are quick, so that their callers need not poll
State = BatchEntry.State


def submit_call(body: dict[str, Any], caller: Caller, trace: Trace) -> dict[str, Any] | None:
    """Run a call of an MCP server in the background, and return the status of its batch after a second at most.

    Returns None for a call that is to run as usual: of another op, a malformed one, and one whose key cannot poll.
    """
    if not policies.has_scope(caller, Scope.BATCH).allowed or not _can_be_entry(body, caller):
        return None
    catalog = release_routing.get_catalog(caller.routing)
    op = catalog.find_op(body["op"])
    connection = connections.get_connections().by_name.get(op.connection) if op else None
    if connection is None or connection.kind != Connection.Kind.MCP:
        return None
    key = {"idempotency_key": caller.idempotency_key} if caller.idempotency_key else {}
    plan = scheduling.parse_batch({"ops": [{"type": "exec", **body, **key}], "mode": Batch.Mode.PARALLEL}, key=None)
    runs_for = timedelta(seconds=settings.GATEWAY_BATCH_BACKGROUND_SECONDS)
    batch, _ = store.create_batch(plan, caller, catalog, trace_id=trace.id, runs_for=runs_for)
    trace.release = batch.release
    runner.wake_workers(batch)
    _wait(batch)
    return responses.build_status(batch, caller, trace)


def _can_be_entry(body: dict[str, Any], caller: Caller) -> bool:
    """Return whether a call means the same as an entry of a batch: it is valid, and nothing in it is a reference."""
    if not request_schemas.get_exec_validator().is_valid(body):
        return False
    has_two_keys = "idempotency_key" in body and caller.idempotency_key not in (None, body["idempotency_key"])
    keys = (references.REFERENCE_KEY, references.ITEM_KEY)
    has_references = any(any(references.find_references(body.get("args", {}), key=key)) for key in keys)
    return not has_two_keys and not has_references


def _wait(batch: Batch) -> None:
    """Return when the call has ended, or after a second. Runs it here if no worker is free."""
    started, until = time.monotonic(), time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        [entry] = store.load_entry_states(batch)
        if entry.state == State.DONE:
            return
        if entry.state == State.PENDING and time.monotonic() - started >= WORKER_HEAD_START:
            runner.run_next_entry(batch)
            continue
        broker.wait_for_entry(POLL_INTERVALS[0] * 2)
