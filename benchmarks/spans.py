"""What tracing costs: a recorded span with its way to a collector, and calls of which a twentieth is traced."""

import statistics
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from multiprocessing import Process, Queue
from typing import Any

from django.test import override_settings

from benchmarks import demo_calls
from benchmarks.figures import BenchmarkFigure
from benchmarks.run_size import shrink
from core import tracing

SPANS = 20_000
PAUSE_EVERY = 2_000  # spans, after which those that wait are sent, so that none is dropped
CALLS, ROUNDS = 300, 15
SAMPLED = 0.05
READ = {"op": "onto.task.search", "args": {"query": "homepage"}}
ATTRIBUTES = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "onto.task.search",
    "gateway.release": "d483a8471bfa",
    "gateway.surface": "gateway",
    "gateway.outcome": "ok",
}


def measure_spans() -> list[BenchmarkFigure]:
    """Return the CPU time of a recorded span, and the share of CPU time that tracing 5% of the calls adds."""
    addresses: Queue[str] = Queue()
    collector = Process(target=_serve_collector, args=[addresses], daemon=True)
    collector.start()
    try:
        with override_settings(OTEL_EXPORTER_OTLP_ENDPOINT=addresses.get(timeout=20), OTEL_TRACES_SAMPLER_ARG=1.0):
            in_call, in_process = _measure_span()
            share = _measure_calls()
    finally:
        tracing.forget_exporter()
        collector.kill()
    return [
        BenchmarkFigure(
            "spans.recorded.us",
            round(in_call, 1),
            "µs",
            f"CPU time of the call; with what the thread that sends takes, {in_process:.0f} µs",
        ),
        BenchmarkFigure(
            "spans.sampled.cpu",
            round(share, 4),
            "",
            f"more CPU for reads, {SAMPLED:.0%} traced; {ROUNDS} rounds, median",
        ),
    ]


def _measure_span() -> tuple[float, float]:
    """Return the microseconds of CPU time that a span takes of its own thread, and of all threads."""
    count = shrink(SPANS)
    _record_spans(min(count, 500))
    began = time.process_time()
    in_calls = _record_spans(count)
    return in_calls / count * 1e6, (time.process_time() - began) / count * 1e6


def _record_spans(count: int) -> float:
    """Record spans and send them. Return the seconds of CPU time that the calls themselves took."""
    in_calls = 0.0
    for start in range(0, count, PAUSE_EVERY):
        began = time.thread_time()
        for _ in range(min(PAUSE_EVERY, count - start)):
            with tracing.start_span("execute_tool onto.task.search", attributes=ATTRIBUTES) as span:
                span.add({"gateway.turn": "t1"})
        in_calls += time.thread_time() - began
        tracing.flush()
    return in_calls


def _measure_calls() -> float:
    """Return by which share calls take more CPU time. Rounds with and without tracing alternate."""
    count, shares = shrink(CALLS), []
    _time_calls(count)
    for _ in range(ROUNDS):
        with override_settings(OTEL_EXPORTER_OTLP_ENDPOINT=""):
            without = _time_calls(count)
        with override_settings(OTEL_TRACES_SAMPLER_ARG=SAMPLED):
            shares.append(_time_calls(count, tracing.flush) / without - 1)
    return statistics.median(shares)


def _time_calls(count: int, end: Callable[[], None] = lambda: None) -> float:
    started = time.process_time()
    for _ in range(count):
        with tracing.start_span("POST /api/v1/exec", "server", {"http.request.method": "POST"}):
            demo_calls.send_call(READ)
    end()
    return time.process_time() - started


class _Collector(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _serve_collector(addresses: "Queue[str]") -> None:
    server = HTTPServer(("127.0.0.1", 0), _Collector)
    addresses.put(f"http://127.0.0.1:{server.server_port}")
    server.serve_forever()
