"""An edit adds one thing to an op's entry and leaves the rest as it is."""

from typing import Any

import pytest

from registry.drafts import edits
from registry.drafts.edits import InvalidOpEdit, OpEdit
from tests.support.rows.op_entries import build_op_entry, build_schema

ENTRY = build_op_entry(
    "onto.task.add",
    keywords=["jot"],
    aliases=["task.new"],
    argument_aliases={"name": "title"},
    policy={"do": ["Search first."]},
    examples=[{"args": {"title": "x"}}],
    parameters_schema=build_schema(("title",), title={"type": "string"}),
)


@pytest.mark.parametrize(
    ("edit", "text", "argument", "changed"),
    [
        (OpEdit.KEYWORD, " Put it  off\n", "", {"keywords": ["jot", "put it off"]}),
        (OpEdit.ALIAS, "task.add", "", {"aliases": ["task.add", "task.new"]}),
        (OpEdit.ARGUMENT_ALIAS, "label", "title", {"argument_aliases": {"name": "title", "label": "title"}}),
        (OpEdit.DO, "Be kind.", "", {"policy": {"do": ["Search first.", "Be kind."]}}),
        (OpEdit.DONT, "Guess.", "", {"policy": {"do": ["Search first."], "dont": ["Guess."]}}),
        (OpEdit.EXAMPLE, '{"title": "y"}', "", {"examples": [{"args": {"title": "x"}}, {"args": {"title": "y"}}]}),
    ],
)
def test_edit_adds_to_what_is_there(edit: OpEdit, text: str, argument: str, changed: dict[str, Any]) -> None:
    before = {**ENTRY}

    assert edits.apply_edit(ENTRY, edit, text, argument=argument) == {**ENTRY, **changed}
    assert before == ENTRY


def test_edit_begins_lists_that_are_empty() -> None:
    bare = build_op_entry("a.b", parameters_schema=build_schema(title={"type": "string"}))

    for edit, text in zip(OpEdit, ("k", "a.c", "name", "Do.", "Don't.", "Edge.", "{}"), strict=True):
        assert edits.apply_edit(bare, edit, text, argument="title") != bare


@pytest.mark.parametrize(
    ("edit", "text", "argument", "problem"),
    [
        (OpEdit.KEYWORD, "JOT", "", "already has this"),
        (OpEdit.ALIAS, "put off", "", "A name has letters"),
        (OpEdit.ARGUMENT_ALIAS, "label", "colour", "has no argument colour"),
        (OpEdit.ARGUMENT_ALIAS, "name", "title", "already an alias of title"),
        (OpEdit.DO, "x" * 301, "", "the limit of a rule is 300"),
        (OpEdit.DO, "Send state_key as …", "", "Replace … with what to send"),
        (OpEdit.DO, "Send state_key as ...", "", "Replace … with what to send"),
        (OpEdit.EXAMPLE, "[1]", "", "a JSON object"),
        (OpEdit.EXAMPLE, '{"a": 1, "a": 2}', "", "the same key twice"),
        (OpEdit.EXAMPLE, "{", "", "The example is not valid JSON"),
    ],
)
def test_edit_that_cannot_be_made_is_refused(edit: OpEdit, text: str, argument: str, problem: str) -> None:
    with pytest.raises(InvalidOpEdit, match=problem):
        edits.apply_edit(ENTRY, edit, text, argument=argument)
