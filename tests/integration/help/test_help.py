"""The help endpoint: GET and POST give the same body, ETags work, and callers see only what they may run."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse

from registry.catalog import cache
from tests.support.clients.api import Api, assert_refused
from tests.support.loops import for_each

QUERIES: list[dict[str, Any]] = [
    {},
    {"path": ""},
    {"path": "root"},
    {"path": "onto"},
    {"path": "onto.task", "limit": 2},
    {"path": "onto.task.update"},
    {"path": "onto.task.update", "format": "full"},
    {"path": "onto.task.update", "format": "full", "include_examples": False},
    {"path": "onto.task.update", "include_examples": True, "include_schemas": True},
    {"path": "onto.task.update", "arg": "due_at"},
    {"path": "onto.project.create", "max_tokens": 120},
    {"query": "move a deadline"},
    {"query": "zzzzzz", "limit": 3},
]


def get_help(api: Api, body: dict[str, Any], **headers: str) -> HttpResponse:
    """Request help by GET, with the body as query parameters."""
    parameters = {name: str(value).lower() if isinstance(value, bool) else value for name, value in body.items()}
    return api.get(f"help?{urlencode(parameters)}", **headers)


@for_each("body", QUERIES)
def test_get_and_post_return_the_same_help(api: Api, live_catalog: Any, body: dict[str, Any]) -> None:
    by_post, by_get = api.post("help", body), get_help(api, body)

    assert by_post.status_code == by_get.status_code == 200
    assert by_post.content == by_get.content
    assert by_post.headers["ETag"] == by_get.headers["ETag"]
    assert by_post.headers["Gateway-Release"] == by_get.headers["Gateway-Release"] == live_catalog.version
    assert by_get.headers["Content-Type"] == "application/json"


INVALID_PARAMETERS = [
    ("path=root&path=onto", "duplicate_key"),
    ("nothing=1", "malformed_call"),
    ("path=onto&limit=%D9%A5", "malformed_call"),  # an Arabic five
    ("path=onto.task.get&include_examples=yes", "malformed_call"),
    ("query=", "malformed_call"),
    ("path=%00", "nul_character"),
]


@for_each("parameters, reason", INVALID_PARAMETERS)
def test_get_refuses_malformed_parameters(api: Api, parameters: str, reason: str) -> None:
    assert_refused(api.get(f"help?{parameters}"), 400, reason)


# --- ETag -------------------------------------------------------------------------------------------------------------


@for_each("header", ["{}", "W/{}", '"other", {}', " {} ", "*", 'W/"other",{}'])
def test_get_returns_not_modified_for_a_matching_etag(api: Api, header: str) -> None:
    etag = get_help(api, {"path": "onto"}).headers["ETag"]

    response = get_help(api, {"path": "onto"}, If_None_Match=header.format(etag))

    assert (response.status_code, response.content) == (304, b"")
    assert response.headers["ETag"] == etag
    assert "Content-Type" not in response.headers
    assert response.headers["Gateway-Trace"].startswith("tr_")


@for_each("header_value", ["", '"other"', "nonsense", '"'])
def test_get_returns_the_body_for_another_etag(api: Api, header_value: str) -> None:
    assert get_help(api, {"path": "onto"}, If_None_Match=header_value).status_code == 200


def test_post_and_errors_ignore_etags(api: Api) -> None:
    etag = api.post("help", {"path": "onto"}).headers["ETag"]

    for header_value in (etag, "*"):
        response = api.post("help", {"path": "onto"}, If_None_Match=header_value)
        assert response.status_code == 200
        assert response.json()["path"] == "onto"
    error = get_help(api, {"path": "nothing"}, If_None_Match="*")
    assert_refused(error, 404, "unknown_path")
    assert "ETag" not in error.headers
    assert error.headers["Gateway-Release"] == cache.get_live_catalog().version


def test_head_returns_the_headers_of_get(api: Api) -> None:
    response = api.http.head("/api/v1/help?path=onto", headers=api.headers)

    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["ETag"] == get_help(api, {"path": "onto"}).headers["ETag"]


# --- queries ----------------------------------------------------------------------------------------------------


@for_each("body", QUERIES)
def test_repeated_help_needs_no_query(api: Api, django_assert_num_queries: Any, body: dict[str, Any]) -> None:
    first = api.post("help", body)

    with django_assert_num_queries(0):
        by_post, by_get = api.post("help", body), get_help(api, body, If_None_Match=first.headers["ETag"])

    assert by_post.content == first.content
    assert by_get.status_code == 304


# --- permissions ----------------------------------------------------------------------------------------------------


def test_read_only_key_sees_only_reads(make_api: Callable[..., Api], live_catalog: Any) -> None:
    api = make_api(scopes=["help", "exec:read"])

    assert {item["kind"] for item in api.help("onto.goal")["items"]} == {"read"}
    assert_refused(api.post("help", {"path": "onto.task.update"}), 404, "unknown_path")
    paths = [item["path"] for item in api.help(query="create update delete task")["items"]]
    assert not {"onto.task.create", "onto.task.update", "onto.task.delete"} & set(paths)


def test_client_sees_only_ops_that_match_its_patterns(make_api: Callable[..., Api], live_catalog: Any) -> None:
    api = make_api(op_patterns=["onto.task.*"])

    assert [item["path"] for item in api.help("root")["items"]] == ["onto"]
    assert [item["path"] for item in api.help("onto")["items"]] == ["onto.task"]
    for hidden in ("util", "onto.project", "onto.project.list", "list_onto_projects", "util.schema.field_info"):
        error = assert_refused(api.post("help", {"path": hidden}), 404, "unknown_path")
        assert api.post("help", {"path": error["help_path"]}).status_code == 200
        assert not any(path.startswith(("util", "onto.project")) for path in error["details"].get("did_you_mean", []))


def test_help_needs_no_subject(make_api: Callable[..., Api], live_catalog: Any) -> None:
    assert make_api(acts_for="").post("help", {}).status_code == 200


def test_get_with_a_thousand_parameters_is_refused(api: Api) -> None:
    response = api.get("help?" + "&".join(f"a{number}=1" for number in range(1_001)))

    assert_refused(response, 400, "malformed_call")
