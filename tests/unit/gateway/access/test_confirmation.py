"""The args of a call in words, as the end user is asked about them."""

from typing import Any

from hypothesis import given

from gateway.access.confirmation import MAX_ARGS_TEXT, describe_args
from tests.support.json_samples import ORDINARY_JSON
from tests.support.loops import for_each


@for_each(
    "args, text",
    [
        ({}, ""),
        ({"user_id": 7, "force": True}, "user id: 7; force: yes"),
        ({"note": "Two\nlines\u202e", "until": None}, "note: “Two lines”; until: nothing"),
        ({"ids": ["a", "b", "c", "d"]}, "ids: “a”, “b”, “c” and 1 more"),
        ({"body": {"name": "Ada", "tags": ["x"]}}, "body: name “Ada”, tags 1 items"),
        ({"text": "x" * 200}, f"text: “{'x' * 79}…”"),
    ],
)
def test_args_are_put_into_words(args: dict[str, Any], text: str) -> None:
    assert describe_args(args, {}) == text


def test_the_id_of_a_row_that_the_question_names_is_left_out() -> None:
    assert describe_args({"task_id": "7", "force": True}, {"entity": "task", "entity_name": "Call"}) == "force: yes"


@given(ORDINARY_JSON)
def test_any_args_are_a_short_line(value: Any) -> None:
    text = describe_args({"first": value, "second": value}, {})

    assert len(text) < MAX_ARGS_TEXT + 100
    assert "\n" not in text


def test_long_texts_hide_no_switch_and_what_has_no_room_is_named() -> None:
    args = {f"text_{number}": "word " * 14 for number in range(6)} | {"delete_all": True, "account": "7"}

    text = describe_args(args, {})

    assert text.startswith("delete all: yes; account: “7”; text 0: “word")
    assert text.endswith("; and text 4, text 5")
    assert describe_args({f"text_{number}": "word " * 14 for number in range(30)}, {}).endswith(", text 13 and 16 more")
