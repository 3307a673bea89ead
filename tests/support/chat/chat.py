"""The chat in one process with the gateway: turns run in the test's thread, against a model that answers as told."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Any

import orjson
import pytest
from django.test import Client as HttpClient
from django.utils import timezone

from analytics.flags import FlagKey
from analytics.rollout import assignment
from analytics.rollout.models import Cohort
from chat.conversations import start_turn
from chat.conversations.start_turn import UserDecision
from chat.events.turn_log import TurnLog
from chat.gateway import client as gateway_client
from chat.gateway.client import Credentials
from chat.models import Conversation, Message, ToolCall
from chat.turns.turn_runner import TurnRunner
from core import http
from core.http import Abort
from tests.support.chat.fake_llm import FakeLlm, build_stream
from workspace.demo import DEMO_SUBJECT

Answer = Any  # a text, a list of calls, or the pieces of a response

GatewayCall = tuple[str, str, dict[str, Any]]  # method, path below /api/v1/, body


def call(name: str, id: str = "", /, **arguments: Any) -> tuple[str, str, str]:
    """Return a call of a tool as the model makes it."""
    return (id or f"call_{next(_numbers)}", name, orjson.dumps(arguments).decode())


def exec_call(op: str, /, **args: Any) -> tuple[str, str, str]:
    return call("tool_exec", op=op, args=args)


_numbers = count(1)


@dataclass(frozen=True)
class TurnResult:
    """What a turn did: its events, its rows, and what the model was sent."""

    conversation: Conversation
    message: Message
    events: list[tuple[str, dict[str, Any]]]
    requests: list[dict[str, Any]]

    def of_type(self, type: str) -> list[dict[str, Any]]:
        return [data for event, data in self.events if event == type]

    @property
    def text(self) -> str:
        return "".join(data["delta"] for data in self.of_type("text"))

    @property
    def reason(self) -> str:
        """How the turn ended, as `done` says."""
        return self.of_type("done")[0]["reason"]

    @property
    def written(self) -> list[dict[str, Any]]:
        return self.of_type("done")[0]["written"]

    @property
    def calls(self) -> list[ToolCall]:
        return list(self.message.calls.all())

    def notes(self) -> str:
        """Return what the chat told the model in the last request, after the calls."""
        messages = self.requests[-1]["messages"]
        return "\n".join(each["content"] for each in messages[1:] if each["role"] == "system")


class ChatHarness:
    """A chat whose model answers as told. `gateway_calls` are the calls that the gateway got."""

    def __init__(self, llm: FakeLlm, key: str, subject: str = DEMO_SUBJECT) -> None:
        self.llm, self.credentials = llm, Credentials(key, subject)
        self.gateway_calls: list[GatewayCall] = []
        self.gateway: Callable[..., http.Response] = self.call_gateway
        self.abort = Abort()
        self._at = timezone.now() - timedelta(days=1)

    def say(
        self, message: str, *answers: Answer, session: str | None = None, context: Any = None, files: Any = ()
    ) -> TurnResult:
        """Send a message and run the turn. `answers` are those of the model, one for each request."""
        return self._run(answers, message=message, session_id=session, context=context, decisions=(), files=files)

    def replace(
        self, turn: TurnResult, *answers: Answer, message: str = "", repeats_writes: bool = False
    ) -> TurnResult:
        """Answer the question of a turn again, or edit it, and run the turn."""
        questions = turn.conversation.messages.filter(role="user", position__lt=turn.message.position)
        question = questions.latest("position")
        more = {"replaces": str(question.pk), "repeats_writes": repeats_writes}
        session = str(turn.conversation.pk)
        return self._run(answers, message=message, session_id=session, context=None, decisions=(), **more)

    def decide(self, turn: TurnResult, *answers: Answer, approve: bool, call_id: str = "") -> TurnResult:
        """Decide about the first call that waits in a turn, or about another one, and go on."""
        waiting = next(each for each in turn.calls if each.status == ToolCall.Status.CONFIRM)
        return self.decide_all(turn, [UserDecision(call_id or str(waiting.pk), approve)], *answers)

    def decide_all(self, turn: TurnResult, decisions: Sequence[UserDecision], *answers: Answer) -> TurnResult:
        session = str(turn.conversation.pk)
        return self._run(answers, message="", session_id=session, context=None, decisions=decisions)

    def paths(self) -> list[str]:
        """Return the endpoints that were called by the model, in order."""
        return [path for _, path, _ in self.gateway_calls if path not in ("toolset", "telemetry")]

    def call_gateway(self, method: str, url: str, *, headers: Mapping[str, str], body: bytes | None, **_: Any) -> Any:
        """Answer a call by the gateway in this process."""
        path = url.removeprefix("http://gateway.test/api/v1/")
        sent = dict(headers)
        is_json = sent.get("content-type") == "application/json"
        self.gateway_calls.append((method, path, orjson.loads(body) if body and is_json else {}))
        response = HttpClient().generic(
            method, f"/api/v1/{path}", body or b"", sent.pop("content-type", "application/json"), headers=sent
        )
        names = {name.lower(): value for name, value in response.headers.items()}
        return http.Response(response.status_code, url, names, response.content, 0)

    def _run(self, answers: Sequence[Answer], **request: Any) -> TurnResult:
        self._at += timedelta(seconds=10)  # not too many messages in a minute
        new = start_turn.start_turn(subject=self.credentials.subject, at=self._at, **request)
        self.llm.answers = [_to_response(each) for each in answers] or [build_stream("Done.")]
        self.llm.bodies.clear()
        self.gateway_calls.clear()
        log = TurnLog(str(new.turn.pk))
        TurnRunner(new, self.credentials, log, self.abort).run()
        message = Message.objects.get(pk=new.turn.pk)
        events = [(event.type, orjson.loads(event.data)) for event in log.get_after(0)]
        requests = [body for body in self.llm.bodies if body.get("stream")]  # the others are for titles
        return TurnResult(Conversation.objects.get(pk=new.conversation.pk), message, events, requests)


def _to_response(answer: Answer) -> Any:
    if isinstance(answer, str):
        return build_stream(answer)
    if isinstance(answer, list) and answer and isinstance(answer[0], tuple):
        return build_stream(calls=answer)
    return answer


@pytest.fixture
def chat(
    live_catalog: Any, make_key: Callable[..., str], llm: FakeLlm, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> ChatHarness:
    """A chat of the demo user, on the gateway surface."""
    settings.AGENTIC_CHAT_TOOL_GATEWAY = True
    Cohort.objects.create(name="demo", flag_id=FlagKey.SURFACE, variant="gateway", percentage=100)
    # The selection would take one of the answers that a test gives the model.
    Cohort.objects.create(name="all-tools", flag_id=FlagKey.SELECTION, variant="static", percentage=100)
    assignment.refresh_rollout()
    settings.CHAT_GATEWAY_URL = "http://gateway.test"
    harness = ChatHarness(llm, make_key(confirms=True))
    settings.CHAT_GATEWAY_KEY = harness.credentials.key
    monkeypatch.setattr(gateway_client.http, "call_api", lambda *args, **kwargs: harness.gateway(*args, **kwargs))
    return harness
