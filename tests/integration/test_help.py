"""help over HTTP: one body however it is asked for, kept by its ETag, and only what the caller may see."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.http import HttpResponse
from django.test import Client as HttpClient

from core import poller
from gateway.clients import api_keys
from gateway.models import Client
from registry.catalog import model
from tests.support.api import Api, refused

ASKED: list[dict[str, Any]] = [
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


def ask(api: Api, body: dict[str, Any], **headers: str) -> HttpResponse:
    """Ask by GET, as parameters."""
    spelt = {name: str(value).lower() if isinstance(value, bool) else value for name, value in body.items()}
    return api.get(f"help?{urlencode(spelt)}", **headers)


def test_get_and_post_answer_the_same(api: Api, live_catalog: Any, subtests: pytest.Subtests) -> None:
    for body in ASKED:
        with subtests.test(body=body):
            posted, got = api.post("help", body), ask(api, body)

            assert posted.status_code == got.status_code == 200
            assert posted.content == got.content
            assert posted.headers["ETag"] == got.headers["ETag"]
            assert posted.headers["Gateway-Release"] == got.headers["Gateway-Release"] == live_catalog.version
            assert got.headers["Content-Type"] == "application/json"


LOOSE = [
    ("path=root&path=onto", "duplicate_key"),
    ("path=onto&limit=5&limit=5", "duplicate_key"),
    ("nothing=1", "malformed_call"),
    ("path=onto&limit=", "malformed_call"),
    ("path=onto&limit=five", "malformed_call"),
    ("path=onto&limit=5.0", "malformed_call"),
    ("path=onto&limit=-1", "malformed_call"),
    ("path=onto&limit=%D9%A5", "malformed_call"),  # an Arabic five
    ("path=onto&limit=" + "9" * 5_000, "malformed_call"),
    ("path=onto.task.get&include_examples=yes", "malformed_call"),
    ("path=onto.task.get&include_examples=1", "malformed_call"),
    ("path=onto.task.get&include_schemas=TRUE", "malformed_call"),
    ("path=onto.task.get&include_schemas=", "malformed_call"),
    ("path=onto&format=long", "malformed_call"),
    ("path=onto&query=tasks", "malformed_call"),
    ("query=", "malformed_call"),
    ("path=%00", "nul_character"),
]


def test_get_takes_typed_parameters_strictly(api: Api, subtests: pytest.Subtests) -> None:
    for parameters, reason in LOOSE:
        with subtests.test(parameters=parameters[:60]):
            refused(api.get(f"help?{parameters}"), 400, reason)


@pytest.mark.parametrize(
    "path", [" root", "Root", "onto.", ".onto", "onto..task", "onto.task ", "%", "ö", "null", "\ufffd"]
)
def test_path_matches_exactly(api: Api, path: str) -> None:
    posted, got = api.post("help", {"path": path}), ask(api, {"path": path})

    error = refused(posted, 404, "unknown_path")
    assert refused(got, 404, "unknown_path") == error
    assert posted.json()["op"] is None
    assert api.post("help", {"path": error["help_path"]}).status_code == 200


def test_unknown_path_is_answered_with_the_nearest(api: Api) -> None:
    error = refused(api.post("help", {"path": "onto.task.updat"}), 404, "unknown_path")

    assert error["help_path"] == "onto.task"
    assert "onto.task.update" in error["details"]["did_you_mean"]


def test_unknown_argument_is_answered_with_the_nearest(api: Api) -> None:
    error = refused(api.post("help", {"path": "onto.task.update", "arg": "due"}), 404, "unknown_argument")

    assert error["help_path"] == "onto.task.update"
    assert error["code"] == "NOT_FOUND"


# --- ETag -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', " {} ", "*", 'W/"other",{}'])
def test_get_of_what_the_caller_has_is_not_sent_again(api: Api, form: str) -> None:
    etag = ask(api, {"path": "onto"}).headers["ETag"]

    response = ask(api, {"path": "onto"}, If_None_Match=form.format(etag))

    assert (response.status_code, response.content) == (304, b"")
    assert response.headers["ETag"] == etag
    assert "Content-Type" not in response.headers
    assert response.headers["Gateway-Trace"].startswith("tr_")


@pytest.mark.parametrize("sent", ["", '"other"', "nonsense", '"'])
def test_get_of_what_the_caller_has_not_is_sent(api: Api, sent: str) -> None:
    assert ask(api, {"path": "onto"}, If_None_Match=sent).status_code == 200


def test_post_is_never_answered_with_not_modified(api: Api) -> None:
    etag = api.post("help", {"path": "onto"}).headers["ETag"]

    for sent in (etag, "*"):
        response = api.post("help", {"path": "onto"}, If_None_Match=sent)
        assert response.status_code == 200
        assert response.json()["path"] == "onto"


def test_error_has_no_etag(api: Api) -> None:
    response = ask(api, {"path": "nothing"}, If_None_Match="*")

    refused(response, 404, "unknown_path")
    assert "ETag" not in response.headers


def test_head_has_the_headers_of_get(api: Api) -> None:
    response = api.http.head("/api/v1/help?path=onto", headers=api.headers)

    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["ETag"] == ask(api, {"path": "onto"}).headers["ETag"]


def test_etag_is_of_the_body_alone(api: Api) -> None:
    etags = [ask(api, body).headers["ETag"] for body in ({}, {"path": ""}, {"path": "root"})]

    assert len(set(etags)) == 1
    assert etags[0] != ask(api, {"path": "onto"}).headers["ETag"]


# --- what it costs ----------------------------------------------------------------------------------------------------


def test_help_asked_before_costs_no_query(api: Api, django_assert_num_queries: Any, subtests: pytest.Subtests) -> None:
    for body in ASKED:
        first = api.post("help", body)

        with subtests.test(body=body), django_assert_num_queries(0):
            again, got = api.post("help", body), ask(api, body, If_None_Match=first.headers["ETag"])

            assert again.content == first.content
            assert got.status_code == 304


# --- what is said -----------------------------------------------------------------------------------------------------


def test_body_of_a_group(api: Api) -> None:
    body = api.help("onto.goal")

    assert set(body) == {"path", "type", "summary", "items"}
    assert (body["path"], body["type"]) == ("onto.goal", "group")
    assert all(set(item) == {"path", "summary", "kind"} for item in body["items"])
    groups = [item for item in api.help("onto")["items"] if item["path"] != "onto.search"]  # an op right below onto
    assert all(set(item) == {"path", "summary"} for item in groups)


def test_body_of_an_op(api: Api) -> None:
    short, full = api.help("onto.task.update"), api.help("onto.task.update", format="full")

    assert set(short) == {"path", "type", "kind", "summary", "args"}
    assert set(full) - {"notes"} == {*short, "description", "usage", "policy", "examples"}
    assert set(full["policy"]) <= {"do", "dont", "edge_cases"}
    assert {"name", "type", "required"} <= set(full["args"][0])


def test_body_never_shows_what_is_for_machines(api: Api) -> None:
    shown = str(
        [api.help(item, format="full", include_schemas=True) for item in ("onto.task.update", "onto.project.create")]
    )

    for hidden in ("x-aliases", "keywords", "update_onto_task", "workspace", "timeout", "task_title"):
        assert hidden not in shown


def test_pages_of_a_group_hold_each_child_once(api: Api) -> None:
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = api.help("onto.task", limit=4, **cursor)
        seen += [item["path"] for item in page["items"]]
        if "next_cursor" not in page:
            break
        cursor = {"cursor": page["next_cursor"]}

    assert seen == [item["path"] for item in api.help("onto.task")["items"]]


# --- who sees what ----------------------------------------------------------------------------------------------------


def test_key_that_may_only_read_is_shown_only_reads(another: Callable[..., Api], live_catalog: Any) -> None:
    api = another(scopes=["help", "exec:read"])

    assert {item["kind"] for item in api.help("onto.goal")["items"]} == {"read"}
    refused(api.post("help", {"path": "onto.task.update"}), 404, "unknown_path")
    found = [item["path"] for item in api.help(query="create update delete task")["items"]]
    assert not {"onto.task.create", "onto.task.update", "onto.task.delete"} & set(found)


def test_key_that_may_run_nothing_is_shown_everything(another: Callable[..., Api], live_catalog: Any) -> None:
    api = another(scopes=["help"])

    assert {item["kind"] for item in api.help("onto.goal")["items"]} == {"read", "write"}


def test_client_is_shown_only_its_ops(another: Callable[..., Api], live_catalog: Any) -> None:
    api = another(op_patterns=["onto.task.*"])

    assert [item["path"] for item in api.help("root")["items"]] == ["onto"]
    assert [item["path"] for item in api.help("onto")["items"]] == ["onto.task"]
    for hidden in ("util", "onto.project", "onto.project.list", "list_onto_projects", "util.schema.field_info"):
        error = refused(api.post("help", {"path": hidden}), 404, "unknown_path")
        assert api.post("help", {"path": error["help_path"]}).status_code == 200
        assert not any(path.startswith(("util", "onto.project")) for path in error["details"].get("did_you_mean", []))


def test_two_callers_are_never_answered_from_each_others_memory(another: Callable[..., Api], live_catalog: Any) -> None:
    everything, reads = another(), another(scopes=["help", "exec:read"])

    bodies = [each.help("onto.task") for each in (everything, reads, everything)]

    assert len(bodies[0]["items"]) > len(bodies[1]["items"])
    assert bodies[0] == bodies[2]


def test_change_of_a_clients_ops_is_followed(api: Api) -> None:
    assert [item["path"] for item in api.help("root")["items"]] == ["cal", "onto", "util"]
    client = Client.objects.get()
    client.op_patterns = ["util.*"]
    client.save()

    poller.refresh()

    assert [item["path"] for item in api.help("root")["items"]] == ["util"]


def test_help_needs_no_subject(another: Callable[..., Api], live_catalog: Any) -> None:
    assert another(speaks_for="").post("help", {}).status_code == 200


def test_help_is_for_callers_with_a_key(live_catalog: Any) -> None:
    api_keys.clear_cache()

    refused(HttpClient().get("/api/v1/help"), 401, "unauthenticated")


def test_search_that_a_budget_cut_says_so(api: Api) -> None:
    found = api.help(query="task", max_tokens=60)

    assert found["omitted"] == ["items"]
    assert 0 < len(found["items"]) < len(api.help(query="task")["items"])


def test_argument_fits_a_budget(api: Api) -> None:
    whole = api.help("onto.project.create", arg="project")
    small = api.help("onto.project.create", arg="project", max_tokens=50)

    assert small["omitted"] == ["examples", "schema", "description"][: len(small["omitted"])]
    assert {"name", "type", "required"} <= set(small["arg"])
    assert set(small["arg"]) < set(whole["arg"])


def test_refusal_names_the_release_that_decided_it(api: Api) -> None:
    response = api.post("help", {"path": "onto.nothing"})

    assert response.status_code == 404
    assert response.headers["Gateway-Release"] == model.get_live_catalog().version


def test_get_with_a_thousand_parameters_is_refused(api: Api) -> None:
    response = api.get("help?" + "&".join(f"a{number}=1" for number in range(1_001)))

    refused(response, 400, "malformed_call")
