"""Extract the text of one page in a separate process: python -E -s -m core.pages.extractor.

`core.pages.reading` starts it. Pages are untrusted, and a megabyte of short paragraphs can keep the parser busy for
minutes, which no thread could be stopped from. Here the operating system limits time and memory. The process has an
empty environment, and can open no files or sockets once it parses the page. The latter is necessary: one of the
libraries downloads a list if it does not find its file.

Input: a line of JSON with the fields of `ExtractionRequest`, then the body. Output: JSON with those of `ExtractedText`.
"""

import json
import resource
import signal
import sys
from contextlib import suppress
from typing import Any, NoReturn

from core.pages import texts

MEMORY = 768 * 1024 * 1024  # bytes of address space; a page of 2 MB needs at most a third of it

UNSEEN = ("head", "script", "style", "noscript", "template", "svg", "iframe", "object", "select")
INLINE = frozenset(
    {
        *("a", "abbr", "b", "bdi", "cite", "code", "em", "font", "i", "kbd", "label", "mark", "q", "s", "small"),
        *("span", "strong", "sub", "sup", "time", "u", "var", "wbr"),
    }
)


class TooSlow(BaseException):
    """The main part was not found in time. Not an Exception, because the library catches every Exception."""


def main() -> None:
    """Read one request from stdin and write its answer to stdout."""
    asked = json.loads(sys.stdin.buffer.readline())
    seconds = asked["seconds"]
    _limit(resource.RLIMIT_CPU, int(seconds) + 2)  # also stops this process if the parent is gone
    _limit(resource.RLIMIT_AS, MEMORY)
    page = texts.decoded(sys.stdin.buffer.read(), asked["charset"])
    found = _main_part(page, asked, seconds / 2) if asked["is_html"] else {"content": page}
    content = texts.visible(found.pop("content")).strip()
    told = {name: texts.line(value)[:500] if isinstance(value, str) else value for name, value in found.items()}
    start, end = asked["offset"], asked["offset"] + asked["max_chars"]
    json.dump({**told, "content": content[start:end], "length": len(content)}, sys.stdout)


def _main_part(page: str, asked: dict[str, Any], seconds: float) -> dict[str, Any]:
    # Imported here: tests import this module in the parent process, which must not load the library.
    import trafilatura

    _warm()
    _limit(resource.RLIMIT_NOFILE, 3)
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        found: Any = trafilatura.bare_extraction(
            page,
            url=asked["url"],
            with_metadata=True,
            include_comments=False,
            include_links=asked["links"],
            include_formatting=asked["markdown"],
            # Only dates from metadata, not dates that the text mentions.
            date_extraction_params={"extensive_search": False, "original_date": True},
        )
    except TooSlow:
        found = None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if found is None or not found.text:
        return {**_whole(page), "is_main_part": False}
    title, site = found.title or _whole(page)["title"], found.sitename or ""
    return {"title": title, "site": site, "published": found.date or "", "content": found.text, "is_main_part": True}


def _warm() -> None:
    """Make the libraries load the files that they read on first use."""
    from tld import get_tld
    from trafilatura.external import jt_stoplist_init

    jt_stoplist_init()
    get_tld("https://example.com")


def _whole(page: str) -> dict[str, str]:
    """Return a page's title and all its text, one line per block, in linear time."""
    from lxml import etree, html

    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        tree = html.document_fromstring(page.encode(), parser=parser)
    except (etree.LxmlError, ValueError):  # empty, or not HTML
        return {"title": "", "content": ""}
    title = tree.findtext(".//title") or ""
    etree.strip_elements(tree, *UNSEEN, with_tail=False)
    parts: list[str] = []
    for moment, element in etree.iterwalk(tree, events=("start", "end")):
        parts += ["" if element.tag in INLINE else "\n", (element.text if moment == "start" else element.tail) or ""]
    lines = (" ".join(each.split()) for each in "".join(parts).splitlines())
    return {"title": title, "content": "\n".join(each for each in lines if each)}


def _limit(what: int, value: int) -> None:
    with suppress(ValueError, OSError):  # macOS has no address space limit; the parent still enforces the time limit
        resource.setrlimit(what, (value, value))


def _stop(*_: object) -> NoReturn:
    raise TooSlow


if __name__ == "__main__":
    main()
