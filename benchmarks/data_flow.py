"""What the rules of data flow add to a call: what it brings into its turn is written, and its turn is read."""

import statistics
import time
from dataclasses import replace

from django.utils import timezone

from benchmarks.figures import BenchmarkFigure
from benchmarks.run_size import shrink
from gateway.access.key_verification import VerifiedKey
from gateway.access.request_context import Caller
from gateway.contracts.envelopes import Trace
from gateway.data_flow import checks
from gateway.models import FlowMode
from registry.catalog import cache
from registry.catalog.model import FULL_VISIBILITY

TURNS = 400
READS = 4  # of a turn, before it sends something
PRIVATE_OP, SENT_LIKE, SENDING_OP = "onto.task.list", "onto.task.create", "onto.mail.send"


def measure_data_flow() -> list[BenchmarkFigure]:
    """Return the milliseconds that the rules add to a call: the mean over all calls of some turns."""
    live = cache.get_live_catalog()
    sending = replace(live.ops[SENT_LIKE], op=SENDING_OP, flow_labels=frozenset({"outbound"}), connection="mail")
    catalog = live.with_op(sending, version="with mail")
    key = _build_key()
    first_calls, all_calls, held = [], [], 0
    for turn in range(shrink(TURNS)):
        caller = Caller(key, subject="bench", session="bench", turn=f"{time.time_ns()}-{turn}")
        for op in (*[catalog.ops[PRIVATE_OP]] * READS, sending):
            trace = Trace("tr_bench")
            started = time.perf_counter()
            held += checks.check_call(caller, trace, op, catalog) is not None
            checks.record_labels(caller, trace, op, catalog)
            all_calls.append((time.perf_counter() - started) * 1000)
        first_calls.append(all_calls[-READS - 1])
    if held != len(first_calls):
        raise AssertionError(f"A rule held for {held} of {len(first_calls)} calls that send data out.")
    p95 = statistics.quantiles(first_calls, n=20)[-1]
    remark = f"mean of {len(all_calls):,} calls; p95 of a turn's first, which writes a label, {p95:.2f} ms"
    return [BenchmarkFigure("data_flow.call.ms", round(statistics.mean(all_calls), 3), "ms", remark)]


def _build_key() -> VerifiedKey:
    now = timezone.now()
    return VerifiedKey(
        id=1,
        prefix="gw_00000000",
        client_id=1,
        client="bench",
        scopes=frozenset(),
        bound_subject="",
        subject_pattern="*",
        visibility=FULL_VISIBILITY,
        confirms=False,
        rate=1,
        expires_at=None,
        stamp=(now, now),
        flow_mode=FlowMode.SHADOW,
    )
