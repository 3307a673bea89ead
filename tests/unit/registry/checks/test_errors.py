"""Errors that would break serving, each with its message."""

from typing import Any

import pytest

from registry import checks
from tests.support.rows.op_entries import build_content, build_op_entry, build_schema

A = build_schema(("a",), a={"type": "integer"})

GET = build_op_entry("a.get", without_id="a.list", parameters_schema=build_schema(("a_id",), a_id={"type": "string"}))
BOTH_READS = "Both the op and its replacement must be reads. Name a read op, or leave it empty."


def find_messages(snapshot: dict[str, Any]) -> list[str]:
    return [str(problem) for problem in checks.find_errors(snapshot)]


@pytest.mark.parametrize(
    ("ops", "groups", "problem"),
    [
        # names
        (
            [build_op_entry("a.b", tool_name="t"), build_op_entry("a.c", tool_name="t")],
            None,
            "a.c, tool_name: t is already a name of a.b. Use each name for one op only.",
        ),
        (
            [build_op_entry("a.b", tool_name="t"), build_op_entry("a.b", tool_name="u")],
            None,
            "a.b, op: a.b is already a name of a.b. Use each name for one op only.",
        ),
        (
            [build_op_entry("a.b"), build_op_entry("a.c", aliases=["a.b"])],
            None,
            "a.c, aliases/0: a.b is already a name of a.b. Use each name for one op only.",
        ),
        (
            [build_op_entry("a.b", aliases=["x", "x"])],
            None,
            "a.b, aliases/1: x is already a name of a.b. Use each name for one op only.",
        ),
        (
            [build_op_entry("a.b")],
            ("root", "a", "a.b"),
            "a.b, op: A group already has the path a.b. Rename one of the two.",
        ),
        (
            [build_op_entry("a.b.c"), build_op_entry("a.d", aliases=["a.b"])],
            None,
            "a.d, aliases/0: A group already has the path a.b. Rename one of the two.",
        ),
        (
            [build_op_entry("a.d", tool_name="root")],
            None,
            "a.d, tool_name: A group already has the path root. Rename one of the two.",
        ),
        ([build_op_entry("a.b")], ("root", "a", "a"), "a, path: 2 groups have this path. Delete one of them."),
        # the connection
        (
            [build_op_entry("a.b")],
            ("root",),
            "a.b, op: The group a is missing. Add the group, so that models can browse to it.",
        ),
        (
            [build_op_entry("a.b.c")],
            ("root", "a.b"),
            "a.b, path: The group a is missing. Add the group, so that models can browse to it.",
        ),
        (
            [build_op_entry("a.b", status="retired", successor="a.z")],
            None,
            "a.b, successor: There is no op a.z. Name an existing op.",
        ),
        # the op that runs if an id is missing
        ([GET], None, "a.get, without_id: There is no op a.list. Name an existing op."),
        ([GET | {"kind": "write"}, build_op_entry("a.list")], None, f"a.get, without_id: {BOTH_READS}"),
        ([GET, build_op_entry("a.list", kind="write")], None, f"a.get, without_id: {BOTH_READS}"),
        (
            [GET, build_op_entry("a.list", parameters_schema=A)],
            None,
            "a.get, without_id: a.list has required arguments. Name an op without required arguments.",
        ),
        (
            [GET | {"parameters_schema": A}, build_op_entry("a.list")],
            None,
            "a.get, without_id: This field is only for ops whose one required argument is an id. Leave it empty.",
        ),
        (
            [GET | {"parameters_schema": build_schema(("b_id", "c_id"), b_id={}, c_id={})}, build_op_entry("a.list")],
            None,
            "a.get, without_id: This field is only for ops whose one required argument is an id. Leave it empty.",
        ),
        # schemas, and the values they validate
        (
            [build_op_entry("a.b", parameters_schema=[])],
            None,
            'a.b, parameters_schema: The schema must be an object with "type": "object", because args are an object. '
            "Write a JSON Schema 2020-12 for an object.",
        ),
        (
            [build_op_entry("a.b", parameters_schema=A, examples=[{"args": {"a": 1}}, {"args": {"a": "x"}}])],
            None,
            'a.b, examples/1: /a: "x" is not of type "integer". Correct the args or widen the schema.',
        ),
        (
            [build_op_entry("a.b", parameters_schema=A, examples=[{"args": []}])],
            None,
            'a.b, examples/0: [] is not of type "object". Correct the args or widen the schema.',
        ),
        (
            [build_op_entry("a.b", parameters_schema=A, argument_aliases={"b": "c"})],
            None,
            "a.b, argument_aliases: b must not be an argument, and must map to an argument. "
            "Map a name that is not an argument to one that is.",
        ),
        (
            [build_op_entry("a.b", parameters_schema=A, argument_aliases={"a": "a"})],
            None,
            "a.b, argument_aliases: a must not be an argument, and must map to an argument. "
            "Map a name that is not an argument to one that is.",
        ),
        (
            [build_op_entry("a.b", parameters_schema=A, display_only=["a"])],
            None,
            "a.b, display_only: a is an argument. Remove it from one of the two.",
        ),
        # text that JSON cannot contain
        ([build_op_entry("a.b", summary="a\x00")], None, "a.b, content: The text has a NUL character. Delete it."),
        (
            [build_op_entry("a.b", notes="\ud800")],
            None,
            "a.b, content: input contains non-UTF-8 codepoints. Use text and numbers that JSON can represent.",
        ),
        *(
            (
                [build_op_entry("a.b", **{field: value})],
                None,
                f"a.b, {field}: {field} has a value of the wrong type. Enter the value again on the op's page.",
            )
            for field, value in (("keywords", 5), ("contexts", [5]), ("argument_aliases", {"a": 5}), ("request", [5]))
        ),
        (
            [build_op_entry("a.b", keywords=["a", "\ud800"])],
            None,
            "a.b, content: input contains non-UTF-8 codepoints. Use text and numbers that JSON can represent.",
        ),
        (
            [build_op_entry("a.b", examples=[{"args": {"a": "\ud800"}}])],
            None,
            "a.b, content: input contains non-UTF-8 codepoints. Use text and numbers that JSON can represent.",
        ),
    ],
)
def test_find_errors_reports(ops: list[Any], groups: tuple[str, ...] | None, problem: str) -> None:
    assert find_messages(build_content(*ops, groups=groups)) == [problem]


@pytest.mark.parametrize(
    "ops",
    [
        [],
        [build_op_entry("a.b")],
        [build_op_entry("top")],
        [build_op_entry("a.b", tool_name="a.b")],  # a tool name may equal its path
        [build_op_entry("a.b", aliases=["x", "y"]), build_op_entry("a.c", status="retired", successor="a.b")],
        [build_op_entry("a.b", parameters_schema=A, argument_aliases={"A": "a"}, display_only=["title"])],
        [build_op_entry("a.b", parameters_schema=A, display_only=["t"], examples=[{"args": {"a": 1, "t": "shown"}}])],
        [
            build_op_entry("a.b", description="Send \\u0000 to end; C:\\\\u0000")
        ],  # text that shows an escape sequence has no NUL
        [build_op_entry("a.b", parameters_schema=build_schema(a={"type": "number", "maximum": 1e300}))],
    ],
    ids=range(9),
)
def test_find_errors_finds_none_in_valid_copy(ops: list[Any]) -> None:
    assert find_messages(build_content(*ops)) == []


def test_find_errors_reports_all_errors_in_the_order_of_the_ops() -> None:
    snapshot = build_content(
        build_op_entry("a.b", parameters_schema=A, examples=[{"args": {}}], display_only=["a"]),
        build_op_entry("a.c", parameters_schema={"type": "object", "$id": "x"}),
    )

    assert [(problem.op, problem.field) for problem in checks.find_errors(snapshot)] == [
        ("a.b", "examples/0"),
        ("a.b", "display_only"),
        ("a.c", "parameters_schema"),
    ]


def test_op_with_a_without_id_op_is_valid() -> None:
    assert find_messages(build_content(GET, build_op_entry("a.list"))) == []
