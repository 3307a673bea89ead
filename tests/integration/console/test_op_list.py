"""The list of ops in the console: tokens, calls, failures and unpublished changes, sorted and filtered."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client as HttpClient
from django.utils import timezone

from analytics.rollups.models import OpDaily
from registry.drafts import draft
from registry.models import Op
from registry.snapshot.diff import Kind
from tests.support.console.admin_models import get_admin_url
from tests.support.loops import for_each

pytestmark = pytest.mark.both_databases

LIST, UPDATE, GET = "onto.task.list", "onto.task.update", "onto.task.get"
CELL = re.compile(r'<t[dh][^>]*class="[^"]*field-(\w+)[^"]*"[^>]*>(.*?)</t[dh]>', re.DOTALL)


@pytest.fixture
def admin_with_calls(live_catalog: Any, admin_client: HttpClient) -> HttpClient:
    """Log in an admin, with the shipped catalog live and a week of calls."""
    figures = {LIST: (1_200, 12), UPDATE: (800, 112), GET: (3, 2)}
    for op, (calls, failed) in figures.items():
        for days_ago, share in ((0, 0.5), (6, 0.5), (7, 1)):  # the last one is before the week
            day = timezone.now().date() - timedelta(days=days_ago)
            counts = {"calls": int(calls * share), "invalid": int(failed * share), "repaired": int(failed * share / 2)}
            OpDaily.objects.create(op=op, day=day, is_settled=True, release=live_catalog.version, **counts)
    return admin_client


def read_list(http: HttpClient, **query: str) -> dict[str, dict[str, str]]:
    """Return the rows of the list in its order: {op: {column: text}}."""
    html = http.get(get_admin_url(Op, "changelist"), query).content.decode()
    rows_by_op: dict[str, dict[str, str]] = {}
    for name, inner in CELL.findall(html):
        text = " ".join(unescape(re.sub(r"<[^>]+>", " ", inner.replace("<wbr>", ""))).split())
        if name == "op_path":
            row = rows_by_op.setdefault(text, {})
        row[name] = text
    return rows_by_op


def edit_op(path: str, *, by: str = "ana", **fields: Any) -> None:
    entry = draft.read_entry(Kind.OP, path)
    assert entry is not None
    draft.write_entry(Kind.OP, path, entry | fields, by=by, at=timezone.now(), note="")


def get_sort_parameter(name: str) -> str:
    """Return the query parameter that sorts the list by a column, highest first."""
    return f"-{admin.site.get_model_admin(Op).list_display.index(name) + 1}"


def test_list_shows_tokens_calls_and_failures(admin_with_calls: HttpClient, live_catalog: Any) -> None:
    rows = read_list(admin_with_calls, q="onto.task", columns="all")

    short, full = live_catalog.tokens[UPDATE]
    row = rows[UPDATE]
    assert (row["kind"], row["short"], row["full"]) == ("write", f"{short:,}", f"{full:,}")
    assert (row["calls"], row["failed"], row["repair_rate"]) == ("800", "112 (14%)", "50%")
    assert (rows[LIST]["calls"], rows[LIST]["failed"]) == ("1,200", "12 (1.0%)")
    uncalled = rows["onto.task.create"]
    assert (uncalled["calls"], uncalled["failed"], uncalled["repair_rate"]) == ("0", "–", "–")


def test_list_shows_the_last_editor_and_marks_unpublished_ops(admin_with_calls: HttpClient) -> None:
    edit_op(UPDATE, summary="Change a task's dates, state and text")
    edit_op(UPDATE, by="ben", notes="Short.")

    rows = read_list(admin_with_calls, q="onto.task", columns="all")

    assert (rows[UPDATE]["editor"], rows[UPDATE]["draft"]) == ("ben", "draft")
    assert rows[UPDATE]["summary"] == "Change a task's dates, state and text"
    assert {row["draft"] for op, row in rows.items() if op != UPDATE} == {""}


def test_list_is_filtered_by_draft_week_and_kind(admin_with_calls: HttpClient) -> None:
    edit_op(GET, summary="Get all there is of a task")

    for query, expected in (
        ({"draft": "differs"}, {GET}),
        ({"week": "failing"}, {UPDATE}),
        ({"week": "called"}, {LIST, UPDATE, GET}),
        ({"kind__exact": "read", "week": "called"}, {LIST, GET}),
        ({"status__exact": "retired"}, set()),
    ):
        assert set(read_list(admin_with_calls, **query)) == expected, query
    for opposite in ({"draft": "same"}, {"week": "none"}):
        rows = set(read_list(admin_with_calls, q="onto.task", **opposite))
        assert GET not in rows
        assert "onto.task.create" in rows


@for_each("name, first", [("calls", [LIST, UPDATE, GET]), ("failed", [UPDATE, LIST, GET]), ("op_path", [UPDATE])])
def test_list_is_sorted_by_figures(admin_with_calls: HttpClient, name: str, first: list[str]) -> None:
    assert list(read_list(admin_with_calls, q="onto.task", o=get_sort_parameter(name)))[: len(first)] == first


def test_list_begins_with_the_worst_and_remembers_the_reader_s_choices(admin_with_calls: HttpClient) -> None:
    first, last = Op.objects.values_list("op", flat=True).order_by("op")[0], Op.objects.order_by("-op")[0].op

    worst_first = read_list(admin_with_calls)
    chosen = list(read_list(admin_with_calls, o=get_sort_parameter("op_path"), columns="all"))
    remembered = read_list(admin_with_calls)

    assert list(worst_first)[:4] == [UPDATE, LIST, GET, first]  # those without calls by name
    assert list(worst_first[UPDATE]) == ["op_path", "summary", "calls", "failed", "repair_rate", "draft"]
    assert chosen[0] == last
    assert list(remembered) == chosen
    assert "short" in remembered[last]


def test_chips_filter_the_list(admin_with_calls: HttpClient) -> None:
    def find_chip(**query: str) -> str:
        page = admin_with_calls.get(get_admin_url(Op, "changelist"), query).content.decode()
        chip = re.search(r'<a class="ui-chip" href="([^"]*)"[^>]*>Failing', page)
        assert chip
        return unescape(chip[1])

    assert "week=failing" in find_chip()
    assert "week" not in find_chip(week="failing")


@for_each("name, index", [("short", 0), ("full", 1)])
def test_list_is_sorted_by_tokens(admin_with_calls: HttpClient, live_catalog: Any, name: str, index: int) -> None:
    expected = sorted((counts[index] for counts in live_catalog.tokens.values()), reverse=True)

    rows = [
        int(row[name].replace(",", ""))
        for row in read_list(admin_with_calls, o=get_sort_parameter(name), columns="all").values()
    ]

    assert rows == expected[: len(rows)]


def test_list_marks_and_filters_ops_that_cannot_run(admin_with_calls: HttpClient) -> None:
    Op.objects.filter(op=LIST).update(connection=None)
    Op.objects.filter(op=GET).update(connection=None, status="retired")

    rows = read_list(admin_with_calls, q="onto.task")

    assert [op for op, row in rows.items() if "cannot run" in row["draft"]] == [LIST]
    assert list(read_list(admin_with_calls, draft="cannot_run")) == [LIST]
