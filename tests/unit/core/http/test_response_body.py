"""How much of an answer is taken: as sent, and as unpacked."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable, Iterator

import pytest

from core.http import BrokenAnswer, Response, TooLarge, Unreachable
from tests.support.http_servers import Server, answer

Call = Callable[..., Response]
Serve = Callable[..., Server]

pytestmark = pytest.mark.usefixtures("loopback_allowed")


def _chunks() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    for _ in range(100_000):
        yield b"3e8\r\n" + bytes(1000) + b"\r\n"


@pytest.mark.parametrize(("size", "fits"), [(0, True), (1, True), (9_999, True), (10_000, True), (10_001, False)])
@pytest.mark.parametrize("packed", [False, True])
def test_a_body_may_be_as_large_as_allowed(serve: Serve, call: Call, size: int, fits: bool, packed: bool) -> None:
    body = bytes(size)
    server = serve(answer(gzip.compress(body), Content_Encoding="gzip") if packed else answer(body))

    if fits:
        assert call(server.url(), max_bytes=10_000).body == body
    else:
        with pytest.raises(TooLarge):
            call(server.url(), max_bytes=10_000)


def test_a_body_without_end_is_cut(serve: Serve, call: Call) -> None:
    server = serve(lambda _: _chunks())

    with pytest.raises(TooLarge):
        call(server.url())


def test_a_bomb_is_never_unpacked(serve: Serve, call: Call) -> None:
    packer = zlib.compressobj(1, wbits=31)
    bomb = b"".join(packer.compress(bytes(1_000_000)) for _ in range(30)) + packer.flush()  # 30 MB in 130 kB
    server = serve(answer(bomb, Content_Encoding="gzip"))
    tracemalloc.start()

    try:
        with pytest.raises(TooLarge):
            call(server.url(), max_bytes=1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_packed_bytes_that_unpack_to_nothing_count_too(serve: Serve, call: Call) -> None:
    nothing = gzip.compress(b"")[:3] + b"\x08" + bytes(6) + b"n" * 50_000  # a file name without end
    server = serve(answer(nothing, Content_Encoding="gzip"))

    with pytest.raises(TooLarge):
        call(server.url(), max_bytes=10_000)


@pytest.mark.parametrize(
    ("packing", "body"),
    [
        ("gzip", b"not gzip"),
        ("gzip", gzip.compress(b"cut off here")[:-9]),
        ("gzip", gzip.compress(b"one") + gzip.compress(b"two")),
        ("gzip, gzip", gzip.compress(gzip.compress(b"twice"))),
        ("br", b"unasked"),
        ("deflate", zlib.compress(b"unasked")),
    ],
    ids=["not gzip", "cut off", "two members", "twice", "brotli", "deflate"],
)
def test_a_packing_that_was_not_asked_for_or_is_broken_is_no_answer(
    serve: Serve, call: Call, packing: str, body: bytes
) -> None:
    server = serve(answer(body, Content_Encoding=packing))

    with pytest.raises(BrokenAnswer):
        call(server.url())


@pytest.mark.parametrize("packing", ["identity", "", "GZip"])
def test_a_packing_may_be_spelled_as_the_rfc_allows(serve: Serve, call: Call, packing: str) -> None:
    body = gzip.compress(b"text") if packing == "GZip" else b"text"
    server = serve(answer(body, Content_Encoding=packing))

    assert call(server.url()).body == b"text"


def test_the_answer_to_head_has_no_body_whatever_its_headers_say(serve: Serve, call: Call) -> None:
    server = serve(b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\nContent-Encoding: gzip\r\n\r\n")

    assert call(server.url(), "HEAD").body == b""


def test_a_body_that_ends_too_early_is_no_answer(serve: Serve, call: Call) -> None:
    def answers(_: bytes) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
        raise ConnectionAbortedError  # ends this server's connection

    with pytest.raises(Unreachable):
        call(serve(answers).url())


def test_a_redirects_body_is_not_read(serve: Serve, call: Call) -> None:
    def answers(request: bytes) -> bytes:
        return answer() if b" /b " in request else answer(bytes(5_000_000), "302 Found", Location="/b")

    assert call(serve(answers).url(), max_bytes=10).body == b"ok"
