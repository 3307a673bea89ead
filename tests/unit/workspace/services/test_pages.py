import base64
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import DjangoAssertNumQueries

from tests.factories import MADE_AT, ProjectFactory, TaskFactory
from workspace.errors import Invalid
from workspace.kinds import TASK
from workspace.models import Project, Task
from workspace.services import pages

POSITION = pages.Position(MADE_AT, UUID(int=7))


@pytest.fixture
def project(db: None) -> Project:
    return ProjectFactory()  # type: ignore[no-any-return]


def read(*, limit: int = 2, cursor: str | None = None) -> pages.Page:
    return pages.read(Task.objects.visible_to("owner"), kind=TASK, limit=limit, after=pages.decode(cursor))


def titles(page: pages.Page) -> list[str]:
    return [row["title"] for row in page.rows]


def all_pages(limit: int) -> list[str]:
    page = read(limit=limit)
    seen = titles(page)
    while page.next_cursor:
        page = read(limit=limit, cursor=page.next_cursor)
        seen += titles(page)
    return seen


def test_newest_update_comes_first(project: Project) -> None:
    for hours in (2, 3, 1):
        TaskFactory(project=project, title=str(hours), updated_at=MADE_AT + timedelta(hours=hours))

    assert titles(read(limit=9)) == ["3", "2", "1"]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 50])
def test_pages_show_every_row_once_also_where_updates_tie(project: Project, limit: int) -> None:
    for number in range(7):
        TaskFactory(project=project, title=str(number), updated_at=MADE_AT + timedelta(microseconds=number // 3))

    assert sorted(all_pages(limit)) == [str(number) for number in range(7)]


def test_pages_neither_repeat_nor_skip_when_rows_are_inserted(project: Project) -> None:
    for number in range(4):
        TaskFactory(project=project, title=f"old {number}", updated_at=MADE_AT - timedelta(hours=number))
    first = read(limit=2)

    TaskFactory(project=project, title="new", updated_at=MADE_AT + timedelta(hours=1))
    second = read(limit=2, cursor=first.next_cursor)

    assert (titles(first), titles(second)) == (["old 0", "old 1"], ["old 2", "old 3"])
    assert (first.total, second.total) == (4, 5)


def test_pages_go_on_when_the_row_of_the_cursor_is_gone(project: Project) -> None:
    for number in range(4):
        TaskFactory(project=project, title=str(number), updated_at=MADE_AT - timedelta(hours=number))
    first = read(limit=2)

    Task.objects.filter(title="1").update(deleted_at=MADE_AT)

    assert titles(read(limit=2, cursor=first.next_cursor)) == ["2", "3"]


@pytest.mark.parametrize(("rows", "more"), [(1, False), (2, False), (3, True)])
def test_next_cursor_is_there_only_when_there_is_more(project: Project, rows: int, more: bool) -> None:
    TaskFactory.create_batch(rows, project=project)

    page = read(limit=2)

    assert (page.next_cursor is not None) is more
    assert page.total == rows


def test_limit_has_a_ceiling_whatever_a_schema_allows(project: Project) -> None:
    TaskFactory.create_batch(51, project=project)

    page = read(limit=1_000_000)

    assert (len(page.rows), page.total, page.next_cursor is not None) == (50, 51, True)


def test_page_costs_two_queries_whatever_its_length(
    project: Project, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    TaskFactory.create_batch(3, project=project)
    with django_assert_num_queries(2):
        read(limit=1)

    TaskFactory.create_batch(30, project=project)
    with django_assert_num_queries(2):
        read(limit=50)


def test_page_reads_no_more_of_a_description_than_its_preview(project: Project) -> None:
    TaskFactory(project=project, description="x" * 20_000)

    with CaptureQueriesContext(
        connection,
    ) as queries:
        read()

    selected = queries[-1]["sql"].partition(" FROM ")[0].lower()
    assert '."description"' in selected
    assert selected.count('."description"') == selected.count("left(") + selected.count("substr(")


@pytest.mark.parametrize("position", [POSITION, pages.Position(MADE_AT, UUID(int=7), relaxed=True)])
def test_cursor_decodes_to_its_position(position: pages.Position) -> None:
    assert pages.decode(pages.encode(position)) == position


def test_cursor_is_short_and_safe_in_an_url() -> None:
    cursor = pages.encode(pages.Position(MADE_AT + timedelta(microseconds=1), UUID(int=2**128 - 1), relaxed=True))

    assert len(cursor) <= 100
    assert cursor.replace("-", "").replace("_", "").isalnum()


def of(text: Any) -> str:
    return base64.urlsafe_b64encode(text if isinstance(text, bytes) else text.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "not a cursor",
        "émoji 🌱",
        "=" * 4,
        "A" * 400,
        pages.encode(POSITION) + "=",  # padded
        pages.encode(POSITION) + "\n",
        pages.encode(POSITION)[:-1],  # cut
        pages.encode(POSITION)[:5] + "*" + pages.encode(POSITION)[5:],  # a sign that base64 decoders skip
        of(b"\xff\xfe"),
        of("2026-03-01T09:00:00Z|" + "0" * 32),  # a part is missing
        of("2026-03-01T09:00:00Z|" + "0" * 32 + "|all|all"),
        of("2026-03-01T09:00:00Z|" + "0" * 32 + "|some"),
        of("2026-03-01T09:00:00Z|" + "z" * 32 + "|all"),
        of("2026-03-01T09:00:00|" + "0" * 32 + "|all"),  # no offset
        of("0001-01-01T00:00:00+14:00|" + "0" * 32 + "|all"),
        of("2016-12-31T23:59:60Z|" + "0" * 32 + "|all"),
        of("2026-03-01T11:00:00+02:00|" + "0" * 32 + "|all"),  # right, but never written so
    ],
)
def test_cursor_that_was_not_made_here_is_invalid(cursor: str) -> None:
    with pytest.raises(Invalid) as refused:
        pages.decode(cursor)

    [error] = refused.value.field_errors
    assert (error.path, error.code) == ("/cursor", "malformed_cursor")


def test_no_cursor_is_the_first_page() -> None:
    assert pages.decode(None) is None
