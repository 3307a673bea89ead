"""Request and response formats of the supported search endpoints."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import httpx2
import orjson

from core.pages import texts

MOST = 50  # results that are read
TITLE, SNIPPET, ANSWER, URL = 200, 1_000, 2_000, 2_048  # characters; a longer URL could not be visited


@dataclass(frozen=True, slots=True)
class Question:
    """A search query. `most` limits the results; `only` and `never` are domains to include and to exclude."""

    query: str
    most: int
    depth: str = "basic"
    answer: bool = False
    only: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """An HTTP request to a search endpoint."""

    method: str
    url: str
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Search results {title, url, snippet, published?}, best first, and the endpoint's own answer, if any."""

    results: list[dict[str, str]]
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Provider:
    """Builds requests and reads responses. `read` raises ValueError if a response is not search results."""

    ask: Callable[[str, Question], Asked]
    read: Callable[[Any], Found]


def _ask_searxng(url: str, question: Question) -> Asked:
    only = " OR ".join(f"site:{domain}" for domain in question.only)
    never = [f"-site:{domain}" for domain in question.never]
    words = " ".join(filter(None, [question.query, f"({only})" if len(question.only) > 1 else only, *never]))
    return Asked("GET", str(httpx2.URL(url).copy_merge_params({"q": words, "format": "json"})))


def _read_searxng(said: Any) -> Found:
    answers = [each.get("answer") if isinstance(each, dict) else each for each in _list(said, "answers")]
    answer = next((_cut(each, ANSWER) for each in answers if isinstance(each, str)), "")
    return Found(_results(_list(said, "results"), published="publishedDate"), answer)


def _ask_tavily(url: str, question: Question) -> Asked:
    body: dict[str, Any] = {
        "query": question.query,
        "search_depth": question.depth,
        "max_results": question.most + 1,  # one extra shows whether there are more
        "include_answer": question.answer,
        "include_domains": question.only,
        "exclude_domains": question.never,
    }
    return Asked("POST", url, orjson.dumps({name: value for name, value in body.items() if value != ()}))


def _read_tavily(said: Any) -> Found:
    answer = said.get("answer") if isinstance(said, dict) else None
    results = _results(_list(said, "results"), published="published_date")
    return Found(results, _cut(answer, ANSWER) if isinstance(answer, str) else "")


# Keys are the values of the setting WEB_SEARCH_KIND.
PROVIDERS = {
    "searxng": Provider(_ask_searxng, _read_searxng),
    "tavily": Provider(_ask_tavily, _read_tavily),
}


def _list(said: Any, name: str) -> list[Any]:
    if not isinstance(said, dict):
        raise ValueError(name)
    found = said.get(name) or []
    if not isinstance(found, list):
        raise ValueError(name)
    return found[:MOST]


def _results(said: Iterable[Any], *, published: str) -> list[dict[str, str]]:
    """Return the results with a usable URL, without duplicates."""
    found: dict[str, dict[str, str]] = {}
    for each in said:
        url = each.get("url") if isinstance(each, dict) else None
        if not isinstance(url, str) or not url.startswith(("http://", "https://")) or len(url) > URL:
            continue
        told = {"title": _cut(each.get("title"), TITLE), "url": texts.line(url)}
        told |= {"snippet": _cut(each.get("content"), SNIPPET), "published": _cut(each.get(published), 40)}
        found.setdefault(told["url"], {name: text for name, text in told.items() if text})
    return list(found.values())


def _cut(said: object, most: int) -> str:
    text = texts.line(said) if isinstance(said, str) else ""
    return text if len(text) <= most else text[: most - 1] + "…"
