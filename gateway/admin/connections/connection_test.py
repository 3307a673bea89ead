"""Test a connection: run one of its reads, as a client would."""

from typing import NamedTuple

from django.http import HttpRequest

from gateway import request_context
from gateway.contracts.envelopes import Trace
from gateway.execution import try_op
from registry.catalog import cache
from registry.models import Connection, Op


class ConnectionTest(NamedTuple):
    """Whether the call succeeded, and a sentence that says what was called and how it went."""

    ok: bool
    message: str


def run_test(connection: Connection, request: HttpRequest) -> ConnectionTest:
    """Run the first read that needs no args, with the draft's copy. Its event is recorded as an admin's."""
    op = next((op for op in connection.ops.filter(kind=Op.Kind.READ).order_by("op") if _needs_no_args(op)), None)
    if op is None:
        return ConnectionTest(False, "None of its ops can be called without arguments. Try one on the op's page.")
    try:
        catalog = try_op.build_draft_catalog(op)
    except (try_op.DraftNotServable, cache.NoLiveRelease) as error:
        return ConnectionTest(False, f"{op} cannot run: {error}")
    trace = Trace(request_context.read_trace_id(request.META), source=try_op.TRIAL_SOURCE)
    answer = try_op.run(op=op.op, args="{}", subject="", by=request.user.get_username(), catalog=catalog, trace=trace)
    took = f"in {trace.elapsed_ms():.0f} ms"
    if answer.envelope["ok"]:
        return ConnectionTest(True, f"{op} answered {took}.")
    return ConnectionTest(False, f"{op} failed {took}: {answer.envelope['error']['message']}")


def _needs_no_args(op: Op) -> bool:
    return op.status == Op.Status.ACTIVE and not op.parameters_schema.get("required")
