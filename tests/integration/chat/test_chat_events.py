"""The events of turns in the database: what is kept of turns that are forgotten, taken for dead, or fail to start."""

import threading
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import orjson
import pytest
from django.db.models.functions import Now
from django.utils import timezone

from chat.conversations import retention, start_turn, turn_store
from chat.errors import ApiError
from chat.events import event_writer, failed_turns
from chat.events.turn_log import TurnLog
from chat.gateway.client import Credentials
from chat.models import Conversation, EventChunk, Message
from chat.turns import turn_runner
from core.http import Abort

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

Finish = Message.Finish


def begin(subject: str = "ana") -> Message:
    return start_turn.start_turn(
        subject=subject, message="Hello", session_id=None, context=None, decisions=(), at=timezone.now()
    ).turn


Running = dict[str, tuple[TurnLog, Abort]]


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Running:
    """Turns that run in this process. Nothing writes them but the test."""
    monkeypatch.setattr(event_writer, "_running", {})
    turns: Running = {}
    for subject in ("ana", "ben"):
        log, abort = TurnLog(str(begin(subject).pk)), Abort()
        log.append("session", {})
        event_writer._running[log.turn_id] = (log, abort.set)
        turns[subject] = (log, abort)
    return turns


def list_written(log: TurnLog) -> list[str]:
    chunks = EventChunk.objects.filter(message_id=log.turn_id)
    return [type for chunk in chunks for type, _ in orjson.loads(chunk.events)]


def let_die(turn: Message | str) -> None:
    pk = turn if isinstance(turn, str) else turn.pk
    Message.objects.filter(pk=pk).update(held_until=Now() - timedelta(seconds=1))


def test_lost_answer_of_a_commit_does_not_stop_the_events(running: Running) -> None:
    (ana, _), (ben, _) = running["ana"], running["ben"]
    event_writer._write_all()
    ana.written = 0  # the first chunk is in the database, and nobody knows
    ana.append("text", {"delta": "a"})
    ben.append("text", {"delta": "b"})

    for _ in range(2):
        event_writer._write_all()

    assert (list_written(ana), list_written(ben)) == (["session", "text"], ["session", "text"])


def test_end_is_written_after_a_lost_answer_of_a_commit(running: Running) -> None:
    log, _ = running["ana"]
    event_writer._write_all()
    log.written = 0
    log.append("done", {})
    turn = Message.objects.get(pk=log.turn_id)
    turn.finish, turn.text = Finish.STOP, "Hello."

    with pytest.raises(event_writer.IntegrityError):
        event_writer.write_end(log, lambda: None)
    event_writer.write_end(log, lambda: turn_store.store_end(turn, tokens=1, dollars=0, at=timezone.now()))  # type: ignore[arg-type]

    turn.refresh_from_db()
    assert (list_written(log), turn.finish, turn.text) == (["session", "done"], Finish.STOP, "Hello.")


@pytest.mark.django_db(transaction=True)  # foreign keys are checked at its end
def test_turn_of_a_deleted_conversation_is_ended_and_the_others_go_on(running: Running) -> None:
    (_, ana_abort), (ben, ben_abort) = running["ana"], running["ben"]
    Conversation.objects.filter(subject="ana").delete()

    event_writer._write_all()
    event_writer._end_where_asked()

    assert (ana_abort.is_set, ben_abort.is_set) == (True, False)
    assert list_written(ben) == ["session"]


def test_turn_that_was_taken_for_dead_is_ended_and_keeps_what_it_did(
    running: Running,
) -> None:
    log, abort = running["ana"]
    turn = Message.objects.get(pk=log.turn_id)
    let_die(turn)
    failed_turns.mark_dead_turns()

    event_writer._end_where_asked()
    turn.finish, turn.text = Finish.CANCELLED, "Two projects are"
    turn_store.store_end(turn, tokens=1, dollars=0, at=timezone.now())  # type: ignore[arg-type]

    turn.refresh_from_db()
    assert (abort.is_set, turn.finish, turn.text) == (True, Finish.INTERRUPTED, "Two projects are")


def test_turn_of_the_version_before_is_marked_by_its_heartbeat() -> None:
    turn = begin()
    turns = Message.objects.filter(pk=turn.pk)
    turns.update(holder="", held_until=None, heartbeat_at=Now())
    failed_turns.mark_dead_turns()
    assert turns.get().finish == ""

    turns.update(heartbeat_at=Now() - failed_turns.LEASE - timedelta(seconds=1))
    failed_turns.mark_dead_turns()

    assert turns.get().finish == Finish.INTERRUPTED


def test_interrupted_turn_has_the_text_and_the_writes_of_its_events() -> None:
    turn = begin()
    operation = {"entity": "task", "action": "create", "entity_id": "t1"}
    events: list[Any] = [
        ["text", {"delta": "Cre"}],
        ["text", {"delta": "ated."}],
        ["operation", operation | {"status": "start"}],
        ["operation", operation | {"status": "success"}],
        ["operation", {"entity": "task", "action": "list", "status": "success"}],
    ]
    EventChunk.objects.create(message=turn, first=1, last=5, events=orjson.dumps(events).decode())
    let_die(turn)

    failed_turns.mark_dead_turns()

    turn.refresh_from_db()
    assert (turn.finish, turn.text) == (Finish.INTERRUPTED, "Created.")
    assert turn.written == [operation | {"status": "success"}]
    # To send the message again would create the task twice.
    assert turn.error == {
        "code": "interrupted",
        "message": "The answer was interrupted. Look at what was done before you ask for the rest.",
        "retryable": False,
    }


def test_all_events_of_a_long_turn_are_kept_until_minutes_after_its_end() -> None:
    turn, now = begin(), timezone.now()
    for minute in range(8):
        written_at = now - timedelta(minutes=8 - minute)
        EventChunk.objects.create(message=turn, first=minute + 1, last=minute + 1, events="[]", written_at=written_at)
    Message.objects.filter(pk=turn.pk).update(finish=Finish.STOP)

    retention.delete_event_chunks(now)
    assert turn.event_chunks.count() == 8

    retention.delete_event_chunks(now + timedelta(minutes=4, seconds=1))
    assert turn.event_chunks.count() == 0


def test_turn_whose_thread_cannot_start_does_not_block_its_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_writer, "_running", {})
    monkeypatch.setattr(event_writer, "_thread", threading.current_thread())  # it seems to run already
    monkeypatch.setattr(turn_runner, "start_thread", Mock(side_effect=RuntimeError("can't start new thread")))
    new = start_turn.start_turn(
        subject="ana", message="Hello", session_id=None, context=None, decisions=(), at=timezone.now()
    )

    with pytest.raises(ApiError) as refusal:
        turn_runner.run_in_thread(new, Credentials("key", "ana"))

    new.turn.refresh_from_db()
    assert (refusal.value.status, new.turn.finish, event_writer.count_turns()) == (503, Finish.ERROR, 0)
