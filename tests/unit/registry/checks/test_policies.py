"""Rules that forbid what other rules ask for."""

import pytest

from registry.checks import prose
from tests.support.rows.op_entries import build_op_entry


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
