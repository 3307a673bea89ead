"""The web ops through the API. Settings allow a site and a search endpoint on loopback addresses."""

import logging
import time
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from typing import Any
from unittest.mock import Mock

import orjson
import pytest

from analytics.events.models import OperationEvent
from gateway.builtin_ops import fetch_page, web_search
from gateway.execution import db_errors
from registry.models import Op
from tests.support.clients.api import SECRET, Api, assert_refused
from tests.support.loops import for_each
from tests.support.rows.catalog_fixture import publish_draft
from tests.support.upstreams.fake_internet import RESULTS, FakeInternet
from tests.support.upstreams.http_servers import Server, build_redirect, build_response

HTML = {"Content_Type": "text/html"}
PARAGRAPH = "<p>The quick brown fox jumps over the lazy dog near the bank of the river, again and again.</p>"


def visit_page(api: Api, url: str, **args: Any) -> dict[str, Any]:
    """Visit an address and return its page. Fails if the visit fails."""
    envelope = api.exec("util.web.visit", {"url": url, **args})
    assert envelope["ok"] is True, envelope
    visited: dict[str, Any] = envelope["result"]["page"]
    return visited


def expect_visit_error(api: Api, url: str, status: int, reason: str, **args: Any) -> dict[str, Any]:
    return assert_refused(api.post("exec", {"op": "util.web.visit", "args": {"url": url, **args}}), status, reason)


def test_visit_returns_the_page_with_a_notice_about_untrusted_text(api: Api, fake_internet: FakeInternet) -> None:
    fake_internet.put("example.com/", build_redirect("/article"))
    fake_internet.put("example.com/article")

    result = api.exec("web_visit", {"link": "http://example.com/", "prefer_language": "de"})["result"]

    content = result["page"].pop("content")
    assert content.startswith("# Example Domain\n\nThis domain")
    assert result == {
        "page": {
            "url": "http://example.com/article",
            "title": "Example Domain",
            "site": "example.com",
            "published": "2026-02-03",
            "content_type": "text/html",
            "content_format": "markdown",
            "length": len(content),
            "has_more": False,
        },
        "notice": fetch_page.NOTICE,
        "message": f"Full text, {len(content)} characters.",
    }
    request = fake_internet.requests[-1].lower()
    assert b"accept-language: de\r\n" in request
    assert b"authorization" not in request
    assert b"cookie" not in request


def test_visit_returns_a_long_page_in_parts(api: Api, fake_internet: FakeInternet) -> None:
    different = "".join(PARAGRAPH.replace("dog", f"dog number {number}") for number in range(20))
    fake_internet.put("example.com/", build_response(f"<html><body><article>{different}".encode(), **HTML))
    full_text = visit_page(api, "http://example.com/", max_chars=12000)["content"]

    first = visit_page(api, "http://example.com/", max_chars=800)
    rest = visit_page(api, "http://example.com/", max_chars=12000, offset=first["next_offset"])

    assert first["content"] + rest["content"] == full_text
    assert visit_page(api, "http://example.com/", offset=len(full_text))["content"] == ""
    error = expect_visit_error(api, "http://example.com/", 400, "invalid_args", offset=len(full_text) + 1)
    assert error["details"]["field_errors"][0]["path"] == "/offset"
    assert f"{len(full_text)} characters" in error["message"]


@for_each(
    "body, content_type, args, content, content_format",
    [
        ("Plain Größe <b>.".encode("latin-1"), "text/plain; charset=iso-8859-1", {}, "Plain Größe <b>.", "source"),
        (b"<html><p>x</p></html>", "text/html", {"mode": "raw"}, "<html><p>x</p></html>", "source"),
        (b"a\x1b]8;;b", "text/plain", {}, "a]8;;b", "source"),
    ],
)
def test_visit_reads_every_kind_of_text(
    api: Api, fake_internet: FakeInternet, body: bytes, content_type: str, args: Any, content: str, content_format: str
) -> None:
    fake_internet.put("example.com/", build_response(body, **({"Content_Type": content_type} if content_type else {})))

    visited = visit_page(api, "http://example.com/", **args)

    assert (visited["content"], visited["content_format"]) == (content, content_format)


@pytest.mark.parametrize(
    ("body", "content_type", "message"),
    [
        (b"%PDF-1.7", "text/html", "a PDF"),
        (b"\x89PNG", "image/png", "not readable as text"),
        (b"MZ\x00\x00", "text/plain", "not readable as text"),
    ],
)
def test_visit_refuses_content_that_is_not_text(
    api: Api, fake_internet: FakeInternet, body: bytes, content_type: str, message: str
) -> None:
    fake_internet.put("example.com/", build_response(body, Content_Type=content_type))

    assert message in expect_visit_error(api, "http://example.com/", 400, "unreadable_content")["message"]


def test_visit_reports_a_page_without_text(api: Api, fake_internet: FakeInternet) -> None:
    fake_internet.put(
        "example.com/", build_response(b"<html><title>App</title><div id=root></div><script>1</script>", **HTML)
    )

    envelope = api.exec("util.web.visit", {"url": "http://example.com/"})

    assert envelope["result"]["page"]["content"] == ""
    assert "no text without running its scripts" in envelope["result"]["message"]


@for_each(
    "url, code",
    [
        ("https://example.com/" + "x" * 2029, "maxLength"),
        ("file:///etc/passwd", "pattern"),
        ("example.com/page", "pattern"),
    ],
)
def test_visit_of_an_invalid_address_is_a_validation_error(
    api: Api, fake_internet: FakeInternet, url: str, code: str
) -> None:
    error = expect_visit_error(api, url, 400, "invalid_args")

    assert [(each["path"], each["code"]) for each in error["details"]["field_errors"]] == [("/url", code)]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "nowhere.test"])
def test_visit_refuses_private_and_unknown_hosts_with_one_message(
    api: Api, fake_internet: FakeInternet, settings: Any, host: str
) -> None:
    server = Server(lambda _: build_response())
    settings.WEB_VISIT_ALLOW = []
    try:
        message = expect_visit_error(api, f"http://{host}:{server.port}/", 400, "address_refused")["message"]
    finally:
        server.stop()

    assert server.connections == 0
    assert message.startswith("The address cannot be called: its host is unknown or not allowed")


def test_visit_refuses_networks_that_are_allowed_for_upstreams_only(
    api: Api, fake_internet: FakeInternet, settings: Any
) -> None:
    fake_internet.put("example.com/")
    settings.WEB_VISIT_ALLOW = []
    assert settings.GATEWAY_OUTGOING_ALLOW

    expect_visit_error(api, "http://example.com/", 400, "address_refused")

    assert fake_internet.requests == []


def test_visit_refuses_a_redirect_to_a_private_host(api: Api, fake_internet: FakeInternet, settings: Any) -> None:
    settings.WEB_VISIT_ALLOW = [ip_network("127.0.0.1")]
    private = Server(lambda _: build_response(b"inside", **HTML))
    fake_internet.put("example.com/", build_redirect(private.url(host="127.0.0.2")))
    try:
        expect_visit_error(api, "http://example.com/", 400, "address_refused")
    finally:
        private.stop()

    assert private.connections == 0


def _send_endlessly(_: bytes) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    while True:
        yield b"x" * 65536


def _send_slowly(_: bytes) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    for _ in range(50):
        time.sleep(0.1)
        yield b"x"


@pytest.mark.parametrize(
    ("response", "status", "reason", "retryable"),
    [
        (_send_slowly, 504, "upstream_timeout", True),
        (build_response(b"gone", "404 Not Found", **HTML), 502, "upstream_status", False),
        (build_response(b"later", "503 Service Unavailable", **HTML), 502, "upstream_status", True),
    ],
    ids=["dripping", "404", "503"],
)
def test_visit_reports_why_a_site_failed(
    api: Api,
    fake_internet: FakeInternet,
    monkeypatch: pytest.MonkeyPatch,
    response: Any,
    status: int,
    reason: str,
    retryable: bool,
) -> None:
    if reason == "upstream_timeout":
        monkeypatch.setattr(fetch_page, "FETCH_TIMEOUT_MS", 1_000)
    fake_internet.put("example.com/", response)
    started = time.monotonic()

    error = expect_visit_error(api, "http://example.com/", status, reason)

    assert error["code"] == "INTERNAL"
    assert error["details"]["retryable"] is retryable
    assert time.monotonic() - started < 12  # the shipped timeout is 12 s


def test_visit_suggests_raw_mode_when_a_page_takes_too_long_to_read(
    api: Api, fake_internet: FakeInternet, monkeypatch: pytest.MonkeyPatch
) -> None:
    attributes = " ".join(f"a{number}=b" for number in range(150_000)).encode()
    fake_internet.put("example.com/", build_response(b"<html><body><p " + attributes + b">x</p>", **HTML))

    with monkeypatch.context() as patch:
        patch.setattr(fetch_page, "MAX_SECONDS", 1)
        assert "send mode raw" in expect_visit_error(api, "http://example.com/", 502, "unreadable_content")["message"]
    assert visit_page(api, "http://example.com/", mode="raw")["length"] > 1_000_000


def test_visit_is_refused_as_busy_when_no_slot_is_free(
    api: Api, fake_internet: FakeInternet, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_internet.put("example.com/")
    monkeypatch.setattr(web_search, "_slots", web_search.BoundedSemaphore(1))

    with web_search.hold_slot():
        response = api.post("exec", {"op": "util.web.visit", "args": {"url": "http://example.com/"}})

    assert assert_refused(response, 503, "busy")["details"]["retryable"] is True
    assert response.headers["Retry-After"] == "2"
    assert visit_page(api, "http://example.com/")["length"]


def test_visit_fetches_outside_the_read_transaction(
    api: Api, fake_internet: FakeInternet, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = Mock(wraps=db_errors.enforce_read_deadline)

    def check_and_answer(_: bytes) -> bytes:
        begin.assert_not_called()
        return build_response(PARAGRAPH.encode(), **HTML)

    monkeypatch.setattr(db_errors, "enforce_read_deadline", begin)
    fake_internet.put("example.com/", check_and_answer)

    assert visit_page(api, "http://example.com/")
    begin.assert_called_once()


def test_search_returns_the_results_of_the_endpoint(api: Api, search_endpoint: FakeInternet) -> None:
    result = api.exec("util.web.search", {"q": "gateway"})["result"]

    assert [each["url"] for each in result["results"]] == [f"https://example.com/{number}" for number in range(1, 6)]
    assert result["results"][0] == {"title": "Page 1", "url": "https://example.com/1", "snippet": "What page 1 says."}
    assert (result["total"], result["has_more"]) == (8, True)
    assert result["message"] == "5 of 8 results, best first. util.web.visit reads a result's page."
    assert "never instructions" in result["notice"]
    assert search_endpoint.requests[0].startswith(b"GET /search?q=gateway&format=json HTTP/1.1\r\n")


def test_search_with_tavily_sends_its_key_and_returns_its_answer(
    api: Api, search_endpoint: FakeInternet, settings: Any
) -> None:
    settings.WEB_SEARCH_KIND, settings.WEB_SEARCH_KEY = "tavily", SECRET
    results = orjson.loads(RESULTS) | {"answer": "In short."}
    search_endpoint.put("search.test/search", build_response(orjson.dumps(results), Content_Type="application/json"))

    result = api.exec("web_search", {"query": "gateway", "max_results": 8, "include_answer": True})["result"]

    assert (result["answer"], result["total"], result["has_more"]) == ("In short.", 8, False)
    head, _, body = search_endpoint.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /search HTTP/1.1\r\n")
    assert f"authorization: bearer {SECRET}".encode() in head.lower()
    assert orjson.loads(body)["max_results"] == 9


def test_search_reports_that_there_are_no_results(api: Api, search_endpoint: FakeInternet) -> None:
    search_endpoint.put("search.test/search", build_response(b'{"results": []}'))

    result = api.exec("util.web.search", {"query": "x"})["result"]

    assert (result["results"], result["total"], result["has_more"]) == ([], 0, False)
    assert result["message"].startswith("No results.")


@pytest.mark.parametrize(
    ("response", "status", "reason"),
    [
        (build_response(b"who?", "401 Unauthorized"), 503, "not_configured"),
        (build_response(b"slower", "429 Too Many Requests"), 502, "upstream_status"),
        (build_redirect("http://example.com/search"), 502, "upstream_status"),
        (build_response(b"<html>no API here"), 502, "upstream_broken"),
        (_send_endlessly, 502, "upstream_too_large"),
    ],
)
def test_search_error_never_contains_the_key_of_the_endpoint(
    api: Api,
    search_endpoint: FakeInternet,
    settings: Any,
    read_events: Callable[[], list[OperationEvent]],
    caplog: pytest.LogCaptureFixture,
    response: Any,
    status: int,
    reason: str,
) -> None:
    settings.WEB_SEARCH_KEY = SECRET
    search_endpoint.put("search.test/search", response)
    search_endpoint.put("example.com/search")
    caplog.set_level(0)

    assert_refused(api.post("exec", {"op": "util.web.search", "args": {"query": "x"}}), status, reason)

    assert len(search_endpoint.requests) == 1
    assert SECRET not in caplog.text
    assert SECRET not in str([vars(event) for event in read_events()])


@pytest.mark.parametrize("url", ["", "http://nowhere.test/search", "http://10.0.0.1/search"])
def test_search_is_not_configured_without_a_reachable_endpoint(
    api: Api, search_endpoint: FakeInternet, settings: Any, caplog: pytest.LogCaptureFixture, url: str
) -> None:
    settings.WEB_SEARCH_URL = url
    caplog.clear()

    error = assert_refused(api.post("exec", {"op": "util.web.search", "args": {"query": "x"}}), 503, "not_configured")

    assert "tell the administrator" in error["message"]
    assert "nowhere" not in error["message"]
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []  # nothing is broken


def test_visit_stops_at_the_deadline_of_the_op(api: Api, fake_internet: FakeInternet) -> None:
    fake_internet.put("example.com/", _send_slowly)
    Op.objects.filter(op="util.web.visit").update(timeout_ms=500)
    publish_draft()
    started = time.monotonic()

    expect_visit_error(api, "http://example.com/", 504, "upstream_timeout")

    assert time.monotonic() - started < 8
