"""The size limit of response bodies, before and after decompression."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable, Iterator

import pytest

from core.http import BrokenAnswer, Response, TooLarge, Unreachable
from tests.support.upstreams.http_servers import Server, build_response

SendRequest = Callable[..., Response]
StartServer = Callable[..., Server]

pytestmark = pytest.mark.usefixtures("loopback_allowed")


def _send_chunks() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    for _ in range(100_000):
        yield b"3e8\r\n" + bytes(1000) + b"\r\n"


@pytest.mark.parametrize(("size", "fits"), [(0, True), (10_000, True), (10_001, False)])
@pytest.mark.parametrize("compressed", [False, True])
def test_body_may_have_the_maximum_size(
    serve: StartServer, call: SendRequest, size: int, fits: bool, compressed: bool
) -> None:
    body = bytes(size)
    server = serve(build_response(gzip.compress(body), Content_Encoding="gzip") if compressed else build_response(body))

    if fits:
        assert call(server.url(), max_bytes=10_000).body == body
    else:
        with pytest.raises(TooLarge):
            call(server.url(), max_bytes=10_000)


def test_endless_body_is_too_large(serve: StartServer, call: SendRequest) -> None:
    server = serve(lambda _: _send_chunks())

    with pytest.raises(TooLarge):
        call(server.url())


def test_compression_bomb_is_not_decompressed(serve: StartServer, call: SendRequest) -> None:
    compressor = zlib.compressobj(1, wbits=31)
    bomb = b"".join(compressor.compress(bytes(1_000_000)) for _ in range(30)) + compressor.flush()  # 30 MB in 130 kB
    server = serve(build_response(bomb, Content_Encoding="gzip"))
    tracemalloc.start()

    try:
        with pytest.raises(TooLarge):
            call(server.url(), max_bytes=1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_compressed_bytes_count_even_when_they_contain_no_data(serve: StartServer, call: SendRequest) -> None:
    empty_gzip = gzip.compress(b"")[:3] + b"\x08" + bytes(6) + b"n" * 50_000  # a file name without end
    server = serve(build_response(empty_gzip, Content_Encoding="gzip"))

    with pytest.raises(TooLarge):
        call(server.url(), max_bytes=10_000)


@pytest.mark.parametrize(
    ("encoding", "body"),
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
def test_unrequested_or_broken_encoding_is_a_broken_answer(
    serve: StartServer, call: SendRequest, encoding: str, body: bytes
) -> None:
    server = serve(build_response(body, Content_Encoding=encoding))

    with pytest.raises(BrokenAnswer):
        call(server.url())


@pytest.mark.parametrize("encoding", ["identity", "", "GZip"])
def test_encoding_name_is_case_insensitive(serve: StartServer, call: SendRequest, encoding: str) -> None:
    body = gzip.compress(b"text") if encoding == "GZip" else b"text"
    server = serve(build_response(body, Content_Encoding=encoding))

    assert call(server.url()).body == b"text"


def test_response_to_head_has_no_body(serve: StartServer, call: SendRequest) -> None:
    server = serve(b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\nContent-Encoding: gzip\r\n\r\n")

    assert call(server.url(), "HEAD").body == b""


def test_body_that_ends_too_early_is_an_error(serve: StartServer, call: SendRequest) -> None:
    def respond(_: bytes) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
        raise ConnectionAbortedError  # ends this server's connection

    with pytest.raises(Unreachable):
        call(serve(respond).url())


def test_body_of_a_redirect_is_not_read(serve: StartServer, call: SendRequest) -> None:
    def respond(request: bytes) -> bytes:
        return build_response() if b" /b " in request else build_response(bytes(5_000_000), "302 Found", Location="/b")

    assert call(serve(respond).url(), max_bytes=10).body == b"ok"
