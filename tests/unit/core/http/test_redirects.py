"""Redirects and what goes with them; URLs and headers that are never sent."""

from collections.abc import Callable

import pytest
from pytest_django.fixtures import Settings

from core.http import AddressRefused, BadRequest, BadUrl, Response, TooManyRedirects, client
from tests.support.http_servers import Server, answer, redirect
from tests.unit.core.http.conftest import Resolver

Call = Callable[..., Response]
Serve = Callable[..., Server]

SECRETS = {"Authorization": "Bearer hunter2", "Cookie": "id=hunter2", "X-Api-Key": "hunter2", "Accept": "text/plain"}


def _path(request: bytes) -> str:
    return request.split(b" ")[1].decode()


def test_a_redirect_to_a_metadata_address_is_refused(serve: Serve, call: Call, loopback_allowed: None) -> None:
    chain = {"/1": redirect("/2"), "/2": redirect("http://169.254.169.254/latest/meta-data/")}
    server = serve(lambda request: chain[_path(request)])

    with pytest.raises(AddressRefused):
        call(server.url("/1"))

    assert [_path(request) for request in server.requests] == ["/1", "/2"]


@pytest.mark.parametrize("host", ["[::1]", "ip6.test", "[::ffff:127.0.0.1]", "0"])
def test_a_redirect_to_loopback_never_reaches_the_canary(
    serve: Serve, call: Call, resolver: Resolver, canary: Server, loopback_allowed: None, host: str
) -> None:
    resolver.names["ip6.test"] = [["::1"]]
    server = serve(lambda _: redirect(canary.url(host=host)))  # 127.0.0.1 is allowed here, these are not

    with pytest.raises(AddressRefused):
        call(server.url())

    assert canary.connections == 0


@pytest.mark.parametrize(
    "location",
    ["file:///etc/passwd", "gopher://a.test/", "http://u:p@a.test/", "javascript:1", "//a.test:0/", "http://[::1"],
)
def test_a_redirect_to_what_is_no_url_of_ours_is_refused(
    serve: Serve, call: Call, loopback_allowed: None, location: str
) -> None:
    server = serve(redirect(location))

    with pytest.raises(BadUrl):
        call(server.url())


def test_redirects_end_at_the_cap(serve: Serve, call: Call, loopback_allowed: None) -> None:
    server = serve(redirect("/again"))

    with pytest.raises(TooManyRedirects):
        call(server.url())

    assert len(server.requests) == 6


def test_five_redirects_are_followed_and_counted(serve: Serve, call: Call, loopback_allowed: None) -> None:
    server = serve(lambda request: answer(b"end") if _path(request) == "/5" else redirect(_next(request)))

    response = call(server.url("/0"))

    assert (response.body, response.redirects, response.url) == (b"end", 5, server.url("/5"))


def _next(request: bytes) -> str:
    return f"/{int(_path(request)[1:]) + 1}"


def test_redirects_give_their_connections_back(serve: Serve, call: Call, loopback_allowed: None) -> None:
    server = serve(lambda request: answer() if _path(request) == "/b" else redirect("/b"))

    statuses = {call(server.url("/a")).status for _ in range(client.CONNECTIONS + 1)}

    assert statuses == {200}


def test_a_redirect_is_the_answer_when_none_may_be_followed(serve: Serve, call: Call, loopback_allowed: None) -> None:
    server = serve(redirect("http://169.254.169.254/"))

    response = call(server.url(), follow_redirects=False)

    assert (response.status, response.headers["location"]) == (302, "http://169.254.169.254/")


def test_another_origin_sees_no_header_that_may_be_a_credential(
    serve: Serve, call: Call, loopback_allowed: None
) -> None:
    other = serve()
    server = serve(lambda _: redirect(other.url()))  # another port is another origin

    call(server.url(), headers=SECRETS)

    assert server.requests[0].count(b"hunter2") == 3
    assert other.requests[0].count(b"hunter2") == 0
    assert b"accept: text/plain" in other.requests[0].lower()


def test_the_same_origin_keeps_its_headers(serve: Serve, call: Call, loopback_allowed: None) -> None:
    server = serve(lambda request: answer() if _path(request) == "/b" else redirect("/b"))

    call(server.url("/a"), headers=SECRETS)

    assert [request.count(b"hunter2") for request in server.requests] == [3, 3]


def test_a_credential_does_not_come_back_by_way_of_another_origin(
    serve: Serve, call: Call, loopback_allowed: None
) -> None:
    servers: list[Server] = []
    servers.append(serve(lambda request: answer() if _path(request) == "/b" else redirect(servers[1].url())))
    servers.append(serve(lambda _: redirect(servers[0].url("/b"))))

    call(servers[0].url("/a"), headers=SECRETS)

    assert [request.count(b"hunter2") for request in servers[0].requests] == [3, 0]


@pytest.mark.parametrize(
    ("method", "status", "becomes"),
    [
        ("POST", "301 Moved", "GET"),
        ("POST", "302 Found", "GET"),
        ("POST", "303 See Other", "GET"),
        ("PUT", "303 See Other", "GET"),
        ("HEAD", "303 See Other", "HEAD"),
        ("POST", "307 Temporary", "POST"),
        ("POST", "308 Permanent", "POST"),
        ("PUT", "302 Found", "PUT"),
        ("DELETE", "301 Moved", "DELETE"),
        ("GET", "302 Found", "GET"),
    ],
)
def test_a_redirect_changes_the_method_as_the_rfc_says(
    serve: Serve, call: Call, loopback_allowed: None, method: str, status: str, becomes: str
) -> None:
    def answers(request: bytes) -> bytes:
        if _path(request) == "/a":
            return redirect("/b", status)
        return answer(b"") if request.startswith(b"HEAD") else answer()

    server = serve(answers)
    body = b"payload" if method in ("POST", "PUT") else None

    call(server.url("/a"), method, body=body, headers={"Content-Type": "text/plain"})

    followed = server.requests[1]
    assert followed.startswith(f"{becomes} /b ".encode())
    assert (b"payload" in followed) == (body is not None and becomes == method)
    assert (b"content-type" in followed.lower()) == (becomes == method)


@pytest.mark.parametrize(
    ("method", "status"), [("POST", "307 Temporary"), ("PUT", "302 Found"), ("DELETE", "301 Moved"), ("GET", "308 P")]
)
def test_nothing_that_changes_or_carries_a_body_is_sent_to_another_origin(
    serve: Serve, call: Call, loopback_allowed: None, method: str, status: str
) -> None:
    other = serve()
    server = serve(lambda _: redirect(other.url(), status))

    response = call(server.url(), method, body=b"payload")

    assert str(response.status) == status[:3]
    assert other.connections == 0


@pytest.mark.parametrize(
    "url",
    [
        "",
        "a.test",
        "/path",
        "//a.test/",
        "ftp://a.test/",
        "file:///etc/passwd",
        "unix:///var/run/docker.sock",
        "ws://a.test/",
        "http:///path",
        "http:a.test",
        "http://user@a.test/",
        "http://user:hunter2@a.test/",
        "http://:hunter2@a.test/",
        "http://user:hunter2:3@a.test:b/",
        "http://a.test:0/",
        "http://a.test:65536/",
        "http://a.test:-1/",
        "http://a.test:" + "9" * 5000 + "/",
        "http://a.test/\r\nX: y",
        "http://a.test/\x00",
        "http://\ud800.test/",
        "http://a.test/\ud800",
        "http://[::1",
        "http://[a.test]/",
        "http://256.1.1.1/",
        "http://a.test/" + "x" * 70_000,
    ],
)
def test_a_bad_url_is_refused_without_being_quoted(call: Call, url: str) -> None:
    with pytest.raises(BadUrl) as refused:
        call(url)

    assert str(refused.value) == BadUrl.sentence
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "get", "", "GET / HTTP/1.1\r\nX: y\r\n\r\nGET"])
def test_a_method_that_is_not_ours_is_refused(call: Call, method: str) -> None:
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
def test_a_header_that_is_not_the_callers_is_refused(
    serve: Serve, call: Call, settings: Settings, loopback_allowed: None, headers: dict[str, str]
) -> None:
    server = serve()

    with pytest.raises(BadRequest):
        call(server.url(), headers=headers)

    assert server.requests == []
