"""Pass a service's questions on to the user of an MCP client, in the way that the client's protocol has."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from mcp.server.session import ServerSession
from mcp_types import (
    ClientCapabilities,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequests,
    InputRequiredResult,
    InputResponseRequestParams,
)

from gateway.access.pending_inputs import PREFIX
from gateway.contracts.user_questions import REASON, UserAnswer, UserQuestion
from gateway.mcp_server import agreement

MAX_ROUNDS = 10  # of questions over a connection that carries requests of the server
CANNOT_ASK = (
    "The service asks its user for input before it goes on, which this client cannot show. Nothing more happens until "
    "then. Tell the user to do this in an application that can ask them, such as the chat."
)


def can_show(capabilities: ClientCapabilities | None, questions: Mapping[str, UserQuestion]) -> bool:
    """Return whether a client can show its user all questions: forms, pages, or both."""
    elicitation = capabilities.elicitation if capabilities else None
    has_pages = elicitation is not None and elicitation.url is not None
    has_forms = agreement.can_ask(capabilities)
    return all(has_forms if question.schema is not None else has_pages for question in questions.values())


def request_input(questions: Mapping[str, UserQuestion], token: str) -> InputRequiredResult:
    """Return the result that makes a client of 2026-07-28 ask its user and then send the call again."""
    requests: InputRequests = {name: ElicitRequest(params=_to_params(question)) for name, question in questions.items()}
    return InputRequiredResult(input_requests=requests, request_state=token)


def get_token(params: InputResponseRequestParams) -> str:
    """Return the token of the questions that a repeated call answers; empty if it answers none."""
    return params.request_state if params.request_state and params.request_state.startswith(PREFIX) else ""


def read_answers(params: InputResponseRequestParams) -> dict[str, UserAnswer]:
    """Return the answers that a call carries, by the names of the questions. Other responses are left out."""
    responses = params.input_responses or {}
    return {
        name: to_answer(each)
        for name, each in responses.items()
        if isinstance(each, ElicitResult) and name != agreement.REQUEST
    }


async def ask_each(session: ServerSession, questions: Mapping[str, UserQuestion]) -> dict[str, UserAnswer]:
    """Ask the user over a connection that carries requests of the server, until one question is not answered."""
    answers: dict[str, UserAnswer] = {}
    for name, question in questions.items():
        if question.schema is not None:
            result = await session.elicit_form(question.message, dict(question.schema))
        else:
            result = await session.elicit_url(question.message, question.url, uuid4().hex)
        answers[name] = to_answer(result)
        if result.action != "accept":
            return answers | dict.fromkeys(questions.keys() - answers.keys(), answers[name])
    return answers


def to_answer(result: ElicitResult) -> UserAnswer:
    """Return what a client says that its user did."""
    content = result.content if result.action == "accept" and result.content else None
    return UserAnswer(result.action, content)


def hide_token(envelope: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an envelope without the token and the form of a question that its client cannot show."""
    error = envelope.get("error") or {}
    if error.get("details", {}).get("reason") != REASON:
        return envelope
    details = {name: value for name, value in error["details"].items() if name not in ("token", "expires_in", "schema")}
    return {**envelope, "error": {**error, "message": CANNOT_ASK, "details": details}}


def hide_tokens(batch: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the results of a batch without tokens: no client can show the questions of one of many calls."""
    return {**batch, "results": [hide_token(each) for each in batch["results"]]} if "results" in batch else batch


def _to_params(question: UserQuestion) -> ElicitRequestFormParams | ElicitRequestURLParams:
    if question.schema is not None:
        return ElicitRequestFormParams(message=question.message, requested_schema=dict(question.schema))
    return ElicitRequestURLParams(message=question.message, url=question.url)
