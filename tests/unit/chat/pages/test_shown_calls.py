"""Cards: what a closed card says, and what the user is asked."""

from datetime import UTC
from typing import Any

import pytest

from chat.models import ToolCall
from chat.pages.shown_calls import LEFT_UNDONE, format_duration, show_call
from chat.turns.wording import Question
from tests.support.loops import for_each

REFUSAL: dict[str, Any] = {
    "op": "onto.task.delete",
    "ok": False,
    "error": {
        "code": "CONFLICT",
        "message": "onto.task.delete needs the end user's agreement; nothing was done.",
        "details": {
            "reason": "confirmation_required",
            "confirmation": {
                "operation": {"entity": "task", "action": "delete", "entity_name": "Find a venue"},
                "args_text": "scope: “all”",
            },
        },
    },
}


def build_call(**fields: Any) -> ToolCall:
    values = {"call_id": "call_1", "name": "tool_exec", "op": "onto.task.list", "args": '{"op": "onto.task.list"}'}
    return ToolCall(**(values | {"status": "success", "position": 1, "round": 1, "text_before": 0} | fields))


def test_waiting_call_asks_with_buttons_that_name_the_row_and_a_passed_over_one_nothing() -> None:
    waiting, passed = (
        show_call(build_call(status="confirm", envelope=REFUSAL), is_waiting=is_waiting, zone=UTC)
        for is_waiting in (True, False)
    )

    text = "Delete the task “Find a venue”? Scope: “all”"
    assert waiting.question == Question(text, "Delete “Find a venue”", "Keep it")
    assert waiting.label == "Needs your approval"
    assert (passed.status, passed.label, passed.headline, passed.question) == ("undone", "Not done", LEFT_UNDONE, None)


def test_call_that_only_the_user_can_repair_is_marked() -> None:
    error = {"message": "Connect a calendar.", "details": {"reason": "not_connected"}}
    card = show_call(build_call(status="error", envelope={"ok": False, "error": error}), is_waiting=True, zone=UTC)

    assert card.is_for_user
    assert card.label == "Needs you"


@for_each(
    "action, link",
    [
        (True, ""),
        ({"type": "sign_in", "url": "https://gateway.example/connect/crm"}, "https://gateway.example/connect/crm"),
        ({"url": "javascript:alert(1)"}, ""),
        ({"url": 5}, ""),
    ],
)
def test_card_says_what_to_connect_with_the_link(action: Any, link: str) -> None:
    details = {"reason": "connection_required", "requires_user_action": action, "how_to_connect": "Connect it. " * 20}
    envelope = {"ok": False, "error": {"message": "Tell the user.", "details": details}}

    card = show_call(build_call(status="error", envelope=envelope), is_waiting=True, zone=UTC)

    assert (card.label, card.headline, card.link) == ("Needs you", ("Connect it. " * 20).strip(), link)


def test_malformed_arguments_are_shown_as_the_model_wrote_them() -> None:
    card = show_call(build_call(args='{"op": ', status="error"), is_waiting=True, zone=UTC)

    assert card.args == '{"op": '
    assert card.envelope == ""


@pytest.mark.parametrize(("milliseconds", "text"), [(None, ""), (0, "0 ms"), (999, "999 ms"), (1240, "1.2 s")])
def test_durations_have_a_unit(milliseconds: int | None, text: str) -> None:
    assert format_duration(milliseconds) == text
