"""Filters of reports and lists: each can be removed, and all can be saved as a view, for oneself or for everyone."""

from datetime import UTC, datetime
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client as HttpClient
from django.urls import reverse

from analytics.events.models import OperationEvent
from analytics.reports.models import SavedView
from audit.models import AuditEntry
from console.reports import stored_views
from console.reports.stored_views import MAX_NAME_LENGTH, MAX_VIEWS
from tests.support.console.staff import sign_in
from tests.support.loops import for_each

pytestmark = pytest.mark.django_db

EVENTS = "analytics_operationevent_changelist"


@pytest.fixture
def pia() -> HttpClient:
    return sign_in("pia", role="Product manager")


def read_page(http: HttpClient, page: str, query: str = "") -> str:
    response = http.get(f"{reverse(f'admin:{page}')}?{query}")
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def save(http: HttpClient, page: str = "report_ops", name: str = "Mine", query: str = "days=7", **more: Any) -> Any:
    return http.post(
        reverse("admin:saved_view_save"), {"page": page, "name": name, "query": query, **more}, follow=True
    )


def read_chips(page: str) -> dict[str, dict[str, str]]:
    """Return {text of a chip: the query without it}."""
    chips = {}
    for part in page.split('<a class="ui-chip" href="')[1:]:
        if "Remove the filter" in part:
            text = part.split("Remove the filter </span>")[1].split("</strong>")[0].replace("<strong>", "")
            chips[unescape(text)] = dict(
                parse_qsl(urlsplit(unescape(part.split('"')[0])).query, keep_blank_values=True)
            )
    return chips


# --- what is filtered -------------------------------------------------------------------------------------------------


def test_each_filter_of_a_report_is_removed_alone(pia: HttpClient) -> None:
    query = {"days": "7", "cohort": "copy-b", "model": "<i>m</i>"}
    page = read_page(pia, "report_overview", "days=7&cohort=copy-b&model=<i>m</i>")

    assert read_chips(page) == {
        "Period: last 7 days": {"cohort": query["cohort"], "model": query["model"]},
        "Cohort: copy-b": {"days": "7", "model": query["model"]},
        "Model: <i>m</i>": {"days": "7", "cohort": query["cohort"]},
    }
    assert "<i>m</i>" not in page
    assert "Clear all filters" in page
    assert read_chips(read_page(pia, "report_overview")) == {}


@pytest.mark.both_databases
def test_sides_of_a_comparison_stay_when_a_filter_goes(pia: HttpClient) -> None:
    page = read_page(pia, "report_comparison", "first=a&second=b&model=m")

    assert read_chips(page) == {"Model: m": {"first": "a", "second": "b", "days": "28"}}


@pytest.mark.both_databases
def test_each_filter_of_the_events_is_removed_alone(pia: HttpClient) -> None:
    query = {
        "ok__exact": "0",
        "counted_as": "failed",
        "time__gte": "2026-03-01T00:00:00+00:00",
        "op__exact": "onto.task.get",
        "tool_name__gt": "",
        "q": "<i>words</i>",
    }
    response = pia.get(reverse(f"admin:{EVENTS}"), query)
    page = " ".join(response.content.decode().split())

    def without(name: str) -> dict[str, str]:
        return {key: value for key, value in query.items() if key != name}

    assert read_chips(page) == {
        "Search: <i>words</i>": without("q"),
        "What reports count: Failed calls": without("counted_as"),
        "OK: No": without("ok__exact"),
        "Time from: 1 Mar 2026, 00:00 UTC": without("time__gte"),
        "Op: onto.task.get": without("op__exact"),
        "Tool name: known": without("tool_name__gt"),
    }
    assert "<i>words" not in page


# --- saved views ------------------------------------------------------------------------------------------------------


def test_view_is_saved_listed_and_deleted(pia: HttpClient) -> None:
    answer = save(pia, name="  My <b>failures</b> ", query="days=7&cohort=copy-b&csv=ops&p=3")
    page = read_page(pia, "report_ops")

    assert answer.redirect_chain[-1][0] == f"{reverse('admin:report_ops')}?days=7&cohort=copy-b"
    assert "Only you see it." in answer.content.decode()
    assert "My &lt;b&gt;failures&lt;/b&gt;" in page
    assert f'href="{reverse("admin:report_ops")}?days=7&amp;cohort=copy-b"' in page
    assert 'aria-current="true">My' not in page
    assert 'aria-current="true">My' in read_page(pia, "report_ops", "cohort=copy-b&days=7")
    assert "failures" not in read_page(pia, "report_overview")

    view = SavedView.objects.get()
    answer = pia.post(reverse("admin:saved_view_delete"), {"view": view.pk}, follow=True)

    assert answer.redirect_chain[-1][0] == f"{reverse('admin:report_ops')}?days=7&cohort=copy-b"
    assert not SavedView.objects.exists()


def test_audit_log_has_shared_views_only(pia: HttpClient) -> None:
    save(pia, name="Mine", query="days=7")
    save(pia, name="Ours", query="days=7", is_shared="on")
    save(pia, name="Ours", query="days=90", is_shared="on")
    save(pia, name="Mine", query="days=90", is_shared="on")
    save(pia, name="Mine", query="days=30")
    pia.post(reverse("admin:saved_view_delete"), {"view": SavedView.objects.get(name="Mine").pk})

    log = AuditEntry.objects.filter(kind="view").order_by("id")
    assert list(log.values_list("action", "by", "name")) == [
        ("added", "pia", "Ours"),
        ("changed", "pia", "Ours"),
        ("added", "pia", "Mine"),
        ("removed", "pia", "Mine"),
    ]
    assert "days=30" not in str(list(log.values_list("changes", flat=True)))


@pytest.mark.both_databases
def test_shared_view_is_seen_by_others_who_cannot_delete_it(pia: HttpClient) -> None:
    una = sign_in("una", role="Auditor")
    save(pia, EVENTS, name="Private", query="ok__exact=0")
    save(pia, EVENTS, name="Failures", query="ok__exact=0", is_shared="on")

    page = read_page(una, EVENTS)

    assert 'Failures <span class="saved-views-owner">by pia</span>' in page
    assert "Private" not in page
    for view in SavedView.objects.all():
        assert una.post(reverse("admin:saved_view_delete"), {"view": view.pk}).status_code == 404
    assert SavedView.objects.count() == 2
    views = read_page(una, "analytics_savedview_changelist")
    assert "Failures" in views
    assert "Private" not in views


@for_each(
    "name, query, message",
    [
        ("   ", "days=7", "Enter a name for the view."),
        ("x" * (MAX_NAME_LENGTH + 1), "days=7", "The name has 61 characters; the limit is 60."),
        ("long", "q=" + "x" * 2_000, "These filters are too long to be saved."),
    ],
)
def test_view_that_cannot_be_saved_is_refused_and_keeps_what_was_typed(
    pia: HttpClient, name: str, query: str, message: str
) -> None:
    page = save(pia, name=name, query=query).content.decode()

    assert message in page
    assert not SavedView.objects.exists()
    assert '<details class="saved-views-form" open>' in page
    assert f'name="name" value="{name if name.strip() else name[:200]}"' in page
    assert " open>" not in read_page(pia, "report_ops").split("saved-views-form")[1][:20]


def test_number_of_views_is_limited(pia: HttpClient) -> None:
    owner = User.objects.get(username="pia")
    at = datetime.now(UTC)
    for number in range(MAX_VIEWS):
        stored_views.save_view(name=f"n{number}", page="report_ops", query="", owner=owner, is_shared=False, at=at)

    assert "which is the limit. Delete one first." in save(pia).content.decode()
    assert "Saved the view" in save(pia, name="n1").content.decode()
    assert "Saved the view" in save(pia, "report_overview").content.decode()


@for_each("page", ["", "index", "registry_op_changelist", "https://example.com"])
def test_only_pages_with_views_are_saved(pia: HttpClient, page: str) -> None:
    assert save(pia, page).status_code == 404


def test_unknown_view_is_not_deleted(pia: HttpClient) -> None:
    for key in ("", "x", "-1", "9" * 30, "0"):
        assert pia.post(reverse("admin:saved_view_delete"), {"view": key}).status_code == 404


def test_views_of_a_page_are_for_those_who_may_open_it() -> None:
    nobody = sign_in("sam")

    assert save(nobody).status_code == 403
    assert nobody.get(reverse("admin:saved_view_save")).status_code == 405
    assert not SavedView.objects.exists()


def test_views_need_no_query_for_each_event(pia: HttpClient, django_assert_max_num_queries: Any) -> None:
    for number in range(30):
        save(pia, EVENTS, name=f"n{number}")
        OperationEvent.objects.create(
            time=datetime.now(UTC), type="exec", op="onto.task.get", ok=True, status=200, latency_ms=1
        )

    with django_assert_max_num_queries(20):
        read_page(pia, EVENTS)
