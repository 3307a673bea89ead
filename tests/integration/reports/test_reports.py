"""Reports in the console: every page opens, shows figures, links to their rows, and has a CSV export."""

import csv
import io
import re
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import pytest
import time_machine
from django.core.management import call_command
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils.text import slugify

from analytics import reports
from analytics.events.event_filters import EVENT_CONDITIONS, CountedAs
from analytics.events.models import OperationEvent
from analytics.flags import FlagKey
from analytics.reports.report_filter import FILTER_FIELDS, ReportFilter, match_cohort
from analytics.rollout.models import Assignment, Cohort
from analytics.rollups import rollup_job
from analytics.rollups.models import OpDaily
from analytics.turns.models import Turn
from console.reports.report_list import REPORTS
from demo.traffic import activity
from registry.models import Op, OpAlias, Release
from tests.support.clients.api import Api
from tests.support.console.hostile_pages import choose_in_turn
from tests.support.console.role_matrix import create_user_with_role
from tests.support.loops import for_each
from tests.support.rows.analytics_rows import store_contents

NOW = datetime(2026, 3, 12, 15, 30, tzinfo=UTC)  # a Thursday
REPORT_NAMES = [report.url_name for report in REPORTS]


@pytest.fixture
def frozen_now() -> Any:
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def demo_activity(frozen_now: None, db: None) -> int:
    """Load a week of demo activity."""
    return activity.load(at=NOW, days=7, turns_a_day=40)


@pytest.fixture
def manager_client(frozen_now: None, client: HttpClient, db: None) -> HttpClient:
    """Log in a product manager."""
    client.force_login(create_user_with_role("P"))
    return client


def read_page(http: HttpClient, name: str, *args: Any, **query: Any) -> str:
    response = http.get(reverse(f"admin:{name}", args=args), query)
    assert response.status_code == 200, response.content
    return unescape(response.content.decode())


def read_csv(http: HttpClient, name: str, table: str, **query: Any) -> list[dict[str, str]]:
    """Return the rows of a report table from its CSV export."""
    response = http.get(reverse(f"admin:{name}"), {**query, "csv": table})
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    title = next(slugify(each.title) for each in REPORTS if each.url_name == name)
    file_name = re.escape(f'attachment; filename="{title}-{table.replace("_", "-")}-')
    days = r"\d{4}-\d\d-\d\d-to-\d{4}-\d\d-\d\d"
    assert re.fullmatch(f'{file_name}{days}.csv"', response.headers["Content-Disposition"])
    return list(csv.DictReader(io.StringIO(response.content.decode())))


def test_rollout_preview_uses_the_users_of_the_demo(demo_activity: int, manager_client: HttpClient) -> None:
    cohort = {"name": "all", "flag": FlagKey.SURFACE, "is_on": "on", "variant": "gateway"}
    cohort |= {"percentage": "100", "rules-TOTAL_FORMS": "0", "rules-INITIAL_FORMS": "0"}

    effect = manager_client.post(reverse("admin:analytics_cohort_add_impact"), cohort).content.decode()

    assert "180 of last week" in effect


@for_each("name", REPORT_NAMES)
def test_every_report_opens_in_few_queries_and_its_tabs_keep_the_filters(
    demo_activity: int, manager_client: HttpClient, django_assert_max_num_queries: Any, name: str
) -> None:
    with django_assert_max_num_queries(38):  # on PostgreSQL; two of them give the sums memory
        page = read_page(manager_client, name, days=7)

    assert "Nothing to show" not in page
    tabs = re.findall(r'<a href="([^"]+)\?days=7"', page.partition("ui-page-tabs")[2].partition('class="report')[0])
    assert {reverse(f"admin:report_{each}") for each in ("overview", "comparison", "misses")} <= set(tabs)
    odd_values = {"days": "12", "sort": "99", "by": "q", "first": "-", "second": "-", "csv": "nothing"}  # are ignored
    assert "Nothing to show" not in read_page(manager_client, name, **odd_values)


def test_unknown_period_is_replaced_with_a_message(demo_activity: int, manager_client: HttpClient) -> None:
    page = read_page(manager_client, "report_overview", days="abc")

    assert '<option value="28" selected>Last 28 days' in " ".join(page.split())
    assert "Unknown period “abc”. The default period is shown." in page


def test_period_of_chosen_days_is_shown_kept_and_compared(demo_activity: int, manager_client: HttpClient) -> None:
    days = {"from": "2026-03-08", "to": "2026-03-10"}
    rows = read_csv(manager_client, "report_overview", "days", **days)
    page = " ".join(read_page(manager_client, "report_overview", days="chosen", **days).split())

    assert [row["Day"] for row in rows] == ["2026-03-10", "2026-03-09", "2026-03-08"]
    assert "8 Mar to 10 Mar 2026" in page
    assert '<option value="chosen" selected>' in page
    assert "Today, incomplete" not in page
    assert "3 days before" in page
    assert f"{reverse('admin:report_ops')}?from=2026-03-08&to=2026-03-10" in page
    preset = " ".join(read_page(manager_client, "report_overview", days=7, **days).split())
    assert "6 Mar to 12 Mar 2026" in preset  # a preset counts before days that were chosen earlier


@for_each(
    "days, message",
    [
        ({"from": "2026-03-10", "to": "2026-03-08"}, "Choose an earlier first day."),
        ({"from": "2020-01-01"}, "Choose a later first day."),
        ({"from": "soon"}, "Unknown period “soon”."),
    ],
)
def test_period_that_cannot_be_shown_is_replaced_with_a_message(
    frozen_now: None, manager_client: HttpClient, days: dict[str, str], message: str
) -> None:
    page = read_page(manager_client, "report_overview", **days)

    assert f"{message} The default period is shown." in page


def test_clients_are_told_apart(demo_activity: int, manager_client: HttpClient, admin_client: HttpClient) -> None:
    OpDaily.objects.create(day=NOW.date(), op="onto.task.get", release="r", calls=3, is_settled=True)  # of an old day

    rows = read_csv(manager_client, "report_clients", "clients")
    page = read_page(manager_client, "report_clients")

    assert [row["Client"] for row in rows] == ["demo-chat", "unknown"]
    assert "client__exact=demo-chat" in page
    assert "client__exact=&" not in page
    assert len(read_csv(manager_client, "report_overview", "days", client="unknown")) == 28


@for_each("field", FILTER_FIELDS)
def test_filter_without_data_is_kept_and_shows_zeros(
    demo_activity: int, manager_client: HttpClient, field: str
) -> None:
    rows = read_csv(manager_client, "report_overview", "days", **{field: "gone"})
    page = read_page(manager_client, "report_overview", **{field: "gone"})
    by_op = read_page(manager_client, "report_ops", **{field: "gone"})

    assert {row["Calls"] for row in rows} == {"0"}
    for each in (page, by_op):
        assert f"No call of the last 90 days has {field} gone." in each
        assert "Nothing to show" in each
        assert '<option value="gone" selected>gone (no data)' in " ".join(each.split())
    assert "No call of the last 90 days" not in read_page(manager_client, "report_overview", days=7, cohort="copy-b")


def test_side_without_data_is_compared_as_zeros(demo_activity: int, manager_client: HttpClient) -> None:
    rows = read_csv(manager_client, "report_comparison", "other_figures", first="copy-a", second="gone")

    assert next(row for row in rows if row["Figure"] == "Calls")["gone"] == "0"


def test_every_link_of_a_report_opens(demo_activity: int, admin_client: HttpClient) -> None:
    links_by_shape = defaultdict(set)  # links that differ in their values only open the same page
    for name in REPORT_NAMES:
        page = read_page(admin_client, name)
        main = page[page.index('class="ui-page-tabs"') : page.rindex("</section>")]
        for href in re.findall(r'href="([^"]+)"', main):
            link = urljoin(reverse(f"admin:{name}"), unescape(href))
            shape = (urlsplit(link).path, *sorted(parse_qs(urlsplit(link).query)))
            links_by_shape[shape].add(link)

    for number, links in enumerate(links_by_shape.values()):
        for link in choose_in_turn(sorted(links), 1, number):
            assert admin_client.get(link).status_code == 200, link


@for_each("name", REPORT_NAMES)
def test_empty_report_says_what_to_do(manager_client: HttpClient, name: str) -> None:
    page = read_page(manager_client, name)

    assert "Nothing to show" in page
    assert 'class="report-section-header"' not in page  # no empty sections below
    assert "POST telemetry" in page if name == "report_selection" else "a client and a key" in page


def test_overview_has_a_row_per_day(demo_activity: int, manager_client: HttpClient) -> None:
    rows = read_csv(manager_client, "report_overview", "days", days=7)
    page = read_page(manager_client, "report_overview", days=7)

    assert [row["Day"] for row in rows] == [f"2026-03-{day:02}" for day in range(12, 5, -1)]
    assert sum(int(row["Calls"]) for row in rows) == OperationEvent.objects.filter(type="exec").count()
    assert sum(int(row["Turns"]) for row in rows) == Turn.objects.count()
    assert page.count("<canvas") == 7
    assert page.count("6 Mar to 12 Mar 2026 (UTC)") == page.count("Today, incomplete") == 1
    assert page.count("Show as a table") == 1


def test_charts_show_the_period_before(demo_activity: int, manager_client: HttpClient) -> None:
    assert "7 days before</li>" not in read_page(manager_client, "report_overview", days=7)
    day = NOW.date() - timedelta(days=8)
    OpDaily.objects.create(day=day, op="onto.task.get", release="r", calls=7_777, is_settled=True)

    page = read_page(manager_client, "report_overview", days=7)

    assert "7 days before</li>" in page
    assert '"7,777"' in page


def test_comparison_of_two_cohorts_has_verdicts(demo_activity: int, manager_client: HttpClient) -> None:
    rows = read_csv(manager_client, "report_comparison", "comparison", first="copy-a", second="copy-b")
    figures = read_csv(manager_client, "report_comparison", "other_figures", first="copy-a", second="copy-b")
    page = read_page(manager_client, "report_comparison", first="copy-a", second="copy-b")

    assert [*rows[0]][:3] == ["Metric", "copy-a", "copy-b"]
    for name in ("copy-a", "copy-b"):
        calls = next(row for row in figures if row["Figure"] == "Calls")[name]
        failed = OperationEvent.objects.filter(EVENT_CONDITIONS[CountedAs.FAILED], match_cohort(name)).count()
        assert float(rows[0][name]) == failed / int(calls)
        assert rows[0][f"{name}, of"] == calls
    difference = float(rows[0]["Difference"])
    assert float(rows[0]["Interval from"]) < difference < float(rows[0]["Interval to"])
    assert "Interval from" not in page
    verdicts = {row["Metric"]: row["Verdict"] for row in rows}
    assert verdicts["Failure rate, of calls"].startswith(("Better: ", "Worse: ", "No difference beyond chance"))
    assert "Not enough data" in verdicts["Repair rate, of failed calls"]
    assert '<option value="copy-b" selected>' in page


def test_comparison_of_two_releases_links_to_their_differences(
    live_catalog: Any, frozen_now: None, manager_client: HttpClient
) -> None:
    live = Release.objects.get()
    before = Release.objects.create(
        version="b" * 64, content=live.content, tokens={}, op_count=1, created_at=NOW, created_by="ana"
    )
    for release in (live, before):
        OpDaily.objects.create(day=NOW.date(), op="onto.task.get", release=release.pk, is_settled=True, calls=60)

    page = read_page(manager_client, "report_comparison", by="release")

    assert f"before={before.pk}&after={live.pk}" in page  # what is live stands second


def record_unknown_names(*names: str) -> None:
    """Record calls of unknown names."""
    fields = {"type": "exec", "ok": False, "status": 404, "code": "NOT_FOUND", "reason": "unknown_op", "latency_ms": 1}
    for name in names:
        OperationEvent.objects.create(time=NOW - timedelta(minutes=5), op=name, trace_id="tr_1", **fields)
    rollup_job.run_rollup(NOW)


def test_unknown_name_can_become_an_alias(
    live_catalog: Any, frozen_now: None, admin_client: HttpClient, manager_client: HttpClient
) -> None:
    record_unknown_names("onto.task.snooze", "onto.task.defer", "update_onto_task")  # the last: an op has it by now
    op = Op.objects.get(op="onto.task.update")
    address = f"{reverse('admin:registry_op_edit')}?edit=alias&evidence=1+call+to+a+name+that+does+not+exist"
    assert f"{address}&text=onto.task.snooze" in read_page(admin_client, "report_dead_ends")

    OpAlias.objects.create(name="onto.task.snooze", op=op)

    page = read_page(admin_client, "report_dead_ends")
    assert "text=onto.task.snooze" not in page
    assert page.count("Add alias") == 1
    assert f'<a href="{reverse("admin:registry_op_change", args=[op.pk])}">onto.<wbr>task.<wbr>update</a>' in page
    assert [row["Alias of"] for row in read_csv(admin_client, "report_dead_ends", "names")] == [
        "",
        "onto.task.update",
        "",
    ]
    assert "Add alias" not in read_page(manager_client, "report_dead_ends")


def test_unknown_name_that_reads_as_a_change_of_state_becomes_a_rule(
    live_catalog: Any, frozen_now: None, admin_client: HttpClient
) -> None:
    """Both reports that list unknown names make the same of them."""
    record_unknown_names("onto.task.complete", "onto.task.complete")
    edit = {"edit": "do", "evidence": "2 calls to a name that does not exist", "op": "onto.task.update"}
    query = urlencode(edit | {"text": "To complete, send state_key done."})
    link = f"{reverse('admin:registry_op_edit')}?{query}"

    assert f'href="{link}">Add rule</a>' in read_page(admin_client, "report_dead_ends")
    assert f'href="{link}">Rule</a>' in read_page(admin_client, "report_misses")


def test_unknown_names_are_shown_safely(frozen_now: None, admin_client: HttpClient, manager_client: HttpClient) -> None:
    record_unknown_names('=HYPERLINK("http://evil")', "<script>alert(1)</script>")

    page, rows = read_page(manager_client, "report_dead_ends"), read_csv(manager_client, "report_dead_ends", "names")

    assert {row["Name sent"] for row in rows} == {
        '\'=HYPERLINK("http://evil")',  # which a spreadsheet does not run
        "<script>alert(1)</script>",
    }
    assert "per 1,000 calls, 2 in all" in page
    assert "Add alias" not in read_page(admin_client, "report_dead_ends")  # of what is no name
    assert "<script>alert(1)" not in manager_client.get(reverse("admin:report_dead_ends")).content.decode()


# --- the demo ---------------------------------------------------------------------------------------------------------


def test_demo_activity_is_written_once_and_counted(frozen_now: None, api: Api) -> None:
    OperationEvent.objects.create(
        time=NOW - timedelta(days=2), type="exec", op="onto.task.get", tool_name="t", ok=True, status=200, latency_ms=1
    )
    while rollup_job.run_rollup(NOW):  # a server has long been running
        pass

    call_command("load_demo", "--activity", verbosity=0)
    written = OperationEvent.objects.count()
    call_command("load_demo", "--activity", verbosity=0)

    assert OperationEvent.objects.count() == written > 8_000
    calls = OperationEvent.objects.filter(type="exec").count()
    assert sum(OpDaily.objects.values_list("calls", flat=True)) == calls
    repaired, of_turns = (sum(model.objects.values_list("repaired", flat=True)) for model in (OpDaily, Turn))
    assert repaired == of_turns
    experiments = {f"{name}-copy-{arm}" for name in ("clearer", "plainer") for arm in ("control", "b")}
    cohorts = {"gateway-pilot", "copy-a", "copy-b"} | experiments
    assert set(Assignment.objects.values_list("cohort", flat=True)) == cohorts
    assert not OperationEvent.objects.filter(time__gt=NOW).exists()


def test_demo_activity_says_what_was_sent_on_the_days_that_are_kept(frozen_now: None, live_catalog: Any) -> None:
    store_contents(2)

    activity.write(at=NOW, days=4, turns_a_day=40)

    stored = OperationEvent.objects.filter(content__isnull=False)
    assert stored.exists()
    assert not stored.filter(time__lt=NOW - timedelta(days=2)).exists()
    wrong = stored.filter(op="onto.task.update", ok=False).exclude(field_errors=[])
    assert wrong.exists()
    for event in wrong:
        [[pointer, _code]] = event.field_errors
        assert event.content["args"][pointer.removeprefix("/")] in ("finished", "tomorrow")


def test_weekly_figures_link_to_the_events_that_they_count(
    demo_activity: int, api: Api, admin_client: HttpClient
) -> None:
    activity.write(at=NOW - timedelta(days=8), days=7, turns_a_day=40)  # which no figure of the week counts
    figures_by_op = reports.sum_figures_by_op(ReportFilter(NOW, days=7).select_daily_figures())
    op = Op.objects.get(op=max(filter(None, figures_by_op), key=lambda each: figures_by_op[each].failed))
    figures = reports.get_op_figures(op.op, at=NOW)
    pages = {
        "index": [figures.failed, figures.calls],
        "registry_op_changelist": [figures.calls, figures.failed, figures.repaired],
        "registry_op_change": [figures.calls, figures.failed, figures.repaired],
    }

    for name, counts in pages.items():
        where = reverse(f"admin:{name}", args=[op.pk] if name.endswith("_change") else [])
        response = admin_client.get(where, {"q": op.op} if name.endswith("changelist") else None)
        links = re.findall(r'href="(/admin/analytics/operationevent/[^"]+)"', response.content.decode())
        of_op = [unescape(link) for link in links if op.op in link]
        found = [admin_client.get(link).context["cl"].result_count for link in of_op]
        assert found[: len(counts)] == counts
        assert sum(found[len(counts) :]) == (figures.failed if name == "registry_op_change" else 0)  # by cause


def test_event_and_turn_link_to_related_pages(demo_activity: int, api: Api, admin_client: HttpClient) -> None:
    Cohort.objects.create(flag_id=FlagKey.SURFACE, name="copy-b", variant="gateway")
    repairing = OperationEvent.objects.filter(cohort__contains="copy-b", repairs__isnull=False).first()
    assert repairing is not None
    event = OperationEvent.objects.get(pk=repairing.repairs)
    event.release = Release.objects.get().version
    event.save()
    turn = Turn.objects.get(session=event.session, turn=event.turn)

    labels = {}
    for row in (event, repairing, turn):
        page = read_page(admin_client, f"analytics_{row._meta.model_name}_change", row.pk)
        nav = page[page.index('aria-label="Related pages"') :].split("</nav>")[0]
        links = re.findall(r'href="([^"]+)">([^<]+)</a>', nav)
        assert [admin_client.get(link).status_code for link, _ in links] == [200] * len(links)
        labels[row] = {label for _, label in links}

    of_all = {"Events of the turn", "Cohort copy-b", "Who gets this?"}
    assert labels[event] >= of_all | {"What the model could read", "Op", "The call that repaired it"}
    assert labels[repairing] >= of_all | {"The failed call it repaired"}
    assert labels[turn] >= of_all | {"Tool selection"}
