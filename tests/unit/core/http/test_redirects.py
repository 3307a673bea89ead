"""Redirects, and URLs, methods and headers that the client refuses."""

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.http import AddressRefused, BadRequest, BadUrl, Response, TooManyRedirects, client, redirects
from core.http.redirects import TargetUrl
from tests.support.loops import for_each
from tests.support.upstreams.fake_resolver import FakeResolver
from tests.support.upstreams.http_servers import Server, build_redirect, build_response

SendRequest = Callable[..., Response]
StartServer = Callable[..., Server]

pytestmark = pytest.mark.usefixtures("loopback_allowed")

SECRETS = {"Authorization": "Bearer hunter2", "Cookie": "id=hunter2", "X-Api-Key": "hunter2", "Accept": "text/plain"}


def _get_path(request: bytes) -> str:
    return request.split(b" ")[1].decode()


def test_redirect_to_a_metadata_address_is_refused(serve: StartServer, call: SendRequest) -> None:
    chain = {"/1": build_redirect("/2"), "/2": build_redirect("http://169.254.169.254/latest/meta-data/")}
    server = serve(lambda request: chain[_get_path(request)])

    with pytest.raises(AddressRefused):
        call(server.url("/1"))

    assert [_get_path(request) for request in server.requests] == ["/1", "/2"]


@pytest.mark.parametrize("host", ["[::1]", "ip6.test", "[::ffff:127.0.0.1]", "0"])
def test_redirect_to_loopback_is_refused_before_connecting(
    serve: StartServer, call: SendRequest, resolver: FakeResolver, canary: Server, host: str
) -> None:
    resolver.names["ip6.test"] = [["::1"]]
    server = serve(lambda _: build_redirect(canary.url(host=host)))  # only 127.0.0.1 is allowed

    with pytest.raises(AddressRefused):
        call(server.url())

    assert canary.connections == 0


@pytest.mark.parametrize(
    "location",
    ["file:///etc/passwd", "gopher://a.test/", "http://u:p@a.test/", "javascript:1", "//a.test:0/", "http://[::1"],
)
def test_redirect_to_an_invalid_url_is_refused(serve: StartServer, call: SendRequest, location: str) -> None:
    server = serve(build_redirect(location))

    with pytest.raises(BadUrl):
        call(server.url())


def test_redirects_are_limited(serve: StartServer, call: SendRequest) -> None:
    server = serve(build_redirect("/again"))

    with pytest.raises(TooManyRedirects):
        call(server.url())

    assert len(server.requests) == 6


def test_five_redirects_are_followed_and_counted(serve: StartServer, call: SendRequest) -> None:
    server = serve(
        lambda request: (
            build_response(b"end") if _get_path(request) == "/5" else build_redirect(_get_next_path(request))
        )
    )

    response = call(server.url("/0"))

    assert (response.body, response.redirects, response.url) == (b"end", 5, server.url("/5"))


def _get_next_path(request: bytes) -> str:
    return f"/{int(_get_path(request)[1:]) + 1}"


def test_redirects_release_their_connections(serve: StartServer, call: SendRequest) -> None:
    server = serve(lambda request: build_response() if _get_path(request) == "/b" else build_redirect("/b"))

    statuses = {call(server.url("/a")).status for _ in range(client.CONNECTIONS + 1)}

    assert statuses == {200}


def test_redirect_is_returned_when_redirects_are_off(serve: StartServer, call: SendRequest) -> None:
    server = serve(build_redirect("http://169.254.169.254/"))

    response = call(server.url(), follow_redirects=False)

    assert (response.status, response.headers["location"]) == (302, "http://169.254.169.254/")


def test_redirect_to_another_origin_drops_credentials(serve: StartServer, call: SendRequest) -> None:
    other = serve()  # another port is another origin
    server = serve(lambda request: build_redirect("/b" if _get_path(request) == "/a" else other.url()))

    call(server.url("/a"), headers=SECRETS)

    assert [request.count(b"hunter2") for request in server.requests] == [3, 3]  # within the origin they are kept
    assert other.requests[0].count(b"hunter2") == 0
    assert b"accept: text/plain" in other.requests[0].lower()


def test_credentials_stay_dropped_after_a_redirect_back(serve: StartServer, call: SendRequest) -> None:
    servers: list[Server] = []
    servers.append(
        serve(lambda request: build_response() if _get_path(request) == "/b" else build_redirect(servers[1].url()))
    )
    servers.append(serve(lambda _: build_redirect(servers[0].url("/b"))))

    call(servers[0].url("/a"), headers=SECRETS)

    assert [request.count(b"hunter2") for request in servers[0].requests] == [3, 0]


@pytest.mark.parametrize(
    ("method", "status", "new_method"),
    [
        ("POST", "301 Moved", "GET"),
        ("POST", "302 Found", "GET"),
        ("POST", "303 See Other", "GET"),
        ("HEAD", "303 See Other", "HEAD"),
        ("POST", "307 Temporary", "POST"),
        ("POST", "308 Permanent", "POST"),
        ("PUT", "302 Found", "PUT"),
        ("DELETE", "301 Moved", "DELETE"),
    ],
)
def test_redirect_changes_the_method_as_the_rfc_says(
    serve: StartServer, call: SendRequest, method: str, status: str, new_method: str
) -> None:
    def respond(request: bytes) -> bytes:
        if _get_path(request) == "/a":
            return build_redirect("/b", status)
        return build_response(b"") if request.startswith(b"HEAD") else build_response()

    server = serve(respond)
    body = b"payload" if method in ("POST", "PUT") else None

    call(server.url("/a"), method, body=body, headers={"Content-Type": "text/plain"})

    redirected_request = server.requests[1]
    assert redirected_request.startswith(f"{new_method} /b ".encode())
    assert (b"payload" in redirected_request) == (body is not None and new_method == method)
    assert (b"content-type" in redirected_request.lower()) == (new_method == method)


@pytest.mark.parametrize(
    ("method", "status"), [("POST", "307 Temporary"), ("PUT", "302 Found"), ("DELETE", "301 Moved"), ("GET", "308 P")]
)
def test_unsafe_request_is_not_redirected_to_another_origin(
    serve: StartServer, call: SendRequest, method: str, status: str
) -> None:
    other = serve()
    server = serve(lambda _: build_redirect(other.url(), status))

    response = call(server.url(), method, body=b"payload")

    assert str(response.status) == status[:3]
    assert other.connections == 0


@for_each(
    "url",
    [
        "",
        *"""
        a.test /path //a.test/ ftp://a.test/ file:///etc/passwd unix:///var/run/docker.sock ws://a.test/ http:///path
        http:a.test http://user@a.test/ http://user:hunter2@a.test/ http://:hunter2@a.test/
        http://user:hunter2:3@a.test:b/ http://a.test:0/ http://a.test:65536/ http://a.test:-1/
        http://[::1 http://[a.test]/ http://256.1.1.1/
        """.split(),
        "http://a.test:" + "9" * 5000 + "/",
        "http://a.test/\r\nX: y",
        "http://a.test/\x00",
        "http://\ud800.test/",
        "http://a.test/\ud800",
        "http://a.test/" + "x" * 70_000,
    ],
)
def test_bad_url_is_refused_without_quoting_it(call: SendRequest, url: str) -> None:
    with pytest.raises(BadUrl) as error:
        call(url)

    assert str(error.value) == BadUrl.sentence
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__ or error.value.__context__ is None


@for_each("method", ["CONNECT", "TRACE", "get", "", "GET / HTTP/1.1\r\nX: y\r\n\r\nGET"])
def test_unsupported_method_is_refused(call: SendRequest, method: str) -> None:
    with pytest.raises(BadRequest):
        call("http://a.test/", method)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "b.test"},
        {"hOsT": "b.test"},
        {"Content-Length": "0"},
        {"Transfer-Encoding": "chunked"},
        {"Connection": "upgrade"},
        {"X-A": "a\r\nX-B: b"},
        {"X-A\r\nX-B": "a"},
        {"X A": "a"},
        {"": "a"},
        {"X-A": "a\x00"},
        {"X-A": "é"},
        {"X-É": "a"},
    ],
)
def test_invalid_or_reserved_header_is_refused(serve: StartServer, call: SendRequest, headers: dict[str, str]) -> None:
    server = serve()

    with pytest.raises(BadRequest):
        call(server.url(), headers=headers)

    assert server.requests == []


URL_CHARACTERS = st.text("ab9%/.?&=#~:@+ é[]()'!;,\\^2Cc", max_size=20)


@given(
    st.sampled_from(
        ["http://h", "HTTP://H:80", "https://a.test:8443", "http://[::1]:1", "http://u@h", "ftp://h", "http://h:0"]
    ),
    URL_CHARACTERS,
)
@example("http://h", "/a/%C3%A9?b=%2F&c=a+b")
@example("http://h", "/a/../b")
@example("http://h", "/%c3")
def test_plain_url_is_read_as_any_other(origin: str, rest: str) -> None:
    def read(function: Callable[[], TargetUrl]) -> TargetUrl | None:
        try:
            return function()
        except BadUrl:
            return None

    url = f"{origin}/{rest}"
    assert read(lambda: redirects._join_url(None, url)) == read(lambda: redirects._parse_url(url))
