"""What the model is told about failed calls."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.turns import repair
from core.text import token_budget


def build_failure(message: str = "Wrong.", *, code: str = "VALIDATION_ERROR", **error: Any) -> dict[str, Any]:
    return {"ok": False, "error": {"code": code, "message": message, **error}}


def build_field_failure(*paths: str) -> dict[str, Any]:
    fields = [{"path": path, "code": "enum"} for path in paths]
    return build_failure(details={"reason": "invalid", "field_errors": fields})


@given(op=st.text(max_size=300), message=st.text(max_size=400), help_path=st.text(max_size=80))
def test_repair_has_at_most_100_tokens(op: str, message: str, help_path: str) -> None:
    failure = build_failure(message, code="NOT_FOUND", help_path=help_path)

    assert token_budget.count(repair.build_repair(op, failure, has_help=True)) <= 100
    assert token_budget.count(repair.build_give_up(op)) <= 100


@pytest.mark.parametrize("op", ["onto.task.create", "x7Q." * 50, "任務" * 100])
def test_repair_names_op_advice_and_help_but_not_the_error_which_stands_above(op: str) -> None:
    text = repair.build_repair(op, build_failure("The title is missing.", help_path="onto.task"), has_help=True)

    assert text.startswith(op[:10])
    assert "failed. Correct what the error names" in text
    assert "The title is missing." not in text
    assert "tool_help onto.task" in text
    assert token_budget.count(text) <= 100


def test_failures_of_other_fields_are_others() -> None:
    fields = [("/priority",), ("/due_at",), ("/due_at", "/priority"), ("/priority", "/due_at")]
    keys = [repair.build_repair_key("op", build_field_failure(*names)) for names in fields]

    assert len({*keys, repair.build_repair_key("op", build_failure())}) == 4
    assert keys[2] == keys[3]


def test_failure_that_only_the_user_can_end_is_not_repaired() -> None:
    failure = build_failure(code="CONFLICT", details={"reason": "connection_required", "requires_user_action": True})

    assert repair.is_repairable(build_failure(code="CONFLICT", details={"reason": "moved_elsewhere"}))
    assert not repair.is_repairable(failure)
