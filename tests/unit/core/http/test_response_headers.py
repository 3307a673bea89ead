"""Plain headers rely on how Django stores headers: these tests fail if Django changes it."""

from io import BytesIO

import pytest
from django.core import signals
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpResponse
from django.http.response import BadHeaderError

from core.http.response_headers import PlainHeaders

ADDED = [("Gateway-Trace", "tr_1"), ("Cache-Control", "private, no-cache")]
KEPT = [("content-type", "text/plain"), ("X-Frame-Options", "DENY")]


def build_response() -> HttpResponse:
    return HttpResponse("ok", headers={"Content-Type": "application/json", "Cache-Control": "public"})


def set_as_django_does(response: HttpResponse) -> None:
    for name, value in ADDED:
        response.headers[name] = value
    for name, value in KEPT:
        response.headers.setdefault(name, value)


def set_plainly(response: HttpResponse) -> None:
    headers = PlainHeaders.replace_in(response)
    headers.add(ADDED)
    headers.add_missing(KEPT)


def test_plain_headers_are_those_that_django_would_send(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[list[tuple[str, str]]] = []
    monkeypatch.setattr(signals.request_started, "send", lambda **_: [])  # which would look at the database
    for set_headers in (set_as_django_does, set_plainly):
        response = build_response()
        set_headers(response)
        handler = WSGIHandler()
        monkeypatch.setattr(handler, "get_response", lambda _, response=response: response)
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "wsgi.input": BytesIO()}
        handler(environ, lambda _, headers: sent.append(headers))

    assert sent[0] == sent[1]
    assert dict(sent[1])["Cache-Control"] == "private, no-cache"


def test_plain_headers_are_read_and_changed_like_others() -> None:
    response = build_response()
    headers = PlainHeaders.replace_in(response)
    headers.add(ADDED)

    response.headers["X-One"] = "1"
    del response.headers["cache-control"]

    assert (response["gateway-trace"], response.headers.get("x-one"), "CACHE-CONTROL" in response) == (
        "tr_1",
        "1",
        False,
    )
    assert dict(response.items()) == {"Content-Type": "application/json", "Gateway-Trace": "tr_1", "X-One": "1"}
    assert len(response.headers) == 3
    with pytest.raises(BadHeaderError):
        response.headers["Gateway-Hint"] = "two\nlines"
