from typing import Any

from core.server.environ import REPEATED_HEADERS, build_environ
from tests.support.rsgi import build_scope


def test_environ_has_the_request_line_and_addresses() -> None:
    environ = build_environ(build_scope(("host", "gateway.acme.com"), path="/é", client="[::1]:50000"))

    assert environ["REQUEST_METHOD"] == "GET"
    assert environ["PATH_INFO"].encode("latin-1").decode() == "/é"
    assert environ["QUERY_STRING"] == "path=root"
    assert environ["REMOTE_ADDR"] == "::1"
    assert environ["SERVER_PORT"] == "8000"
    assert environ["SERVER_PROTOCOL"] == "HTTP/1.1"
    assert environ["HTTP_HOST"] == "gateway.acme.com"


def test_environ_names_headers_as_wsgi_does() -> None:
    environ = build_environ(build_scope(("content-type", "a/b"), ("content-length", "3"), ("gateway-subject", "ann")))

    assert environ["CONTENT_TYPE"] == "a/b"
    assert environ["CONTENT_LENGTH"] == "3"
    assert environ["HTTP_GATEWAY_SUBJECT"] == "ann"
    assert REPEATED_HEADERS not in environ


def test_environ_has_nothing_but_headers_that_wsgi_can_name(monkeypatch: Any) -> None:
    monkeypatch.setenv("HTTP_GATEWAY_SUBJECT", "ann")

    assert "HTTP_GATEWAY_SUBJECT" not in build_environ(build_scope(("gateway_subject", "ann")))
    assert build_environ(build_scope(("gateway-subject", "café")))["HTTP_GATEWAY_SUBJECT"] == ""
    assert build_environ(build_scope(authority="gateway.acme.com"))["HTTP_HOST"] == "gateway.acme.com"


def test_environ_joins_and_lists_headers_that_stand_more_than_once() -> None:
    environ = build_environ(build_scope(("x-a", "1"), ("cookie", "a=1"), ("x-a", "2"), ("cookie", "b=2")))

    assert environ["HTTP_X_A"] == "1,2"
    assert environ["HTTP_COOKIE"] == "a=1; b=2"
    assert environ[REPEATED_HEADERS] == ("HTTP_X_A", "HTTP_COOKIE")
