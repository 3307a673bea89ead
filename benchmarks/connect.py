"""Connections: what the gateway adds to a call of an HTTP service, other gateways on the same service, and imports.

The service answers at once, from a process of its own. The same light load generator calls all gateways, each with two
workers: clients of MCP in Python would take more of the machine than the servers do.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median as middle

from benchmarks import figures, orders_service, servers, timing
from benchmarks.figures import BenchmarkFigure
from benchmarks.lab import Lab, PreparedDatabase
from benchmarks.load import Address
from benchmarks.orders_document import LOOPBACK, READ_PATH
from benchmarks.peers.comparison import check_answer, compare_with_peer
from benchmarks.peers.contextforge import CONTEXTFORGE
from benchmarks.peers.fastmcp import FASTMCP_OPENAPI
from benchmarks.peers.litellm import LITELLM_OPENAPI
from benchmarks.peers.peer import Peer
from benchmarks.run_size import shorten, shrink
from core import http
from core.database.deadlines import Deadline

ROUNDS = 9
ROUND_SECONDS = 0.6
OPERATIONS = 1_000  # in the imported document


@dataclass(frozen=True, slots=True)
class ConnectedGateway:
    """A running gateway, the request that calls the read of a service through it, and the URL of the service."""

    prepared: PreparedDatabase
    op: str
    address: Address
    call: bytes
    service: str


def measure_overhead(lab: Lab) -> list[BenchmarkFigure]:
    """Measure what the gateway adds to a read of a service, with API key, validation and call event."""
    with serve_connected(lab, "overhead") as gateway:
        timing.warm_up(gateway.address, [gateway.call])
        _time_direct_calls(gateway.service)
        rounds = [
            timing.measure_p50(gateway.address, [gateway.call], ROUND_SECONDS) - _time_direct_calls(gateway.service)
            for _ in range(shrink(ROUNDS))
        ]
    against = "p50 of exec minus p50 of the same call with our HTTP client, concurrency 1"
    return [figures.build_median_figure("connect.overhead.ms", rounds, "ms", against)]


def measure_fastmcp(lab: Lab) -> list[BenchmarkFigure]:
    """Compare the calls a second with those of FastMCP's proxy."""
    return _compare_with_peer("connect.vs_fastmcp_proxy", FASTMCP_OPENAPI, lab)


def measure_contextforge(lab: Lab) -> list[BenchmarkFigure]:
    """Compare the calls a second with those of ContextForge."""
    return _compare_with_peer("connect.vs_contextforge", CONTEXTFORGE, lab)


def measure_litellm(lab: Lab) -> list[BenchmarkFigure]:
    """Compare the calls a second with those of LiteLLM's MCP gateway."""
    return _compare_with_peer("connect.vs_litellm", LITELLM_OPENAPI, lab)


def measure_import(lab: Lab) -> list[BenchmarkFigure]:
    """Measure how long a large document takes, to map its operations and to import them into a draft."""
    operations = shrink(OPERATIONS)
    result = lab.measure_import(lab.get_empty_sqlite("import"), operations)
    assert result["mapped"] == result["imported"] == operations, result
    against = f"{operations:,} generated operations"
    import_s, checked = round(result["import_s"], 2), f"{against}; checks, SQLite, one run"
    return [
        figures.build_median_figure("connect.map.seconds", result["map_s"], "s", against),
        BenchmarkFigure("connect.import.seconds", import_s, "s", checked),
    ]


@contextmanager
def serve_connected(lab: Lab, name: str) -> Iterator[ConnectedGateway]:
    """Serve the service, and the gateway with a connection to it, on a database with this name."""
    prepared = lab.get_empty_sqlite(name)
    with servers.run_server(orders_service.ARGUMENTS, {}, probe="/") as upstream:
        service = f"http://{upstream.address[0]}:{upstream.address[1]}"
        op = lab.connect_service(prepared, service + orders_service.DOCUMENT_PATH)
        with lab.serve_gateway(prepared) as gateway:
            call = prepared.build_exec_request(op, {"id": "o-1"})
            check_answer(gateway.address, call, orders_service.CUSTOMER)
            yield ConnectedGateway(prepared, op, gateway.address, call, service)


def _time_direct_calls(service: str) -> float:
    """Return the p50 in milliseconds of calls of the service with the gateway's own HTTP client."""
    url, latencies = service + READ_PATH.replace("{id}", "o-1"), []
    until = time.monotonic() + shorten(ROUND_SECONDS)
    while time.monotonic() < until:
        started = time.perf_counter()
        http.request("GET", url, deadline=Deadline.after(milliseconds=10_000), allow=LOOPBACK)
        latencies.append((time.perf_counter() - started) * 1000)
    return middle(latencies)


def _compare_with_peer(name: str, peer: Peer, lab: Lab) -> list[BenchmarkFigure]:
    """Return the ratio of calls a second of a read, ours over the peer's. Raises NotMeasured if it is not installed."""
    peer.require()
    with serve_connected(lab, name) as gateway:
        return compare_with_peer(
            name, peer, gateway.service, gateway.address, gateway.call, answer=orders_service.CUSTOMER
        )
