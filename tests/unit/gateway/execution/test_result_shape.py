"""Answers of remote services: only the fields asked for, cut after whole rows, and continued by a cursor."""

from datetime import UTC, datetime
from typing import Any

import pytest

from core import tokens
from core.deadlines import Deadline
from gateway.contracts.errors import InvalidRequestError
from gateway.execution.result_shape import ShapeRequest, project, shape_read, shape_write
from gateway.executors.base import UpstreamCall, UpstreamResponse
from registry.catalog import builder
from registry.catalog.model import FULL_VISIBILITY
from tests.support.loops import for_each
from tests.support.op_entries import build_catalog, build_op_entry

OWNERS = [{"owner": {"name": "a"}}, {"owner": {"name": "b"}}]
ROWS = [{"id": number, "name": f"Product {number}", "text": "words " * 20} for number in range(100)]


def build_work(args: dict[str, Any] | None = None, **fields: Any) -> UpstreamCall:
    return UpstreamCall(
        op=builder.build_op(build_op_entry("shop.order.list", **fields)),
        catalog=build_catalog(),
        visibility=FULL_VISIBILITY,
        args=args or {},
        subject="ana",
        at=datetime(2026, 1, 1, tzinfo=UTC),
        deadline=Deadline.after(milliseconds=1000),
    )


def shape(result: dict[str, Any], work: UpstreamCall | None = None, **request: Any) -> tuple[Any, list[str], str]:
    shaped = shape_read(work or build_work(), UpstreamResponse(result), ShapeRequest(**request))
    return shaped.outcome.result, list(shaped.outcome.warnings), shaped.next_cursor


@for_each(
    "fields, kept, warning",
    [
        (["total"], {"total": 2}, ""),
        (["items.id"], {"items": [{"id": 1}, {"id": 2}]}, ""),
        (
            ["items.owner.name", "total"],
            {"items": [{"owner": {"name": "a"}}, {"owner": {"name": "b"}}], "total": 2},
            "",
        ),
        (["items.owner", "items.owner.name"], {"items": OWNERS}, ""),
        (["items.nme", "total"], {"items": [{}, {}], "total": 2}, "The answer has no items.nme. It has "),
    ],
)
def test_only_the_fields_asked_for_are_kept(fields: list[str], kept: dict[str, Any], warning: str) -> None:
    items = [{"id": 1, "name": "x", "owner": {"name": "a"}}, {"id": 2, "name": "y", "owner": {"name": "b"}}]

    result, warnings = project({"items": items, "total": 2}, fields)

    assert result == kept
    assert "".join(warnings).startswith(warning) if warning else warnings == []


def test_unknown_fields_alone_leave_the_answer_whole() -> None:
    result, warnings = project({"total": 2, "pets": []}, ["totl"])

    assert (result, warnings) == ({"total": 2, "pets": []}, ["The answer has no totl. It has total."])


@for_each(
    "fields, warning",
    [
        # What is close is enough.
        (["totl", "totals"], "The answer has no totl, totals. It has total."),
        # One field is close to none, so the first names of all help.
        (["items.id2", "colour"], "The answer has no items.id2, colour. It has items.id, items, items.name, total."),
        (["colour"], "The answer has no colour. It has items, items.id, items.name, total."),
    ],
)
def test_a_warning_names_the_fields_that_the_answer_has(fields: list[str], warning: str) -> None:
    result = {"items": [{"id": 1, "name": "a"}], "total": 1}

    assert project(result, fields)[1] == [warning]


def test_a_warning_names_a_dozen_fields_at_most() -> None:
    result = {f"field_{letter}": 1 for letter in "abcdefghijklmno"}

    (warning,) = project(result, ["colour"])[1]

    assert warning.startswith("The answer has no colour. It has field_a, field_b, ")
    assert warning.endswith(", field_l and 3 more.")


def test_the_op_says_which_fields_it_shows_and_a_call_can_ask_for_others() -> None:
    work = build_work(result_fields=["total"])

    assert shape({"total": 1, "debug": "x"}, work)[0] == {"total": 1}
    assert shape({"total": 1, "debug": "x"}, work, fields=("debug",))[0] == {"debug": "x"}
    assert shape_write(work, UpstreamResponse({"total": 1, "debug": "x"})).result == {"total": 1}


def test_a_long_list_is_read_row_by_row_to_its_end() -> None:
    rows: list[Any] = []
    cursor = ""
    for _ in range(100):
        result, _warnings, cursor = shape({"total": 100, "items": ROWS}, max_tokens=300, cursor=cursor)
        assert tokens.count(str(result)) < 400
        assert result["total"] == 100
        rows += result["items"]
        if not cursor:
            break

    assert rows == ROWS


def test_a_cut_answer_says_what_is_missing_and_how_to_get_it() -> None:
    _result, warnings, _cursor = shape({"data": {"items": ROWS}}, max_tokens=300)

    assert warnings[0].startswith("Shows rows 1 to ")
    assert "of 100 in data.items: send meta.next_cursor as cursor for more, or fields for less of each." in warnings[0]


def test_a_row_over_the_limit_loses_its_largest_fields() -> None:
    result, warnings, cursor = shape({"items": [{"id": 1, "text": "words " * 500}] * 2}, max_tokens=100)

    assert result == {"items": [{"id": 1}]}
    assert warnings[1] == "Left out, because they are too large: text. Ask for parts of them with fields."
    assert cursor


def test_an_object_over_the_limit_loses_its_largest_fields() -> None:
    result, warnings, cursor = shape({"id": 1, "log": "words " * 500}, max_tokens=100)

    assert (result, cursor) == ({"id": 1}, "")
    assert warnings == ["Left out, because they are too large: log. Ask for parts of them with fields."]


@pytest.mark.parametrize("cursor", ["x", "%%%", "MC54"])
def test_a_cursor_of_another_call_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidRequestError, match="The cursor belongs to no answer of this call"):
        shape({"items": ROWS}, cursor=cursor)
    other = shape({"items": ROWS}, build_work({"page": 1}), max_tokens=300)[2]
    with pytest.raises(InvalidRequestError):
        shape({"items": ROWS}, build_work({"page": 2}), cursor=other)


def test_an_answer_within_the_limit_stays_as_it_is() -> None:
    assert shape({"items": [1, 2]}) == ({"items": [1, 2]}, [], "")
