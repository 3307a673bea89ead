"""The chat as processes: streams that break, processes that die, and turns that go on without their readers."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from django.db import connection
from django.test import override_settings
from pytest_django.plugin import DjangoDbBlocker

from chat.models import Message
from tests.support.chat.chat_site import HeldModel, Hold
from tests.support.concurrency import run_at_once
from tests.support.servers.chat import ChatServer, Event, run_chat
from tests.support.servers.environment import PEPPER, make_key
from tests.support.servers.processes import Server, eventually
from tests.support.servers.stores import Store
from workspace.demo import DEMO_SUBJECT

pytestmark = pytest.mark.server

QUESTION = "What is on my plate? Show my high-priority tasks."  # takes some seconds to answer
HELLO = "Hello"
TURNS, AT_ONCE = 50, 10
INTERRUPTED_WITHIN = 45.0  # seconds; 15 where the machine is not busy


@dataclass(frozen=True)
class Chats:
    """Chat processes for one gateway: two with the scripted model, one with a model that the test holds."""

    first: ChatServer
    second: ChatServer
    held: ChatServer
    model: HeldModel

    def answer_and_wait(self) -> Hold:
        """Let the model begin an answer, and wait in the middle of it until the hold is released."""
        hold = Hold()
        self.model.answers.append(["Half ", hold, "of an answer."])
        return hold


@pytest.fixture(scope="session")
def chats(
    server_for_all: tuple[Server, Store], django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Chats]:
    """The chat processes for all tests of this module, which may run between others."""
    gateway, store = server_for_all
    with django_db_blocker.unblock(), override_settings(GATEWAY_KEY_PEPPER=PEPPER), store.connected():
        key = make_key(subject="")
    folder = tmp_path_factory.mktemp("chats")
    model = HeldModel()
    variables = {"LLM_BASE_URL": model.url, "LLM_MODEL": "big"}
    with ExitStack() as stack:
        stack.callback(model.stop)
        servers = [
            stack.enter_context(run_chat(store, folder, gateway, key=key, variables=each))
            for each in ({}, {}, variables)
        ]
        yield Chats(*servers, model)


@pytest.fixture
def subject(shared_server: Server) -> str:
    """A subject without conversations. The database is this test's, too."""
    return f"reader-{uuid4()}"


@pytest.fixture
def start_chat(server: Server, store: Store, tmp_path: Path) -> Iterator[Callable[..., ChatServer]]:
    """Start a chat process over a database of the test's own."""
    key = make_key(subject="")
    with ExitStack() as stack:
        yield lambda **variables: stack.enter_context(run_chat(store, tmp_path, server, key=key, variables=variables))


def take(events: Iterator[Event], type: str) -> Event:
    return next(event for event in events if event[1] == type)


def get_numbers(events: list[Event]) -> list[int]:
    return [int(id.rpartition(":")[2]) for id, _, _ in events]


def test_cut_streams_resume_without_a_gap_and_without_a_repeat(chats: Chats, subject: str) -> None:
    randomness = random.Random(7)
    cuts = [(turn, randomness.randint(1, 60), randomness.choice([chats.first, chats.second])) for turn in range(TURNS)]

    def check(turn: int, cut: int, other: ChatServer) -> None:
        reader = f"{subject}-{turn}"
        with chats.first.open(reader, HELLO) as events:
            begun = [event for event, _ in zip(events, range(cut), strict=False)]
        with other.resume(reader, begun[-1][0]) as events:
            rest = list(events)
        with chats.second.resume(reader, f"{begun[0][2]['message_id']}:0") as events:
            whole = list(events)
        assert begun + rest == whole
        assert get_numbers(whole) == list(range(1, len(whole) + 1))
        assert whole[-1][1] == "done"

    for at in range(0, TURNS, AT_ONCE):
        run_at_once([lambda each=each: check(*each) for each in cuts[at : at + AT_ONCE]])


def test_killed_process_ends_the_stream_with_interrupted(start_chat: Callable[..., ChatServer]) -> None:
    first, second = start_chat(), start_chat()

    with first.open(DEMO_SUBJECT, QUESTION) as events:
        last = take(events, "text")
        killed_at = time.monotonic()
        first.process.kill()
        begun = [last, *events]
    with second.resume(DEMO_SUBJECT, begun[-1][0]) as events:
        rest = list(events)

    assert time.monotonic() - killed_at < INTERRUPTED_WITHIN
    assert (rest[-1][1], rest[-1][2]["code"]) == ("error", "interrupted")
    assert get_numbers(begun + rest) == sorted(set(get_numbers(begun + rest)))
    assert Message.objects.get(role="assistant").finish == "interrupted"
    assert second.send(DEMO_SUBJECT, HELLO)[-1][1] == "done"  # the next message is answered


def test_turn_goes_on_when_its_page_is_closed(chats: Chats, subject: str) -> None:
    hold = chats.answer_and_wait()
    with chats.held.open(subject, QUESTION) as events:
        take(events, "text")
    hold.release()

    turns = Message.objects.filter(conversation__subject=subject, finish="stop")
    message = eventually(turns.first, within=60, what="the end of the turn")
    assert message.text == "Half of an answer."


def test_cancel_reaches_the_process_of_the_turn(chats: Chats, subject: str) -> None:
    hold = chats.answer_and_wait()
    with chats.held.open(subject, QUESTION) as events, chats.first.client(subject) as http:
        session = take(events, "session")[2]["session_id"]
        take(events, "text")
        late = http.post(f"sessions/{session}/cancel", json={"message_id": session})
        cancelled = http.post(f"sessions/{session}/cancel")
        done = take(events, "done")
        assert list(events) == []  # the answer is stored before the stream ends
        hold.release()

    assert (late.json(), cancelled.json()) == ({"cancelled": False}, {"cancelled": True})
    assert done[2]["reason"] == "cancelled"
    assert Message.objects.get(conversation_id=session, role="assistant").text == "Half "


def test_turns_of_a_subject_are_limited(chats: Chats, subject: str) -> None:
    holds = [chats.answer_and_wait(), chats.answer_and_wait()]
    with chats.held.open(subject, QUESTION) as events, chats.held.client(subject) as http:
        session = take(events, "session")[2]["session_id"]
        busy = http.post("stream", json={"message": HELLO, "session_id": session})
        with chats.held.open(subject, QUESTION) as others:
            take(others, "session")
            third = http.post("stream", json={"message": HELLO})
            for hold in holds:
                hold.release()
            ends = [take(stream, "done")[2]["reason"] for stream in (events, others)]

    assert (busy.status_code, busy.json()["error"]["code"]) == (409, "turn_running")
    assert (third.status_code, third.json()["error"]["code"]) == (429, "rate_limited")
    assert int(third.headers["Retry-After"]) > 0
    assert ends == ["stop", "stop"]


@pytest.mark.both_databases
def test_streams_hold_no_connection(start_chat: Callable[..., ChatServer]) -> None:
    """Turns that wait for their model leave the few connections of the pool to others."""
    if connection.vendor == "sqlite":
        pytest.skip("by design: SQLite has no pool of connections")
    chat = start_chat(GATEWAY_DB_POOL_SIZE="2")

    with ExitStack() as stack:
        streams = [stack.enter_context(chat.open(f"reader-{number}", QUESTION)) for number in range(5)]
        for events in streams:
            take(events, "text")
        with chat.client(DEMO_SUBJECT) as http:
            assert http.get("sessions").json() == {"conversations": []}
        assert [list(events)[-1][1] for events in streams] == ["done"] * 5
