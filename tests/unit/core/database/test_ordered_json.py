"""JSON that is shown again as it came."""

import json

import pytest

from chat.models import Conversation, Message, ToolCall

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

ENVELOPE = {"op": "onto.task.list", "ok": True, "result": {"tasks": [], "a": {"zz": 1.0, "b": None}, "text": "é\x00"}}


@pytest.mark.parametrize("value", [ENVELOPE, [], "", None])
def test_value_that_is_read_again_is_the_same_text(value: object) -> None:
    message = Message.objects.create(conversation=Conversation.objects.create(), position=1)

    call = ToolCall.objects.create(message=message, position=1, round=1, text_before=0, envelope=value)

    call.refresh_from_db()
    assert json.dumps(call.envelope) == json.dumps(value)
    assert ToolCall.objects.filter(envelope__isnull=True).exists() is (value is None)
