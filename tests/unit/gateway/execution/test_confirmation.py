"""The args of a call in words, as the end user is asked about them."""

from typing import Any

from hypothesis import given

from gateway.execution.confirmation import MAX_ARGS_TEXT, describe_args
from tests.support.loops import for_each
from tests.support.values.json_samples import ORDINARY_JSON


@for_each(
    "args, text",
    [
        ({}, ""),
        ({"user_id": 7, "force": True}, "user id: 7; force: yes"),
        ({"note": "Two\nlines\u202e", "until": None}, "until: nothing; note: “Two lines”"),
        ({"ids": ["a", "b", "c", "d"]}, "ids: “a”, “b”, “c” and 1 more"),
        ({"body": {"name": "Ada", "tags": ["x"]}}, "body: tags 1 items, name “Ada”"),
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


@for_each(
    "others",
    [
        {f"text_{number}": "word " * 14 for number in range(30)},
        {f"id_{number}": "x" * 36 for number in range(30)},
        {f"ids_{number}": ["a", "b"] for number in range(30)},
        {"text": "A”; delete all: no; more: “B"},
    ],
)
def test_other_args_hide_no_switch(others: dict[str, Any]) -> None:
    args = others | {"delete_all": True, "owner": None}

    for text in (describe_args(args, {}), describe_args({"body": args}, {}).removeprefix("body: ")):
        assert text.replace(":", "").startswith(("delete all yes; owner nothing; ", "delete all yes, owner nothing, "))
        assert "”; delete" not in text


def test_long_texts_share_the_room_and_what_has_none_is_named() -> None:
    texts = {f"text_{number}": "word " * 16 for number in range(30)}

    few = describe_args({name: texts[name] for name in list(texts)[:6]} | {"account": "7"}, {})
    many = describe_args(texts, {})

    assert few.count("…”") == 6
    assert few.startswith("account: “7”; text 0: “word")
    assert len(few) <= MAX_ARGS_TEXT
    assert many.count("…”") == 6
    assert many.endswith(f"”; and {', '.join(f'text {number}' for number in range(6, 16))} and 14 more")
    assert describe_args({"body": dict.fromkeys("abcde", 7)}, {}) == "body: a 7, b 7, c 7 and d, e"
