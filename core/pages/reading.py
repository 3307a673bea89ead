"""A page's text, read in another process that may take so much time and memory and no more."""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from core.deadlines import Deadline

SECONDS = 10.0  # that the reading of a page may take
ROOT = Path(__file__).resolve().parent.parent.parent


class Unreadable(Exception):
    """The page took more time or memory than it may."""


@dataclass(frozen=True, slots=True)
class Page:
    """What to read, and how: HTML for its main part, anything else as it stands."""

    url: str
    charset: str = ""  # as the header says
    is_html: bool = True
    markdown: bool = True  # else plain text
    links: bool = False
    offset: int = 0  # in characters
    max_chars: int = 6_000


@dataclass(frozen=True, slots=True)
class Text:
    """A page as read: a part of its content, of so many characters in all."""

    content: str
    length: int
    title: str = ""
    site: str = ""
    published: str = ""  # a date, where the page states one
    is_main_part: bool = True  # False: the main part was not to be told, and this is all that the page says


def read(page: Page, body: bytes, *, deadline: Deadline) -> Text:
    """Return a page's text. Raises Unreadable, and DeadlineExceeded where no time is left to begin."""
    seconds = min(SECONDS, deadline.left_ms() / 1000)
    question = json.dumps({**asdict(page), "seconds": seconds}).encode()
    command = [sys.executable, "-E", "-s", "-m", "core.pages.extractor"]
    try:
        done = subprocess.run(  # noqa: S603 - our own program, and nothing of the page in its arguments
            command, input=question + b"\n" + body, capture_output=True, cwd=ROOT, env={}, timeout=seconds, check=True
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        raise Unreadable from None  # what the process wrote may be the page's
    return Text(**json.loads(done.stdout))
