"""Search endpoints are asked in their own way, and what they answer is taken for what it is: anybody's text."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from gateway.builtin_ops.providers import PROVIDERS, SearchQuery

QUESTION = SearchQuery("fast & cheap", 3, include_domains=("a.com", "b.org"), exclude_domains=("c.net",))
KEYS = st.sampled_from(["results", "answers", "answer", "url", "title", "content"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def page(**fields: Any) -> dict[str, Any]:
    return {"title": "T", "url": "https://a.com/", "content": "C"} | fields


def test_the_settings_name_a_provider() -> None:
    assert settings.WEB_SEARCH_KIND in PROVIDERS


def test_searxng_is_asked_by_its_address() -> None:
    asked = PROVIDERS["searxng"].build_request("https://s.test/search?language=de", QUESTION)

    assert (asked.method, asked.body) == ("GET", None)
    assert parse_qs(urlsplit(asked.url).query) == {
        "language": ["de"],
        "format": ["json"],
        "q": ["fast & cheap (site:a.com OR site:b.org) -site:c.net"],
    }


def test_tavily_is_asked_by_a_body() -> None:
    asked = PROVIDERS["tavily"].build_request("https://t.test/search", QUESTION)

    assert (asked.method, asked.url) == ("POST", "https://t.test/search")
    assert orjson.loads(asked.body or b"") == {
        "query": "fast & cheap",
        "search_depth": "basic",
        "max_results": 4,  # one more than shown, to know whether there are more
        "include_answer": False,
        "include_domains": ["a.com", "b.org"],
        "exclude_domains": ["c.net"],
    }


@pytest.mark.parametrize(("kind", "published"), [("searxng", "publishedDate"), ("tavily", "published_date")])
def test_results_are_read_and_bounded(kind: str, published: str) -> None:
    said = {"results": [page(**{published: "2026-02-03"}, content="x" * 5000, title="a\u202eb\nc", score=0.5)]}

    found = PROVIDERS[kind].parse_response(said)

    assert found.results == [
        {"title": "ab c", "url": "https://a.com/", "snippet": "x" * 999 + "…", "published": "2026-02-03"}
    ]


@pytest.mark.parametrize(
    "entry",
    [
        *(None, 1, "x", [], {}),
        *(page(url=None), page(url="javascript:alert(1)"), page(url="file:///etc/passwd")),
        page(url="https://a.com/" + "x" * 2048),
    ],
)
def test_what_leads_to_no_page_is_no_result(entry: Any) -> None:
    assert PROVIDERS["tavily"].parse_response({"results": [entry, page(), page(title="Again")]}).results == [
        {"title": "T", "url": "https://a.com/", "snippet": "C"}
    ]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("tavily", {"answer": "Yes.", "results": []}),
        ("searxng", {"answers": ["Yes."], "results": []}),
        ("searxng", {"answers": [{"answer": "Yes.", "url": "https://a.com"}]}),
    ],
)
def test_an_answer_in_their_words_is_read(kind: str, said: Any) -> None:
    assert PROVIDERS[kind].parse_response(said).answer == "Yes."


@pytest.mark.parametrize("kind", PROVIDERS)
@given(said=JSON)
def test_any_json_is_results_or_refused(kind: str, said: Any) -> None:
    try:
        found = PROVIDERS[kind].parse_response(said)
    except ValueError:
        return
    assert all(set(each) <= {"title", "url", "snippet", "published"} for each in found.results)
