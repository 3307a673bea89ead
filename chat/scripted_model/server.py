"""The scripted model as a Chat Completions server: it plans the next tool calls or the text."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from chat.scripted_model import protocol
from chat.scripted_model.conversation import ScriptedConversation, read_conversation
from chat.scripted_model.dates import Days, read_days
from chat.scripted_model.outcomes import BATCH, EXEC, HELP, read_tool_names
from chat.scripted_model.plans import Answer, Plan, play_plan
from chat.scripted_model.protocol import (
    MAX_HEAD_BYTES,
    MODEL,
    ConnectionEnded,
    HttpRequest,
    InvalidRequest,
    read_request,
)
from chat.scripted_model.rules import plan_free_message
from chat.scripted_model.rules.request import get_place
from chat.scripted_model.scripts import find_script, plan_script

NO_TOOLS = "I could not finish: I am the scripted model, without AI, and this request has no tools to call."
PLACE_GONE = "The user looks at a project that does not exist"
NEW_CONVERSATION = "This conversation is about a project that is gone. Start a new one to ask about others."
ALL_TOOLS = frozenset({HELP, EXEC, BATCH})
__all__ = ["MODEL", "ScriptedModelServer"]
HOST = "127.0.0.1"
PACE_MS = 15  # milliseconds between two chunks, so that an answer appears like that of a real model
BACKLOG = 512  # connections that wait to be accepted
_START_SECONDS = 10.0
log = logging.getLogger(__name__)


def plan_answer(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Answer:
    """Return the next tool calls of the current turn, or its text."""
    conversation = read_conversation(messages)
    tool_names = read_tool_names(tools)
    days = read_days(conversation.system)
    plan = _choose_plan(conversation, days)
    reply = play_plan(plan, conversation.current.outcomes, tool_names or ALL_TOOLS)
    if reply.tool_calls and not tool_names:
        return Answer(NO_TOOLS)  # such as in the last round of a turn
    text = reply.text
    if PLACE_GONE in conversation.system and any(not outcome.ok for outcome in conversation.current.outcomes):
        text = f"{text}\n\n{NEW_CONVERSATION}" if text else ""
    return Answer(days.format_times(text), reply.tool_calls)


def _choose_plan(conversation: ScriptedConversation, days: Days) -> Plan:
    if script := find_script(conversation.current.message):
        return plan_script(script, days, place=get_place(conversation))
    return plan_free_message(conversation, days)


class ScriptedModelServer:
    """Serves the scripted model from `start()` to `stop()`, at `url`."""

    def __init__(self, *, pace_ms: float = PACE_MS) -> None:
        self._pace_seconds = pace_ms / 1000
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopping: asyncio.Event | None = None
        self._ready = threading.Event()
        self._error: OSError | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """The base URL for clients. Raises RuntimeError before the start."""
        if not self._port:
            raise RuntimeError("The scripted model is not running.")
        return f"http://{HOST}:{self._port}/v1"

    def start(self, port: int = 0) -> str:
        """Start serving on a port, by default a free one, and return the URL. Raises OSError if the port is taken."""
        if self._thread is not None:
            raise RuntimeError("The scripted model is already running.")
        self._ready.clear()
        self._error = None
        self._thread = threading.Thread(target=self._run, args=(port,), name="scripted-model", daemon=True)
        self._thread.start()
        if not self._ready.wait(_START_SECONDS):
            raise TimeoutError("The scripted model did not start.")
        if not self._port:
            self._thread.join()
            self._thread = None
            raise self._error or OSError("The scripted model did not start.")
        return self.url

    def stop(self) -> None:
        """Stop serving. Streams that are open are cut off. Does nothing if it is not running."""
        thread, loop, stopping = self._thread, self._loop, self._stopping
        if thread is None or loop is None or stopping is None:
            return
        loop.call_soon_threadsafe(stopping.set)
        thread.join()
        self._thread = self._loop = self._stopping = None
        self._port = 0

    def _run(self, port: int) -> None:
        try:
            asyncio.run(self._serve(port))
        except OSError as error:
            self._error = error
        finally:
            self._ready.set()

    async def _serve(self, port: int) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._handle, HOST, port, limit=MAX_HEAD_BYTES, backlog=BACKLOG)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopping.wait()
        server.close()  # asyncio.run cancels the connections that are open

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while await self._answer_next(reader, writer):
                pass
        except (ConnectionEnded, ConnectionError):
            pass
        except asyncio.CancelledError:
            writer.transport.abort()  # the server stops
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _answer_next(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request, and return whether the connection stays open."""
        try:
            request = await read_request(reader, writer)
        except InvalidRequest as error:
            await _send(writer, error.status, protocol.build_error(error), keep_alive=False)
            return False
        try:
            await self._answer(request, writer)
        except InvalidRequest as error:
            await _send(writer, error.status, protocol.build_error(error), keep_alive=request.keep_alive)
        return request.keep_alive

    async def _answer(self, request: HttpRequest, writer: asyncio.StreamWriter) -> None:
        if request.method == "GET" and request.path == "/v1/models":
            await _send(writer, 200, protocol.build_model_list(), keep_alive=request.keep_alive)
        elif request.method == "POST" and request.path == "/v1/chat/completions":
            # In a thread, so that a long conversation does not delay the chunks of others.
            response = await asyncio.to_thread(self.build_response, request.body)
            if isinstance(response, bytes):
                await _send(writer, 200, response, keep_alive=request.keep_alive)
            else:
                await self._stream(response, writer, keep_alive=request.keep_alive)
        else:
            raise InvalidRequest(f"There is no {request.method} {request.path}.", status=404, code="not_found")

    def build_response(self, body: bytes) -> bytes | list[bytes]:
        """Return the answer to a request: one body, or the events of a stream. Raises InvalidRequest."""
        request = protocol.parse_request(body)
        try:
            answer = plan_answer(request.messages, request.tools)
        except Exception as error:
            log.exception("scripted_model.failed")
            raise InvalidRequest("The scripted model failed.", status=500) from error
        return (
            list(protocol.build_chunks(request, answer))
            if request.stream
            else protocol.build_completion(request, answer)
        )

    async def _stream(self, events: Iterable[bytes], writer: asyncio.StreamWriter, *, keep_alive: bool) -> None:
        """Send events with the pace between them. Ends early if the client closes the connection."""
        headers = f"Content-Type: text/event-stream\r\nCache-Control: no-cache\r\n{_connection(keep_alive)}"
        writer.write(f"HTTP/1.1 200 OK\r\n{headers}Transfer-Encoding: chunked\r\n\r\n".encode())
        for event in events:
            if writer.is_closing():
                raise ConnectionEnded
            writer.write(b"%x\r\n%b\r\n" % (len(event), event))
            await writer.drain()
            if self._pace_seconds:
                await asyncio.sleep(self._pace_seconds)
        writer.write(b"0\r\n\r\n")
        await writer.drain()


async def _send(writer: asyncio.StreamWriter, status: int, body: bytes, *, keep_alive: bool) -> None:
    phrase = HTTPStatus(status).phrase
    head = f"HTTP/1.1 {status} {phrase}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{head}{_connection(keep_alive)}\r\n".encode() + body)
    await writer.drain()


def _connection(keep_alive: bool) -> str:
    return "" if keep_alive else "Connection: close\r\n"
