"""help: answer a query from the caller's release, limited to the ops the caller may run."""

from typing import Any

import orjson

from analytics.events import event_log
from analytics.models import OperationEvent
from core import logs
from core.text.lists import cache_by_text
from gateway.arguments.coercion import convert_whole_numbers
from gateway.contracts import help_errors, request_schemas
from gateway.contracts.envelopes import Trace
from gateway.contracts.errors import FieldError, InvalidRequestError
from gateway.contracts.validation import find_field_errors
from gateway.recording import call_events, hints, redaction
from gateway.request_context import Caller
from gateway.routing import release_routing
from gateway.toolset import native_search
from registry.catalog.model import Catalog
from registry.help import help_pages
from registry.help.answers import BadHelpQuery, HelpAnswer, UnknownPath
from registry.help.help_pages import HelpQuery

_BOOLEANS = {"true": True, "false": False}


def answer_help(*, body: dict[str, Any], caller: Caller, trace: Trace, catalog: Catalog | None = None) -> HelpAnswer:
    """Return the answer to a help body and record the event. A batch entry passes the catalog of its release.

    Raises InvalidRequestError for a malformed body, NotFoundError for a path that does not exist or that the caller
    may not see.
    """
    catalog = catalog or release_routing.get_catalog(caller.routing)
    trace.release = catalog.version
    logs.release.set(catalog.version)
    query = _parse_query(body)
    try:
        answer = help_pages.answer_query(catalog, query, caller.visibility)
        if caller.routing.native_format and query.query is not None:
            answer = native_search.add_loaded_tools(answer, catalog, caller.routing.native_format)
    except (UnknownPath, BadHelpQuery) as error:
        raise help_errors.to_api_error(error, reason="unknown_path") from None
    if query.query is None:
        hints.note_help(caller, trace, kind="help", path=answer.path, body=body)
    else:
        hints.note_search(caller, trace, paths=answer.found_paths, body=body)
    op = catalog.ops.get(answer.path)
    event_log.enqueue_event(
        call_events.build_event(
            get_event_type(body),
            caller=caller,
            trace=trace,
            op=op,
            name=answer.path,
            release=catalog.version,
            format=_get_event_format(query) if op else "",
            result_count=answer.result_count,
            digest=call_events.hash_call(caller, "help", body),
            content=redaction.build_search_content(query.query, answer.found_paths)
            if query.query is not None
            else None,
        )
    )
    return answer


def _get_event_format(query: HelpQuery) -> str:
    """Return the format of an op's help for the event: short, full or arg."""
    return OperationEvent.Format.ARG if query.arg is not None else query.format


def get_event_type(body: dict[str, Any]) -> OperationEvent.Type:
    """Return the event type of a help body: search if it has a query, else help."""
    return OperationEvent.Type.SEARCH if "query" in body else OperationEvent.Type.HELP


def parse_parameters(parameters: dict[str, list[str]]) -> dict[str, Any]:
    """Return URL parameters as a help body. Raises InvalidRequestError for a repeated parameter or a NUL character."""
    if any("\x00" in text for name, values in parameters.items() for text in (name, *values)):
        raise InvalidRequestError("A parameter contains a NUL character. Remove it.", reason="nul_character")
    repeated_names = [name for name, values in parameters.items() if len(values) > 1]
    if repeated_names:
        problems = [FieldError(f"/{name}"[:200], "duplicate_key", "Send it once.") for name in repeated_names]
        raise InvalidRequestError(
            "A parameter is repeated. Send each once.", reason="duplicate_key", field_errors=problems
        )
    return {name: _convert_parameter(name, values[0]) for name, values in parameters.items()}


def _convert_parameter(name: str, text: str) -> Any:
    kind = request_schemas.HELP["properties"].get(name, {}).get("type")
    if kind == "boolean":
        return _BOOLEANS.get(text, text)
    if kind == "integer" and text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    return text


def _parse_query(body: dict[str, Any]) -> HelpQuery:
    return _parse_query_text(orjson.dumps(body).decode())  # as text, because 1, 1.0 and True are equal as cache keys


@cache_by_text
def _parse_query_text(text: str) -> HelpQuery:
    body = orjson.loads(text)
    errors = find_field_errors(request_schemas.get_help_validator(), body)
    if "path" in body and "query" in body:
        errors.append(FieldError("/query", "conflict", "Send path or query, not both."))
    if errors:
        raise InvalidRequestError(
            f"The help request is malformed. {errors[0].message}", reason="malformed_call", field_errors=errors
        )
    return HelpQuery(**convert_whole_numbers(request_schemas.HELP, body))
