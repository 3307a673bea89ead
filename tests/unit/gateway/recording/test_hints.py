"""A memory that worker processes share: counts and notes that are forgotten."""

import os

import time_machine

from gateway.recording.hints import MAX_TEXT, SharedSlots


def test_counts_and_notes_are_kept_by_key() -> None:
    slots = SharedSlots(lifetime=60)
    slots.store_note("turn-1", "found", note="onto.task.update")

    assert [
        slots.increment("turn-1", "help"),
        slots.increment("turn-1", "help"),
        slots.increment("turn-2", "help"),
    ] == [1, 2, 1]
    assert slots.get_note("turn-1", "found") == "onto.task.update"
    assert slots.get_note("turn-2", "found") == ""


def test_entries_are_forgotten_after_their_lifetime_and_when_cleared() -> None:
    slots = SharedSlots(lifetime=60)
    with time_machine.travel(1_000_000, tick=False) as now:
        slots.store_note("a", note="x")
        slots.increment("b")
        now.shift(61)

        assert (slots.get_note("a"), slots.increment("b")) == ("", 1)
        slots.clear()
        assert slots.increment("b") == 1


def test_note_that_is_too_long_is_not_stored() -> None:
    slots = SharedSlots(lifetime=60)

    slots.store_note("a", note="ä" * MAX_TEXT)

    assert slots.get_note("a") == ""


def test_forked_processes_share_their_entries() -> None:
    slots = SharedSlots(lifetime=60)
    child = os.fork()
    if child == 0:
        slots.store_note("a", note="from the child")
        os._exit(0)
    os.waitpid(child, 0)

    assert slots.get_note("a") == "from the child"
