"""A page is read for its main part, in bounded time, by a process that can reach nothing."""

import os
import subprocess
import sys
import time

import pytest

from core.deadlines import Deadline, DeadlineExceeded
from core.web_text import subprocess_reader
from core.web_text.subprocess_reader import ExtractedText, ExtractionRequest, PageUnreadable
from tests.support.fake_internet import ARTICLE
from tests.support.http_servers import Server

SENTENCE = "The quick brown fox jumps over the lazy dog near the bank of the river. "


def read(html: str | bytes, *, milliseconds: int = 30_000, **fields: object) -> ExtractedText:
    body = html.encode() if isinstance(html, str) else html
    page = ExtractionRequest(url="https://example.com/a/", **fields)
    return subprocess_reader.read_text(page, body, deadline=Deadline.after(milliseconds=milliseconds))


def test_the_main_part_is_read_with_what_the_page_states() -> None:
    text = read(ARTICLE)

    assert (text.title, text.published, text.is_main_part) == ("Example Domain", "2026-02-03", True)
    assert text.content.startswith("# Example Domain\n\nThis domain is for use")
    assert "Menu" not in text.content
    assert "No script is run" not in text.content
    assert text.length == len(text.content)


def test_links_and_form_are_as_asked_for() -> None:
    assert "[more about it](https://example.com/more)" in read(ARTICLE, links=True).content
    plain = read(ARTICLE, markdown=False).content
    assert "#" not in plain
    assert "more about it" in plain


def test_parts_put_together_are_the_whole() -> None:
    whole = read(ARTICLE).content

    parts = [read(ARTICLE, offset=offset, max_chars=70) for offset in range(0, len(whole), 70)]

    assert "".join(part.content for part in parts) == whole
    assert {part.length for part in parts} == {len(whole)}
    assert read(ARTICLE, offset=len(whole) + 1).content == ""


def test_what_is_no_html_is_left_as_it_stands() -> None:
    assert read('{"a": "<p>x</p>"}\n', is_html=False).content == '{"a": "<p>x</p>"}'
    assert read("Größe".encode("latin-1"), is_html=False, charset="latin-1").content == "Größe"


def test_a_date_that_is_only_mentioned_is_not_the_pages() -> None:
    assert read(f"<html><body><article><p>On 3 February 2020 it rained. {SENTENCE * 9}</p></article>").published == ""


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
def test_little_or_no_html_is_read_as_far_as_it_goes(html: str, content: str, title: str) -> None:
    text = read(html)

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
def test_hostile_html_is_read_in_time(html: str) -> None:
    started = time.monotonic()

    text = read(html)

    assert time.monotonic() - started < subprocess_reader.MAX_SECONDS
    assert text.length < 10 * len(html)


def test_what_is_slow_to_judge_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    page = "<html><title>Many</title><body><article>" + "<p>a b c</p>" * 25_000
    monkeypatch.setattr(subprocess_reader, "MAX_SECONDS", 100)
    began = time.monotonic()
    judged = read(page, milliseconds=100_000)
    # Its main part takes nearly all of this machine's time and may take half of it; to read it whole takes little.
    monkeypatch.setattr(subprocess_reader, "MAX_SECONDS", time.monotonic() - began)
    text = read(page)

    assert (judged.title, judged.is_main_part) == ("Many", True)
    assert (text.title, text.is_main_part, text.length) == ("Many", False, 149_999)


def test_what_is_slow_to_parse_is_given_up_on_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess_reader, "MAX_SECONDS", 2)
    page = "<html><body><p " + " ".join(f"a{number}=b" for number in range(200_000)) + ">x</p>"
    started = time.monotonic()

    with pytest.raises(PageUnreadable):
        read(page)

    assert time.monotonic() - started < 15  # to parse it would take minutes


def test_a_call_without_time_left_begins_nothing() -> None:
    with pytest.raises(DeadlineExceeded):
        read(ARTICLE, milliseconds=-1)


def test_nothing_that_a_page_refers_to_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(lambda _: b"")
    try:
        read(
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


def limited(what: str, deed: str) -> str:
    """Return what a process says that does a deed under one of the limits of reading."""
    program = (
        f"import os, resource, socket; from core.web_text import extractor as e; e._set_limit(resource.{what}); {deed}"
    )
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=subprocess_reader.ROOT, capture_output=True, text=True, check=False).stderr


@pytest.mark.parametrize("deed", ["socket.socket()", "open('/etc/passwd')", "os.listdir('/')"])
def test_a_process_that_reads_a_page_can_open_nothing_more(deed: str) -> None:
    assert "Too many open files" in limited("RLIMIT_NOFILE, 3", deed)


def test_memory_has_an_end() -> None:
    assert "MemoryError" in limited("RLIMIT_AS, e.MEMORY_LIMIT", "b'x' * e.MEMORY_LIMIT") or sys.platform == "darwin"


def test_a_reading_process_has_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, str]] = []
    run = subprocess.run

    def spy(*args: object, **options: object) -> object:
        given.append(options["env"])
        return run(*args, **options)

    monkeypatch.setenv("SECRET_KEY", "never handed on")
    monkeypatch.setattr(subprocess, "run", spy)

    read("x", is_html=False)

    assert given == [{}]
    assert os.environ["SECRET_KEY"]
