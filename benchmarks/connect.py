"""Connections: what the gateway adds to a call of an HTTP service, other gateways on the same service, and imports.

The service answers at once, from a process of its own. The same light load generator calls all gateways, each with two
workers: clients of MCP in Python would take more of the machine than the servers do.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from statistics import median as middle

from benchmarks import figures, load, orders_service, servers, timing
from benchmarks.figures import BenchmarkFigure
from benchmarks.lab import Lab
from benchmarks.load import Address
from benchmarks.orders_document import LOOPBACK, READ_PATH
from benchmarks.peers.contextforge import CONTEXTFORGE
from benchmarks.peers.fastmcp import FASTMCP
from benchmarks.peers.peer import Peer, PeerServer
from core import http
from core.deadlines import Deadline

ROUNDS = 9
ROUND_SECONDS = 0.6
PEER_ROUNDS, PEER_SECONDS = 5, 2.0  # longer rounds: slow peers answer few calls in one
OPERATIONS = 1_000  # in the imported document


@dataclass(frozen=True, slots=True)
class ConnectedGateway:
    """A running gateway, the request that calls the read of a service through it, and the URL of the service."""

    address: Address
    call: bytes
    service: str


def measure_overhead(lab: Lab) -> list[BenchmarkFigure]:
    """Measure what the gateway adds to a read of a service, with API key, validation and call event."""
    with _serve_connected(lab, "overhead") as gateway:
        timing.warm_up(gateway.address, [gateway.call])
        _time_direct_calls(gateway.service)
        rounds = [
            timing.measure_p50(gateway.address, [gateway.call], ROUND_SECONDS) - _time_direct_calls(gateway.service)
            for _ in range(ROUNDS)
        ]
    against = "p50 of exec minus p50 of the same call with our HTTP client, concurrency 1"
    return [figures.build_median_figure("connect.overhead.ms", rounds, "ms", against)]


def measure_fastmcp(lab: Lab) -> list[BenchmarkFigure]:
    """Compare the calls a second with those of FastMCP's proxy, if it is installed."""
    return _compare_with_peer("connect.vs_fastmcp_proxy", FASTMCP, lab)


def measure_contextforge(lab: Lab) -> list[BenchmarkFigure]:
    """Compare the calls a second with those of ContextForge, if it is installed."""
    return _compare_with_peer("connect.vs_contextforge", CONTEXTFORGE, lab)


def measure_import(lab: Lab) -> list[BenchmarkFigure]:
    """Measure how long a large document takes, to map its operations and to import them into a draft."""
    result = lab.measure_import(lab.get_empty_sqlite("import"), OPERATIONS)
    assert result["mapped"] == result["imported"] == OPERATIONS, result
    against = f"{OPERATIONS:,} generated operations, one run"
    return [
        BenchmarkFigure("connect.map.seconds", round(result["map_s"], 2), "s", against),
        BenchmarkFigure("connect.import.seconds", round(result["import_s"], 2), "s", f"{against}; checks, SQLite"),
    ]


@contextmanager
def _serve_connected(lab: Lab, name: str) -> Iterator[ConnectedGateway]:
    """Serve the service, and the gateway with a connection to it, on a database with this name."""
    prepared = lab.get_empty_sqlite(name)
    with servers.run_server(orders_service.ARGUMENTS, {}, probe="/") as upstream:
        service = f"http://{upstream.address[0]}:{upstream.address[1]}"
        op = lab.connect_service(prepared, service + orders_service.DOCUMENT_PATH)
        with lab.serve_gateway(prepared) as gateway:
            call = prepared.build_exec_request(op, {"id": "o-1"})
            _check_answer(gateway.address, call)
            yield ConnectedGateway(gateway.address, call, service)


def _time_direct_calls(service: str) -> float:
    """Return the p50 in milliseconds of calls of the service with the gateway's own HTTP client."""
    url, latencies = service + READ_PATH.replace("{id}", "o-1"), []
    until = time.monotonic() + ROUND_SECONDS
    while time.monotonic() < until:
        started = time.perf_counter()
        http.request("GET", url, deadline=Deadline.after(milliseconds=10_000), allow=LOOPBACK)
        latencies.append((time.perf_counter() - started) * 1000)
    return middle(latencies)


def _compare_with_peer(name: str, peer: Peer, lab: Lab) -> list[BenchmarkFigure]:
    """Return the ratio of calls a second of a read, ours over the peer's; nothing if it is not installed."""
    if not peer.python:
        print(peer.explain_skip(), file=sys.stderr)
        return []
    with _serve_connected(lab, name) as gateway, peer.serve(peer.python, gateway.service) as server:
        _check_answer(server.address, server.call)
        rates = _measure_rates(gateway, server)
    ours, theirs = (middle(side) for side in zip(*rates, strict=True))
    setup = f"concurrency {timing.CONNECTIONS}, two workers each"
    against = f"calls/s of a read, {ours:.0f}/s over {theirs:.0f}/s of {peer.title}, {setup}"
    return [figures.build_median_figure(name, [ours / theirs for ours, theirs in rates], "ratio", against)]


def _measure_rates(gateway: ConnectedGateway, server: PeerServer) -> list[tuple[float, float]]:
    """Return the calls a second of the gateway and of the peer for each round."""
    sides = [(gateway.address, gateway.call), (server.address, server.call)]
    for address, call in sides:
        timing.warm_up(address, [call])
    rounds = [[_measure_rate(address, call) for address, call in sides] for _ in range(PEER_ROUNDS)]
    return [(ours, theirs) for ours, theirs in rounds]


def _measure_rate(address: Address, call: bytes) -> float:
    return load.run_load(address, repeat(call), connections=timing.CONNECTIONS, seconds=PEER_SECONDS).per_second


def _check_answer(address: Address, call: bytes) -> None:
    """Check that a call reaches the service. A gateway that refuses it at once would look fast."""
    answer = load.send_once(address, call)
    if orders_service.CUSTOMER.encode() not in answer:
        raise load.UnexpectedResponse(answer[:2000].decode(errors="replace"))
