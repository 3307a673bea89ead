"""Extract the text of one page in a separate process, from untrusted bytes in any encoding.

`core.web_text.subprocess_reader` starts it. Pages are untrusted, and a megabyte of short paragraphs can keep the parser
busy for minutes, where no thread can be stopped. The process can open no files or sockets once it parses the page. This
is necessary: one of the libraries downloads a list if it does not find its file.

Input: a line of JSON with the fields of `ExtractionRequest`, then the body. Output: JSON with the fields of
`ExtractedText`.
"""

import json
import multiprocessing
import sys
import unicodedata
from collections.abc import Callable
from typing import Any

from core import limited_process
from core.text import decoding

_JOINERS = "\u200c\u200d"  # needed in Persian, Hindi and emoji
_VISIBLE_CONTROLS = frozenset("\n\t" + _JOINERS)
INVISIBLE_TAGS = ("head", "script", "style", "noscript", "template", "svg", "iframe", "object", "select")
INLINE_TAGS = frozenset(
    "a abbr b bdi cite code em font i kbd label mark q s small span strong sub sup time u var wbr".split()
)


def strip_invisible(text: str) -> str:
    """Return a text without invisible characters: controls, direction overrides, tags and variation selectors.

    They can show words to the model that the user does not see.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(character for character in text if character in _VISIBLE_CONTROLS or _is_visible(character))


def to_single_line(text: str) -> str:
    """Return a text as one line of visible characters."""
    return " ".join(strip_invisible(text).split())


def _is_visible(character: str) -> bool:
    if character < "\x7f":
        return character >= " "
    return (
        unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co")
        and not "\U000e0100" <= character <= "\U000e01ef"
    )


def main() -> None:
    """Read one request from stdin and write its answer to stdout."""
    request = json.loads(sys.stdin.buffer.readline())
    body = sys.stdin.buffer.read()
    page = decoding.decode(body, request["charset"], decoding.find_declared_charset(body)).text
    result = _extract_html(page, request) if request["is_html"] else {"content": page}
    content = strip_invisible(result.pop("content")).strip()
    fields = {name: to_single_line(value)[:500] if isinstance(value, str) else value for name, value in result.items()}
    start, end = request["offset"], request["offset"] + request["max_chars"]
    json.dump({**fields, "content": content[start:end], "length": len(content)}, sys.stdout)


def _extract_html(page: str, request: dict[str, Any]) -> dict[str, Any]:
    """Return the main part of a page, or all its text if the main part is not found in time."""
    # Imported here: tests import this module in the parent process, which must not load the library.
    import trafilatura  # noqa: F401 - for the child, which can open no files

    _preload_library_files()
    result = _run_in_child(lambda: _extract_main_part(page, request), request["main_part_seconds"])
    if not result or not result["content"]:
        return {**_extract_all_text(page), "is_main_part": False}
    return {**result, "title": result["title"] or _extract_all_text(page)["title"], "is_main_part": True}


def _run_in_child(function: Callable[[], dict[str, Any]], seconds: float) -> dict[str, Any] | None:
    """Return the result of a function, or None if it fails or takes longer than `seconds`.

    It runs in a separate process, because the parser may stay in C for seconds, where no signal handler runs.
    """
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)

    def run() -> None:
        limited_process.forbid_files()
        sender.send_bytes(json.dumps(function()).encode())

    child = fork.Process(target=run)
    child.start()
    sender.close()
    limited_process.forbid_files()
    try:
        return json.loads(receiver.recv_bytes()) if receiver.poll(seconds) else None
    except EOFError:  # it failed
        return None
    finally:
        child.kill()
        child.join()


def _extract_main_part(page: str, request: dict[str, Any]) -> dict[str, Any]:
    import trafilatura

    result: Any = trafilatura.bare_extraction(
        page,
        url=request["url"],
        with_metadata=True,
        include_comments=False,
        include_links=request["links"],
        include_formatting=request["markdown"],
        # Only dates from metadata, not dates that the text mentions.
        date_extraction_params={"extensive_search": False, "original_date": True},
    )
    return {
        "title": result and result.title,
        "site": result and (result.sitename or ""),
        "published": result and (result.date or ""),
        "content": result and result.text,
    }


def _preload_library_files() -> None:
    """Make the libraries load the files that they read on first use."""
    from tld import get_tld
    from trafilatura.external import jt_stoplist_init

    jt_stoplist_init()
    get_tld("https://example.com")


def _extract_all_text(page: str) -> dict[str, str]:
    """Return a page's title and all its text, one line per block, in linear time."""
    from lxml import etree, html

    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        tree = html.document_fromstring(page.encode(), parser=parser)
    except (etree.LxmlError, ValueError):  # empty, or not HTML
        return {"title": "", "content": ""}
    title = tree.findtext(".//title") or ""
    etree.strip_elements(tree, *INVISIBLE_TAGS, with_tail=False)
    parts: list[str] = []
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        parts += [
            "" if element.tag in INLINE_TAGS else "\n",
            (element.text if event == "start" else element.tail) or "",
        ]
    lines = (" ".join(each.split()) for each in "".join(parts).splitlines())
    return {"title": title, "content": "\n".join(each for each in lines if each)}


if __name__ == "__main__":
    main()
