"""A figure of a report and the list that it links to have the same number of rows."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
import time_machine
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client as HttpClient
from django.test import RequestFactory
from django.urls import resolve, reverse

from analytics import reports
from analytics.events import event_log
from analytics.events.event_filters import DEFERRED_REASONS, CountedAs
from analytics.events.models import OperationEvent
from analytics.reports import totals
from analytics.reports.report_filter import ReportFilter
from analytics.rollups import rollup_job
from analytics.rollups.models import OpDaily
from analytics.turns.models import Feedback, ToolSelection, Turn, TurnWith
from console.reports.parts import report_query
from console.reports.parts.tables import ReportCell, ReportTable
from console.reports.report_list import REPORTS
from core.admin.charts import LineChart
from demo.traffic import activity
from tests.support.loops import for_each

pytestmark = pytest.mark.both_databases

NOW = datetime(2026, 3, 12, 15, 30, tzinfo=UTC)
MIDNIGHT = datetime(2026, 3, 10, tzinfo=UTC)
LISTS = {f"analytics_{name}_changelist": name for name in ("operationevent", "turn", "toolselection", "feedback")}
INVALID = {"code": "VALIDATION_ERROR", "reason": "invalid_args"}
UNKNOWN_OP = {"code": "NOT_FOUND", "reason": "unknown_op", "tool_name": ""}
UNKNOWN_PATH = {"type": "help", "code": "NOT_FOUND", "reason": "unknown_path", "tool_name": ""}

CountRows = Callable[[str], int]


@pytest.fixture
def activity_events(db: None) -> Iterator[None]:
    """Write the demo's activity, and events that some reports count and others do not."""
    with time_machine.travel(NOW, tick=False):
        activity.write(at=NOW, days=4, turns_a_day=10)
        event_log.write_events(list(_build_odd_events()))
        for number, missed in enumerate((["tool"], ["tool_two"], ["TOOL", "tool"], ['a "tool"'], ["outil é"], [])):
            ToolSelection.objects.create(
                time=NOW - timedelta(hours=1), client="odd", turn=f"odd-{number}", toolset="0", missed=missed
            )
        rollup_job.recount_from((NOW - timedelta(days=10)).date(), NOW)
        yield


def _build_odd_events() -> Iterator[dict[str, Any]]:
    # Events that never count as calls
    for more in ({"dry_run": True}, {"replayed": True}, {"source": "admin"}, {"source": "admin", **UNKNOWN_OP}):
        yield _build_event(NOW - timedelta(hours=2), **more)
    for reason in DEFERRED_REASONS:
        yield _build_event(NOW - timedelta(hours=2), code="CONFLICT", reason=reason)
    yield _build_event(NOW - timedelta(hours=2), source="admin", **UNKNOWN_PATH)
    yield _build_event(NOW - timedelta(days=9))
    # Unknown names, one of which is an op now, and a call without a name
    for op in ("onto.task.update", "onto.task.update", "nothing", ""):
        yield _build_event(NOW - timedelta(hours=2), op=op, **UNKNOWN_OP)
    yield _build_event(NOW - timedelta(hours=2), op="", tool_name="", code="VALIDATION_ERROR", reason="empty_call")
    yield _build_event(NOW - timedelta(hours=2), op="nothing", **UNKNOWN_PATH)
    # Cohorts whose names contain another's
    for cohort in ("copy-b", "copy-b-2", "dev copy-b", "copy-b dev", "not-copy-b"):
        yield _build_event(NOW - timedelta(hours=3), cohort=cohort, turn=f"turn of {cohort}", **INVALID)
        yield _build_event(NOW - timedelta(hours=2), cohort=cohort, turn=f"turn of {cohort}")
    # A repair on the next day, under another release, cohort and model
    before = {"release": "r-1", "cohort": "c-1", "model": "m-1", **INVALID}
    yield _build_event(MIDNIGHT - timedelta(seconds=9), turn="t-midnight", **before)
    yield _build_event(MIDNIGHT + timedelta(seconds=9), turn="t-midnight", release="r-2", cohort="c-2", model="m-2")
    # A loop, in which help is read and a search finds nothing
    for _ in range(3):
        yield _build_event(NOW - timedelta(hours=1), turn="t-loop", digest="same")
    yield _build_event(NOW - timedelta(hours=1), turn="t-loop", type="help", format="full")
    yield _build_event(NOW - timedelta(hours=1), turn="t-loop", type="search", op="", tool_name="", result_count=0)
    yield _build_event(NOW - timedelta(hours=1), turn="t-loop", **UNKNOWN_OP)


def _build_event(time: datetime, **fields: Any) -> dict[str, Any]:
    values = {"type": "exec", "op": "onto.task.update", "tool_name": "update_onto_task", "client": "odd"} | fields
    return event_log.build_event(
        time=time, **{"ok": not values.get("code"), "status": 200, "latency_ms": 1.0, "trace_id": "tr_1"} | values
    )


@pytest.fixture
def count_rows(admin_user: User) -> CountRows:
    """Return a function that counts the rows of the list at a URL."""
    models = {model._meta.model_name: model for model in (OperationEvent, Turn, ToolSelection, Feedback)}

    def count_list_rows(url: str) -> int:
        request = RequestFactory().get(url)
        request.user = admin_user
        model_admin = admin.site.get_model_admin(models[LISTS[resolve(urlsplit(url).path).url_name]])
        return int(model_admin.get_changelist_instance(request).result_count)

    return count_list_rows


def is_list_link(link: str) -> bool:
    """Return whether a link goes to a list, not to the page of one row."""
    return bool(link) and resolve(urlsplit(link).path).url_name in LISTS


SCOPES: list[dict[str, Any]] = [
    {"days": 7},
    {"days": 28},
    {"cohort": "copy-b"},
    {"cohort": "-"},
    {"cohort": "dev"},
    {"cohort": "c-1"},
    {"cohort": "c-2"},
    {"release": "r-1"},
    {"surface": "gateway"},
    {"model": "claude"},
    {"client": "odd"},
    {"days": 3, "last": MIDNIGHT.date()},
    {"surface": "gateway", "model": "gpt", "cohort": "copy-a"},
]

# Which events or turns each total counts.
COUNTED_EVENTS = {
    "calls": CountedAs.CALLS,
    "failed": CountedAs.FAILED,
    "repaired": CountedAs.REPAIRED,
    "unknown_names": CountedAs.UNKNOWN_NAMES,
    "searches": CountedAs.SEARCHES,
    "misses": CountedAs.MISSES,
}
COUNTED_TURNS = {
    "turns": None,
    "calling": TurnWith.CALL,
    "succeeding": TurnWith.SUCCESS,
    "lost": TurnWith.UNKNOWN_NAME,
    "looping": TurnWith.LOOP,
}
COUNTED_RATINGS: dict[str, dict[str, str]] = {"rated": {}, "thumbs_up": {"thumb__exact": "up"}}
ALL_COUNTED = (*COUNTED_EVENTS, *COUNTED_TURNS, *COUNTED_RATINGS)


def test_totals_are_the_number_of_rows_of_their_lists(
    activity_events: None, count_rows: CountRows, subtests: Any
) -> None:
    for scope in SCOPES:
        report_filter = ReportFilter(NOW, **scope)
        total = totals.sum_period(report_filter)
        with subtests.test(scope=scope):
            assert _count_lists(count_rows, report_filter) == {name: getattr(total, name) for name in ALL_COUNTED}
    report_filter = ReportFilter(NOW, days=4)
    for day, total in totals.sum_by_day(report_filter).items():
        with subtests.test(day=day):
            assert _count_lists(count_rows, report_filter, day) == {name: getattr(total, name) for name in ALL_COUNTED}

    all_totals = totals.sum_period(ReportFilter(NOW))
    assert all(getattr(all_totals, name) for name in ALL_COUNTED)
    assert totals.sum_period(ReportFilter(NOW, release="r-1")).repaired == 1
    reads = OpDaily.objects.values_list("short_reads", "full_reads", "arg_reads", "list_reads")
    assert count_rows(report_query.to_events(ReportFilter(NOW), CountedAs.HELP_READS)) == sum(map(sum, reads)) > 0


def _count_lists(count_rows: CountRows, report_filter: ReportFilter, day: date | None = None) -> dict[str, int]:
    """Return the number of rows of the list behind each total."""
    links = {name: report_query.to_events(report_filter, each, day=day) for name, each in COUNTED_EVENTS.items()}
    links |= {name: report_query.to_turns(report_filter, each, day=day) for name, each in COUNTED_TURNS.items()}
    links |= {name: report_query.to_feedback(report_filter, each, day=day) for name, each in COUNTED_RATINGS.items()}
    return {name: count_rows(link) for name, link in links.items()}


def test_figures_of_every_op_are_the_number_of_rows_of_their_lists(
    activity_events: None, count_rows: CountRows, subtests: Any
) -> None:
    figures_by_op = reports.sum_figures_by_op(reports.filter_last_days(NOW))

    assert figures_by_op["onto.task.update"].repaired
    assert figures_by_op[""].calls
    for op, figures in figures_by_op.items():
        with subtests.test(op=op):
            links = [
                report_query.to_last_days_of_op(op, COUNTED_EVENTS[name]) for name in ("calls", "failed", "repaired")
            ]
            assert [count_rows(link) for link in links] == [figures.calls, figures.failed, figures.repaired]


# Rates of a table, and the column whose list has the rows that each is a share of.
RATE_COLUMNS = {
    "Failure rate": ("Calls", 1),
    "Repair rate": ("Failure rate", 1),
    "Unknown names per 1,000 calls": ("Calls", 1000),
    "Turns with a loop": ("Turns", 1),
    "Thumbs up": ("Ratings", 1),
}

REPORT_QUERIES = [*((report.url_name, {}) for report in REPORTS), ("report_comparison", {"by": "release"})]


def test_linked_figures_of_reports_are_the_number_of_rows_of_their_lists(
    activity_events: None, count_rows: CountRows, admin_client: HttpClient, subtests: Any
) -> None:
    for name, query in REPORT_QUERIES:
        checked = 0
        for scope in ({"days": 7}, {"cohort": "copy-b"}, {"model": "claude"}):
            report = admin_client.get(reverse(f"admin:{name}"), {**scope, **query}).context["report"]
            for figure in report.figures:
                with subtests.test(report=name, scope=scope, figure=figure.title):
                    assert count_rows(figure.link) == _read_count(figure.value, figure.of, report.figures[0].value)
                    checked += 1
            for table in report.tables:
                for row in [*table.rows, *table.minor_rows][:10]:
                    with subtests.test(report=name, scope=scope, table=table.name, row=row[0].value):
                        checked += _check_row(table, row, count_rows)
        assert checked


def _read_count(value: str, of: str, total: str) -> int:
    """Read the number of rows behind a figure: "3 of 20 turns", "7 in all", an average of all rows, or its value."""
    if "average" in of:
        value = total
    elif match := re.search(r"([\d,]+) (?:of|in all)", of):
        value = match[1]
    return int(value.replace(",", ""))


def _check_row(table: ReportTable, row: list[ReportCell], count_rows: CountRows) -> int:
    """Compare the linked cells of a row with their lists. Return how many there are."""
    cells = {column.title: cell for column, cell in zip(table.columns, row, strict=True)}
    counts = {title: count_rows(cell.link) for title, cell in cells.items() if is_list_link(cell.link)}
    if table.name == "moved":  # it shows a difference, and its link shows both variants
        return 0
    for title, rows in counts.items():
        value: Any = cells[title].value
        if row[0].value == "Unknown names per 1,000 calls":  # of one of two sides, whose calls another row has
            continue
        if f"{title}, of" in cells:  # a rate of one of two sides
            assert value == rows / cells[f"{title}, of"].value, title
        elif title in RATE_COLUMNS and not isinstance(value, int):
            base, factor = RATE_COLUMNS[title]
            assert value == (rows * factor / counts[base] if counts[base] else None), title
        else:
            assert value == rows, title
    return len(counts)


def test_points_of_charts_link_to_the_rows_that_they_count(
    activity_events: None, count_rows: CountRows, admin_client: HttpClient, subtests: Any
) -> None:
    def read_charts(name: str, **query: Any) -> list[LineChart]:
        report = admin_client.get(reverse(f"admin:{name}"), {"days": 7, **query}).context["report"]
        return [*report.charts, *(each.chart for each in report.figures)]

    # The rows behind a point of a rate are those above the line of the fraction.
    below = {"failure-rate": "calls", "repair-rate": "failed", "turns-with-a-loop": "turns", "failure": "calls"}
    below |= {"success": "calling", "unknown-names": "calls", "thumbs-up": "rated"}
    days = totals.sum_by_day(ReportFilter(NOW, 7))
    for chart in read_charts("report_overview"):
        for value, link, each in zip(chart.lines[0].values, chart.lines[0].links, days.values(), strict=True):
            with subtests.test(chart=chart.name, link=link):
                base = getattr(each, below[chart.name]) if chart.name in below else 1
                factor = 1000 if chart.name == "unknown-names" else 1
                assert count_rows(link) == round((value or 0) * base / factor)
    for chart in read_charts("report_comparison", first="copy-a", second="-"):
        for line, side in zip(chart.lines, ("copy-a", "-"), strict=True):
            side_days = totals.sum_by_day(ReportFilter(NOW, 7, cohort=side))
            for value, link, each in zip(line.values, line.links, side_days.values(), strict=True):
                with subtests.test(chart=chart.name, side=side, link=link):
                    assert count_rows(link) == round((value or 0) * getattr(each, below[chart.name]))


def test_home_links_to_the_rows_of_its_figures(
    activity_events: None, count_rows: CountRows, admin_client: HttpClient, live_catalog: Any
) -> None:
    parts = {part["template"]: part["content"] for part in admin_client.get(reverse("admin:index")).context["parts"]}
    failing = parts["console/home/failing.html"]["failing"]

    assert failing
    for each in failing:
        assert (count_rows(each.calls), count_rows(each.failed)) == (
            each.failing.figures.calls,
            each.failing.figures.failed,
        )


@for_each(
    "name, query",
    [
        ("operationevent", {"counted_as": "nothing"}),
        ("turn", {"with": "nothing"}),
        ("toolselection", {"missing": "no"}),
    ],
)
def test_list_refuses_an_unknown_value_of_a_filter(
    db: None, admin_client: HttpClient, name: str, query: dict[str, str]
) -> None:
    # Ignoring the value would show all rows, as if the figure counted them.
    response = admin_client.get(reverse(f"admin:analytics_{name}_changelist"), query)

    assert response.status_code == 302
    assert response.headers["Location"].endswith("?e=1")
