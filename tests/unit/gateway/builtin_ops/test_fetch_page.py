"""The main text of a page is extracted in bounded time, in a process of its own."""

import time

import pytest

from core.database.deadlines import Deadline, DeadlineExceeded
from gateway.builtin_ops import fetch_page
from gateway.builtin_ops.fetch_page import ExtractedText, ExtractionRequest
from tests.support.upstreams.fake_internet import ARTICLE
from tests.support.upstreams.http_servers import Server

SENTENCE = "The quick brown fox jumps over the lazy dog near the bank of the river. "


def read_page(html: str | bytes, *, milliseconds: int = 30_000, **fields: object) -> ExtractedText:
    body = html.encode() if isinstance(html, str) else html
    page = ExtractionRequest(url="https://example.com/a/", **fields)
    return fetch_page.read_text(page, body, deadline=Deadline.after(milliseconds=milliseconds))


def test_reader_extracts_main_text_title_and_date() -> None:
    text = read_page(ARTICLE)

    assert (text.title, text.published, text.is_main_part) == ("Example Domain", "2026-02-03", True)
    assert text.content.startswith("# Example Domain\n\nThis domain is for use")
    assert "Menu" not in text.content
    assert "No script is run" not in text.content
    assert text.length == len(text.content)


def test_reader_returns_links_and_format_as_requested(warm_extractor: None) -> None:
    assert "[more about it](https://example.com/more)" in read_page(ARTICLE, links=True).content
    text_only = read_page(ARTICLE, markdown=False).content
    assert "#" not in text_only
    assert "more about it" in text_only


def test_reader_parts_join_to_the_full_text(warm_extractor: None) -> None:
    full_text = read_page(ARTICLE).content

    parts = [read_page(ARTICLE, offset=offset, max_chars=70) for offset in range(0, len(full_text), 70)]

    assert "".join(part.content for part in parts) == full_text
    assert {part.length for part in parts} == {len(full_text)}
    assert read_page(ARTICLE, offset=len(full_text) + 1).content == ""


def test_reader_leaves_other_text_unchanged(warm_extractor: None) -> None:
    assert read_page('{"a": "<p>x</p>"}\n', is_html=False).content == '{"a": "<p>x</p>"}'
    assert read_page("Größe".encode("latin-1"), is_html=False, charset="latin-1").content == "Größe"


def test_reader_ignores_a_date_in_the_text(warm_extractor: None) -> None:
    page = read_page(f"<html><body><article><p>On 3 February 2020 it rained. {SENTENCE * 9}</p></article>")
    assert page.published == ""


@pytest.mark.parametrize(
    ("html", "content", "title"),
    [
        ("", "", ""),
        ("<p>hi <b>th</b>ere</p><p>you</p>", "hi **th**ere\n\nyou", ""),
        ("<html><title>App</title><body><div id=root></div><script>x</script>", "", "App"),
        ("<html><body><p>a\u202eb\U000e0041c</p></body></html>", "abc", ""),
        ("<" * 1000, "<" * 1000, ""),
        ("<!--" * 1000, "", ""),
        ("\x00\x01\x02", "\ufffd", ""),
    ],
)
def test_reader_accepts_incomplete_html(warm_extractor: None, html: str, content: str, title: str) -> None:
    text = read_page(html)

    assert (text.content, text.title) == (content, title)


@pytest.mark.parametrize(
    "html",
    [
        "<html><body>" + "<div>" * 300_000 + "x",
        "<html><body>" + "<b><i>" * 200_000 + "x",
        "<html><body>" + "<table><tr><td>" * 60_000 + "x",
        "<html><body><table><tr>" + "<td colspan=9007199254740991>x</td>" * 3 + "</tr></table>",
        "<html><script type='application/ld+json'>" + "[" * 1_500_000 + "</script><p>x",
        "<html><body><p>" + "&amp;" * 300_000,
        '<!DOCTYPE html [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]><html><body><p>&b;</p>',
    ],
    ids=["depth", "inline", "tables", "colspan", "json", "entities", "dtd"],
)
def test_reader_handles_hostile_html_in_time(warm_extractor: None, html: str) -> None:
    start = time.monotonic()

    text = read_page(html)

    assert time.monotonic() - start < fetch_page.MAX_SECONDS
    assert text.length < 10 * len(html)


def test_reader_returns_the_whole_page_when_extraction_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    # Extraction would take 45 seconds. Reading the whole page takes half a second.
    page = "<html><title>Many</title><body><article>" + "<p>a b c</p>" * 100_000
    monkeypatch.setattr(fetch_page, "MAX_SECONDS", 30)
    monkeypatch.setattr(fetch_page, "MAIN_PART_SHARE", 1 / 30)

    text = read_page(page)

    assert (text.title, text.is_main_part, text.length) == ("Many", False, 599_999)


def test_reader_does_not_start_after_its_deadline() -> None:
    with pytest.raises(DeadlineExceeded):
        read_page(ARTICLE, milliseconds=-1)


def test_reader_fetches_nothing_that_a_page_refers_to(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(lambda _: b"")
    try:
        read_page(
            f'<!DOCTYPE html SYSTEM "{server.url("/dtd")}"><html><head><base href="{server.url("/")}">'
            f'<link rel="canonical" href="{server.url("/c")}"><link rel="stylesheet" href="{server.url("/s")}">'
            f'<meta http-equiv="refresh" content="0;url={server.url("/r")}"></head><body>'
            f'<article><p>{SENTENCE * 5}</p><img src="{server.url("/i")}"><iframe src="{server.url("/f")}"></iframe>'
            f'<a href="{server.url("/a")}">a</a></article></body></html>',
            links=True,
        )
    finally:
        server.stop()

    assert server.connections == 0
