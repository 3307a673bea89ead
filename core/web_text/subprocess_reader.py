"""Read a page's text in another process, with limits on its time and memory."""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from core.deadlines import Deadline

MAX_SECONDS = 10.0  # limit for reading one page
MAIN_PART_SHARE = 0.5  # of that, for finding the main part; what is left must be enough to read all text
ROOT = Path(__file__).resolve().parent.parent.parent


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
    command = [sys.executable, "-E", "-s", "-m", "core.web_text.extractor"]
    try:
        process = subprocess.run(  # noqa: S603 - our own program; its arguments contain nothing of the page
            command, input=request + b"\n" + body, capture_output=True, cwd=ROOT, env={}, timeout=seconds, check=True
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        raise PageUnreadable from None  # no cause: the process's output may quote the page
    return ExtractedText(**json.loads(process.stdout))
