"""An error of an outgoing call says whether the server may have seen the request."""

import socket
from collections.abc import Callable

import pytest

from core.http import OutgoingError, Response
from tests.support.loops import for_each
from tests.support.upstreams.fake_resolver import FakeResolver
from tests.support.upstreams.http_servers import Server, build_redirect, build_response

SendRequest = Callable[..., Response]
StartServer = Callable[..., Server]

pytestmark = pytest.mark.usefixtures("loopback_allowed")


def find_closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def was_sent(call: SendRequest, url: str, **options: int) -> bool:
    with pytest.raises(OutgoingError) as error:
        call(url, "GET", **options)
    return error.value.was_sent


def test_request_is_not_sent_without_a_connection(
    call: SendRequest, serve: StartServer, resolver: FakeResolver
) -> None:
    resolver.names["unknown.test"] = [[]]
    server = serve(greeting=b"no TLS")

    assert not was_sent(call, f"http://127.0.0.1:{find_closed_port()}/")
    assert not was_sent(call, "http://unknown.test/")
    assert not was_sent(call, "http://10.0.0.7/")
    assert not was_sent(call, server.url(), milliseconds=-1)
    assert not was_sent(call, server.url(scheme="https"))
    assert not was_sent(call, "http://:80/")


@for_each(
    "response",
    [
        b"no HTTP\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nx",
        build_response(b"x" * 2_000_000),
        build_redirect("/"),
        build_redirect("ftp://127.0.0.1/"),
        build_redirect("http://10.0.0.7/"),
    ],
)
def test_request_is_sent_once_its_first_bytes_are_written(
    call: SendRequest, serve: StartServer, response: bytes
) -> None:
    assert was_sent(call, serve(response).url())


def test_request_to_a_silent_server_is_sent(call: SendRequest) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert was_sent(call, f"http://127.0.0.1:{listener.getsockname()[1]}/", milliseconds=1_000)


def test_redirect_to_another_origin_is_the_answer_if_only_the_same_is_followed(
    call: SendRequest, serve: StartServer
) -> None:
    other = serve()
    server = serve(lambda request: build_redirect(other.url()) if b" /away " in request else build_redirect("/away"))

    response = call(server.url(), same_origin=True)

    assert (response.status, response.redirects, other.requests) == (302, 1, [])
