"""Arguments of strict mode: null stands for an argument that is left out."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.arguments import normalise
from registry.help import typed_tools
from registry.jsonschema.validator import SchemaValidator
from tests.support.rows.op_entries import build_schema

ITEM = build_schema(("kind",), kind={"type": "string"}, note={"type": "string"})
SCHEMA = build_schema(
    ("a",),
    a={"type": "integer"},
    b={"type": "string", "enum": ["x", "y"]},
    c={"type": "boolean"},
    items={"type": "array", "items": ITEM},
)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"a": 1, "b": None, "c": None, "items": None}, {"a": 1}),
        ({"a": None, "b": "x", "c": None, "items": None}, {"a": None, "b": "x"}),  # required: an error
        ({"a": 1, "b": None}, {"a": 1, "b": None}),  # not strict mode: null was meant, and is an error
        (
            {"a": 1, "b": None, "c": None, "items": [{"kind": "k", "note": None}, {"kind": "k"}]},
            {"a": 1, "items": [{"kind": "k"}, {"kind": "k"}]},
        ),
    ],
)
def test_nulls_of_a_complete_call_are_dropped(args: dict[str, Any], expected: dict[str, Any]) -> None:
    normalise.drop_nulls(SCHEMA, args)

    assert args == expected


def test_null_that_means_something_is_kept() -> None:
    schema = build_schema(("id",), id={"type": "string"}, due={"type": ["string", "null"]})
    args = {"id": "1", "due": None}

    normalise.drop_nulls(schema, args)

    assert args == {"id": "1", "due": None}


VALUES = st.fixed_dictionaries(
    {"a": st.integers()},
    optional={
        "b": st.sampled_from("xy"),
        "c": st.booleans(),
        "items": st.lists(st.fixed_dictionaries({"kind": st.text()}, optional={"note": st.text()}), max_size=3),
    },
)


@given(VALUES)
def test_valid_args_survive_strict_mode_unchanged(args: dict[str, Any]) -> None:
    strict_schema = typed_tools.make_strict(SCHEMA)
    assert strict_schema is not None

    sent = typed_tools.fill_nulls(strict_schema, copy.deepcopy(args))
    assert SchemaValidator(strict_schema).find_problems(sent) == []
    normalise.drop_nulls(SCHEMA, sent)

    assert sent == args
