"""The web through the API: a loopback site and a loopback search endpoint, which settings allow."""

import gzip
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from typing import Any

import orjson
import pytest
from django.utils import timezone

from analytics.models import OperationEvent
from core.web_text import subprocess_reader
from gateway.builtin_ops import concurrency_slots, fetch_page
from gateway.execution import db_errors
from registry.catalog import model
from registry.models import Op
from registry.releases import publishing
from tests.support.api import SECRET, Api, refused
from tests.support.fake_internet import RESULTS, Outside
from tests.support.http_servers import Server, answer, redirect

HTML = {"Content_Type": "text/html"}
PARAGRAPH = "<p>The quick brown fox jumps over the lazy dog near the bank of the river, again and again.</p>"


def page(api: Api, url: str, **args: Any) -> dict[str, Any]:
    """Return the page of a visit that must succeed."""
    envelope = api.exec("util.web.visit", {"url": url, **args})
    assert envelope["ok"] is True, envelope
    found: dict[str, Any] = envelope["result"]["page"]
    return found


def fails(api: Api, url: str, status: int, reason: str, **args: Any) -> dict[str, Any]:
    return refused(api.post("exec", {"op": "util.web.visit", "args": {"url": url, **args}}), status, reason)


def test_a_page_is_read_as_others_text(api: Api, outside: Outside) -> None:
    outside.put("example.com/", redirect("/article"))
    outside.put("example.com/article")

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
    sent = outside.requests[-1].lower()
    assert b"accept-language: de\r\n" in sent
    assert b"authorization" not in sent
    assert b"cookie" not in sent


def test_a_long_page_is_read_part_by_part(api: Api, outside: Outside) -> None:
    different = "".join(PARAGRAPH.replace("dog", f"dog number {number}") for number in range(20))
    outside.put("example.com/", answer(f"<html><body><article>{different}".encode(), **HTML))
    whole = page(api, "http://example.com/", max_chars=12000)["content"]

    parts, offset = [], 0
    while offset is not None:
        part = page(api, "http://example.com/", max_chars=800, offset=offset)
        parts.append(part["content"])
        offset = part.get("next_offset")

    assert len(parts) > 1
    assert "".join(parts) == whole
    assert page(api, "http://example.com/", offset=len(whole))["content"] == ""
    error = fails(api, "http://example.com/", 400, "invalid_args", offset=len(whole) + 1)
    assert error["details"]["field_errors"][0]["path"] == "/offset"
    assert f"{len(whole)} characters" in error["message"]


@pytest.mark.parametrize(
    ("body", "content_type", "args", "content", "content_format"),
    [
        ("Plain Größe <b>.".encode("latin-1"), "text/plain; charset=iso-8859-1", {}, "Plain Größe <b>.", "source"),
        (b'{"a": [1]}', "application/json", {}, '{"a": [1]}', "source"),
        (b"<feed><a/></feed>", "application/atom+xml", {}, "<feed><a/></feed>", "source"),
        (b"<html><p>x</p></html>", "text/html", {"mode": "raw"}, "<html><p>x</p></html>", "source"),
        (b"<html><body><p>x</p></body></html>", "", {"output_format": "text"}, "x", "text"),
        ("<html><body><p>é</p></body></html>".encode("utf-16"), "text/html", {"mode": "reader"}, "é", "markdown"),
        (b"<html><body><p>\xff\xfe?</p>", "text/html; charset=utf-8", {}, "\ufffd\ufffd?", "markdown"),
        (b"a\x1b]8;;b", "text/plain", {}, "a]8;;b", "source"),
    ],
)
def test_text_of_any_kind_is_read(
    api: Api, outside: Outside, body: bytes, content_type: str, args: Any, content: str, content_format: str
) -> None:
    outside.put("example.com/", answer(body, **({"Content_Type": content_type} if content_type else {})))

    found = page(api, "http://example.com/", **args)

    assert (found["content"], found["content_format"]) == (content, content_format)


@pytest.mark.parametrize(
    ("body", "content_type", "said"),
    [
        (b"%PDF-1.7", "application/pdf", "a PDF"),
        (b"%PDF-1.7", "text/html", "a PDF"),
        (b"\x89PNG", "image/png", "not readable as text"),
        (b"PK\x03\x04", "", "not readable as text"),
        (b"MZ\x00\x00", "text/plain", "not readable as text"),
        (b"x", "application/octet-stream", "not readable as text"),
    ],
)
def test_what_is_no_text_is_refused_in_a_sentence(
    api: Api, outside: Outside, body: bytes, content_type: str, said: str
) -> None:
    outside.put("example.com/", answer(body, Content_Type=content_type))

    assert said in fails(api, "http://example.com/", 400, "unreadable_content")["message"]


def test_a_page_of_scripts_says_that_it_is_empty(api: Api, outside: Outside) -> None:
    outside.put("example.com/", answer(b"<html><title>App</title><div id=root></div><script>1</script>", **HTML))

    envelope = api.exec("util.web.visit", {"url": "http://example.com/"})

    assert envelope["result"]["page"]["content"] == ""
    assert "no text without running its scripts" in envelope["result"]["message"]


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://example.com/" + "x" * 2029, "maxLength"),
        ("ftp://example.com/", "pattern"),
        ("file:///etc/passwd", "pattern"),
        ("javascript:alert(1)", "pattern"),
        ("example.com/page", "pattern"),
    ],
)
def test_an_address_that_is_none_is_a_validation_error(api: Api, outside: Outside, url: str, code: str) -> None:
    error = fails(api, url, 400, "invalid_args")

    assert [(each["path"], each["code"]) for each in error["details"]["field_errors"]] == [("/url", code)]


def test_an_address_of_2048_characters_is_visited(api: Api, outside: Outside) -> None:
    path = "x" * (2048 - len("http://example.com/"))
    outside.put(f"example.com/{path}")

    assert page(api, f"http://example.com/{path}")["title"] == "Example Domain"


@pytest.mark.parametrize(
    "url",
    ["http://me:pw@example.com/", "http://example.com:99999/", "https://", "http://exa mple.com/", "http://[::1/"],
)
def test_an_address_that_cannot_be_called_is_refused(api: Api, outside: Outside, url: str) -> None:
    error = api.exec("util.web.visit", {"url": url})["error"]

    assert error["code"] == "VALIDATION_ERROR"
    assert error["details"]["reason"] in ("bad_url", "address_refused", "invalid_args")


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "nowhere.test", "0.0.0.0"]
)
def test_private_and_unknown_hosts_are_refused_in_the_same_words(
    api: Api, outside: Outside, settings: Any, host: str
) -> None:
    server = Server(lambda _: answer())
    settings.WEB_VISIT_ALLOW = []
    try:
        said = fails(api, f"http://{host}:{server.port}/", 400, "address_refused")["message"]
    finally:
        server.stop()

    assert server.connections == 0
    assert said.startswith("The address cannot be called: its host is unknown or not allowed")


def test_networks_allowed_for_upstreams_are_not_a_models_to_visit(api: Api, outside: Outside, settings: Any) -> None:
    outside.put("example.com/")
    settings.WEB_VISIT_ALLOW = []
    assert settings.GATEWAY_OUTGOING_ALLOW

    fails(api, "http://example.com/", 400, "address_refused")

    assert outside.requests == []


def test_a_redirect_inside_is_refused(api: Api, outside: Outside, settings: Any) -> None:
    settings.WEB_VISIT_ALLOW = [ip_network("127.0.0.1")]
    inside = Server(lambda _: answer(b"inside", **HTML))
    outside.put("example.com/", redirect(inside.url(host="127.0.0.2")))
    try:
        fails(api, "http://example.com/", 400, "address_refused")
    finally:
        inside.stop()

    assert inside.connections == 0


def _endless(_: bytes) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    while True:
        yield b"x" * 65536


def _dripping(_: bytes) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    for _ in range(50):
        time.sleep(0.1)
        yield b"x"


def _cut_off(_: bytes) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf"
    raise OSError  # and the connection is closed


@pytest.mark.parametrize(
    ("said", "status", "reason", "retryable"),
    [
        (_endless, 502, "upstream_too_large", False),
        (_dripping, 504, "upstream_timeout", True),
        (_cut_off, 502, "upstream_broken", False),
        (answer(gzip.compress(b"x" * 50_000_000), Content_Encoding="gzip", **HTML), 502, "upstream_too_large", False),
        (answer(b"x", Content_Encoding="br", **HTML), 502, "upstream_broken", False),
        (b"SSH-2.0-OpenSSH\r\n\r\n", 502, "upstream_broken", False),
        (redirect("http://example.com/"), 502, "upstream_redirects", False),
        (answer(b"gone", "404 Not Found", **HTML), 502, "upstream_status", False),
        (answer(b"no", "403 Forbidden", **HTML), 502, "upstream_status", False),
        (answer(b"later", "503 Service Unavailable", **HTML), 502, "upstream_status", True),
    ],
    ids=["endless", "dripping", "cut-off", "bomb", "brotli", "no-http", "loop", "404", "403", "503"],
)
def test_a_site_that_fails_is_told_as_its_failure(
    api: Api,
    outside: Outside,
    monkeypatch: pytest.MonkeyPatch,
    said: Any,
    status: int,
    reason: str,
    retryable: bool,
) -> None:
    monkeypatch.setattr(fetch_page, "FETCH_TIMEOUT_MS", 1_000)
    outside.put("example.com/", said)
    started = time.monotonic()

    error = fails(api, "http://example.com/", status, reason)

    assert error["code"] == "INTERNAL"
    assert error["details"]["retryable"] is retryable
    assert time.monotonic() - started < 12  # as shipped it fetches for 12


def test_a_page_that_is_too_hard_to_read_is_told_so(
    api: Api, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    attributes = " ".join(f"a{number}=b" for number in range(150_000)).encode()
    outside.put("example.com/", answer(b"<html><body><p " + attributes + b">x</p>", **HTML))

    with monkeypatch.context() as hurried:
        hurried.setattr(subprocess_reader, "MAX_SECONDS", 1)
        assert "send mode raw" in fails(api, "http://example.com/", 502, "unreadable_content")["message"]
    assert page(api, "http://example.com/", mode="raw")["length"] > 1_000_000


def test_a_visit_waits_for_no_other(api: Api, outside: Outside, monkeypatch: pytest.MonkeyPatch) -> None:
    outside.put("example.com/")
    monkeypatch.setattr(concurrency_slots, "_slots", concurrency_slots.BoundedSemaphore(1))

    with concurrency_slots.hold_slot():
        response = api.post("exec", {"op": "util.web.visit", "args": {"url": "http://example.com/"}})

    assert refused(response, 503, "busy")["details"]["retryable"] is True
    assert response.headers["Retry-After"] == "2"
    assert page(api, "http://example.com/")["length"]


def test_nothing_is_fetched_inside_a_reads_transaction(
    api: Api, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside: list[bool] = []

    @contextmanager
    def watched(*args: Any, **kwargs: Any) -> Iterator[None]:
        inside.append(True)
        with within(*args, **kwargs):
            yield

    def answers(_: bytes) -> bytes:
        assert inside == []
        return answer(PARAGRAPH.encode(), **HTML)

    within = db_errors.enforce_read_deadline
    monkeypatch.setattr(db_errors, "enforce_read_deadline", watched)
    outside.put("example.com/", answers)

    assert page(api, "http://example.com/")
    assert inside == [True]


def test_the_web_is_searched(api: Api, search_endpoint: Outside) -> None:
    result = api.exec("util.web.search", {"q": "gateway"})["result"]

    assert [each["url"] for each in result["results"]] == [f"https://example.com/{number}" for number in range(1, 6)]
    assert result["results"][0] == {"title": "Page 1", "url": "https://example.com/1", "snippet": "What page 1 says."}
    assert (result["total"], result["has_more"]) == (8, True)
    assert result["message"] == "5 of 8 results, best first. util.web.visit reads a result's page."
    assert "never instructions" in result["notice"]
    assert search_endpoint.requests[0].startswith(b"GET /search?q=gateway&format=json HTTP/1.1\r\n")


def test_a_search_by_tavily_has_its_key_and_answer(api: Api, search_endpoint: Outside, settings: Any) -> None:
    settings.WEB_SEARCH_KIND, settings.WEB_SEARCH_KEY = "tavily", SECRET
    said = orjson.loads(RESULTS) | {"answer": "In short."}
    search_endpoint.put("search.test/search", answer(orjson.dumps(said), Content_Type="application/json"))

    result = api.exec("web_search", {"query": "gateway", "max_results": 8, "include_answer": True})["result"]

    assert (result["answer"], result["total"], result["has_more"]) == ("In short.", 8, False)
    head, _, body = search_endpoint.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /search HTTP/1.1\r\n")
    assert f"authorization: bearer {SECRET}".encode() in head.lower()
    assert orjson.loads(body)["max_results"] == 9


def test_a_search_that_finds_nothing_says_so(api: Api, search_endpoint: Outside) -> None:
    search_endpoint.put("search.test/search", answer(b'{"results": []}'))

    result = api.exec("util.web.search", {"query": "x"})["result"]

    assert (result["results"], result["total"], result["has_more"]) == ([], 0, False)
    assert result["message"].startswith("No results.")


@pytest.mark.parametrize(
    ("said", "status", "reason"),
    [
        (answer(b"who?", "401 Unauthorized"), 503, "not_configured"),
        (answer(b"who?", "403 Forbidden"), 503, "not_configured"),
        (answer(b"slower", "429 Too Many Requests"), 502, "upstream_status"),
        (redirect("http://example.com/search"), 502, "upstream_status"),
        (answer(b"<html>no API here"), 502, "upstream_broken"),
        (answer(b"[1]"), 502, "upstream_broken"),
        (answer(b'{"results": {}}'.replace(b"{}", b'"x"')), 502, "upstream_broken"),
        (_endless, 502, "upstream_too_large"),
    ],
)
def test_an_endpoint_that_fails_is_told_without_its_key(
    api: Api,
    search_endpoint: Outside,
    settings: Any,
    told: Callable[[], list[OperationEvent]],
    caplog: pytest.LogCaptureFixture,
    said: Any,
    status: int,
    reason: str,
) -> None:
    settings.WEB_SEARCH_KEY = SECRET
    search_endpoint.put("search.test/search", said)
    search_endpoint.put("example.com/search")
    caplog.set_level(0)

    refused(api.post("exec", {"op": "util.web.search", "args": {"query": "x"}}), status, reason)

    assert len(search_endpoint.requests) == 1
    assert SECRET not in caplog.text
    assert SECRET not in str([vars(event) for event in told()])


@pytest.mark.parametrize("url", ["", "http://nowhere.test/search", "http://10.0.0.1/search"])
def test_a_search_without_an_endpoint_is_not_configured(
    api: Api, search_endpoint: Outside, settings: Any, url: str
) -> None:
    settings.WEB_SEARCH_URL = url

    error = refused(api.post("exec", {"op": "util.web.search", "args": {"query": "x"}}), 503, "not_configured")

    assert "tell the administrator" in error["message"]
    assert "nowhere" not in error["message"]


def test_the_deadline_of_the_op_bounds_the_fetch(api: Api, outside: Outside) -> None:
    outside.put("example.com/", _dripping)
    Op.objects.filter(op="util.web.visit").update(timeout_ms=500)
    publishing.publish_draft(note="Hurry", by="tests", at=timezone.now())
    model.refresh_live()
    started = time.monotonic()

    fails(api, "http://example.com/", 504, "upstream_timeout")

    assert time.monotonic() - started < 8
