"""Reads one page in a process of its own, by `core.pages.reading`: python -E -s -m core.pages.extractor.

A page is anybody's, and what reads it can be kept busy for minutes by a megabyte of short paragraphs, which no thread
of ours could be freed from. Here time and memory end where the system says. Nothing else can be had either: the process
starts without an environment, and before it looks at the page it gives up opening files and sockets, which it needs:
one of the libraries fetches a list from the network where it does not find its file.

In: a line of JSON, the fields of `reading.Page`, then the body. Out: JSON, the fields of `reading.Text`.
"""

import json
import resource
import signal
import sys
from contextlib import suppress
from typing import Any, NoReturn

from core.pages import texts

MEMORY = 768 * 1024 * 1024  # bytes of address space; a page of 2 MB takes a third of it at most

UNSEEN = ("head", "script", "style", "noscript", "template", "svg", "iframe", "object", "select")
INLINE = frozenset(
    {
        *("a", "abbr", "b", "bdi", "cite", "code", "em", "font", "i", "kbd", "label", "mark", "q", "s", "small"),
        *("span", "strong", "sub", "sup", "time", "u", "var", "wbr"),
    }
)


class TooSlow(BaseException):
    """The main part is not found in time. Not an Exception: the library catches those, whatever they are."""


def main() -> None:
    """Answer one question."""
    asked = json.loads(sys.stdin.buffer.readline())
    seconds = asked["seconds"]
    _limit(resource.RLIMIT_CPU, int(seconds) + 2)  # also where the parent is gone
    _limit(resource.RLIMIT_AS, MEMORY)
    page = texts.decoded(sys.stdin.buffer.read(), asked["charset"])
    found = _main_part(page, asked, seconds / 2) if asked["is_html"] else {"content": page}
    content = texts.visible(found.pop("content")).strip()
    told = {name: texts.line(value)[:500] if isinstance(value, str) else value for name, value in found.items()}
    start, end = asked["offset"], asked["offset"] + asked["max_chars"]
    json.dump({**told, "content": content[start:end], "length": len(content)}, sys.stdout)


def _main_part(page: str, asked: dict[str, Any], seconds: float) -> dict[str, Any]:
    # Imported here: the parent's tests import this module, and the parent should not hold what it must not run.
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
            # Dates that are stated, not those that a text happens to mention.
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
    """Have the libraries read the files that they read at first use."""
    from tld import get_tld
    from trafilatura.external import jt_stoplist_init

    jt_stoplist_init()
    get_tld("https://example.com")


def _whole(page: str) -> dict[str, str]:
    """Return a page's title and all its text, a block a line, in time that grows with the page and no faster."""
    from lxml import etree, html

    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        tree = html.document_fromstring(page.encode(), parser=parser)
    except (etree.LxmlError, ValueError):  # nothing in it, or nothing that could be HTML
        return {"title": "", "content": ""}
    title = tree.findtext(".//title") or ""
    etree.strip_elements(tree, *UNSEEN, with_tail=False)
    parts: list[str] = []
    for moment, element in etree.iterwalk(tree, events=("start", "end")):
        parts += ["" if element.tag in INLINE else "\n", (element.text if moment == "start" else element.tail) or ""]
    lines = (" ".join(each.split()) for each in "".join(parts).splitlines())
    return {"title": title, "content": "\n".join(each for each in lines if each)}


def _limit(what: int, value: int) -> None:
    with suppress(ValueError, OSError):  # macOS knows no limit of address space; the parent still keeps the time
        resource.setrlimit(what, (value, value))


def _stop(*_: object) -> NoReturn:
    raise TooSlow


if __name__ == "__main__":
    main()
