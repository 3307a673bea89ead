"""The chat as processes: streams that break, processes that die, and turns that go on without their readers."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from chat.models import Message
from tests.support.servers.chat import ChatServer, Event, run_chat, run_in_threads
from tests.support.servers.environment import make_key
from tests.support.servers.processes import Server, eventually
from tests.support.servers.stores import Store
from workspace.demo import DEMO_SUBJECT

pytestmark = pytest.mark.server

QUESTION = "What is on my plate? Show my high-priority tasks."  # takes some seconds to answer
HELLO = "Hello"
TURNS, AT_ONCE = 50, 10
INTERRUPTED_WITHIN = 15.0


@pytest.fixture
def start_chat(server: Server, store: Store, tmp_path: Path) -> Iterator[Callable[..., ChatServer]]:
    """Start a chat process over the test's database. All are stopped."""
    key = make_key(subject="")
    with ExitStack() as stack:
        yield lambda **variables: stack.enter_context(run_chat(store, tmp_path, server, key=key, variables=variables))


def take(events: Iterator[Event], type: str) -> Event:
    """Return the next event of a type."""
    return next(event for event in events if event[1] == type)


def get_numbers(events: list[Event]) -> list[int]:
    return [int(id.rpartition(":")[2]) for id, _, _ in events]


def test_cut_streams_resume_without_a_gap_and_without_a_repeat(start_chat: Callable[..., ChatServer]) -> None:
    first, second = start_chat(), start_chat()
    randomness = random.Random(7)
    cuts = [(turn, randomness.randint(1, 60), randomness.choice([first, second])) for turn in range(TURNS)]

    def check(turn: int, cut: int, other: ChatServer) -> None:
        subject = f"reader-{turn}"
        with first.open(subject, HELLO) as events:
            begun = [event for event, _ in zip(events, range(cut), strict=False)]
        with other.resume(subject, begun[-1][0]) as events:
            rest = list(events)
        with second.resume(subject, f"{begun[0][2]['message_id']}:0") as events:
            whole = list(events)
        assert begun + rest == whole
        assert get_numbers(whole) == list(range(1, len(whole) + 1))
        assert whole[-1][1] == "done"

    for at in range(0, TURNS, AT_ONCE):
        run_in_threads([lambda each=each: check(*each) for each in cuts[at : at + AT_ONCE]])


@pytest.mark.both_databases
def test_killed_process_ends_the_stream_with_interrupted(start_chat: Callable[..., ChatServer]) -> None:
    first, second = start_chat(), start_chat()

    with first.open(DEMO_SUBJECT, QUESTION) as events:
        last = take(events, "text")
        killed_at = time.monotonic()
        first.process.kill()
        begun = [last, *events]
    with second.resume(DEMO_SUBJECT, begun[-1][0]) as events:
        rest = list(events)

    assert time.monotonic() - killed_at < INTERRUPTED_WITHIN + 5  # on a busy machine
    assert (rest[-1][1], rest[-1][2]["code"]) == ("error", "interrupted")
    assert get_numbers(begun + rest) == sorted(set(get_numbers(begun + rest)))
    assert Message.objects.get(role="assistant").finish == "interrupted"
    assert second.send(DEMO_SUBJECT, HELLO)[-1][1] == "done"  # the next message is answered


def test_turn_goes_on_when_its_page_is_closed(start_chat: Callable[..., ChatServer]) -> None:
    chat = start_chat()

    with chat.open(DEMO_SUBJECT, QUESTION) as events:
        take(events, "text")

    message = eventually(lambda: Message.objects.filter(finish="stop").first(), within=60, what="the end of the turn")
    assert message.text
    assert message.calls.get().status == "success"


def test_cancel_reaches_the_process_of_the_turn(start_chat: Callable[..., ChatServer]) -> None:
    first, second = start_chat(), start_chat()

    with first.open(DEMO_SUBJECT, QUESTION) as events, second.client(DEMO_SUBJECT) as http:
        session = take(events, "session")[2]
        take(events, "text")
        late = http.post(f"sessions/{session['session_id']}/cancel", json={"message_id": str(session["session_id"])})
        cancelled = http.post(f"sessions/{session['session_id']}/cancel")
        done = take(events, "done")

    assert (late.json(), cancelled.json()) == ({"cancelled": False}, {"cancelled": True})
    assert done[2]["reason"] == "cancelled"


def test_turns_of_a_subject_are_limited(start_chat: Callable[..., ChatServer]) -> None:
    chat = start_chat()

    with chat.open(DEMO_SUBJECT, QUESTION) as events, chat.client(DEMO_SUBJECT) as http:
        session = take(events, "session")[2]["session_id"]
        busy = http.post("stream", json={"message": HELLO, "session_id": session})
        with chat.open(DEMO_SUBJECT, QUESTION) as others:
            take(others, "session")
            third = http.post("stream", json={"message": HELLO})

    assert (busy.status_code, busy.json()["error"]["code"]) == (409, "turn_running")
    assert (third.status_code, third.json()["error"]["code"]) == (429, "rate_limited")
    assert int(third.headers["Retry-After"]) > 0


def test_gateway_judges_keys_of_services(start_chat: Callable[..., ChatServer]) -> None:
    chat = start_chat()
    chat.key = "tg_wrong"
    with chat.client(DEMO_SUBJECT) as http:
        wrong = http.get("sessions")
    chat.key = make_key(subject="somebody")
    with chat.client(DEMO_SUBJECT) as http:
        foreign = http.get("sessions")

    assert (wrong.status_code, wrong.json()["error"]["code"]) == (401, "not_signed_in")
    assert (foreign.status_code, foreign.json()["error"]["code"]) == (403, "forbidden")


@pytest.mark.both_databases
def test_streams_hold_no_connection(start_chat: Callable[..., ChatServer]) -> None:
    """Turns that wait for their model leave the only connection of the pool to others."""
    chat = start_chat(GATEWAY_DB_POOL_SIZE="1")

    with ExitStack() as stack:
        streams = [stack.enter_context(chat.open(f"reader-{number}", QUESTION)) for number in range(5)]
        for events in streams:
            take(events, "text")
        with chat.client(DEMO_SUBJECT) as http:
            assert http.get("sessions").json() == {"conversations": []}
        assert [list(events)[-1][1] for events in streams] == ["done"] * 5
