"""What a new turn loads."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime

import pytest

from chat.conversations import past_turns, recent_messages
from chat.conversations.start_turn import NewTurn, start_turn
from chat.models import Message
from chat.turns import decisions


def start(message: str, *, session_id: str | None = None) -> NewTurn:
    return start_turn(
        subject="ana", message=message, session_id=session_id, context=None, decisions=(), at=datetime.now(UTC)
    )


@pytest.mark.django_db
def test_first_turn_of_a_conversation_loads_nothing_of_it(
    django_assert_num_queries: Callable[[int], AbstractContextManager[None]],
) -> None:
    first = start("Hello")

    with django_assert_num_queries(0):
        assert recent_messages.describe_conversation(first, asked=None) == {}
        assert past_turns.load_undecided_calls(first.conversation, before=first.begins_at) == []
        assert past_turns.load_past_turns(first.conversation, before=first.begins_at, learn=lambda _: None) == []
        decisions.build_write_keys(first)


@pytest.mark.django_db
def test_second_turn_has_the_messages_of_the_first() -> None:
    first = start("Hello")
    Message.objects.filter(pk=first.turn.pk).update(finish=Message.Finish.STOP, text="Hello, Ana.")

    second = start("And now?", session_id=str(first.conversation.pk))

    assert (first.is_first, second.is_first) == (True, False)
    described = recent_messages.describe_conversation(second, asked=None)
    assert [each["content"] for each in described["messages"]] == ["Hello", "Hello, Ana."]
