"""The list of ops: what each costs, how often it is called and fails, whether it is a draft; sorted and filtered."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client as HttpClient
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analytics.models import OpDaily
from registry.drafts import draft
from registry.models import Op
from registry.releases import token_count_job
from registry.snapshot.diff import Kind
from tests.support.admin_models import page

pytestmark = pytest.mark.both_databases

LIST, UPDATE, GET = "onto.task.list", "onto.task.update", "onto.task.get"
CELL = re.compile(r'<t[dh][^>]*class="[^"]*field-(\w+)[^"]*"[^>]*>(.*?)</t[dh]>', re.DOTALL)


@pytest.fixture
def desk(live_catalog: Any, admin_client: HttpClient) -> HttpClient:
    """An admin, the shipped catalog live, a week of calls."""
    figures = {LIST: (1_200, 12), UPDATE: (800, 112), GET: (3, 2)}
    for op, (calls, failed) in figures.items():
        for days_ago, share in ((0, 0.5), (6, 0.5), (7, 1)):  # the last is out of the week
            day = timezone.now().date() - timedelta(days=days_ago)
            counts = {"calls": int(calls * share), "invalid": int(failed * share), "mended": int(failed * share / 2)}
            OpDaily.objects.create(op=op, day=day, is_settled=True, release=live_catalog.version, **counts)
    return admin_client


def listed(http: HttpClient, **query: str) -> dict[str, dict[str, str]]:
    """Return what the list shows, {op: {column: text}}, in its order."""
    html = http.get(page(Op, "changelist"), query).content.decode()
    found: dict[str, dict[str, str]] = {}
    for name, inner in CELL.findall(html):
        text = " ".join(unescape(re.sub(r"<[^>]+>", " ", inner)).split())
        if name == "op":
            row = found.setdefault(text, {})
        row[name] = text
    return found


def change(path: str, *, by: str = "ana", **fields: Any) -> None:
    entry = draft.read_entry(Kind.OP, path)
    assert entry is not None
    draft.write_entry(Kind.OP, path, entry | fields, by=by, at=timezone.now(), note="")


def column(name: str) -> str:
    """Return the parameter by which the list is sorted by a column, the greatest first."""
    return f"-{admin.site.get_model_admin(Op).list_display.index(name) + 1}"


def test_list_shows_tokens_calls_and_failures(desk: HttpClient, live_catalog: Any) -> None:
    shown = listed(desk, q="onto.task")

    short, full = live_catalog.tokens[UPDATE]
    row = shown[UPDATE]
    assert (row["kind"], row["short"], row["full"]) == ("write", f"{short:,}", f"{full:,}")
    assert (row["calls"], row["failure_rate"], row["repair_rate"]) == ("800", "14%", "50%")
    assert (shown[LIST]["calls"], shown[LIST]["failure_rate"]) == ("1,200", "1%")
    never = shown["onto.task.create"]
    assert (never["calls"], never["failure_rate"], never["repair_rate"]) == ("0", "–", "–")


def test_list_shows_who_edited_an_op_last_and_marks_it_until_it_is_live(desk: HttpClient) -> None:
    change(UPDATE, summary="Change a task's dates, state and text")
    change(UPDATE, by="ben", notes="Short.")

    shown = listed(desk, q="onto.task")

    assert (shown[UPDATE]["editor"], shown[UPDATE]["draft"]) == ("ben", "draft")
    assert shown[UPDATE]["summary"] == "Change a task's dates, state and text"
    assert {row["draft"] for op, row in shown.items() if op != UPDATE} == {""}


def test_figures_lead_to_the_rows_behind_them(desk: HttpClient) -> None:
    html = desk.get(page(Op, "changelist"), {"q": UPDATE}).content.decode()

    links = [unescape(link) for link in re.findall(r'href="(/admin/analytics/[^"]+op__exact[^"]+)"', html)]
    assert len(links) == 3
    assert [desk.get(link).status_code for link in links] == [200, 200, 200]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ({"draft": "differs"}, {GET}),
        ({"week": "failing"}, {UPDATE}),
        ({"week": "called"}, {LIST, UPDATE, GET}),
        ({"kind__exact": "read", "week": "called"}, {LIST, GET}),
        ({"status__exact": "retired"}, set()),
    ],
)
def test_list_is_filtered_by_what_matters(desk: HttpClient, query: dict[str, str], wanted: set[str]) -> None:
    change(GET, summary="Get all there is of a task")

    assert set(listed(desk, **query)) == wanted


@pytest.mark.parametrize("query", [{"draft": "same"}, {"week": "none"}])
def test_filters_have_an_opposite(desk: HttpClient, query: dict[str, str]) -> None:
    change(GET, summary="Get all there is of a task")

    shown = set(listed(desk, q="onto.task", **query))

    assert GET not in shown
    assert "onto.task.create" in shown


@pytest.mark.parametrize(
    ("name", "first"), [("calls", [LIST, UPDATE, GET]), ("failure_rate", [GET, UPDATE, LIST]), ("op", [UPDATE])]
)
def test_figures_are_sortable(desk: HttpClient, name: str, first: list[str]) -> None:
    assert list(listed(desk, q="onto.task", o=column(name)))[: len(first)] == first


@pytest.mark.parametrize(("name", "index"), [("short", 0), ("full", 1)])
def test_tokens_are_sortable(desk: HttpClient, live_catalog: Any, name: str, index: int) -> None:
    wanted = sorted((counts[index] for counts in live_catalog.tokens.values()), reverse=True)

    shown = [int(row[name].replace(",", "")) for row in listed(desk, o=column(name)).values()]

    assert shown == wanted[: len(shown)]


def test_queries_do_not_grow_with_rows(desk: HttpClient) -> None:
    token_count_job.count_batch()
    listed(desk)  # what is looked up once in a process
    queries = {}
    for q in (GET, ""):
        with CaptureQueriesContext(connection) as counted:
            rows = len(listed(desk, q=q))
        queries[rows] = len(counted)

    assert list(queries) == [1, 50]
    assert queries[1] == queries[50]
