"""Versions of messages: edited questions and other answers, what the page and the model read of them, and the guard."""

import pytest

from chat.conversations import transcript, versions
from chat.conversations.start_turn import UserDecision
from chat.errors import ApiError
from chat.models import Message
from tests.support.chat.chat import ChatHarness, TurnResult, exec_call
from workspace.demo import DEMO_PROJECT_ID, DEMO_SUBJECT, DEMO_TASK_ID

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def read_texts(turn: TurnResult) -> list[str]:
    return [each["text"] for each in transcript.read_shown(DEMO_SUBJECT, str(turn.conversation.pk))["messages"]]


def show(turn: TurnResult, message: Message) -> None:
    versions.show_version(DEMO_SUBJECT, str(turn.conversation.pk), str(message.pk))


def read_request(turn: TurnResult) -> list[str]:
    """Return what the model read of the conversation, without the system's part and the time."""
    messages = [each["content"] for each in turn.requests[0]["messages"] if each["role"] != "system"]
    return [text.partition("\n\n[Sent ")[0] for text in messages]


def test_question_is_answered_again_and_the_versions_can_be_switched(chat: ChatHarness) -> None:
    first = chat.say("A rhyme", "Moon, soon.")
    second = chat.replace(first, "Sea, tea.")
    third = chat.say("Longer", "Sea, tea, me.", session=str(first.conversation.pk))

    assert read_request(second) == ["A rhyme"]
    assert read_request(third) == ["A rhyme", "Sea, tea.", "Longer"]
    assert read_texts(first) == ["A rhyme", "Sea, tea.", "Longer", "Sea, tea, me."]
    shown = transcript.read_shown(DEMO_SUBJECT, str(first.conversation.pk))["messages"]
    assert shown[1]["versions"] == [str(first.message.pk), str(second.message.pk)]
    assert shown[2]["versions"] == [shown[2]["id"]]

    show(first, first.message)
    assert read_texts(first) == ["A rhyme", "Moon, soon."]
    show(first, second.message)
    assert read_texts(first) == ["A rhyme", "Sea, tea.", "Longer", "Sea, tea, me."]


def test_edited_question_begins_anew_and_keeps_what_followed_the_other_one(chat: ChatHarness) -> None:
    first = chat.say("A rhyme", "Moon, soon.")
    chat.say("Longer", "Moon, soon, tune.", session=str(first.conversation.pk))
    edited = chat.replace(first, "Rot, Brot.", message="A German rhyme")
    again = chat.replace(edited, "Haus, Maus.")

    assert read_request(again) == ["A German rhyme"]
    assert read_texts(first) == ["A German rhyme", "Haus, Maus."]
    show(first, first.conversation.messages.get(text="A rhyme"))
    assert read_texts(first) == ["A rhyme", "Moon, soon.", "Longer", "Moon, soon, tune."]
    show(first, first.conversation.messages.get(text="A German rhyme"))
    assert read_texts(first) == ["A German rhyme", "Haus, Maus."]


def test_what_has_written_is_replaced_only_if_the_user_agrees(chat: ChatHarness) -> None:
    create = [exec_call("onto.task.create", project_id=DEMO_PROJECT_ID, title="Twice")]
    turn = chat.say("Create it", create, "Created.")

    with pytest.raises(ApiError) as refused:
        chat.replace(turn, create, "Created.")
    assert (refused.value.status, refused.value.code) == (409, "has_written")
    assert read_texts(turn) == ["Create it", "Created."]

    again = chat.replace(turn, create, "Created again.", repeats_writes=True)
    assert [each["status"] for each in again.written] == ["success"]
    assert read_texts(turn) == ["Create it", "Created again."]


def test_summary_of_replaced_messages_is_dropped(chat: ChatHarness) -> None:
    turn = chat.say("A rhyme", "Moon, soon.")
    turn.conversation.summary, turn.conversation.summarised_until = "They rhymed.", 2
    turn.conversation.save()

    again = chat.replace(turn, "Sea, tea.")

    assert (again.conversation.summary, again.conversation.summarised_until) == ("", 0)


def test_answer_that_failed_before_it_began_is_no_version(chat: ChatHarness) -> None:
    turn = chat.say("A rhyme", "Moon, soon.")
    Message.objects.filter(pk=turn.message.pk).update(finish="error", text="")

    chat.replace(turn, "Sea, tea.")

    assert read_texts(turn) == ["A rhyme", "Sea, tea."]
    assert versions.map_versions(turn.conversation) == {}


def test_call_of_a_hidden_answer_no_longer_waits(chat: ChatHarness) -> None:
    turn = chat.say("Delete it", [exec_call("onto.task.delete", task_id=DEMO_TASK_ID)])
    chat.replace(turn, "Which one?")

    with pytest.raises(ApiError) as refused:
        chat.decide_all(turn, [UserDecision(str(turn.calls[0].pk), True)])

    assert refused.value.code == "not_waiting"


def test_unknown_versions_and_running_turns_are_refused(chat: ChatHarness) -> None:
    turn = chat.say("A rhyme", "Moon, soon.")
    chat.replace(turn, "Sea, tea.")
    running = Message.objects.create(conversation=turn.conversation, position=9, role="assistant")

    for message, code in ((turn.message, "turn_running"), (running, "not_found")):
        with pytest.raises(ApiError) as refused:
            show(turn, message)
        assert refused.value.code == code
