"""Errors that would break serving, each with its message."""

from typing import Any

import pytest

from registry import checks
from tests.support.loops import for_each
from tests.support.rows.op_entries import build_content, build_schema
from tests.support.rows.op_entries import build_op_entry as op

A = build_schema(("a",), a={"type": "integer"})
GET = op("a.get", without_id="a.list", parameters_schema=build_schema(("a_id",), a_id={"type": "string"}))
TWO_IDS = build_schema(("b_id", "c_id"), b_id={}, c_id={})

# The ops, their groups if not all are there, and the problem, by what to do about it.
PROBLEMS: dict[str, list[tuple[list[Any], tuple[str, ...] | None, str]]] = {
    "Use each name for one op only.": [
        ([op("a.b", tool_name="t"), op("a.c", tool_name="t")], None, "a.c, tool_name: t is already a name of a.b."),
        ([op("a.b"), op("a.c", aliases=["a.b"])], None, "a.c, aliases/0: a.b is already a name of a.b."),
        ([op("a.b", aliases=["x", "x"])], None, "a.b, aliases/1: x is already a name of a.b."),
    ],
    "Rename one of the two.": [
        ([op("a.b")], ("root", "a", "a.b"), "a.b, op: A group already has the path a.b."),
        ([op("a.b.c"), op("a.d", aliases=["a.b"])], None, "a.d, aliases/0: A group already has the path a.b."),
    ],
    "Delete one of them.": [([op("a.b")], ("root", "a", "a"), "a, path: 2 groups have this path.")],
    "Add the group, so that models can browse to it.": [
        ([op("a.b")], ("root",), "a.b, op: The group a is missing."),
    ],
    "Name an existing op.": [
        ([op("a.b", status="retired", successor="a.z")], None, "a.b, successor: There is no op a.z."),
        ([GET], None, "a.get, without_id: There is no op a.list."),
    ],
    "Name a read op, or leave it empty.": [
        (ops, None, "a.get, without_id: Both the op and its replacement must be reads.")
        for ops in ([GET | {"kind": "write"}, op("a.list")], [GET, op("a.list", kind="write")])
    ],
    "Name an op without required arguments.": [
        ([GET, op("a.list", parameters_schema=A)], None, "a.get, without_id: a.list has required arguments."),
    ],
    "Leave it empty.": [
        (
            [GET | {"parameters_schema": schema}, op("a.list")],
            None,
            "a.get, without_id: This field is only for ops whose one required argument is an id.",
        )
        for schema in (A, TWO_IDS)
    ],
    "Write a JSON Schema 2020-12 for an object.": [
        (
            [op("a.b", parameters_schema=[])],
            None,
            'a.b, parameters_schema: The schema must be an object with "type": "object", because args are an object.',
        ),
    ],
    "Correct the args or widen the schema.": [
        (
            [op("a.b", parameters_schema=A, examples=[{"args": {"a": 1}}, {"args": {"a": "x"}}])],
            None,
            'a.b, examples/1: /a: "x" is not of type "integer".',
        ),
    ],
    "Map a name that is not an argument to one that is.": [
        (
            [op("a.b", parameters_schema=A, argument_aliases={name: meant})],
            None,
            f"a.b, argument_aliases: {name} must not be an argument, and must map to an argument.",
        )
        for name, meant in (("b", "c"), ("a", "a"))
    ],
    "Remove it from one of the two.": [
        ([op("a.b", parameters_schema=A, display_only=["a"])], None, "a.b, display_only: a is an argument."),
    ],
    "Delete it.": [([op("a.b", summary="a\x00")], None, "a.b, content: The text has a NUL character.")],
    "Use text and numbers that JSON can represent.": [
        ([op("a.b", **{field: value})], None, "a.b, content: input contains non-UTF-8 codepoints.")
        for field, value in (
            ("notes", "\ud800"),
            ("examples", [{"args": {"a": "\ud800"}}]),
        )
    ],
    "Enter the value again on the op's page.": [
        ([op("a.b", **{field: value})], None, f"a.b, {field}: {field} has a value of the wrong type.")
        for field, value in (("keywords", 5), ("contexts", [5]), ("argument_aliases", {"a": 5}), ("request", [5]))
    ],
}


def find_messages(snapshot: dict[str, Any]) -> list[str]:
    return [str(problem) for problem in checks.find_errors(snapshot)]


@for_each("fix, problems", PROBLEMS.items())
def test_find_errors_reports(fix: str, problems: list[tuple[list[Any], tuple[str, ...] | None, str]]) -> None:
    for ops, groups, problem in problems:
        assert find_messages(build_content(*ops, groups=groups)) == [f"{problem} {fix}"]


@pytest.mark.parametrize(
    "ops",
    [
        [],
        [op("a.b")],
        [op("top")],
        [GET, op("a.list")],
        [op("a.b", tool_name="a.b")],  # a tool name may equal its path
        [op("a.b", aliases=["x", "y"]), op("a.c", status="retired", successor="a.b")],
        [op("a.b", parameters_schema=A, argument_aliases={"A": "a"}, display_only=["title"])],
        [op("a.b", parameters_schema=A, display_only=["t"], examples=[{"args": {"a": 1, "t": "shown"}}])],
        [op("a.b", description="Send \\u0000 to end; C:\\\\u0000")],  # text that shows an escape sequence has no NUL
        [op("a.b", parameters_schema=build_schema(a={"type": "number", "maximum": 1e300}))],
    ],
    ids=range(10),
)
def test_find_errors_finds_none_in_valid_copy(ops: list[Any]) -> None:
    assert find_messages(build_content(*ops)) == []


def test_find_errors_reports_all_errors_in_the_order_of_the_ops() -> None:
    snapshot = build_content(
        op("a.b", parameters_schema=A, examples=[{"args": {}}], display_only=["a"]),
        op("a.c", parameters_schema={"type": "object", "$id": "x"}),
    )

    assert [(problem.op, problem.field) for problem in checks.find_errors(snapshot)] == [
        ("a.b", "examples/0"),
        ("a.b", "display_only"),
        ("a.c", "parameters_schema"),
    ]
