"""Reports in the admin: every page opens, tells the figures, leads to the rows behind them, and comes as a file."""

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client as HttpClient
from django.urls import reverse

from analytics import reports
from analytics.models import Assignment, Cohort, OpDaily, OperationEvent, ToolSelection, Turn
from analytics.rollout.flags import FlagKey
from analytics.rollups import rollup_job
from gateway.admin.reports.report_page import REPORT_TITLES
from gateway.demo import activity
from registry.models import Op, Release
from tests.support.api import Api

NOW = datetime(2026, 3, 12, 15, 30, tzinfo=UTC)  # a Thursday


@pytest.fixture
def now() -> Any:
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def demo(now: None, db: None) -> int:
    """A week of the demo's activity."""
    return activity.load(at=NOW, days=7, turns_a_day=40)


@pytest.fixture
def manager(now: None, client: HttpClient, db: None) -> HttpClient:
    """A product manager's browser."""
    person = User.objects.create_user("pia", is_staff=True)
    person.groups.add(Group.objects.get(name="Product manager"))
    client.force_login(person)
    return client


def shown(http: HttpClient, name: str, *args: Any, **query: Any) -> str:
    response = http.get(reverse(f"admin:{name}", args=args), query)
    assert response.status_code == 200, response.content
    return unescape(response.content.decode())


def rows(http: HttpClient, name: str, table: str, **query: Any) -> list[dict[str, str]]:
    """The table of a report, as its file."""
    response = http.get(reverse(f"admin:{name}"), {**query, "csv": table})
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert response.headers["Content-Disposition"] == f'attachment; filename="{table}.csv"'
    return list(csv.DictReader(io.StringIO(response.content.decode())))


def test_the_demos_users_are_those_that_a_change_of_the_rollout_is_tried_on(demo: int, manager: HttpClient) -> None:
    cohort = {"name": "all", "flag": FlagKey.SURFACE, "position": 0, "is_on": "on", "variant": "gateway"}
    cohort |= {"percentage": "100", "rules-TOTAL_FORMS": "0", "rules-INITIAL_FORMS": "0"}

    effect = manager.post(reverse("admin:analytics_cohort_add_effect"), cohort).content.decode()

    assert "40 of last week" in effect


@pytest.mark.parametrize("name", REPORT_TITLES)
def test_every_report_opens_and_leads_to_all_others(demo: int, manager: HttpClient, name: str) -> None:
    page = shown(manager, name, days=7)

    assert "Nothing to show" not in page
    for other, title in REPORT_TITLES.items():
        assert f"{reverse(f'admin:{other}')}?days=7" in page
        assert title in page


def test_a_filter_that_is_not_there_is_left_out_and_told(demo: int, manager: HttpClient) -> None:
    page = shown(manager, "report_overview", days="abc", cohort="gone")

    assert '<option value="28" selected>Last 28 days' in " ".join(page.split())
    assert "Ignored unknown filters: days abc, cohort gone." in page
    assert "Ignored unknown filters" not in shown(manager, "report_overview", days=7, cohort="copy-b")


@pytest.mark.parametrize("name", REPORT_TITLES)
def test_every_link_of_a_report_opens(demo: int, admin_client: HttpClient, name: str) -> None:
    page = shown(admin_client, name)
    main = page[page.index('class="report-pages"') : page.rindex("</section>")]

    for link in sorted(set(re.findall(r'href="([^"]+)"', main))):
        assert admin_client.get(link if link[0] == "/" else reverse(f"admin:{name}") + link).status_code == 200, link


@pytest.mark.parametrize("name", REPORT_TITLES)
def test_report_without_anything_says_what_to_do(manager: HttpClient, name: str) -> None:
    page = shown(manager, name)

    assert "Nothing to show" in page
    assert "POST telemetry" in page if name == "report_selection" else "a client and a key" in page


@pytest.mark.parametrize("name", REPORT_TITLES)
def test_filters_that_are_not_there_to_choose_are_none(demo: int, manager: HttpClient, name: str) -> None:
    odd = {"days": "12", "surface": "x", "cohort": "y", "release": "z", "model": "'", "sort": "99", "by": "q"}

    assert "Nothing to show" not in shown(manager, name, **odd, first="-", second="-", csv="nothing")


def test_overview_tells_each_day_and_leads_to_its_events(demo: int, manager: HttpClient) -> None:
    found = rows(manager, "report_overview", "days", days=7)
    page = shown(manager, "report_overview", days=7)

    assert [row["Day"] for row in found] == [f"2026-03-{day:02}" for day in range(12, 5, -1)]
    assert sum(int(row["Calls"]) for row in found) == OperationEvent.objects.filter(type="exec").count()
    assert sum(int(row["Turns"]) for row in found) == Turn.objects.count()
    assert page.count("<svg") >= 6
    assert "6 Mar to 12 Mar 2026" in page


def test_figure_and_the_list_behind_it_agree(demo: int, admin_client: HttpClient) -> None:
    page = shown(admin_client, "report_overview", cohort="copy-a")
    figures = [
        re.search(rf'>{title}</h2>\s*<p class="desk-figure"><a href="([^"]+)">([\d,]+)</a>', page)
        for title in ("Calls", "Turns")
    ]

    for link, count in (found.groups() for found in figures if found):
        assert admin_client.get(link).context["cl"].result_count == int(count.replace(",", ""))


@pytest.mark.parametrize(("name", "table"), [("cohort", "cohorts"), ("release", "releases")])
def test_sides_add_up_to_all(demo: int, manager: HttpClient, name: str, table: str) -> None:
    found = rows(manager, "report_comparison", table, by=name)

    assert sum(int(row["Calls"]) for row in found) == OperationEvent.objects.filter(type="exec").count()


def test_two_cohorts_are_told_side_by_side_in_words(demo: int, manager: HttpClient) -> None:
    found = rows(manager, "report_comparison", "comparison", first="copy-a", second="copy-b")
    page = shown(manager, "report_comparison", first="copy-a", second="copy-b")

    assert [*found[0]][:3] == ["Metric", "copy-a", "copy-b"]
    said = {row["Metric"]: row["Verdict"] for row in found}
    assert said["Failure rate, of calls"].startswith(("Better: ", "Worse: ", "No significant difference"))
    assert "Not enough data" in said["Repair rate, of failed calls"]
    assert '<option value="copy-b" selected>' in page


def test_two_releases_lead_to_what_is_different_in_their_copy(
    live_catalog: Any, now: None, manager: HttpClient
) -> None:
    live = Release.objects.get()
    before = Release.objects.create(
        version="b" * 64, content=live.content, tokens={}, op_count=1, created_at=NOW, created_by="ana"
    )
    for release in (live, before):
        OpDaily.objects.create(day=NOW.date(), op="onto.task.get", release=release.pk, is_settled=True, calls=60)

    page = shown(manager, "report_comparison", by="release")

    assert f"before={before.pk}&after={live.pk}" in page  # what is live stands second


def test_ops_are_sorted_by_any_column(demo: int, manager: HttpClient) -> None:
    by_calls = [int(row["Calls"]) for row in rows(manager, "report_ops", "ops")]
    by_name = [row["Op"] for row in rows(manager, "report_ops", "ops", sort="0")]
    by_rate = [row["Repair rate"] for row in rows(manager, "report_ops", "ops", sort="-6")]
    page = shown(manager, "report_ops", sort="-6")

    assert by_calls == sorted(by_calls, reverse=True)
    assert by_name == sorted(by_name)
    there = [float(rate) for rate in by_rate if rate]
    assert there == sorted(there, reverse=True)
    assert by_rate[len(there) :] == [""] * (len(by_rate) - len(there))
    assert 'aria-sort="descending"><a href="?days=28&sort=6">' in page


def test_funnel_narrows(demo: int, manager: HttpClient) -> None:
    found = rows(manager, "report_funnel", "funnel")

    every = [int(row["With all earlier steps"]) for row in found]
    assert every[0] == Turn.objects.count()
    assert every == sorted(every, reverse=True)


def test_tools_that_were_missed_are_named(demo: int, manager: HttpClient) -> None:
    found = rows(manager, "report_selection", "missed")

    told = ToolSelection.objects.exclude(missed=[]).values_list("missed", flat=True)
    counts = {name: sum(name in missed for missed in told) for name in {name for missed in told for name in missed}}
    assert {row["Tool"]: int(row["Turns"]) for row in found} == dict(
        sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:20]
    )


def misname(*names: str) -> None:
    """Have models call what nothing has."""
    said = {"type": "exec", "ok": False, "status": 404, "code": "NOT_FOUND", "reason": "unknown_op", "latency_ms": 1}
    for name in names:
        OperationEvent.objects.create(time=NOW - timedelta(minutes=5), op=name, trace_id="tr_1", **said)
    rollup_job.run(NOW)


def test_a_name_that_nothing_has_becomes_an_alias(
    live_catalog: Any, now: None, admin_client: HttpClient, manager: HttpClient
) -> None:
    misname("onto.task.snooze", "onto.task.defer", "update_onto_task")  # the last: an op has it by now
    op = Op.objects.get(op="onto.task.update")
    address = f"{reverse('admin:registry_opalias_add')}?name=onto.task.snooze"
    assert address in shown(admin_client, "report_lost")
    assert 'value="onto.task.snooze"' in admin_client.get(address).content.decode()

    admin_client.post(address, {"name": "onto.task.snooze", "op": op.pk})

    page = shown(admin_client, "report_lost")
    assert address not in page
    assert page.count("Add alias") == 1
    assert f'<a href="{reverse("admin:registry_op_change", args=[op.pk])}">onto.task.update</a>' in page
    assert [row["Alias of"] for row in rows(admin_client, "report_lost", "names")] == ["", "onto.task.update", ""]
    assert "Add alias" not in shown(manager, "report_lost")


def test_names_that_nothing_has_are_told_as_they_were_sent(
    now: None, admin_client: HttpClient, manager: HttpClient
) -> None:
    misname('=HYPERLINK("http://evil")', "<script>alert(1)</script>")

    page, found = shown(manager, "report_lost"), rows(manager, "report_lost", "names")

    assert {row["Name sent"] for row in found} == {
        '\'=HYPERLINK("http://evil")',  # which a spreadsheet does not run
        "<script>alert(1)</script>",
    }
    assert "per 1,000 calls, 2 in all" in page
    assert "Add alias" not in shown(admin_client, "report_lost")  # of what is no name
    assert "<script>alert(1)" not in manager.get(reverse("admin:report_lost")).content.decode()


def test_report_takes_few_queries(demo: int, manager: HttpClient, django_assert_max_num_queries: Any) -> None:
    for name in REPORT_TITLES:
        with django_assert_max_num_queries(20):
            shown(manager, name)


# --- the demo ---------------------------------------------------------------------------------------------------------


def test_demo_of_activity_is_written_once_and_counted(now: None, db: None) -> None:
    OperationEvent.objects.create(
        time=NOW - timedelta(days=2), type="exec", op="onto.task.get", tool_name="t", ok=True, status=200, latency_ms=1
    )
    while rollup_job.run(NOW):  # a server has long been running
        pass

    call_command("load_demo", "--activity", verbosity=0)
    written = OperationEvent.objects.count()
    call_command("load_demo", "--activity", verbosity=0)

    assert OperationEvent.objects.count() == written > 8_000
    calls = OperationEvent.objects.filter(type="exec").count()
    assert sum(OpDaily.objects.values_list("calls", flat=True)) == calls
    assert sum(OpDaily.objects.values_list("mended", flat=True)) == sum(Turn.objects.values_list("mended", flat=True))
    assert set(Assignment.objects.values_list("cohort", flat=True)) == {"copy-a", "copy-b"}
    assert not OperationEvent.objects.filter(time__gt=NOW).exists()


def test_demo_of_activity_is_the_same_whenever_it_is_written(now: None, db: None) -> None:
    activity.load(at=NOW, days=2, turns_a_day=20)
    first = list(OperationEvent.objects.order_by("id").values_list("time", "op", "code", "digest", "trace_id"))
    OperationEvent.objects.all().delete()
    ToolSelection.objects.all().delete()

    activity.load(at=NOW, days=2, turns_a_day=20)

    assert list(OperationEvent.objects.order_by("id").values_list("time", "op", "code", "digest", "trace_id")) == first


def test_figures_of_a_week_lead_to_the_events_they_count(demo: int, api: Api, admin_client: HttpClient) -> None:
    activity.write(at=NOW - timedelta(days=8), days=7, turns_a_day=40)  # which no figure of the week counts
    op = Op.objects.get(op="onto.task.update")
    figures = reports.get_op_figures(op.op, at=NOW)
    pages = {
        "index": [figures.failed, figures.calls],
        "registry_op_changelist": [figures.calls, figures.failed, figures.mended],
        "registry_op_change": [figures.calls, figures.failed, figures.mended],
    }

    for name, counts in pages.items():
        where = reverse(f"admin:{name}", args=[op.pk] if name.endswith("_change") else [])
        answer = admin_client.get(where, {"q": op.op} if name.endswith("changelist") else None)
        links = re.findall(r'href="(/admin/analytics/operationevent/[^"]+)"', answer.content.decode())
        of_op = [unescape(link) for link in links if op.op in link]
        assert [admin_client.get(link).context["cl"].result_count for link in of_op] == counts


def test_an_event_and_its_turn_lead_to_what_they_are_about(demo: int, api: Api, admin_client: HttpClient) -> None:
    Cohort.objects.create(flag_id=FlagKey.SURFACE, name="copy-b", variant="gateway")
    mending = OperationEvent.objects.filter(cohort="copy-b", mends__isnull=False).first()
    assert mending is not None
    event = OperationEvent.objects.get(pk=mending.mends)
    event.release = Release.objects.get().version
    event.save()
    turn = Turn.objects.get(session=event.session, turn=event.turn)

    labels = {}
    for row in (event, mending, turn):
        page = shown(admin_client, f"analytics_{row._meta.model_name}_change", row.pk)
        nav = page[page.index('aria-label="Related pages"') :].split("</nav>")[0]
        found = re.findall(r'href="([^"]+)">([^<]+)</a>', nav)
        assert [admin_client.get(link).status_code for link, _ in found] == [200] * len(found)
        labels[row] = {label for _, label in found}

    of_all = {"Events of the turn", "Cohort copy-b", "Who gets this?"}
    assert labels[event] >= of_all | {"What the model could read", "Op", "The call that repaired it"}
    assert labels[mending] >= of_all | {"The failed call it repaired"}
    assert labels[turn] >= of_all | {"Tool selection"}
