from typing import Any

import pytest
from django.core.exceptions import ValidationError

from registry.models import Example
from tests.support.rows.copy_rows import make_op

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ({}, '"title" is missing.'),
        ({"title": 1}, '/title: 1 is not of type "string".'),
    ],
)
def test_example_form_refuses_args_that_its_op_refuses(args: Any, sentence: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Example(op=make_op(), args=args).clean()

    assert refused.value.message_dict == {"args": [sentence]}


def test_example_form_ignores_display_only_arguments_and_an_invalid_schema() -> None:
    Example(op=make_op(display_only=["task_title"]), args={"title": "x", "task_title": "y"}).clean()
    Example(op=make_op("onto.task.other", parameters_schema=[]), args={"any": 1}).clean()
    Example(args={}).clean()
