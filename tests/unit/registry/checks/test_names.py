"""Names in prose: doubted where they are sent, let be where they are told."""

from typing import Any

import pytest

from registry.checks import names
from registry.checks.finding import Finding
from registry.checks.text_locations import CheckedOp
from tests.support.check_findings import context
from tests.support.op_entries import op, schema

STATES = {"type": "string", "enum": ["in_progress", "done"], "x-aliases": {"not_started": "done"}}
UPDATE = op(
    "onto.task.update",
    parameters_schema=schema(task_id={"type": "string"}, due_at={}, state_key=STATES, props=schema(sub_key={})),
    argument_aliases={"taskId": "task_id", "project.old_id": "task_id"},
    display_only=["task_title"],
)
LIST = op("onto.task.list", parameters_schema=schema(sort_by={}), aliases=["onto.tasks.list"])
OLD = op("onto.task.old", status="retired", successor="onto.task.list")


def found(**fields: Any) -> list[Finding]:
    return list(names.check(CheckedOp(UPDATE | fields), context(UPDATE, LIST, OLD)))


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        (
            "Send due_date only when it changes.",
            "onto.task.update has no argument due_date.",
            "Write: Send due_at only when it changes.",
        ),
        ("Never set the project_id.", "onto.task.update has no argument project_id.", ""),
        ("Read it first; then pass `parent_ref`.", "onto.task.update has no argument parent_ref.", ""),
        ("The argument owner_name decides.", "onto.task.update has no argument owner_name.", ""),
        ("The row_state parameter decides.", "onto.task.update has no argument row_state.", ""),
        ("Send sort_by.", "onto.task.update has no argument sort_by.", ""),  # another op's, which is not named
        ("It takes task_ids.", "onto.task.update has no argument task_ids.", "Write: It takes task_id."),
        ("Find it with onto.task.lst.", "There is no op onto.task.lst.", "Use onto.task.list."),
        ("Find it with onto.task.old.", "onto.task.old is retired.", "Use onto.task.list."),
    ],
)
def test_a_name_that_leads_nowhere_is_found(text: str, message: str, fix: str) -> None:
    (finding,) = found(policy={"do": ["Read it.", text]})

    assert (finding.field, finding.message) == ("policy/do/1", message)
    assert finding.fix == (fix or names.ARGUMENT.fix)


@pytest.mark.parametrize(
    "text",
    [
        "Send task_id, due_at and sub_key.",
        "Set taskId or old_id; send task_title to show it.",
        "Set state_key to in_progress or not_started.",
        "Send next_offset as due_at.",  # what an answer holds, sent under a name that there is
        "Answers has_more and next_cursor; started_at is told.",
        "To sort, send sort_by to onto.task.list.",
        "Send sort_by to onto.tasks.list.",
        "See onto.task, onto.task.update and https://onto.task.example/set/project_key.",
        "Kinds such as task.review; set my.project_key.",
        "",
    ],
)
def test_a_name_that_leads_somewhere_is_not(text: str) -> None:
    assert found(notes=text) == []


def test_names_are_looked_for_wherever_a_model_reads() -> None:
    said = "Send other_id."
    properties = UPDATE["parameters_schema"]["properties"]
    described = schema(**properties | {"a": {"type": "array", "items": {"description": said}}})

    fields = [
        finding.field
        for finding in found(
            summary=said,
            description=said,
            notes=said,
            policy={"dont": [said]},
            examples=[{"args": {}, "title": said, "note": said}],
            parameters_schema=described,
        )
    ]

    assert fields == [
        *("summary", "description", "notes", "policy/dont/0", "examples/0/title", "examples/0/note"),
        "parameters_schema/properties/a/items/description",
    ]


def test_a_name_is_told_once_a_text() -> None:
    assert len(found(notes="Send other_id. Never send other_id twice.")) == 1
