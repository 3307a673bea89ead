"""The log of a turn: numbers without gaps, and streams that wait for it."""

import asyncio
import threading

from chat.events import event_reader
from chat.events.turn_log import TurnLog
from tests.support.loops import for_each

TURN = "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01"


def test_events_are_numbered_from_one() -> None:
    log = TurnLog(TURN)
    log.append("session", {"a": 1})
    log.append("text", {"delta": "ü"})

    expected = [(1, "session", b'{"a":1}'), (2, "text", '{"delta":"ü"}'.encode())]
    assert [(event.number, event.type, event.data) for event in log.get_after(0)] == expected
    assert [event.number for event in log.get_after(1)] == [2]
    assert log.get_after(9) == []


def test_many_streams_get_all_events_of_a_thread() -> None:
    log = TurnLog(TURN)

    async def read() -> list[int]:
        numbers: list[int] = []
        while not (log.is_closed and len(numbers) == len(log.get_after(0))):
            if await log.wait_for_more(len(numbers), seconds=10):
                numbers += [event.number for event in log.get_after(len(numbers))]
        return numbers

    def write() -> None:
        for number in range(500):
            log.append("text", {"delta": str(number)})
        log.close()

    async def run() -> list[list[int]]:
        threading.Thread(target=write).start()
        return await asyncio.gather(*(read() for _ in range(20)))

    assert asyncio.run(run()) == [list(range(1, 501))] * 20


def test_wait_ends_when_nothing_comes() -> None:
    assert asyncio.run(TurnLog(TURN).wait_for_more(0, seconds=0.01)) is False


@for_each("text", ["", "12", TURN, f"{TURN}:", f"{TURN}:-1", f"{TURN}:1e3", f"{'-' * 36}:1", f"{TURN}:1\n"])
def test_malformed_event_ids_are_refused(text: str) -> None:
    assert event_reader.parse_event_id(text) is None
    assert event_reader.parse_event_id(f"{TURN}:12") == (TURN, 12)
