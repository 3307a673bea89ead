"""The guides of docs/ as pages of the console, and their table of contents."""

import functools
import posixpath
import re
from collections.abc import Iterator
from itertools import count, pairwise
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.templatetags.static import static
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from core.admin.site import GoToResult, NameMatch, match_name

FOLDER = Path(settings.BASE_DIR) / "docs"

# Names of files without .md, and what each answers. By heading.
GUIDES = {
    "For people who write copy": {
        "admin-guide": "edit what models read, review, publish, roll back",
        "evals": "requests in the words of users, which test a draft before it goes live",
        "files": "edit copy in files, and import them",
        "reference/checks": "what blocks publishing, and what warns",
    },
    "For product managers": {
        "rollout-guide": "cohorts, flags and reports",
        "experiments": "how to tell a difference from chance",
        "alerts": "rules, messages, and a signed webhook",
        "surfaces": "three tools, all tools, domains, or agents",
        "evaluate": "success, calls, tokens and dollars of each surface",
        "context-cost": "tokens of each surface",
    },
    "For engineers": {
        "five-minutes": "list, read and run ops as a model does",
        "how-it-works": "how calls and releases work, and which parts there are",
        "build-your-chat": "a whole loop for the SDKs of OpenAI and Anthropic, and from each error to its fix",
        "batches": "several calls in one request, and calls for each row of an answer",
        "api-clients": "typed clients in Python and TypeScript from the OpenAPI document",
        "connect": "OpenAPI services and MCP servers",
        "mcp": "for applications that speak the Model Context Protocol",
        "chat": "a chat service on the gateway, and its API",
        "import": "function definitions of OpenAI or Anthropic as ops",
        "apps": "remove the example apps, or add an app with your own ops",
        "workspace": "projects, tasks and calendars that the shipped ops work on",
        "deploy": "settings, databases, workers, backups",
        "tracing": "spans from the chat to the service, for an OpenTelemetry collector",
        "reliability": "crashes, timeouts, retries",
        "performance": "flame graphs of the calls that matter most, and measured figures",
        "security": "who is trusted with what, what the gateway promises, and how to report a vulnerability",
        "testing": "the suites, and how to run them",
    },
    "Reference": {
        "reference/errors": "each code, and what to do about it",
        "reference/events": "the fields of an event",
        "reference/roles": "who can do what",
        "reference/settings": "each environment variable, its type and its default",
        "reference/jobs": "what runs in the background, and how often",
    },
}

_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")
_WORD = re.compile(r"\w+")
_CODE_BLOCK = re.compile("<pre>")
_COMMENT = re.compile(r"^<!--.*?-->$", re.DOTALL | re.MULTILINE)  # of generated files
_HEADING = re.compile(r"^#{2,3} ", re.MULTILINE)  # not the first one of a guide, nor a comment in code
_SETTING = re.compile(r"^\| `([A-Z][A-Z0-9_]+)` \|", re.MULTILINE)
SETTINGS_GUIDE = "reference/settings"
MAX_FOUND = 8  # settings, and sections of guides, in "Go to"
MIN_WORD_LENGTH = 3  # of a word to search for in them
# A block of code with a button that copies it (static/console/copy.js). It can be scrolled by keys.
CODE = (
    '<div class="guide-code"><button type="button" class="ui-button guide-copy" data-copy="code-{number}">Copy</button>'
    '<pre id="code-{number}" tabindex="0">'
)
_WEB_ADDRESS = re.compile(r"https?://")


class Heading(NamedTuple):
    """A heading of a guide."""

    title: str
    anchor: str


class _Section(NamedTuple):
    """A part of a guide between two headings: its words, and the settings that its table has."""

    guide: str
    title: str
    anchor: str  # "" for the beginning of a guide
    words: frozenset[str]
    settings: list[str]


class Guide(NamedTuple):
    """A guide as HTML, with the headings of its sections."""

    title: str
    html: SafeString
    headings: list[Heading]


def show_guide(request: HttpRequest, name: str) -> HttpResponse:
    """Show a guide."""
    if name not in list_names():
        raise Http404(f"There is no guide {name}. All of them: {reverse('admin:guides')}")
    guide = read_guide(name)
    context = admin.site.each_context(request) | {"title": guide.title, "guide": guide}
    return TemplateResponse(request, "console/system/guide.html", context)


def find_sections(_: HttpRequest, search_text: str) -> Iterator[GoToResult]:
    """Yield the settings with this name, and the sections of guides with all words of the text, for "Go to".

    The best come first: sections whose heading has the words, then those in which most of the words are whole.
    """
    text = search_text.casefold()
    words = [word for word in _WORD.findall(text) if len(word) >= MIN_WORD_LENGTH]
    settings_found: list[GoToResult] = []
    sections_found: list[tuple[NameMatch, int, GoToResult]] = []
    for section in _read_sections():
        link = reverse("admin:guide", args=[section.guide]) + (f"#{section.anchor}" if section.anchor else "")
        title = read_title(section.guide)
        settings_found += [
            GoToResult(name, f"setting, in {title}", f"{link}:~:text={name}", order=8)
            for name in section.settings
            if all(word in name.casefold() for word in text.replace("_", " ").split())
        ]
        if words and all(any(each.startswith(word) for each in section.words) for word in words):
            about = f"section of {title}" if section.anchor else "guide"
            result = GoToResult(section.title, about, link, order=9)
            sections_found.append((match_name(section.title, text), -len(section.words & set(words)), result))
    yield from settings_found[:MAX_FOUND]
    yield from (result for *_, result in sorted(sections_found, key=itemgetter(0, 1))[:MAX_FOUND])


def list_names() -> list[str]:
    """Return the names of the guides, in order."""
    return [name for guides in GUIDES.values() for name in guides]


@functools.cache
def read_title(name: str) -> str:
    """Return the title of a guide: its first heading."""
    with (FOLDER / f"{name}.md").open(encoding="utf-8") as file:
        return file.readline().removeprefix("# ").strip()


@functools.cache
def _read_sections() -> list[_Section]:
    """Return the sections of all guides with their words, once for each process."""
    sections = []
    for name in list_names():
        source = _COMMENT.sub("", (FOLDER / f"{name}.md").read_text(encoding="utf-8"))
        for number, part in enumerate(_HEADING.split(source)):
            heading, _, body = part.strip().removeprefix("# ").partition("\n")
            anchor = make_anchor(heading) if number else ""
            settings_named = _SETTING.findall(body) if name == SETTINGS_GUIDE else []
            sections.append(
                _Section(
                    name, heading.replace("`", ""), anchor, frozenset(_WORD.findall(part.casefold())), settings_named
                )
            )
    return sections


@functools.lru_cache(maxsize=32)
def read_guide(name: str) -> Guide:
    """Return a guide. Its links to other guides and to pictures lead to where this site has them."""
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    source = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    tokens = parser.parse(_COMMENT.sub("", source))
    headings = []
    for opening, text in pairwise(tokens):
        if opening.type == "heading_open":
            heading = Heading(_read_text(text), make_anchor(_read_text(text)))
            opening.attrSet("id", heading.anchor)
            if opening.tag == "h2":
                headings.append(heading)
    for token in tokens:
        _move_links(token.children or [], posixpath.dirname(name))
    tokens = tokens[3:] if tokens and tokens[0].tag == "h1" else tokens  # the page has this heading
    html = parser.renderer.render(tokens, parser.options, {})
    numbers = count(1)
    html = _CODE_BLOCK.sub(lambda _: CODE.format(number=next(numbers)), html).replace("</pre>", "</pre></div>")
    return Guide(read_title(name), mark_safe(html), headings)  # noqa: S308  # from our own files, without HTML


def make_anchor(heading: str) -> str:
    """Return the anchor of a heading, by GitHub's rule, since the files are also read there."""
    return _NOT_IN_ANCHORS.sub("", heading.lower()).replace(" ", "-")


def _read_text(inline: Token) -> str:
    return "".join(child.content for child in inline.children or [])


def _move_links(tokens: list[Token], folder: str) -> None:
    """Change addresses that are relative to docs/ into addresses of this site. Other files get no link."""
    is_open: list[bool] = []
    for token in tokens:
        if token.type == "image":
            name = posixpath.normpath(posixpath.join(folder, str(token.attrGet("src"))))
            token.attrSet("src", static(name.replace("images/", "guides/", 1)))
        elif token.type == "link_open":
            link = _find_link(str(token.attrGet("href")), folder)
            is_open.append(bool(link))
            token.attrSet("href", link)
            token.hidden = not link
        elif token.type == "link_close":
            token.hidden = not is_open.pop()
        elif token.type == "text" and token.content.endswith(".md") and any(is_open):
            name = token.content.removesuffix(".md")  # a link whose text is the file's name
            token.content = read_title(name) if name in list_names() else token.content


def _find_link(link: str, folder: str) -> str:
    """Return where a link of a guide in this folder leads to; "" if it is a file that is not a guide."""
    if _WEB_ADDRESS.match(link) or link.startswith("#"):
        return link
    path, _, anchor = link.partition("#")
    name = posixpath.normpath(posixpath.join(folder, path)).removesuffix(".md")
    if name not in list_names():
        return ""
    return reverse("admin:guide", args=[name]) + (f"#{anchor}" if anchor else "")
