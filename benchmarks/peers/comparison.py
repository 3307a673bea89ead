"""Calls a second of the gateway and of a peer, in interleaved rounds with the same load generator."""

from itertools import repeat
from statistics import median as middle

from benchmarks import figures, load, timing
from benchmarks.figures import BenchmarkFigure
from benchmarks.load import Address
from benchmarks.peers.peer import Peer
from benchmarks.run_size import shorten, shrink

ROUNDS, SECONDS = 5, 2.0  # longer rounds than elsewhere: slow peers answer few calls in one


def compare_with_peer(
    name: str, peer: Peer, service: str, address: Address, call: bytes, *, answer: str
) -> list[BenchmarkFigure]:
    """Return the ratio of calls a second of a read, ours over the peer's.

    `address` and `call` are the gateway's, `service` is the URL of the service behind both. Each answer has to contain
    `answer`: a server that refuses the call at once would look fast.
    """
    with peer.serve(str(peer.python), service) as server:
        sides = [(address, call), (server.address, server.call)]
        for side in sides:
            check_answer(*side, answer)
            timing.warm_up(side[0], [side[1]])
        rates = [tuple(_measure_rate(*side) for side in sides) for _ in range(shrink(ROUNDS))]
    ours, theirs = (middle(side) for side in zip(*rates, strict=True))
    setup = f"concurrency {timing.CONNECTIONS}, two workers each"
    against = f"calls/s of a read, {ours:.0f}/s over {theirs:.0f}/s of {peer.title}, {setup}"
    return [figures.build_median_figure(name, [ours / theirs for ours, theirs in rates], "ratio", against)]


def check_answer(address: Address, call: bytes, expected: str) -> None:
    """Raise UnexpectedResponse unless the answer contains a text."""
    answer = load.send_once(address, call)
    if expected.encode() not in answer:
        raise load.UnexpectedResponse(answer[:2000].decode(errors="replace"))


def _measure_rate(address: Address, call: bytes) -> float:
    seconds = shorten(SECONDS, least=0.5)
    return load.run_load(address, repeat(call), connections=timing.CONNECTIONS, seconds=seconds).per_second
