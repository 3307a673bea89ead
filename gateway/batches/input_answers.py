"""Go on with a call that asked its end user, with what they answered."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gateway.access import pending_inputs
from gateway.access.pending_inputs import PendingCall
from gateway.access.request_context import Caller, UserContext
from gateway.batches import service
from gateway.contracts import request_schemas
from gateway.contracts.envelopes import EnvelopeResponse, Trace
from gateway.contracts.errors import FieldError, InvalidRequestError, PermissionDeniedError
from gateway.contracts.user_questions import GivenAnswers, UserAnswer, UserQuestion
from gateway.contracts.validation import build_pointer, find_field_errors
from gateway.execution import pipeline
from gateway.executors.base import CallWatcher
from gateway.models import PendingInput, Scope
from registry.catalog import cache
from registry.catalog.model import Catalog
from registry.jsonschema.validator import SchemaValidator
from registry.models import Release

EXEC_SCOPES = frozenset({Scope.EXEC_READ, Scope.EXEC_WRITE})
INVALID_ANSWER = "invalid_answer"
# Errors before the upstream got the answers, after which they can be sent again.
NOT_ANSWERED = frozenset({"upstream_busy", "upstream_circuit_open", "upstream_unreachable", "unavailable"})


def answer(body: dict[str, Any], *, caller: Caller, trace: Trace) -> EnvelopeResponse:
    """Answer the question that a token stands for: {token, action, content?}. Asks the next question if there is one.

    Raises InvalidRequestError for a malformed body or content that does not fit the form: the token stays valid. Raises
    ConflictError for a token that is not valid or was used, PermissionDeniedError for another agent.
    """
    if not caller.key.scopes & EXEC_SCOPES:
        raise PermissionDeniedError(
            "This API key cannot run ops. Use a key with the scope exec:read or exec:write.", reason="scope_missing"
        )
    if errors := find_field_errors(request_schemas.get_answers_validator(), body):
        raise InvalidRequestError(
            "The answer is malformed. Correct what field_errors lists.", reason="malformed_call", field_errors=errors
        )
    row, pending = pending_inputs.load(body["token"], caller, at=trace.at)
    name, question = next(iter(pending.open_questions.items()))
    given = UserAnswer(body["action"], body.get("content"))
    check_answer(question, given)
    if given.action == "accept":
        return _go_on(row, pending, {name: given}, caller=caller, trace=trace)
    # Who does not want to answer one question is not asked the others.
    rest = dict.fromkeys(pending.open_questions, given)
    return _go_on(row, pending, rest, caller=caller, trace=trace)


def answer_all(
    token: str,
    answers: Mapping[str, UserAnswer],
    *,
    call: Mapping[str, Any],
    caller: Caller,
    trace: Trace,
    watcher: CallWatcher | None = None,
) -> EnvelopeResponse:
    """Answer the questions that a token stands for, by their names; one that is left out is asked again.

    `call` is the body of the call as it was repeated. Raises what `answer` raises, and InvalidRequestError if the call
    is another one.
    """
    row, pending = pending_inputs.load(token, caller, at=trace.at)
    if dict(call) != pending.body:
        raise InvalidRequestError("This is not the call that asked. Repeat that call unchanged.", reason="other_call")
    questions = pending.open_questions
    given = {name: answers[name] for name in questions if name in answers}
    for name, each in given.items():
        check_answer(questions[name], each)
    return _go_on(row, pending, given, caller=caller, trace=trace, watcher=watcher)


def load_questions(token: str, caller: Caller, trace: Trace) -> dict[str, UserQuestion]:
    """Return the questions that a token stands for, by their names. Raises ConflictError if it is not valid."""
    _, pending = pending_inputs.load(token, caller, at=trace.at)
    return pending.open_questions


def check_answer(question: UserQuestion, given: UserAnswer) -> None:
    """Raise InvalidRequestError if an answer does not fit its question."""
    if given.action != "accept" or question.schema is None:
        if given.content:
            hint = "Leave content out: only an accepted form has it."
            raise _build_content_error([FieldError("/content", "unexpected", hint)])
        return
    errors = find_field_errors(SchemaValidator(dict(question.schema)), dict(given.content or {}))
    if errors:
        raise _build_content_error([replace(error, path=build_pointer(["content"]) + error.path) for error in errors])


def _build_content_error(errors: list[FieldError]) -> InvalidRequestError:
    return InvalidRequestError(
        "The answer does not fit the form. Correct what field_errors lists, and send it again with the same token.",
        reason="invalid_answer",
        field_errors=errors,
    )


def _go_on(
    row: PendingInput,
    pending: PendingCall,
    given: Mapping[str, UserAnswer],
    *,
    caller: Caller,
    trace: Trace,
    watcher: CallWatcher | None = None,
) -> EnvelopeResponse:
    """Use up the token; then ask the questions that are left, or go on with the call."""
    if (caller.agent.name if caller.agent else "") != pending.agent:
        raise PermissionDeniedError(
            "The call ran as another agent. Send the same Gateway-Agent with the answer.", reason="agent_may_not"
        )
    catalog = _load_catalog(pending)
    caller = replace(caller, context=UserContext(**pending.context))
    pending_inputs.claim(row, at=trace.at)
    trace.release = catalog.version
    pending = replace(pending, answers=pending.add_answers(given))
    if pending.open_questions:
        error = pending_inputs.ask(
            pending, caller, op=row.op, trace_id=trace.id, at=trace.at, batch_entry=row.batch_entry
        )
        response = pipeline.reject_call(error, name=row.op, caller=caller, trace=trace, catalog=catalog)
        return _store_for_batch(row, response)
    answers = {name: UserAnswer(**each) for name, each in pending.answers.items()}
    response = pipeline.execute(
        body=pending.body,
        caller=caller,
        trace=trace,
        catalog=catalog,
        key=pending.key,
        answers=GivenAnswers(answers, pending.state, pending.waiting_call),
        goes_on=True,
        watcher=watcher,
        batch_entry=row.batch_entry,
    )
    if not response.envelope["ok"] and response.envelope["error"]["details"]["reason"] in NOT_ANSWERED:
        pending_inputs.release_claim(row)
        return response
    return _store_for_batch(row, response)


def _store_for_batch(row: PendingInput, response: EnvelopeResponse) -> EnvelopeResponse:
    """Return the response, which is also that of the entry if the call was one of a batch."""
    if row.batch_entry is not None:
        service.store_late_answer(row.batch_entry, response)
    return response


def _load_catalog(pending: PendingCall) -> Catalog:
    try:
        return cache.get_catalog(pending.release)
    except (Release.DoesNotExist, cache.CorruptRelease, cache.WithdrawnRelease):
        raise pending_inputs.build_expired_error() from None
