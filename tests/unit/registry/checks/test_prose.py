"""Names in prose that are unknown where they are sent, and rules that forbid what other rules ask for."""

from typing import Any

import pytest

from registry.checks import prose
from registry.checks.finding import Finding
from registry.checks.text_locations import CheckedOp
from tests.support.growth import assert_linear
from tests.support.rows.check_findings import build_check_context
from tests.support.rows.op_entries import build_op_entry, build_schema

STATES = {"type": "string", "enum": ["in_progress", "done"], "x-aliases": {"not_started": "done"}}
UPDATE = build_op_entry(
    "onto.task.update",
    parameters_schema=build_schema(
        task_id={"type": "string"}, due_at={}, sortOrder={}, state_key=STATES, props=build_schema(sub_key={})
    ),
    argument_aliases={"taskId": "task_id", "project.old_id": "task_id"},
    display_only=["task_title"],
)
LIST = build_op_entry("onto.task.list", parameters_schema=build_schema(sort_by={}), aliases=["onto.tasks.list"])
OLD = build_op_entry("onto.task.old", status="retired", successor="onto.task.list")


def check_names(**fields: Any) -> list[Finding]:
    return list(prose.check_names(CheckedOp(UPDATE | fields), build_check_context(UPDATE, LIST, OLD)))


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        (
            "Send due_date only when it changes.",
            "onto.task.update has no argument due_date.",
            "Did you mean: Send due_at only when it changes.",
        ),
        ("Never set the project_id.", "onto.task.update has no argument project_id.", ""),
        ("Read it first; then pass `parent_ref`.", "onto.task.update has no argument parent_ref.", ""),
        ("The argument owner_name decides.", "onto.task.update has no argument owner_name.", ""),
        ("Send sort_by.", "onto.task.update has no argument sort_by.", ""),  # an argument of another op
        ("It takes task_ids.", "onto.task.update has no argument task_ids.", "Did you mean: It takes task_id."),
        ("Find it with onto.task.lst.", "There is no op onto.task.lst.", "Did you mean onto.task.list?"),
        ("Find it with onto.task.old.", "onto.task.old is retired.", "Its successor is onto.task.list."),
    ],
)
def test_unknown_name_is_found(text: str, message: str, fix: str) -> None:
    (finding,) = check_names(policy={"do": ["Read it.", text]})

    assert (finding.field, finding.message) == ("policy/do/1", message)
    assert finding.fix == (fix or prose.ARGUMENT.fix)


@pytest.mark.parametrize(
    "text",
    [
        "Send task_id, due_at and sub_key.",
        "Set taskId or old_id; send task_title to show it.",
        "Set state_key to in_progress or not_started.",
        "Send next_offset as due_at.",  # a field of an answer, sent as an existing argument
        "Answers has_more and next_cursor; started_at is told.",
        "To sort, send sort_by to onto.task.list.",
        "Send sort_by to onto.tasks.list.",
        "See onto.task, onto.task.update and https://onto.task.example/set/project_key.",
        "Kinds such as task.review; set my.project_key.",
        "Answers sort_order, and mail to onto.com.",
        "",
    ],
)
def test_known_name_is_accepted(text: str) -> None:
    assert check_names(notes=text) == []


def test_names_are_checked_in_every_text_that_a_model_reads() -> None:
    text = "Send other_id."
    properties = UPDATE["parameters_schema"]["properties"]
    described = build_schema(**properties | {"a": {"type": "array", "items": {"description": text}}})

    fields = [
        finding.field
        for finding in check_names(
            summary=text,
            description=text,
            notes=text,
            policy={"dont": [text]},
            examples=[{"args": {}, "title": text, "note": text}],
            parameters_schema=described,
        )
    ]

    assert (
        fields
        == """
    summary description notes policy/dont/0 examples/0/title examples/0/note
    parameters_schema/properties/a/items/description
""".split()
    )


def test_name_is_reported_once_per_text() -> None:
    assert len(check_names(notes="Send other_id. Never send other_id twice.")) == 1


def test_names_of_ops_that_do_not_exist_are_found_in_linear_time() -> None:
    def check_all(entries: list[dict[str, Any]]) -> None:
        context = build_check_context(*entries)
        for entry in entries:
            assert list(prose.check_names(CheckedOp(entry), context))

    def build(size: int) -> list[dict[str, Any]]:
        return [build_op_entry(f"crm.item{at}.get", description=f"See crm.other{at}.get.") for at in range(size)]

    assert_linear(check_all, build, size=1_000)


@pytest.mark.parametrize(
    ("do", "dont", "contradict"),
    [
        ("Send due_at with every update.", "Never send due_at.", True),
        ("Ask the user when several fit.", "Never ask the user.", True),
        ("Search tasks before creating one", "Don't search tasks before creating ones.", True),
        ("Delete duplicates.", "Avoid delete duplicates", True),
        # one of the two has a condition
        ("Send only fields that change.", "Never send fields that do not change.", False),
        ("Delete the event to cancel it.", "Never delete the event to move it.", False),
        # different objects, different verbs, no object
        ("Read the task before replacing it.", "Never read urgency out of the order of rows.", False),
        ("Find the id with search.", "Never guess the id; find it with search.", False),
        ("Search.", "Never search.", False),
        ("", "Never.", False),
    ],
)
def test_do_and_dont_contradict_when_both_name_one_action(do: str, dont: str, contradict: bool) -> None:
    findings = list(
        prose.check_policies(
            build_op_entry("a.b", policy={"do": ["Be kind.", do], "dont": [dont], "edge_cases": [dont]})
        )
    )

    assert [(finding.field, "policy/do/1" in finding.message) for finding in findings] == [
        ("policy/dont/0", True)
    ] * contradict
