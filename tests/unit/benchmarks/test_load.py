import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from benchmarks import load

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"


def test_answer_length_is_read_whatever_its_case_and_never_from_the_body() -> None:
    response = b"HTTP/1.1 200 OK\r\ncontent-LENGTH:27\r\n\r\n\r\ncontent-length: 99999\r\n"

    assert load.get_response_length(bytearray(response)) == response.index(b"\r\n\r\n") + 4 + 27


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 500 Oops\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n",
    ],
    ids=["not 200", "without a length"],
)
def test_answer_length_refuses_what_it_cannot_count(response: bytes) -> None:
    with pytest.raises(load.UnexpectedResponse):
        load.get_response_length(bytearray(response))


def test_answer_in_chunks_is_whole_once_its_last_chunk_is_there() -> None:
    response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"

    assert [load.get_response_length(bytearray(response[:end])) for end in (50, -1, None)] == [0, 0, len(response)]


@pytest.mark.parametrize("pieces", [1, 3, len(ANSWER)])
def test_drive_sends_every_request_and_measures_each(pieces: int) -> None:
    with answering(pieces) as address:
        result = load.run_load(address, [load.build_request("GET", "/", {})] * 20, connections=4, with_heads=True)

    assert len(result.latencies) == 20
    assert all(latency > 0 for latency in result.latencies)
    assert result.heads == [ANSWER.partition(b"\r\n\r\n")[0]] * 20
    assert result.per_second == pytest.approx(20 / result.seconds)


def test_drive_tells_when_the_server_hangs_up() -> None:
    with answering(pieces=0) as address, pytest.raises(load.UnexpectedResponse, match="closed"):
        load.run_load(address, [load.build_request("GET", "/", {})])


def test_first_response_counts_even_after_the_time_limit() -> None:
    with answering(pieces=1) as address:
        result = load.run_load(address, [load.build_request("GET", "/", {})] * 20, seconds=0)

    assert len(result.latencies) == 1
    assert result.per_second > 0


@contextmanager
def answering(pieces: int) -> Iterator[load.Address]:
    """A server that answers each request in that many pieces, or hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_accept, args=(listener, pieces), daemon=True).start()
        yield listener.getsockname()
        listener.shutdown(socket.SHUT_RDWR)  # ends accept


def _accept(listener: socket.socket, pieces: int) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_answer, args=(connection, pieces), daemon=True).start()


def _answer(connection: socket.socket, pieces: int) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection:
        while pieces and connection.recv(65_536):
            size = -(-len(ANSWER) // pieces)
            for start in range(0, len(ANSWER), size):
                connection.sendall(ANSWER[start : start + size])
