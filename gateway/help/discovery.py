"""discover: answer a discovery tool from the caller's release, limited to the ops the caller may run."""

from typing import Any

from analytics.events import event_log
from analytics.models import OperationEvent
from core import logs
from gateway.contracts import help_errors, request_schemas
from gateway.contracts.envelopes import Trace
from gateway.contracts.errors import FieldError, InvalidRequestError
from gateway.contracts.validation import find_field_errors
from gateway.recording import call_events, hints
from gateway.request_context import Caller
from gateway.routing import release_routing
from registry.help import discovery_pages
from registry.help.answers import BadHelpQuery, HelpAnswer, UnknownPath
from registry.help.discovery_pages import DISCOVER_AGENTS, DiscoveryQuery, ToolOfAnotherDomain

Format = OperationEvent.Format


def answer_discovery(*, name: str, body: dict[str, Any], caller: Caller, trace: Trace) -> HelpAnswer:
    """Return the answer of a discovery tool and record the event.

    Raises InvalidRequestError for a malformed body, NotFoundError for a discovery tool, tool, agent or parameter that
    does not exist, that this caller may not see, or that another discovery tool describes.
    """
    catalog = release_routing.get_catalog(caller.routing)
    trace.release = catalog.version
    logs.release.set(catalog.version)
    query = _parse_query(name, body)
    try:
        answer = discovery_pages.answer_query(catalog, query, caller.visibility)
    except (UnknownPath, BadHelpQuery) as error:
        is_elsewhere = isinstance(error, ToolOfAnotherDomain)
        raise help_errors.to_api_error(
            error, reason="tool_of_another_domain" if is_elsewhere else "unknown_path"
        ) from None
    hints.note_help(caller, trace, kind=name, path=answer.path, body=body)
    event_log.enqueue_event(
        call_events.build_event(
            OperationEvent.Type.DISCOVER,
            caller=caller,
            trace=trace,
            op=catalog.ops.get(answer.path),
            name=answer.path,
            release=catalog.version,
            format=_get_level(query),
            result_count=answer.result_count,
            digest=call_events.hash_call(caller, name, body),
        )
    )
    return answer


def _parse_query(name: str, body: dict[str, Any]) -> DiscoveryQuery:
    errors = find_field_errors(request_schemas.get_discover_validator(), body)
    if "agent" in body and (name != DISCOVER_AGENTS or "tool" in body):
        hint = f"Send it to {DISCOVER_AGENTS}." if name != DISCOVER_AGENTS else "Send tool or agent, not both."
        errors.append(FieldError("/agent", "conflict", hint))
    if errors:
        raise InvalidRequestError(
            f"The discovery request is malformed. {errors[0].message}", reason="malformed_call", field_errors=errors
        )
    tool = body.get("agent", body.get("tool"))
    return DiscoveryQuery(name, tool, body.get("parameter"), body.get("level"))


def _get_level(query: DiscoveryQuery) -> Format:
    if query.tool is None:
        return Format.LIST
    if query.parameter is not None:
        return Format.ARG
    return Format.FULL if query.level else Format.SHORT
