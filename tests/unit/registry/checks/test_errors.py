"""What would break serving, each with the sentence that a person reads."""

from typing import Any

import pytest

from gateway.contracts import tool_definitions
from registry import checks
from registry.checks import errors
from tests.support.op_entries import content, op, schema

A = schema(("a",), a={"type": "integer"})

GET = op("a.get", without_id="a.list", parameters_schema=schema(("a_id",), a_id={"type": "string"}))
BOTH_READS = "Both the op and its replacement must be reads. Name a read op, or leave it empty."


def said(snapshot: dict[str, Any]) -> list[str]:
    return [str(problem) for problem in checks.find_errors(snapshot)]


@pytest.mark.parametrize(
    ("ops", "groups", "problem"),
    [
        # names
        (
            [op("a.b", tool_name="t"), op("a.c", tool_name="t")],
            None,
            "a.c, tool_name: t is already a name of a.b. Use each name for one op only.",
        ),
        (
            [op("a.b", tool_name="t"), op("a.b", tool_name="u")],
            None,
            "a.b, op: a.b is already a name of a.b. Use each name for one op only.",
        ),
        (
            [op("a.b"), op("a.c", aliases=["a.b"])],
            None,
            "a.c, aliases/0: a.b is already a name of a.b. Use each name for one op only.",
        ),
        (
            [op("a.b", aliases=["x", "x"])],
            None,
            "a.b, aliases/1: x is already a name of a.b. Use each name for one op only.",
        ),
        (
            [op("a.b")],
            ("root", "a", "a.b"),
            "a.b, op: A group already has the path a.b. Rename one of the two.",
        ),
        (
            [op("a.b.c"), op("a.d", aliases=["a.b"])],
            None,
            "a.d, aliases/0: A group already has the path a.b. Rename one of the two.",
        ),
        (
            [op("a.d", tool_name="root")],
            None,
            "a.d, tool_name: A group already has the path root. Rename one of the two.",
        ),
        ([op("a.b")], ("root", "a", "a"), "a, path: 2 groups have this path. Delete one of them."),
        # the way to it
        ([op("a.b")], ("root",), "a.b, op: The group a is missing. Add the group, so that models can browse to it."),
        (
            [op("a.b.c")],
            ("root", "a.b"),
            "a.b, path: The group a is missing. Add the group, so that models can browse to it.",
        ),
        (
            [op("a.b", status="retired", successor="a.z")],
            None,
            "a.b, successor: There is no op a.z. Name an existing op.",
        ),
        # what runs where an id is left out
        ([GET], None, "a.get, without_id: There is no op a.list. Name an existing op."),
        ([GET | {"kind": "write"}, op("a.list")], None, f"a.get, without_id: {BOTH_READS}"),
        ([GET, op("a.list", kind="write")], None, f"a.get, without_id: {BOTH_READS}"),
        (
            [GET, op("a.list", parameters_schema=A)],
            None,
            "a.get, without_id: a.list has required arguments. Name an op without any.",
        ),
        (
            [GET | {"parameters_schema": A}, op("a.list")],
            None,
            "a.get, without_id: It is only for an op with one required argument that is an id. Leave it empty.",
        ),
        (
            [GET | {"parameters_schema": schema(("b_id", "c_id"), b_id={}, c_id={})}, op("a.list")],
            None,
            "a.get, without_id: It is only for an op with one required argument that is an id. Leave it empty.",
        ),
        # schemas and what is held against them
        (
            [op("a.b", parameters_schema=[])],
            None,
            'a.b, parameters_schema: The schema must be an object with "type": "object", because args are an object. '
            "Write a JSON Schema 2020-12 for an object.",
        ),
        (
            [op("a.b", parameters_schema=A, examples=[{"args": {"a": 1}}, {"args": {"a": "x"}}])],
            None,
            'a.b, examples/1: /a: "x" is not of type "integer". Correct the args or widen the schema.',
        ),
        (
            [op("a.b", parameters_schema=A, examples=[{"args": []}])],
            None,
            'a.b, examples/0: /: [] is not of type "object". Correct the args or widen the schema.',
        ),
        (
            [op("a.b", parameters_schema=A, argument_aliases={"b": "c"})],
            None,
            "a.b, argument_aliases: b must not be an argument, and must map to one. "
            "Map a name that is not an argument to one that is.",
        ),
        (
            [op("a.b", parameters_schema=A, argument_aliases={"a": "a"})],
            None,
            "a.b, argument_aliases: a must not be an argument, and must map to one. "
            "Map a name that is not an argument to one that is.",
        ),
        (
            [op("a.b", parameters_schema=A, display_only=["a"])],
            None,
            "a.b, display_only: a is an argument. Remove it from one of the two.",
        ),
        # what JSON cannot carry
        ([op("a.b", summary="a\x00")], None, "a.b, content: The text has a NUL character. Delete it."),
        (
            [op("a.b", notes="\ud800")],
            None,
            "a.b, content: input contains non-UTF-8 codepoints. Use text and numbers that JSON can represent.",
        ),
        (
            [op("a.b", examples=[{"args": {"a": 2**53}}])],
            None,
            "a.b, content: 9007199254740992 exceeds safe integer domain for JSON floats. "
            "Use text and numbers that JSON can represent.",
        ),
        (
            [op("a.b", examples=[{"args": {"a": "\ud800"}}])],
            None,
            "a.b, content: input contains non-UTF-8 codepoints. Use text and numbers that JSON can represent.",
        ),
    ],
)
def test_problems_says(ops: list[Any], groups: tuple[str, ...] | None, problem: str) -> None:
    assert said(content(*ops, groups=groups)) == [problem]


@pytest.mark.parametrize(
    "ops",
    [
        [],
        [op("a.b")],
        [op("top")],
        [op("a.b", tool_name="a.b")],  # a tool may be named by its path
        [op("a.b", aliases=["x", "y"]), op("a.c", status="retired", successor="a.b")],
        [op("a.b", parameters_schema=A, argument_aliases={"A": "a"}, display_only=["title"])],
        [op("a.b", parameters_schema=A, display_only=["t"], examples=[{"args": {"a": 1, "t": "shown"}}])],
        [op("a.b", description="Send \\u0000 to end; C:\\\\u0000")],  # text that shows an escape holds no NUL
        [op("a.b", parameters_schema=schema(a={"type": "number", "maximum": 1e300}))],
    ],
    ids=range(9),
)
def test_problems_finds_none(ops: list[Any]) -> None:
    assert said(content(*ops)) == []


def test_problems_finds_all_at_once_in_the_order_of_the_ops() -> None:
    snapshot = content(
        op("a.b", parameters_schema=A, examples=[{"args": {}}], display_only=["a"]),
        op("a.c", parameters_schema={"type": "object", "$id": "x"}),
    )

    assert [(problem.op, problem.field) for problem in checks.find_errors(snapshot)] == [
        ("a.b", "examples/0"),
        ("a.b", "display_only"),
        ("a.c", "parameters_schema"),
    ]


def test_an_op_that_another_stands_in_for_is_no_problem() -> None:
    assert said(content(GET, op("a.list"))) == []


@pytest.mark.parametrize(
    ("surface", "text", "named"),
    [
        ("gateway", "Call update_onto_task at once.", ["update_onto_task"]),
        ("gateway", "Call tool_exec with onto.task.update.", []),
        ("gateway", "Send help a query, then fetch with crm.find. Never getUser.", ["getUser"]),
        ("legacy", "Read tool_help. Then onto.task.update.", ["onto.task.update", "tool_help"]),
        ("legacy", "Call update_onto_task.", []),
        ("overview", "Read tool_help, update_onto_task, onto.task.update.", []),
    ],
)
def test_a_surfaces_prompt_names_only_what_is_on_it(surface: str, text: str, named: list[str]) -> None:
    section = {"prompt": f"{surface}_surface", "name": "working", "title": "How to act", "text": text}
    named_as = {"onto.task.update": "update_onto_task", "crm.fetch": "fetch", "crm.user.get": "getUser"}
    # A tool may be named by its path, which a model sends on the gateway surface.
    ops = [{"op": path, "tool_name": name} for path, name in (named_as | {"crm.find": "crm.find"}).items()]

    found = list(errors.find_off_surface_names(section, ops))

    assert [finding.message.split(" is not available on ")[0] for finding in found] == named
    assert all(finding.is_blocking and finding.field == "text" for finding in found)


def test_the_gateways_tools_are_those_that_are_handed_out() -> None:
    assert {tool["name"] for tool in tool_definitions.GATEWAY_TOOLS} == errors.GATEWAY_TOOLS
