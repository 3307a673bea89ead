"""Stream the events of a turn (Server-Sent Events), with a limit on open streams."""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any
from weakref import finalize

from django.db.models import Max
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from chat.access import Identity
from chat.api.base import api_view, run_with_identity
from chat.api.requests import StreamRequest, read_body
from chat.conversations import start_turn
from chat.conversations.start_turn import UserDecision
from chat.errors import ApiError
from chat.events import event_reader, event_writer
from chat.models import Message
from chat.turns import turn_runner

MAX_STREAMS = 8  # such as tabs that show the same answer
RETRY_AFTER = 5
_subjects: dict[object, str] = {}  # by a token of each open stream
LAST_EVENT_ID = "Last-Event-ID"
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # the latter for nginx


class _CountedStream:
    """Content of a response. It counts until it ends or Django closes it, or drops it before it has begun."""

    def __init__(self, subject: str, content: AsyncIterator[bytes]) -> None:
        token = object()
        _subjects[token] = subject
        self._content = content
        self.close = finalize(self, _subjects.pop, token, None)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._content:
                yield part
        finally:
            self.close()


def limit_streams(response: StreamingHttpResponse, *, subject: str) -> StreamingHttpResponse:
    """Return a response that counts as a stream of a subject until it ends. Raises ApiError if there are too many."""
    if list(_subjects.values()).count(subject) >= MAX_STREAMS:
        message = f"{MAX_STREAMS} streams are open already. Close one, or try again in {RETRY_AFTER} s."
        raise ApiError(429, "rate_limited", message, retry_after=RETRY_AFTER)
    content: Any = _CountedStream(subject, response.streaming_content)  # type: ignore[arg-type]  # it is asynchronous
    response.streaming_content = content
    return response


@api_view("POST", "GET")
async def stream(request: HttpRequest) -> HttpResponseBase:
    """Return the events of a new turn, or those of a running or recent one after `Last-Event-ID`."""
    if request.method == "GET":
        event_id = request.headers.get(LAST_EVENT_ID) or request.GET.get("after", "")
        found = await run_with_identity(request, lambda identity: _find_turn(identity, event_id))
        if found is None:
            return HttpResponse(status=204)
        turn_id, number, subject = found
        return limit_streams(_respond(turn_id, number), subject=subject)
    turn_id = await run_with_identity(request, lambda identity: _start(request, identity), starts_turn=True)
    return _respond(turn_id, 0)


def _start(request: HttpRequest, identity: Identity) -> str:
    body = read_body(request, StreamRequest)
    session_id = str(body["session_id"]) if body.get("session_id") else None
    return start(identity, body, session_id)


def start(identity: Identity, body: Mapping[str, Any], session_id: str | None, *, creates: bool = False) -> str:
    """Start a turn from a validated body, and return its id. Raises ApiError."""
    event_writer.check_capacity()
    new = start_turn.start_turn(
        subject=identity.subject,
        message=body.get("message", ""),
        session_id=session_id,
        creates=creates,
        context=body.get("context"),
        decisions=[
            UserDecision(str(each["call_id"]), each["approve"], each.get("content"))
            for each in body.get("decisions", ())
        ],
        replaces=str(body["replaces"]) if body.get("replaces") else None,
        repeats_writes=body.get("repeat_writes", False),
        files=[dict(each, id=str(each["id"])) for each in body.get("files", ())],
        at=datetime.now(UTC),
    )
    return turn_runner.run_in_thread(new, identity.credentials).turn_id


def _find_turn(identity: Identity, event_id: str) -> tuple[str, int, str] | None:
    """Return the turn and the number of an event, and the turn's subject; None after the last event of all.

    Raises ApiError.
    """
    parsed = event_reader.parse_event_id(event_id)
    if parsed is None:
        text = f"Send the id of the last event that you have in {LAST_EVENT_ID}, such as <message_id>:12."
        raise ApiError(400, "invalid_request", f"{text} <message_id>:0 asks for all.")
    turn_id, number = parsed
    turns = Message.objects.filter(pk=turn_id, role=Message.Role.ASSISTANT, conversation__subject=identity.subject)
    turn = turns.filter(conversation__deleted_at=None).first()
    if turn is None:
        raise ApiError(404, "not_found", "There is no such turn. Load the conversation instead.")
    last = turn.event_chunks.aggregate(last=Max("last"))["last"]
    if last is None and turn.finish not in ("", Message.Finish.INTERRUPTED):
        raise ApiError(404, "not_found", "The events of this turn are gone. Load the conversation instead.")
    # An interrupted turn has one more event, which says so.
    is_over = bool(turn.finish) and number >= (last or 0) + (turn.finish == Message.Finish.INTERRUPTED)
    return None if is_over else (turn_id, number, identity.subject)


def _respond(turn_id: str, after: int) -> StreamingHttpResponse:
    return StreamingHttpResponse(
        event_reader.stream_turn(turn_id, after),
        content_type="text/event-stream; charset=utf-8",
        headers=STREAM_HEADERS,
    )
