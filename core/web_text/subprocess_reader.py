"""Read a page's text in another process, with limits on its time and memory."""

import json
from dataclasses import asdict, dataclass

from core import limited_process
from core.database.deadlines import Deadline
from core.limited_process import ProcessFailed, ProcessTimedOut

MAX_SECONDS = 10.0  # limit for reading one page
MAIN_PART_SHARE = 0.5  # of that, for finding the main part; what is left must be enough to read all text
MEMORY_LIMIT = 768 * 1024 * 1024  # bytes of address space; a page of 2 MB needs at most a third of it


class PageUnreadable(Exception):
    """Reading the page exceeded its time or memory limit."""


@dataclass(frozen=True, slots=True)
class ExtractionRequest:
    """What to read and how: the main part of HTML, the whole text of anything else."""

    url: str
    charset: str = ""  # from the Content-Type header
    is_html: bool = True
    markdown: bool = True  # False: plain text
    links: bool = False
    offset: int = 0  # in characters
    max_chars: int = 6_000


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """The text of a page: a slice of its content, and the content's whole length in characters."""

    content: str
    length: int
    title: str = ""
    site: str = ""
    published: str = ""  # a date, or empty if the page has none
    is_main_part: bool = True  # False: no main part was found, and this is all text of the page


def read_text(page: ExtractionRequest, body: bytes, *, deadline: Deadline) -> ExtractedText:
    """Return a page's text. Raises PageUnreadable, or DeadlineExceeded if no time is left."""
    seconds = min(MAX_SECONDS, deadline.get_remaining_ms() / 1000)
    request = json.dumps({**asdict(page), "seconds": seconds, "main_part_seconds": seconds * MAIN_PART_SHARE}).encode()
    try:
        answer = limited_process.run(
            "core.web_text.extractor", request + b"\n" + body, seconds=seconds, memory=MEMORY_LIMIT
        )
    except (ProcessFailed, ProcessTimedOut):
        raise PageUnreadable from None
    return ExtractedText(**json.loads(answer))
