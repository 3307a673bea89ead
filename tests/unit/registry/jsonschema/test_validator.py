from typing import Any

import pytest

from registry.jsonschema import validator
from tests.support.rows.op_entries import build_schema
from tests.support.values.schema_samples import TREE


def test_recursive_schema_validates_its_instances() -> None:
    deep: dict[str, Any] = {"name": "leaf"}
    for _ in range(28):
        deep = {"name": "node", "left": deep, "children": [{"name": "child"}]}

    assert validator.find_instance_problems(TREE, {"root": deep}) == []
    assert validator.find_instance_problems(TREE, {"root": {"name": "a", "left": {"name": 5}}}) == [
        '/root/left/name: 5 is not of type "string".'
    ]


def test_instance_problems_are_limited_name_their_location_and_refuse_unsendable_text() -> None:
    many = build_schema(a={"type": "array", "items": {"type": "string"}})
    closed = build_schema(a={"type": "integer"})

    problems = validator.find_instance_problems(many, {"a": list(range(100))})

    assert len(problems) == 20
    assert problems[0].startswith("/a/0: ")
    assert len(validator.find_instance_problems(closed, {"a": "x" * 100_000})[0]) < 250
    assert validator.find_instance_problems(closed, {"a": "\ud800"}) == [
        "The value has text or a number that JSON cannot represent. Delete it."
    ]
    shown = {"a": 1, "task_title": "x"}
    assert validator.find_instance_problems(closed, shown, ignoring={"task_title"}) == []
    assert validator.find_instance_problems(closed, shown)


@pytest.mark.parametrize(
    ("format_", "good", "bad"),
    [
        ("uuid", "0D9A4C1E-5b7f-4e2a-9c31-6f8e2b7d1a01", "0d9a4c1e"),
        ("date-time", "2026-03-01T09:00:00Z", "2026-03-01"),
        ("date", "2026-02-28", "2026-02-30"),
        ("iso-date-time", "2026-03-01T09:00", "2026-03-01"),
        ("iso-date-time", "2026-03-01t09:00:00z", "2026-03-01T09"),
        ("iso-date-time", "2026-03-01T09:00:00+02:00", "20260301T0900"),
        ("iso-date-or-date-time", "2026-03-01", "2026-02-30"),
        ("iso-date-or-date-time", "2026-03-01T09:00:00+02:00", "20260301"),
        ("email", "a@example.com", "a"),
    ],
)
def test_formats_are_asserted(format_: str, good: str, bad: str) -> None:
    formatted = build_schema(a={"type": "string", "format": format_})

    assert validator.find_instance_problems(formatted, {"a": good}) == []
    assert validator.find_instance_problems(formatted, {"a": bad})


def test_checked_schemas_that_differ_in_texts_share_their_compiled_form() -> None:
    described = {"description": {"type": "string", "description": "Its text", "default": "a", "examples": ["b"]}}
    first = validator.SchemaValidator({**build_schema(**described), "title": "First"}, is_checked=True)
    second = validator.SchemaValidator(build_schema(description={"type": "string", "x-note": "short"}), is_checked=True)

    assert first._validator is second._validator
    assert first.schema["title"] == "First"
    assert first.find_problems({"description": 5}) == ['/description: 5 is not of type "string".']
