import base64
import re
from datetime import date, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from core.handler_contract import InvalidArgs
from tests.support.cpu_budget import examples
from tests.support.loops import for_each
from tests.support.rows.factories import MADE_AT, MilestoneFactory, PlanFactory, ProjectFactory, TaskFactory
from workspace.entity_types import MILESTONE, PLAN, TASK, EntityType
from workspace.models import Project, Task
from workspace.services.entities import pagination

pytestmark = pytest.mark.both_databases

LISTING = pagination.Listing.from_args(TASK)
POSITION = pagination.RowPosition((MADE_AT,), UUID(int=7))
CURSOR = pagination.encode_cursor(POSITION, listing=LISTING)


def read(*, limit: int = 2, cursor: str | None = None) -> pagination.RowPage:
    after = pagination.decode_cursor(cursor, listing=LISTING)
    return pagination.read_page(Task.objects.visible_to("owner"), listing=LISTING, limit=limit, after=after, at=MADE_AT)


def titles(page: pagination.RowPage) -> list[str]:
    return [row["title"] for row in page.rows]


def test_pages_neither_repeat_nor_skip_when_rows_are_inserted_or_deleted(project: Project) -> None:
    for number in range(4):
        TaskFactory(project=project, title=f"old {number}", updated_at=MADE_AT - timedelta(hours=number))
    first = read(limit=2)

    TaskFactory(project=project, title="new", updated_at=MADE_AT + timedelta(hours=1))
    second = read(limit=2, cursor=first.next_cursor)

    assert (titles(first), titles(second)) == (["old 0", "old 1"], ["old 2", "old 3"])
    assert (first.total, second.total) == (4, 5)
    Task.objects.filter(title="old 1").update(deleted_at=MADE_AT)  # the row of the cursor
    assert titles(read(limit=2, cursor=first.next_cursor)) == ["old 2", "old 3"]


@for_each("rows, limit, shown", [(1, 2, 1), (2, 2, 2), (3, 2, 2), (51, 1_000_000, 50)], undone=True)
def test_next_cursor_is_set_only_when_there_are_more_rows_and_the_limit_is_capped(
    project: Project, rows: int, limit: int, shown: int
) -> None:
    TaskFactory.create_batch(rows, project=project)

    page = read(limit=limit)

    assert (len(page.rows), page.total) == (shown, rows)
    assert (page.next_cursor is not None) is (shown < rows)


def test_page_reads_only_the_preview_of_a_description(project: Project) -> None:
    TaskFactory(project=project, description="x" * 20_000)

    with CaptureQueriesContext(connection) as queries:
        read()

    sql = queries[-1]["sql"].lower()
    cut = re.findall(r'(?:left|substr)\("workspace_task"\."description"', sql)
    assert sql.count('."description"') == len(cut) == 1


def sort_key(row: Any, listing: pagination.Listing) -> tuple[Any, ...]:
    """Return a Python sort key that orders rows like the listing, independent of any database."""
    parts: list[Any] = []
    for key in listing.order.keys:
        value = getattr(row, key.column)
        rank = (value is None) != key.none_first
        number = 0 if value is None else value if isinstance(value, int) else _ordinal(value)
        parts.append((rank, -number if key.descending else number))
    return (*parts, -row.pk.int)


def _ordinal(value: Any) -> float:
    return float(value.toordinal()) if type(value) is date else value.timestamp()


class PagesProperty(TestCase):
    """For any rows, ties and gaps, pages of any size list all rows once and in order."""

    @settings(max_examples=examples(25), deadline=None)
    @given(
        rows=st.lists(
            st.tuples(
                st.integers(0, 2),  # updated_at
                st.integers(0, 2),  # created_at
                st.integers(1, 3),  # priority
                st.none() | st.integers(0, 2),  # start_at
            ),
            max_size=9,
        ),
        limit=st.integers(1, 4),
        order=st.sampled_from([order.name for order in TASK.orders]),
    )
    def test_task_pages_are_complete(self, rows: list[Any], limit: int, order: str) -> None:
        project = ProjectFactory()
        for updated, created, priority, start in rows:
            TaskFactory(
                project=project,
                updated_at=MADE_AT + timedelta(seconds=updated),
                created_at=MADE_AT + timedelta(seconds=created),
                priority=priority,
                start_at=None if start is None else MADE_AT + timedelta(seconds=start),
            )
        check_all_pages(pagination.Listing.from_args(TASK, {"sort_by": order}), limit=limit)

    @settings(max_examples=examples(15), deadline=None)
    @given(days=st.lists(st.none() | st.integers(0, 2), max_size=8), limit=st.integers(1, 4))
    def test_pages_in_order_of_dates_list_undated_rows_too(self, days: list[int | None], limit: int) -> None:
        project = ProjectFactory()
        for day in days:
            due_at = None if day is None else MADE_AT + timedelta(days=day)
            MilestoneFactory(project=project, due_at=due_at)
            PlanFactory(project=project, start_date=due_at and due_at.date())
        check_all_pages(pagination.Listing.from_args(MILESTONE), limit=limit)
        check_all_pages(pagination.Listing.from_args(PLAN, {"sort_by": "start_date"}), limit=limit)


def check_all_pages(listing: pagination.Listing, *, limit: int) -> None:
    """Read all pages that the owner sees, and compare them with Python's order."""
    rows = listing.kind.get_rows().visible_to("owner")
    ids: list[str] = []
    cursor: str | None = None
    while True:
        after = pagination.decode_cursor(cursor, listing=listing)
        page = pagination.read_page(rows, listing=listing, limit=limit, after=after, at=MADE_AT)
        ids += [row["id"] for row in page.rows]
        cursor = page.next_cursor
        if cursor is None:
            break
    expected = sorted(listing.kind.get_rows(), key=lambda row: sort_key(row, listing))
    assert ids == [str(row.pk) for row in expected]


def test_cursor_is_short_and_safe_in_an_url() -> None:
    latest = pagination.RowPosition((MADE_AT + timedelta(microseconds=1),), UUID(int=2**128 - 1), relaxed=True)
    cursor = pagination.encode_cursor(latest, listing=LISTING)

    assert pagination.decode_cursor(cursor, listing=LISTING) == latest
    assert len(cursor) <= 110
    assert cursor.replace("-", "").replace("_", "").isalnum()


def encode_cursor(text: Any) -> str:
    return base64.urlsafe_b64encode(text if isinstance(text, bytes) else text.encode()).decode().rstrip("=")


ID = "0" * 32
MARK = LISTING.mark
WHEN = "2026-03-01T09:00:00Z"


@for_each(
    "cursor",
    [
        "",
        "x",
        "not a cursor",
        "émoji 🌱",
        "=" * 4,
        "A" * 400,
        CURSOR + "=",  # padded
        CURSOR + "\n",
        CURSOR[:-1],  # cut
        CURSOR[:5] + "*" + CURSOR[5:],  # a character that base64 decoders skip
        encode_cursor(b"\xff\xfe"),
        encode_cursor("[" * 100_000),
        encode_cursor("null"),
        encode_cursor("{}"),
        encode_cursor(f'["{MARK}",0,"{ID}"]'),  # a part is missing
        encode_cursor(f'["{MARK}",0,"{WHEN}","{WHEN}","{ID}"]'),
        encode_cursor(f'["{MARK}",2,"{WHEN}","{ID}"]'),
        encode_cursor(f'["{MARK}",0,"{WHEN}","{"z" * 32}"]'),
        encode_cursor(f'["{MARK}",0,"{WHEN}",7]'),
        encode_cursor(f'["{MARK}",0,null,"{ID}"]'),  # updated_at is never null
        encode_cursor(f'["{MARK}",0,5,"{ID}"]'),
        encode_cursor(f'["{MARK}",0,"2026-03-01T09:00:00","{ID}"]'),  # no offset
        encode_cursor(f'["{MARK}",0,"0001-01-01T00:00:00+14:00","{ID}"]'),
        encode_cursor(f'["{MARK}",0,"2016-12-31T23:59:60Z","{ID}"]'),
        encode_cursor(f'["{MARK}",0,"2026-03-01T11:00:00+02:00","{ID}"]'),  # valid, but never written like this
        encode_cursor(f'["{MARK}", 0, "{WHEN}", "{ID}"]'),
        encode_cursor(f'["00000000",0,"{WHEN}","{ID}"]'),  # of another list
    ],
)
def test_forged_cursor_is_invalid(cursor: str) -> None:
    with pytest.raises(InvalidArgs) as refused:
        pagination.decode_cursor(cursor, listing=LISTING)

    [error] = refused.value.field_errors
    assert (error.path, error.code) == ("/cursor", "malformed_cursor")


@for_each("priority", ["true", "1.0", "9", '"1"', "[1]", "1e400", "123456789012345678901234567890"])
def test_cursor_with_a_number_out_of_range_is_invalid(priority: str) -> None:
    listing = pagination.Listing.from_args(TASK, {"sort_by": "priority"})

    with pytest.raises(InvalidArgs):
        pagination.decode_cursor(encode_cursor(f'["{listing.mark}",0,{priority},"{WHEN}","{ID}"]'), listing=listing)


@for_each(
    "kind, args",
    [
        (TASK, {"sort_by": "priority"}),
        (TASK, {"sort_by": "created_at"}),  # the same key type with another column
        (TASK, {"state_key": ["todo"]}),
        (TASK, {"query": "words"}),
        (TASK, {"project_id": ID}),
        (TASK, {"has_date": False}),
        (PLAN, {}),
    ],
)
def test_cursor_of_another_order_filter_or_kind_is_invalid(kind: EntityType, args: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgs, match="with the same filters and order"):
        pagination.decode_cursor(CURSOR, listing=pagination.Listing.from_args(kind, args))


@for_each(
    "one, other",
    [
        ({}, {"cursor": "x", "limit": 7}),
        ({}, {"sort_by": "updated"}),  # the default, sent explicitly
        ({}, {"state_key": None}),
        ({}, {"state_key": []}),
        # The order of values and the case of ids do not count.
        ({"state_key": ["todo", "done"], "project_id": "AB"}, {"project_id": "ab", "state_key": ["done", "todo"]}),
    ],
)
def test_cursor_is_valid_for_an_equivalent_listing(one: dict[str, Any], other: dict[str, Any]) -> None:
    cursor = pagination.encode_cursor(POSITION, listing=pagination.Listing.from_args(TASK, one))

    assert pagination.decode_cursor(cursor, listing=pagination.Listing.from_args(TASK, other)) == POSITION
