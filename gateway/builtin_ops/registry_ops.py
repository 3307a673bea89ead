"""Ops about the product and its rows: x.registry.help, x.agent.run, guides, entity history."""

from operator import itemgetter
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import TextField
from django.db.models.functions import Cast

from analytics.events.models import OperationEvent
from core.handler_contract import OpOutcome
from core.text import json_text
from gateway.contracts import help_errors
from gateway.contracts.errors import ArgsCorrection, FieldError, InvalidRequestError, NotFoundError
from gateway.executors import in_process
from gateway.executors.in_process import GatewayOpRequest
from registry.help import answers, help_pages
from registry.help.answers import BadHelpQuery, UnknownPath
from registry.help.help_pages import HelpQuery

_NOT_A_CHANGE = (OperationEvent.Source.ADMIN,)  # tried in the console, and undone


def answer_help(request: GatewayOpRequest) -> OpOutcome:
    """Return the body that help answers. Raises NotFoundError, InvalidRequestError."""
    if "path" in request.args and "query" in request.args:
        problem = FieldError("/query", "conflict", "Send path or query, not both.")
        raise InvalidRequestError(problem.message, reason="invalid_args", field_errors=[problem])
    try:
        answer = help_pages.answer_query(request.catalog, HelpQuery(**request.args), request.visibility)
    except (UnknownPath, BadHelpQuery) as error:
        raise help_errors.to_api_error(_leave_out_name(error), reason="unknown_path") from None
    return OpOutcome(json_text.load(answer.body))


def _leave_out_name(error: UnknownPath | BadHelpQuery) -> UnknownPath | BadHelpQuery:
    """Return the error without the name that was sent: errors of exec repeat no args."""
    if isinstance(error, BadHelpQuery):
        return error
    hint = f" Did you mean {', '.join(error.did_you_mean)}?" if error.did_you_mean else ""
    message = f"There is no such path or argument.{hint}"
    return type(error)(message, help_path=error.help_path, did_you_mean=error.did_you_mean)


def plan_agent_run(request: GatewayOpRequest) -> OpOutcome:
    """Return what the caller, who runs the model, needs to run an agent. Raises NotFoundError for an unknown agent.

    The caller must respect max_calls and send Gateway-Agent with each call: it limits the agent to its ops.
    """
    try:
        agent = answers.find_visible_agent(request.catalog, request.visibility, request.args["agent"])
    except UnknownPath as error:
        raise help_errors.to_api_error(error, reason="unknown_agent") from None
    run = {
        "agent": agent.name,
        "max_calls": request.args["max_calls"],
        "system_prompt": agent.system_prompt,
    }
    message = f"Run {agent.name} with its own toolset and the header Gateway-Agent: {agent.name}."
    return OpOutcome({"run": run, "message": message})


def answer_guide(request: GatewayOpRequest, *, prompt: str) -> OpOutcome:
    """Return the sections of a prompt, or one of them. Raises InvalidRequestError for an unknown section."""
    sections = {section.name: section for section in request.catalog.prompts.get(prompt, ())}
    name = request.args.get("section")
    if name is not None and name not in sections:
        message = f"Unknown section. Send one of {', '.join(sections)}, or omit it for all."
        problem = FieldError("/section", "unknown_section", message, expected=", ".join(sections))
        raise InvalidRequestError(message, reason="invalid_args", field_errors=[problem])
    chosen = [sections[name]] if name else sections.values()
    section_bodies = [{"name": section.name, "title": section.title, "text": section.text} for section in chosen]
    message = f"Section {name}." if name else f"{len(section_bodies)} sections: {', '.join(sections)}."
    return OpOutcome({"sections": section_bodies, "message": message})


def list_changes(request: GatewayOpRequest) -> OpOutcome:
    """Return the calls that changed one row, newest first. Raises NotFoundError if the subject cannot see the row."""
    kind, id, limit = request.args["entity_kind"], str(UUID(request.args["entity_id"])), request.args["limit"]
    title = in_process.find_title(kind, id, request.subject)
    if title is None:
        if other_kind := in_process.find_kind(id, request.subject):
            raise _build_kind_error(other_kind)
        raise NotFoundError(
            f"No {kind} that you can see has this entity_id; find its id with onto.search.", reason="not_found"
        )
    newest = _list_events(kind, id, limit=limit + 1)
    changes = [
        {
            "at": event["time"].isoformat(timespec="seconds").replace("+00:00", "Z"),
            "by": event["subject"],
            "op": event["op"],
            **_get_stored_message(event["content"]),
        }
        for event in newest[:limit]
    ]
    has_more = len(newest) > limit
    result = {"changes": changes, "has_more": has_more, "message": _build_message(len(changes), has_more=has_more)}
    return OpOutcome(result, entity_id=id, entity_name=title)


def _build_kind_error(kind: str) -> InvalidRequestError:
    error = FieldError("/entity_kind", "kind_mismatch", f"entity_id is the id of a {kind}.", expected=kind)
    return InvalidRequestError(
        error.message,
        reason="invalid_args",
        field_errors=[error],
        correction=ArgsCorrection(args={"entity_kind": kind}),
    )


def _list_events(kind: str, id: str, *, limit: int) -> list[dict[str, Any]]:
    """Return the newest events of calls that changed a row, alone or with others."""
    writes = OperationEvent.objects.filter(
        entity=kind, kind="write", ok=True, dry_run=False, replayed=False, unchanged=False
    ).exclude(source__in=_NOT_A_CHANGE)
    writes_of_many = writes.filter(changed_ids__isnull=False).annotate(ids=Cast("changed_ids", TextField()))
    # Two queries, because each has its own index. SQLite cannot search in JSON lists, so both search in the text.
    events: list[dict[str, Any]] = [
        dict(event)
        for queryset in (writes.filter(entity_id=id, changed_ids__isnull=True), writes_of_many.filter(ids__contains=id))
        for event in queryset.order_by("-time", "-id").values("id", "time", "subject", "op", "content")[:limit]
    ]
    return sorted(events, key=itemgetter("time", "id"), reverse=True)[:limit]


def _get_stored_message(content: Any) -> dict[str, str]:
    """Return what the answer to the call said about the changes, if the event stores it."""
    result = content.get("result") if isinstance(content, dict) else None
    message = result.get("message") if isinstance(result, dict) else None
    return {"change": message} if isinstance(message, str) else {}


def _build_message(count: int, *, has_more: bool) -> str:
    days = f"the last {settings.GATEWAY_EVENT_DAYS} days"
    if not count:
        return f"No call changed this row in {days}; created_at and updated_at of the row may be older."
    shown = f"The newest {count} changes" if has_more else "1 change" if count == 1 else f"{count} changes"
    return f"{shown} in {days}, newest first."
