"""One call of a tool in a session, and how it ended."""

import asyncio
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import httpx2
import mcp_types
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    InputRequiredResult,
    InputResponses,
)
from pydantic import TypeAdapter, ValidationError

from core.http.async_client import AsyncCall, current_call
from core.http.errors import AddressRefused, TooLarge
from core.text import json_text
from gateway.contracts.user_questions import EXPIRES_IN, GivenAnswers, UserAnswer, UserQuestion
from gateway.executors.base import ClientSubject
from gateway.executors.mcp import questions
from gateway.executors.mcp.definition_check import UnknownProgram
from gateway.executors.mcp.questions import UnsupportedQuestion
from gateway.executors.mcp.sessions import session_pool
from gateway.executors.mcp.sessions.session import McpSession
from gateway.executors.mcp.sessions.session_pool import TooManySessions
from gateway.executors.remote.connection_guards import is_failure_status
from registry.catalog import connections
from registry.catalog.connections import ConnectionConfig
from registry.text import cleanup

log = logging.getLogger(__name__)

# Codes of JSON-RPC that say what is wrong with the call; after all others the server failed, or its session is gone.
NOT_CALLED_STATUSES = frozenset({401, 404})  # other credentials are needed; the session is unknown
CALLERS_CODES = frozenset({mcp_types.INVALID_PARAMS, mcp_types.METHOD_NOT_FOUND})
NOT_OPENED = (UnknownProgram, TooManySessions)  # why no session was opened, for reasons of ours
MAX_MESSAGE = 200  # characters of what a server says of its progress
BROKEN_RESULT = "The result does not follow the protocol."
ONLY_QUESTION = "question"  # the name of one that has none
_RESULT: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(CallToolResult | InputRequiredResult)


@dataclass(slots=True, repr=False)
class McpToolCall:
    """A call of a tool. Exactly one of the last members is set once it has ended, `error` besides others.

    A call at a program can wait for the user while it runs, and always does: another process has another program, which
    does not know what was asked. Over HTTP up to 2025-11-25 it cannot: the stream would have to stay open, so its
    questions are declined.
    """

    tool: str
    arguments: dict[str, Any]
    exchange: AsyncCall
    can_wait: bool = False
    given: GivenAnswers | None = None  # to the questions of an earlier attempt
    result: CallToolResult | None = None
    error: Exception | None = None  # what the SDK raised
    was_opened: bool = False  # the session was open
    was_called: bool = False  # the tool is defined as it was approved, so that the call itself was begun
    is_changed: bool = False  # the tool's definition differs from the approved one; nothing was called
    is_late: bool = False  # the deadline passed
    is_cancelled: bool = False  # the caller no longer wants it
    questions: dict[str, UserQuestion] = field(default_factory=dict)  # the server asks its user for input
    state: str | None = None  # what the server wants back with the answers
    unsupported: str = ""  # why a question cannot be passed on
    was_declined: bool = False  # a question was declined, since it came on an open stream
    progress: dict[str, float] | None = None  # the last progress that the server reported: done and, if known, total
    message: str = ""  # what the server said last, in its log or with its progress
    changed: threading.Event = field(default_factory=threading.Event)  # wakes the thread that waits for the call
    _answers: asyncio.Future[Mapping[str, UserAnswer]] | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether the call runs and waits for the user."""
        return self._answers is not None and not self._answers.done()

    @property
    def needs_input(self) -> bool:
        """Whether the server asks its user for input."""
        return bool(self.questions or self.unsupported)

    @property
    def was_sent(self) -> bool:
        """Whether a tool may have got the call."""
        is_refused = self.exchange.status in NOT_CALLED_STATUSES
        return self.was_called and self.exchange.is_sent and not is_refused

    @property
    def is_failure(self) -> bool | None:
        """Whether the server failed; None if the call does not show it."""
        if self.result is not None:
            return False
        is_ours = (
            self.is_changed
            or self.needs_input
            or self.is_cancelled
            or isinstance(self.exchange.error, (AddressRefused, TooLarge))
        )
        if is_ours or isinstance(self.error, NOT_OPENED) or self.is_callers:
            return None
        status = self.exchange.status
        return status < 400 or is_failure_status(status)

    @property
    def is_callers(self) -> bool:
        """Whether the server says that the call is wrong."""
        return isinstance(self.error, MCPError) and self.error.code in CALLERS_CODES and self.was_called

    def may_repeat(self, *, is_write: bool) -> bool:
        """Return whether to send the call again: it did not reach a tool, or a session that was lost held a read."""
        if self.is_changed or self.is_late or self.needs_input or self.is_callers or self.is_cancelled:
            return False
        if self.exchange.status in NOT_CALLED_STATUSES:
            return True
        if isinstance(self.exchange.error, (AddressRefused, TooLarge)) or isinstance(self.error, NOT_OPENED):
            return False
        return self.was_opened and not (is_write and self.was_sent)

    async def ask(self, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        """Wait for the user's answer to a question, and return it. Runs on the event loop."""
        if not self.can_wait:
            self.was_declined = True
            return ElicitResult(action="decline")
        try:
            asked = {ONLY_QUESTION: questions.read_question(params)}
        except UnsupportedQuestion as problem:
            self.unsupported = str(problem)
            return ErrorData(code=mcp_types.INVALID_PARAMS, message="The question cannot be shown to the user.")
        return questions.to_result((await self.wait_for_user(asked))[ONLY_QUESTION])

    async def wait_for_user(self, asked: dict[str, UserQuestion]) -> Mapping[str, UserAnswer]:
        """Return the user's answers by the names of the questions. Too late, all are cancelled. Runs on the loop."""
        self.questions = asked
        self._answers = asyncio.get_running_loop().create_future()
        self.changed.set()
        try:
            return await asyncio.wait_for(self._answers, EXPIRES_IN)
        except TimeoutError:
            return dict.fromkeys(asked, UserAnswer("cancel"))
        finally:
            self._answers, self.questions = None, {}

    def answer(self, given: Mapping[str, UserAnswer]) -> None:
        """Go on with a call that waits for the user, with the answer to each question. Runs on the event loop."""
        if self._answers is not None and not self._answers.done():
            self._answers.set_result(given)

    def note_message(self, text: Any) -> None:
        """Take a message of the server's log."""
        try:
            text = text if isinstance(text, str) else json_text.dump(text).decode()
        except (TypeError, ValueError):
            return
        self.message = _clean_message(text)
        self.changed.set()


async def run(call: McpToolCall, config: ConnectionConfig, owner: ClientSubject | None) -> None:
    """Make the call in the session of its owner, or in the one that all callers share. Runs on the event loop."""
    try:
        async with session_pool.hold_session(config, owner, call.exchange) as session:
            call.can_wait = config.is_program
            token = current_call.set(call.exchange)
            try:
                with session.listen(call):
                    await _call_in_session(call, session, config)
                    while call.can_wait and call.questions and not call.unsupported:
                        call.given = GivenAnswers(await call.wait_for_user(call.questions), call.state)
                        await _call_in_session(call, session, config)
            except Exception:
                if not call.is_callers:
                    session.close()  # the server may have forgotten it; the next call opens another one
                raise
            finally:
                current_call.reset(token)
    except Exception as error:
        call.error = error
        if not isinstance(error, (MCPError, httpx2.HTTPError, OSError, *NOT_OPENED)):
            log.info("mcp.call_failed connection=%s error=%s", config.name, type(error).__name__)


async def _call_in_session(call: McpToolCall, session: McpSession, config: ConnectionConfig) -> None:
    call.was_opened = True
    approved = connections.get_connections().approved.get((config.name, call.tool), "")
    if not approved or not await session.tools.has_definition(call.tool, approved):
        call.is_changed = True
        return
    call.exchange.is_sent, call.exchange.status = config.transport == "stdio", 0
    call.was_called = True
    if run_tool := session.tools.find_runner(call.tool):
        call.result = await run_tool(session.client, call.arguments)
        return
    given = call.given.answers if call.given else {}
    answers: InputResponses = {name: questions.to_result(each) for name, each in given.items()}
    params = CallToolRequestParams(
        name=call.tool,
        arguments=call.arguments,
        input_responses=answers or None,
        request_state=call.given.state if call.given else None,
    )
    # Not `call_tool`, which checks the answer by the tool's output schema: an admin sees what is wrong with it, and the
    # server's answer helps a model more.
    try:
        result = await session.client.session.send_request(
            CallToolRequest(params=params), _RESULT, progress_callback=_follow_progress(call, session)
        )
    except ValidationError as error:
        raise MCPError(mcp_types.INTERNAL_ERROR, BROKEN_RESULT) from error
    except MCPError as error:
        if error.code != mcp_types.URL_ELICITATION_REQUIRED:
            raise
        _read_required_pages(call, error)
        return
    if isinstance(result, InputRequiredResult):
        _read_questions(call, result)
    else:
        call.result = result


def _read_questions(call: McpToolCall, result: InputRequiredResult) -> None:
    """Read what a server of 2026-07-28 asks its user. A server that only wants to be called again asks nothing."""
    call.state = result.request_state
    try:
        call.questions = questions.read_questions(result.input_requests or {})
    except UnsupportedQuestion as problem:
        call.unsupported = str(problem)
    if not call.needs_input:
        call.unsupported = "asks to be called again later, which the gateway does not do"


def _read_required_pages(call: McpToolCall, error: MCPError) -> None:
    """Read the pages that the user must open first, as a server of 2025-11-25 names them in an error."""
    data = error.data if isinstance(error.data, dict) else {}
    try:
        pages = [ElicitRequestURLParams.model_validate(each) for each in data.get("elicitations", ())]
        call.questions = {f"page_{at}": questions.read_question(each) for at, each in enumerate(pages[:10], start=1)}
    except (ValidationError, UnsupportedQuestion, TypeError):
        call.questions = {}
    if not call.questions:
        call.unsupported = "asks its user to open a page, but does not say which"


def _follow_progress(call: McpToolCall, session: McpSession) -> ProgressFnT:
    """Return a callback that keeps the last progress that the server reports, and its last message."""

    async def follow(progress: float, total: float | None, message: str | None) -> None:
        session.count_message()
        told = {"done": progress, "total": total}
        call.progress = {name: value for name, value in told.items() if value is not None and isfinite(value)} or None
        if message is not None:
            call.message = _clean_message(message)
        call.changed.set()

    return follow


def _clean_message(text: str) -> str:
    return " ".join(cleanup.strip_hidden_characters(text[: MAX_MESSAGE * 4]).split())[:MAX_MESSAGE]
