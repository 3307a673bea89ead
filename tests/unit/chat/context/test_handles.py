"""Handles of rows: both ways without a loss, and never in a text for people."""

import json
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.context.handles import NamedText, RowHandles, accept_handles
from chat.context.layers import PastCall, PastStep, PastTurn
from tests.support.cpu_budget import examples

FIRST, SECOND = "7e3b9f20-1c4d-4a8b-8e55-2d90c6fa3b01", "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01"
NAMES = {FIRST: "Draft the copy", SECOND: "Website relaunch"}


def _read(text: str, *pieces: str) -> str:
    shown: list[str] = []
    named = NamedText(RowHandles([FIRST, SECOND]), lambda id: NAMES.get(id, ""), shown.append)
    for piece in pieces or (text,):
        named.add(piece)
    named.finish()
    return "".join(shown)


def test_handles_are_stable_and_stored_once() -> None:
    stored: list[list[str]] = []
    handles = RowHandles([FIRST], store=lambda ids: stored.append(list(ids)))
    value = {"task": {"id": FIRST, "links": [{"id": SECOND}]}, SECOND: 1, "count": 2}
    assert handles.shorten_value(value) == {"task": {"id": "#t1", "links": [{"id": "#t2"}]}, "#t2": 1, "count": 2}
    handles.store_new()
    handles.store_new()
    assert stored == [[FIRST, SECOND]]
    assert handles.shorten(f"{SECOND} and {FIRST}") == "#t2 and #t1"


def test_handles_leave_addresses_and_longer_words_alone() -> None:
    text = f"https://example.test/tasks/{FIRST}?of={SECOND} x{FIRST} {FIRST}-1"
    assert RowHandles([]).shorten(text) == text


def test_arguments_get_ids_at_any_depth_also_in_texts() -> None:
    handles = RowHandles([FIRST, SECOND])
    sent = {"ops": [{"args": {"task_ids": ["#t1", "#t2"], "text": "See\n#t2, not #t1."}}], "title": "#t12 x"}
    expected = {"ops": [{"args": {"task_ids": [FIRST, SECOND], "text": f"See\n{SECOND}, not {FIRST}."}}]}
    assert json.loads(handles.expand(json.dumps(sent))) == {**expected, "title": "#t12 x"}


@pytest.mark.parametrize(
    ("arguments", "is_unknown"), [('{"id":"#t9"}', True), ('{"ids":["#t1","#t0"]}', True), ('{"title":"a #t9"}', False)]
)
def test_handle_of_no_row_is_known_to_be_one(arguments: str, is_unknown: bool) -> None:
    handles = RowHandles([FIRST])
    assert handles.has_unknown(handles.expand(arguments)) == is_unknown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("I changed #t1.", "I changed Draft the copy."),
        ("1. Draft the copy (#t1), due today", "1. Draft the copy, due today"),
        ("`#t2`: [#t1]", "`Website relaunch`:"),
        ("# Tasks\n#tags, a#t1 and #t100", "# Tasks\n#tags, a#t1 and #t100"),
    ],
)
def test_people_read_names_however_the_text_arrives(text: str, shown: str) -> None:
    assert _read(text) == shown
    assert _read(text, *text) == shown
    for at in range(len(text)):
        assert _read(text, text[:at], text[at:]) == shown


def test_past_turn_has_handles_in_its_texts_arguments_and_results() -> None:
    call = PastCall("c1", "tool_exec", json.dumps({"task_id": FIRST}), json.dumps({"id": SECOND}))
    turn = RowHandles([]).shorten_turn(PastTurn(f"About {FIRST}", (PastStep("", (call,)),), f"It is {SECOND}."))
    assert FIRST not in repr(turn)
    assert SECOND not in repr(turn)


def test_definitions_do_not_hold_a_model_to_the_format_of_ids() -> None:
    schema = {"properties": {"task_id": {"type": "string", "format": "uuid"}, "format": {"type": "string"}}}
    expected = {"properties": {"task_id": {"type": "string"}, "format": {"type": "string"}}}
    assert accept_handles([schema]) == [expected]


_VALUES = st.recursive(
    st.text(max_size=20) | st.uuids().map(str) | st.integers(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=20,
)


@settings(max_examples=examples(50))
@given(value=_VALUES, known=st.lists(st.uuids(), max_size=3))
def test_any_value_comes_back_from_its_handles(value: object, known: list[UUID]) -> None:
    handles = RowHandles([str(each) for each in known])
    assert json.loads(handles.expand(json.dumps(handles.shorten_value(value)))) == value
