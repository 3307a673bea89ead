"""Search providers: each gets a request in its own format, and its response is treated as untrusted text."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.builtin_ops.web_search import PROVIDERS, SearchQuery

QUERY = SearchQuery("fast & cheap", 3, include_domains=("a.com", "b.org"), exclude_domains=("c.net",))
KEYS = st.sampled_from(["results", "answers", "answer", "url", "title", "content"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def build_result(**fields: Any) -> dict[str, Any]:
    return {"title": "T", "url": "https://a.com/", "content": "C"} | fields


def test_searxng_request_has_query_parameters() -> None:
    request = PROVIDERS["searxng"].build_request("https://s.test/search?language=de", QUERY)

    assert (request.method, request.body) == ("GET", None)
    expected = {"language": ["de"], "format": ["json"], "q": ["fast & cheap (site:a.com OR site:b.org) -site:c.net"]}
    assert parse_qs(urlsplit(request.url).query) == expected


def test_tavily_request_has_a_json_body() -> None:
    request = PROVIDERS["tavily"].build_request("https://t.test/search", QUERY)

    assert (request.method, request.url) == ("POST", "https://t.test/search")
    assert orjson.loads(request.body or b"") == {
        "query": "fast & cheap",
        "search_depth": "basic",
        "max_results": 4,  # one more than shown, to know whether there are more
        "include_answer": False,
        "include_domains": ["a.com", "b.org"],
        "exclude_domains": ["c.net"],
    }


@pytest.mark.parametrize(("kind", "published"), [("searxng", "publishedDate"), ("tavily", "published_date")])
def test_results_are_parsed_cleaned_and_truncated(kind: str, published: str) -> None:
    payload = {
        "results": [build_result(**{published: "2026-02-03"}, content="x" * 5000, title="a\u202eb\nc", score=0.5)]
    }

    parsed = PROVIDERS[kind].parse_response(payload)

    assert parsed.results == [
        {"title": "ab c", "url": "https://a.com/", "snippet": "x" * 999 + "…", "published": "2026-02-03"}
    ]


@pytest.mark.parametrize(
    "entry",
    [
        None,
        [],
        {},
        build_result(url="javascript:alert(1)"),
        build_result(url="file:///etc/passwd"),
        build_result(url="https://a.com/" + "x" * 2048),
    ],
)
def test_entries_without_a_web_address_are_dropped(entry: Any) -> None:
    assert PROVIDERS["tavily"].parse_response(
        {"results": [entry, build_result(), build_result(title="Again")]}
    ).results == [{"title": "T", "url": "https://a.com/", "snippet": "C"}]


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("tavily", {"answer": "Yes.", "results": []}),
        ("searxng", {"answers": ["Yes."], "results": []}),
        ("searxng", {"answers": [{"answer": "Yes.", "url": "https://a.com"}]}),
    ],
)
def test_answer_of_the_provider_is_parsed(kind: str, payload: Any) -> None:
    assert PROVIDERS[kind].parse_response(payload).answer == "Yes."


@pytest.mark.parametrize("kind", PROVIDERS)
@given(payload=JSON)
def test_any_json_is_parsed_or_refused(kind: str, payload: Any) -> None:
    try:
        parsed = PROVIDERS[kind].parse_response(payload)
    except ValueError:
        return
    assert all(set(each) <= {"title", "url", "snippet", "published"} for each in parsed.results)
