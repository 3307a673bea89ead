"""What a plain yes may run."""

from typing import Any

from chat.models import ToolCall
from chat.turns.decisions import is_destructive
from tests.support.loops import for_each


def ask(op: str, action: str) -> dict[str, Any]:
    confirmation = {"operation": {"entity": "order", "action": action} if action else {}}
    details = {"reason": "confirmation_required", "confirmation": confirmation}
    return {"op": op, "ok": False, "error": {"details": details}}


@for_each(
    "op, action, expected",
    [
        ("onto.task.create", "create", False),
        ("shop.order.submit", "execute", False),
        ("mail.message.send", "", False),
        ("onto.task.delete", "delete", True),
        ("shop.order.purge_all", "execute", True),
        ("shop.order.expire", "execute", True),  # nobody knows
        ("shop.cleanup.delete_and_create", "create", True),
        ("laden.bestellung.loeschen", "", True),
        ("shop.trash.add", "add", True),
    ],
)
def test_call_is_destructive_unless_its_names_say_otherwise(op: str, action: str, expected: bool) -> None:
    assert is_destructive(ToolCall(op=op, envelope=ask(op, action))) is expected


def test_batch_is_destructive_if_one_of_its_open_calls_is() -> None:
    done = {"op": "onto.task.delete", "ok": True}
    batch: dict[str, Any] = {"batch_id": "b", "results": [done, ask("onto.task.create", "create")]}

    assert is_destructive(ToolCall(envelope=batch)) is False
    batch["results"].append(ask("onto.task.delete", "delete"))
    assert is_destructive(ToolCall(envelope=batch)) is True
