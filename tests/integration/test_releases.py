"""GET releases: which there are, page by page, and what one of them says and costs."""

from datetime import UTC, datetime, timedelta
from typing import Any

import jsonschema_rs
import pytest
from pytest_django import DjangoAssertNumQueries

from registry.catalog import model
from registry.models import Op, Release
from registry.releases import publishing
from tests.support.api import Api, refused

pytestmark = pytest.mark.both_databases

AT = datetime(2027, 3, 1, 9, 0, tzinfo=UTC)
PATH = "onto.task.update"


def publish(number: int) -> Release:
    Op.objects.filter(op=PATH).update(summary=f"Edition {number}")
    at = AT + timedelta(seconds=number // 2)  # two at once
    return publishing.publish_draft(note=f"Note {number}", by="ann", at=at, accepted="Texts name what is retired")


def all_of(api: Api, limit: int) -> list[list[dict[str, Any]]]:
    """Read every page."""
    pages, cursor = [], ""
    while True:
        answer = api.get(f"releases?limit={limit}" + (f"&cursor={cursor}" if cursor else "")).json()
        assert set(answer) == {"results", "next_cursor"}
        pages.append(answer["results"])
        cursor = answer["next_cursor"]
        if cursor is None:
            return pages


def test_releases_are_listed_newest_first(api: Api) -> None:
    shipped = publishing.get_live_release()
    first, second = publish(1), publish(4)
    publishing.activate_release(version=first.version, note="Back", by="bob", at=AT)
    publishing.withdraw_release(version=second.version, reason="Wrong priority", by="bob", at=AT)

    answer = api.get("releases").json()

    assert answer["next_cursor"] is None
    assert [each["version"] for each in answer["results"]] == [second.version, first.version, shipped.version]
    assert answer["results"][0] == {
        "version": second.version,
        "at": second.created_at.isoformat(),
        "by": "ann",
        "note": "Note 4",
        "op_count": shipped.op_count,
        "live": False,
        "withdrawn": True,
        "withdrawn_reason": "Wrong priority",
    }
    assert (answer["results"][1]["live"], answer["results"][1]["note"]) == (True, "Note 1")


@pytest.mark.parametrize("limit", [1, 2, 3, 200])
def test_pages_hold_each_release_once(api: Api, limit: int) -> None:
    for number in range(6):
        publish(number)

    pages = all_of(api, limit)

    found = [each["version"] for page in pages for each in page]
    assert (
        found
        == [release.version for release in sorted(Release.objects.all(), key=lambda r: (r.created_at, r.version))][::-1]
    )
    assert {len(page) for page in pages[:-1]} <= {limit}


def test_a_page_costs_one_query(api: Api, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    api.get("releases")

    with django_assert_num_queries(1):
        api.get("releases")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "/limit"),
        ("limit=201", "/limit"),
        ("limit=x", "/limit"),
        ("cursor=nonsense", "/cursor"),
        ("cursor=WyJ4IiwgInkiXQ", "/cursor"),
        ("cursor=WyIyMDI3LTAzLTAxIiwgInkiXQ", "/cursor"),  # a time without a zone
        ("cursor=MQ", "/cursor"),
        ("op=onto.task.get", "/op"),
    ],
)
def test_odd_queries_are_refused_with_the_field(api: Api, query: str, field: str) -> None:
    error = refused(api.get(f"releases?{query}"), 400, "malformed_call")

    assert [each["path"] for each in error["details"]["field_errors"]] == [field]


def test_one_release_tells_its_ops_with_their_tokens(api: Api) -> None:
    release = publish(1)
    Op.objects.filter(op="onto.task.move").update(status="retired")
    other = publish(2)

    told = api.get(f"releases/{release.version}").json()
    later = api.get(f"releases/{other.version}").json()

    ops = {op["op"]: op for op in told["ops"]}
    assert len(ops) == told["op_count"] == release.op_count
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


def test_one_release_tells_a_client_of_its_own_ops_alone(api: Api, another: Any) -> None:
    version = publishing.get_live_release().version

    told = another(op_patterns=["util.*"]).get(f"releases/{version}").json()

    assert {op["op"].partition(".")[0] for op in told["ops"]} == {"util"}


@pytest.mark.parametrize("version", ["0" * 64, "x", "0" * 12])
def test_unknown_release_is_said(api: Api, version: str) -> None:
    refused(api.get(f"releases/{version}"), 404, "unknown_release")


def test_version_is_matched_exactly(api: Api) -> None:
    refused(api.get(f"releases/{publishing.get_live_release().version[:12]}"), 404, "unknown_release")


def test_releases_are_told_where_nothing_is_live(api: Api) -> None:
    version = publishing.get_live_release().version
    Release.objects.get().activations.all().delete()
    model.refresh_live()

    assert [(each["version"], each["live"], each["note"]) for each in api.get("releases").json()["results"]] == [
        (version, False, "")
    ]


@pytest.mark.parametrize(("path", "component"), [("releases", "ReleasePage"), ("releases/{version}", "Release")])
def test_answers_have_the_documented_form(api: Api, path: str, component: str) -> None:
    other = publish(1)
    publish(2)
    publishing.withdraw_release(version=other.version, reason="Wrong", by="bob", at=AT)
    components = api.http.get("/api/schema").json()["components"]
    form = jsonschema_rs.Draft202012Validator({"$ref": f"#/components/schemas/{component}", "components": components})

    answer = api.get(path.format(version=other.version)).json()

    assert not list(form.iter_errors(answer))
    assert not form.is_valid({**answer, "more": 1})
