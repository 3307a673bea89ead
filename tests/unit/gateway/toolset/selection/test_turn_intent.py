"""What a message asks for in its conversation: answers, statements and corrections."""

from dataclasses import dataclass
from typing import Any

import pytest

from gateway.toolset.conversation import ToolsetConversation
from gateway.toolset.selection.message_intent import Intent
from gateway.toolset.selection.turn_intent import resolve_intent


@dataclass(frozen=True)
class Call:
    """An op as far as an intent looks at it."""

    is_write: bool


def resolve(message: str, *earlier: str, changed: bool = False) -> Any:
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": text} for at, text in enumerate(earlier)]
    conversation = ToolsetConversation.of_body({"message": message, "messages": messages})
    return resolve_intent(conversation, [Call(changed)] if earlier else [])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("message", "language"),
    [
        ("yes do", "Delete the rain risk"),
        ("that one, yes", "Delete the rain risk"),
        ("ja, kann weg", "Lösch das Risiko Regen"),
        ("oui oui", "supprime le risque"),
        ("claro que sí", "borra el riesgo"),
    ],
)
def test_answer_to_a_question_continues_the_request_before(message: str, language: str) -> None:
    asked = resolve(message, language, "Shall I delete it?")

    assert asked.intent != Intent.READ
    assert "delete" in asked.actions


@pytest.mark.parametrize("message", ["he prefers 4", "no, only the morning", "thursday after all", "15, sorry"])
def test_statement_after_a_change_corrects_it(message: str) -> None:
    asked = resolve(message, "Add a call with Jon", "Added.", changed=True)

    assert asked.intent == Intent.WRITE
    assert "update" in asked.actions


@pytest.mark.parametrize(
    "message",
    ["what else is on that day?", "show me the others", "Wer hat das geändert?", "thanks, very kind", "bis bald"],
)
def test_question_and_thanks_after_a_change_only_read(message: str) -> None:
    assert resolve(message, "Add a call with Jon", "Added.", changed=True).intent == Intent.READ


@pytest.mark.parametrize(
    ("message", "intent"),
    [
        ("can the last one start an hour earlier?", Intent.WRITE),
        ("can the last one be seen by everyone?", Intent.READ),
        ("what did we agree on, it must be in some note", Intent.READ),
        ("new task: show Anna the plan", Intent.WRITE),
        ("no need for the raffle any more", Intent.WRITE),
    ],
)
def test_request_is_told_from_a_question(message: str, intent: Intent) -> None:
    assert resolve(message).intent == intent
