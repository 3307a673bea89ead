"""The forms of ops, groups and aliases explain what the database would refuse."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from registry.models import Example, Group, OpAlias, get_parent_path
from tests.support.loops import for_each
from tests.support.rows.copy_rows import make_op
from tests.support.rows.op_entries import build_schema

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]


@for_each(
    "changes, field, sentence",
    [
        ({"op": "Onto.Task"}, "op", "A path is lower-case words joined by dots, such as onto.task.update."),
        ({"op": "onto.task\n"}, "op", "A path is lower-case words joined by dots, such as onto.task.update."),
        ({"tool_name": "a b"}, "tool_name", "A name has letters, digits, dots, dashes and underscores; at most 128."),
        ({"keywords": ["  "]}, "keywords", 'Send a list of non-empty strings, such as ["project", "global"].'),
        ({"argument_aliases": {"a": 1}}, "argument_aliases", 'Send an object of strings, such as {"search": "query"}.'),
        ({"op": "onto.task"}, "op", "A group already has this path. Rename the op or the group."),
        ({"op": "far.away"}, "op", "The group far does not exist. Add it first."),
        ({"timeout_ms": 50}, "timeout_ms", "Ensure this value is greater than or equal to 100."),
        (
            {"parameters_schema": build_schema(a={"$ref": "http://example.com"})},
            "parameters_schema",
            "A $ref points outside the schema. Copy its target under $defs.",
        ),
    ],
    undone=True,
)
def test_op_form_errors_say_what_to_send(changes: dict[str, Any], field: str, sentence: str) -> None:
    op = make_op()
    for name, value in changes.items():
        setattr(op, name, value)

    with pytest.raises(ValidationError) as refused:
        op.full_clean()

    assert sentence in refused.value.message_dict[field]


def test_group_form_refuses_the_path_of_an_op_and_a_missing_parent() -> None:
    make_op()
    with pytest.raises(ValidationError, match=r"The group onto\.far does not exist\. Add it first\."):
        Group(path="onto.far.away", summary="x").full_clean()

    with pytest.raises(ValidationError, match=r"An op already has this path\. Rename the op or the group\."):
        Group(path="onto.task.add", summary="x").full_clean()
    Group(path="onto.task.more", summary="x").full_clean()


def test_names_of_ops_and_aliases_of_others_are_refused() -> None:
    other = make_op("onto.task.other")
    op = make_op(tool_name=other.aliases.get().name)

    with pytest.raises(ValidationError, match="Another op has this name as an alias"):
        op.full_clean()
    for name in ("onto.task.other", "onto_task_other"):
        with pytest.raises(ValidationError, match="already has this path or tool name"):
            OpAlias(op=op, name=name).clean()
    OpAlias(op=op, name="free").clean()


def test_example_form_refuses_args_that_its_op_refuses() -> None:
    op = make_op(display_only=["task_title"])

    for args, sentence in (({}, '"title" is missing.'), ({"title": 1}, '/title: 1 is not of type "string".')):
        with pytest.raises(ValidationError) as refused:
            Example(op=op, args=args).clean()
        assert refused.value.message_dict == {"args": [sentence]}
    Example(op=op, args={"title": "x", "task_title": "y"}).clean()
    Example(op=make_op("onto.task.other", parameters_schema=[]), args={"any": 1}).clean()
    Example(args={}).clean()


def test_parent_path_is_the_group_above() -> None:
    assert [get_parent_path(path) for path in ("onto.task.add", "onto", "root", "")] == ["onto.task", *["root"] * 3]
