"""The reports endpoints answer with the figures of the pages, of the key's own client."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from analytics import reports
from analytics.reports import totals
from analytics.reports.report_filter import ReportFilter
from analytics.rollups.models import OpDaily
from demo.traffic import activity, turns
from gateway.access import api_keys
from gateway.models import Client, Scope
from registry.models import Release
from tests.support.clients.api import Api, assert_refused
from tests.support.loops import for_each
from tests.support.rows.analytics_rows import store_contents

NOW = datetime(2026, 3, 12, 15, 30, tzinfo=UTC)
NAMES = ("overview", "ops", "misses", "compare")


@pytest.fixture
def make_reader(db: None) -> Callable[..., Api]:
    """Return a function that issues a key of the demo's client, for reports."""
    client = Client.objects.create(name=turns.CLIENT)

    def make(*scopes: str, **fields: Any) -> Api:
        _, plaintext = api_keys.issue(client=client, by="tests", scopes=[Scope.REPORTS, *scopes], rate=10_000, **fields)
        return Api(plaintext)

    return make


@pytest.fixture
def demo_activity(live_catalog: Any) -> Iterator[None]:
    """Load four days of demo activity, whose words are stored, and a call of another client."""
    with time_machine.travel(NOW, tick=False):
        store_contents(4)
        activity.load(at=NOW, days=4, turns_a_day=80)
        day = NOW.date()
        OpDaily.objects.create(day=day, op="onto.task.get", client="other", release="r", calls=9_000, is_settled=True)
        yield


def read_report(api: Api, address: str) -> dict[str, Any]:
    response = api.get(f"reports/{address}")
    assert response.status_code == 200, response.content
    return response.json()


def test_overview_has_the_totals_of_the_client(demo_activity: None, make_reader: Callable[..., Api]) -> None:
    scope = ReportFilter(NOW, 7, client=turns.CLIENT)

    report = read_report(make_reader(), "overview?days=7")

    assert report["period"] == {"from": "2026-03-06", "to": "2026-03-12", "complete": False}
    expected = totals.sum_period(scope)
    assert report["total"]["calls"] == sum(each["totals"]["calls"] for each in report["days"]) == expected.calls
    assert report["total"]["failure_rate"] == expected.failure_rate
    assert report["total"]["turns"] == expected.turns
    assert 0 < expected.calls < 9_000
    chosen = read_report(make_reader(), "overview?from=2026-03-10&to=2026-03-11&cohort=copy-a")
    assert chosen["period"] == {"from": "2026-03-10", "to": "2026-03-11", "complete": True}
    assert 0 < chosen["total"]["calls"] < expected.calls


def test_ops_come_in_pages(demo_activity: None, make_reader: Callable[..., Api]) -> None:
    api = make_reader()
    figures = reports.sum_figures_by_op(ReportFilter(NOW, client=turns.CLIENT).select_daily_figures())

    rows: list[dict[str, Any]] = []
    page = read_report(api, "ops?limit=4")
    while True:
        rows += page["results"]
        if not page["next_cursor"]:
            break
        page = read_report(api, f"ops?limit=4&cursor={page['next_cursor']}")

    assert {row["op"] or "": (row["calls"], row["failed"]) for row in rows} == {
        op: (each.calls, each.failed) for op, each in figures.items() if each.calls
    }
    assert next(row for row in rows if row["op"] == "onto.task.update")["field_error"]["pointer"].startswith("/")
    assert_refused(api.get("reports/ops?cursor=x"), 400, "malformed_call")


def test_words_of_searches_need_the_scope_that_reads_them(demo_activity: None, make_reader: Callable[..., Api]) -> None:
    report = read_report(make_reader(Scope.EVENTS), "misses")
    without_words = read_report(make_reader(), "misses")

    assert report["unknown_names"] == without_words["unknown_names"] != []
    assert any(each["words"] for each in report["searches"])
    assert not any(each["words"] for each in without_words["searches"])
    assert [each["times"] for each in report["searches"]] == [each["times"] for each in without_words["searches"]]


def test_comparison_has_both_sides(demo_activity: None, make_reader: Callable[..., Api]) -> None:
    api = make_reader()

    report = read_report(api, "compare?first=copy-a&second=copy-b")

    assert (report["first"], report["second"]) == ("copy-a", "copy-b")
    failure_rate = report["metrics"][0]
    side = totals.sum_period(ReportFilter(NOW, cohort="copy-b", client=turns.CLIENT))
    assert failure_rate["metric"] == "failure_rate"
    assert failure_rate["second"] == {"hits": side.failed, "total": side.calls, "rate": side.failure_rate}
    assert failure_rate["interval"]["low"] <= failure_rate["difference"] <= failure_rate["interval"]["high"]
    assert read_report(api, "compare?by=release&model=none")["first"] is None


def test_unknown_cohort_is_refused_with_those_that_exist(demo_activity: None, make_reader: Callable[..., Api]) -> None:
    response = make_reader().get("reports/compare?first=copy-a&second=gone")

    assert response.status_code == 400
    [error] = response.json()["error"]["details"]["field_errors"]
    assert error["path"] == "/second"
    assert "copy-a, copy-b" in error["message"]


def test_releases_can_be_named_by_their_number(demo_activity: None, make_reader: Callable[..., Api]) -> None:
    api = make_reader()
    first, second = Release.objects.order_by("-number")[:2]

    report = read_report(api, f"compare?by=release&first=r{first.number}&second={second.version[:12]}")

    assert (report["first"], report["second"]) == (first.version, second.version)
    assert read_report(api, f"overview?release=r{first.number}") == read_report(
        api, f"overview?release={first.version}"
    )


@for_each("query", ["compare?by=release&first=r99", "overview?release=r99", "compare?by=release&second=unknown"])
def test_unknown_release_is_an_error(live_catalog: Any, make_reader: Callable[..., Api], query: str) -> None:
    assert_refused(make_reader().get(f"reports/{query}"), 400, "malformed_call")


@for_each("name", NAMES)
def test_report_needs_its_scope_and_a_key_of_no_single_user(
    live_catalog: Any, api: Api, make_reader: Callable[..., Api], name: str
) -> None:
    assert_refused(api.get(f"reports/{name}"), 403, "scope_missing")  # new keys do not have it by default
    assert_refused(make_reader(subject="ana").get(f"reports/{name}"), 403, "subject_not_allowed")
    assert make_reader().get(f"reports/{name}").status_code == 200


@for_each(
    "query",
    ["days=12", "from=soon", "from=2026-03-11&to=2026-03-10", "first_day=2026-03-10", "client=other", "release=r5"],
)
def test_report_refuses_a_query_that_it_does_not_know(
    live_catalog: Any, make_reader: Callable[..., Api], query: str
) -> None:
    with time_machine.travel(NOW + timedelta(days=1), tick=False):
        assert_refused(make_reader().get(f"reports/overview?{query}"), 400, "malformed_call")
