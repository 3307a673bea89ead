"""The releases endpoints: the list with its pages, and one release with its ops and token counts."""

from datetime import UTC, datetime, timedelta
from typing import Any

import jsonschema_rs
import pytest
from pytest_django import DjangoAssertNumQueries

from registry.catalog import cache
from registry.models import Op, Release
from registry.releases import lifecycle, publishing, stored_releases
from tests.support.clients.api import Api, assert_refused
from tests.support.loops import for_each

AT = datetime(2027, 3, 1, 9, 0, tzinfo=UTC)
PATH = "onto.task.update"


def publish_edition(number: int) -> Release:
    Op.objects.filter(op=PATH).update(summary=f"Edition {number}")
    at = AT + timedelta(seconds=number // 2)  # two releases with one time
    return publishing.publish_draft(note=f"Note {number}", by="ann", at=at, accepted="Texts name what is retired")


def read_all_pages(api: Api, limit: int) -> list[list[dict[str, Any]]]:
    """Return the results of every page."""
    pages, cursor = [], ""
    while True:
        response = api.get(f"releases?limit={limit}" + (f"&cursor={cursor}" if cursor else "")).json()
        assert set(response) == {"results", "next_cursor"}
        pages.append(response["results"])
        cursor = response["next_cursor"]
        if cursor is None:
            return pages


@pytest.mark.both_databases
def test_releases_are_listed_newest_first(api: Api) -> None:
    shipped = stored_releases.get_live_release()
    first, second = publish_edition(1), publish_edition(4)
    lifecycle.activate_release(version=first.version, note="Back", by="bob", at=AT)
    lifecycle.withdraw_release(version=second.version, reason="Wrong priority", by="bob", at=AT)

    response = api.get("releases").json()

    assert response["next_cursor"] is None
    assert [each["version"] for each in response["results"]] == [second.version, first.version, shipped.version]
    assert response["results"][0] == {
        "version": second.version,
        "number": 3,
        "name": "",
        "labels": [],
        "at": second.created_at.isoformat(),
        "by": "ann",
        "note": "Note 4",
        "op_count": shipped.op_count,
        "live": False,
        "withdrawn": True,
        "withdrawn_reason": "Wrong priority",
    }
    assert (response["results"][1]["live"], response["results"][1]["note"]) == (True, "Note 1")


@pytest.mark.both_databases
def test_pages_list_each_release_once(api: Api) -> None:
    for number in range(6):
        publish_edition(number)
    newest_first = sorted(Release.objects.all(), key=lambda r: (r.created_at, r.version), reverse=True)

    for limit in (1, 2, 3, 200):
        pages = read_all_pages(api, limit)

        assert [each["version"] for page in pages for each in page] == [release.version for release in newest_first]
        assert {len(page) for page in pages[:-1]} <= {limit}


def test_release_page_needs_one_query(api: Api, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    api.get("releases")

    with django_assert_num_queries(1):
        api.get("releases")


@for_each(
    "query, field",
    [
        ("limit=201", "/limit"),
        ("cursor=nonsense", "/cursor"),
        ("cursor=WyJ4IiwgInkiXQ", "/cursor"),
        ("cursor=WyIyMDI3LTAzLTAxIiwgInkiXQ", "/cursor"),  # a time without a zone
        ("cursor=MQ", "/cursor"),
        ("op=onto.task.get", "/op"),
    ],
)
def test_malformed_query_is_refused_with_its_field(api: Api, query: str, field: str) -> None:
    error = assert_refused(api.get(f"releases?{query}"), 400, "malformed_call")

    assert [each["path"] for each in error["details"]["field_errors"]] == [field]


def test_release_lists_its_ops_with_token_counts(api: Api) -> None:
    release = publish_edition(1)
    Op.objects.filter(op="onto.task.move").update(status="retired")
    other = publish_edition(2)

    details = api.get(f"releases/{release.version}").json()
    later = api.get(f"releases/{other.version}").json()

    ops = {op["op"]: op for op in details["ops"]}
    assert len(ops) == details["op_count"] == release.op_count
    assert ops[PATH] == {
        "op": PATH,
        "kind": "write",
        "summary": "Edition 1",
        "status": "active",
        "tokens": dict(zip(("short", "full"), release.tokens[PATH], strict=True)),
    }
    retired = {op["op"]: op for op in later["ops"]}["onto.task.move"]
    assert retired["status"] == "retired"
    assert "tokens" not in retired


def test_release_is_found_by_its_full_version_and_lists_only_ops_that_the_client_may_use(
    api: Api, make_api: Any
) -> None:
    version = stored_releases.get_live_release().version

    details = make_api(op_patterns=["util.*"]).get(f"releases/{version}").json()

    assert {op["op"].partition(".")[0] for op in details["ops"]} == {"util"}
    for unknown in ("0" * 64, "x", "0" * 12, version[:12]):
        assert_refused(api.get(f"releases/{unknown}"), 404, "unknown_release")


def test_releases_are_listed_when_none_is_live(api: Api) -> None:
    version = stored_releases.get_live_release().version
    Release.objects.get().activations.all().delete()
    cache.refresh_live()

    assert [(each["version"], each["live"], each["note"]) for each in api.get("releases").json()["results"]] == [
        (version, False, "")
    ]


def test_release_responses_match_the_document(api: Api) -> None:
    other = publish_edition(1)
    publish_edition(2)
    lifecycle.withdraw_release(version=other.version, reason="Wrong", by="bob", at=AT)
    components = api.http.get("/api/schema").json()["components"]

    for path, component in (("releases", "ReleasePage"), (f"releases/{other.version}", "Release")):
        schema = {"$ref": f"#/components/schemas/{component}", "components": components}
        validator = jsonschema_rs.Draft202012Validator(schema)
        response = api.get(path).json()

        assert not list(validator.iter_errors(response))
        assert not validator.is_valid({**response, "more": 1})
