"""Where an answer of a service has its row: by its schema, else by what it looks like."""

from typing import Any

from registry.result_row import find_row, read_row
from tests.support.loops import for_each


@for_each(
    "outline, entity, paths",
    [
        ({"id": None, "title": None, "state": None}, "order", {"id": "id", "name": "title"}),
        ({"orderId": None, "customer_id": None}, "order", {"id": "orderId"}),
        ({"order": {"id": None, "name": None}, "warnings": None}, "order", {"id": "order.id", "name": "order.name"}),
        ({"data": {"order": {"key": None}}, "meta": {"id": None}}, "order", {"id": "data.order.key"}),
        ({"anything": {"id": None}, "ok": None}, "order", {"id": "anything.id"}),
        ({"one": {"id": None}, "two": {"id": None}}, "order", {}),  # which of them?
        ({"total": None, "has_more": None}, "order", {}),
        ({"name": None}, "order", {}),
        ({"a.b": None, "id.x": None}, "order", {}),
        ({}, "", {}),
    ],
)
def test_row_is_found_by_the_names_of_members(outline: dict[str, Any], entity: str, paths: dict[str, str]) -> None:
    assert find_row(outline, entity) == paths


@for_each(
    "result, paths, row",
    [
        ({"id": 7, "name": "Lamp"}, {}, ("7", "Lamp")),
        ({"order": {"id": "o-1", "title": "Two lamps"}}, {}, ("o-1", "Two lamps")),
        ({"ref": {"code": "L1"}, "id": "other"}, {"id": "ref.code", "name": "ref.label"}, ("L1", "")),
        ({"items": [{"id": 1}]}, {}, ("", "")),
        ({"id": True, "name": 5}, {}, ("", "")),
        ({"id": {"x": 1}}, {"id": "id.y.z"}, ("", "")),
        ({"id": "x" * 500, "name": "y" * 500}, {}, ("x" * 200, "y" * 300)),
    ],
)
def test_row_is_read_by_its_paths_else_looked_for(
    result: dict[str, Any], paths: dict[str, str], row: tuple[str, str]
) -> None:
    assert read_row(result, paths, "order") == row
