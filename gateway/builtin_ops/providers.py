"""Request and response formats of the supported search endpoints."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import httpx2
import orjson

from core.web_text import extractor

MAX_RESULTS = 50  # results that are read
MAX_TITLE, MAX_SNIPPET, MAX_ANSWER, MAX_URL = 200, 1_000, 2_000, 2_048  # characters; a longer URL could not be visited


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A search query. `most` limits the results; `only` and `never` are domains to include and to exclude."""

    query: str
    max_results: int
    depth: str = "basic"
    answer: bool = False
    include_domains: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """An HTTP request to a search endpoint."""

    method: str
    url: str
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """Search results {title, url, snippet, published?}, best first, and the endpoint's own answer, if any."""

    results: list[dict[str, str]]
    answer: str = ""


@dataclass(frozen=True, slots=True)
class SearchProvider:
    """Builds requests and reads responses. `read` raises ValueError if a response is not search results."""

    build_request: Callable[[str, SearchQuery], SearchRequest]
    parse_response: Callable[[Any], SearchResponse]


def _build_searxng_request(url: str, question: SearchQuery) -> SearchRequest:
    include_clause = " OR ".join(f"site:{domain}" for domain in question.include_domains)
    exclude_clauses = [f"-site:{domain}" for domain in question.exclude_domains]
    words = " ".join(
        filter(
            None,
            [
                question.query,
                f"({include_clause})" if len(question.include_domains) > 1 else include_clause,
                *exclude_clauses,
            ],
        )
    )
    return SearchRequest("GET", str(httpx2.URL(url).copy_merge_params({"q": words, "format": "json"})))


def _parse_searxng_response(body: Any) -> SearchResponse:
    answers = [each.get("answer") if isinstance(each, dict) else each for each in _get_list(body, "answers")]
    answer = next((_truncate(each, MAX_ANSWER) for each in answers if isinstance(each, str)), "")
    return SearchResponse(_parse_results(_get_list(body, "results"), published="publishedDate"), answer)


def _build_tavily_request(url: str, question: SearchQuery) -> SearchRequest:
    body: dict[str, Any] = {
        "query": question.query,
        "search_depth": question.depth,
        "max_results": question.max_results + 1,  # one extra shows whether there are more
        "include_answer": question.answer,
        "include_domains": question.include_domains,
        "exclude_domains": question.exclude_domains,
    }
    return SearchRequest("POST", url, orjson.dumps({name: value for name, value in body.items() if value != ()}))


def _parse_tavily_response(body: Any) -> SearchResponse:
    answer = body.get("answer") if isinstance(body, dict) else None
    results = _parse_results(_get_list(body, "results"), published="published_date")
    return SearchResponse(results, _truncate(answer, MAX_ANSWER) if isinstance(answer, str) else "")


# Keys are the values of the setting WEB_SEARCH_KIND.
PROVIDERS = {
    "searxng": SearchProvider(_build_searxng_request, _parse_searxng_response),
    "tavily": SearchProvider(_build_tavily_request, _parse_tavily_response),
}


def _get_list(body: Any, name: str) -> list[Any]:
    if not isinstance(body, dict):
        raise ValueError(name)
    items = body.get(name) or []
    if not isinstance(items, list):
        raise ValueError(name)
    return items[:MAX_RESULTS]


def _parse_results(items: Iterable[Any], *, published: str) -> list[dict[str, str]]:
    """Return the results with a usable URL, without duplicates."""
    results: dict[str, dict[str, str]] = {}
    for each in items:
        url = each.get("url") if isinstance(each, dict) else None
        if not isinstance(url, str) or not url.startswith(("http://", "https://")) or len(url) > MAX_URL:
            continue
        result = {"title": _truncate(each.get("title"), MAX_TITLE), "url": extractor.to_single_line(url)}
        result |= {
            "snippet": _truncate(each.get("content"), MAX_SNIPPET),
            "published": _truncate(each.get(published), 40),
        }
        results.setdefault(result["url"], {name: text for name, text in result.items() if text})
    return list(results.values())


def _truncate(value: object, max_chars: int) -> str:
    text = extractor.to_single_line(value) if isinstance(value, str) else ""
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"
