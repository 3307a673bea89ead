"""What envelopes of the gateway say, in words."""

import pytest

from chat.gateway.envelopes import name_operation


@pytest.mark.parametrize(
    ("op", "action", "expected"),
    [
        ("shop.order.cancel", "delete", "cancel"),  # a service's op that counts as a delete
        ("shop.cancelOrder", "delete", "cancel"),
        ("onto.task.delete", "delete", "delete"),
        ("onto.task.shift", "shift", "shift"),
        ("shop.order.run", "delete", "delete"),  # the name says nothing else
        ("", "update", "update"),
    ],
)
def test_operation_has_the_verb_of_its_op(op: str, action: str, expected: str) -> None:
    assert name_operation({"entity": "order", "action": action}, op) == {"entity": "order", "action": expected}
