"""Answer help, discovery and native searches from the caller's release, limited to the caller's ops."""

from collections.abc import Mapping
from typing import Any

import orjson

from analytics.events import event_log
from analytics.events.models import OperationEvent
from core import logs
from core.text import json_text
from core.text.lists import cache_by_text
from gateway.access import release_routing, surface_names
from gateway.access.request_context import Caller
from gateway.arguments.coercion import convert_whole_numbers
from gateway.contracts import help_errors, request_schemas
from gateway.contracts.envelopes import Trace
from gateway.contracts.errors import FieldError, InvalidRequestError
from gateway.contracts.validation import find_field_errors
from gateway.help import batch_guide
from gateway.recording import call_events, hints, redaction
from gateway.toolset import rendering, shown_ops
from gateway.toolset.surfaces.native import build_deferred_tool
from registry.catalog.model import Catalog
from registry.help import discovery_pages, help_pages
from registry.help.answers import BadHelpQuery, HelpAnswer, UnknownPath, build_answer
from registry.help.discovery_pages import DISCOVER_AGENTS, DiscoveryQuery, ToolOfAnotherDomain
from registry.help.help_pages import HelpQuery
from registry.help.op_names import replace_paths

Format = OperationEvent.Format
_BOOLEANS = {"true": True, "false": False}


def answer_discovery(*, name: str, body: dict[str, Any], caller: Caller, trace: Trace) -> HelpAnswer:
    """Return the answer of a discovery tool and record the event.

    Raises InvalidRequestError for a malformed body, NotFoundError for a discovery tool, tool, agent or parameter that
    does not exist, that this caller cannot see, or that another discovery tool describes.
    """
    catalog = release_routing.get_catalog(caller.routing)
    trace.release = catalog.version
    logs.release.set(catalog.version)
    query = _parse_discovery_query(name, body)
    try:
        answer = discovery_pages.answer_query(catalog, query, caller.visibility)
    except (UnknownPath, BadHelpQuery) as error:
        is_elsewhere = isinstance(error, ToolOfAnotherDomain)
        raise help_errors.to_api_error(
            error, reason="tool_of_another_domain" if is_elsewhere else "unknown_path"
        ) from None
    digest = call_events.hash_call(caller, name, {**body, "path": answer.path})
    hints.note_help(caller, trace, kind=name, path=answer.path, body=body, digest=digest)
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
            digest=digest,
        )
    )
    return _name_ops(answer, caller, trace, catalog)


def _name_ops(answer: HelpAnswer, caller: Caller, trace: Trace, catalog: Catalog) -> HelpAnswer:
    names = surface_names.get_tool_names(caller, trace, catalog)
    if not names:
        return answer
    trace.hint = replace_paths(trace.hint, names)
    return surface_names.name_ops_in_help(answer, names)


def _parse_discovery_query(name: str, body: dict[str, Any]) -> DiscoveryQuery:
    errors = find_field_errors(request_schemas.get_discover_validator(), body)
    if "agent" in body and (name != DISCOVER_AGENTS or "tool" in body):
        hint = f"Send it to {DISCOVER_AGENTS}." if name != DISCOVER_AGENTS else "Send tool or agent, not both."
        errors.append(FieldError("/agent", "conflict", hint))
    if errors:
        raise InvalidRequestError(
            f"The discovery request is malformed. {errors[0].message}", reason="malformed_call", field_errors=errors
        )
    tool = body.get("agent", body.get("tool"))
    return DiscoveryQuery(name, tool, body.get("parameter"), body.get("level"), body.get("query"))


def _get_level(query: DiscoveryQuery) -> Format:
    if query.tool is None:
        return Format.LIST
    if query.parameter is not None:
        return Format.ARG
    return Format.FULL if query.level else Format.SHORT


def add_loaded_tools(answer: HelpAnswer, catalog: Catalog, format: str) -> HelpAnswer:
    """Return the answer to a search with `tools`: the ops that it found, as the result of a provider's tool search.

    The items then have no args: the tools have them. A search without a match finds groups, and loads no tools.
    """
    body = json_text.load(answer.body)
    ops = [catalog.ops[item["path"]] for item in body["items"] if item["path"] in catalog.ops]
    usable, _ = shown_ops.split_refused(catalog, ops)
    items = [{name: value for name, value in item.items() if name != "args"} for item in body["items"]]
    tools = rendering.to_native_results([build_deferred_tool(catalog, op) for op in usable], format)
    return build_answer(
        body | {"items": items, "tools": tools}, result_count=answer.result_count, found_paths=answer.found_paths
    )


def answer_help(*, body: dict[str, Any], caller: Caller, trace: Trace, catalog: Catalog | None = None) -> HelpAnswer:
    """Return the answer to a help body and record the event. A batch entry passes the catalog of its release.

    Raises InvalidRequestError for a malformed body, NotFoundError for a path that does not exist or that the caller
    cannot see.
    """
    catalog = catalog or release_routing.get_catalog(caller.routing)
    trace.release = catalog.version
    logs.release.set(catalog.version)
    query = _parse_query(body)
    try:
        answer = (
            batch_guide.get_answer()
            if batch_guide.is_asked_for(query)
            else help_pages.answer_query(catalog, query, caller.visibility)
        )
        if caller.routing.native_format and query.query is not None:
            answer = add_loaded_tools(answer, catalog, caller.routing.native_format)
    except (UnknownPath, BadHelpQuery) as error:
        raise help_errors.to_api_error(error, reason="unknown_path") from None
    if query.query is None:
        digest = call_events.hash_call(caller, "help", {**body, "path": answer.path})  # "" and root are the same
        hints.note_help(caller, trace, kind="help", path=answer.path, body=body, digest=digest)
    else:
        digest = call_events.hash_call(caller, "help", body)
        hints.note_search(caller, trace, paths=answer.found_paths, digest=digest)
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
            digest=digest,
            content=redaction.build_search_content(query.query, answer.found_paths)
            if query.query is not None
            else None,
        )
    )
    return _name_ops(answer, caller, trace, catalog) if caller.routing.own_tools else answer


def _get_event_format(query: HelpQuery) -> str:
    """Return the format of an op's help for the event: short, full or arg."""
    return OperationEvent.Format.ARG if query.arg is not None else query.format


def get_event_type(body: dict[str, Any]) -> OperationEvent.Type:
    """Return the event type of a help body: search if it has a query, else help."""
    return OperationEvent.Type.SEARCH if "query" in body else OperationEvent.Type.HELP


def parse_parameters(
    parameters: dict[str, list[str]], schema: Mapping[str, Any] = request_schemas.HELP
) -> dict[str, Any]:
    """Return URL parameters as a body with the types of a schema.

    Raises InvalidRequestError for a repeated parameter or a NUL character.
    """
    if any("\x00" in text for name, values in parameters.items() for text in (name, *values)):
        raise InvalidRequestError("A parameter contains a NUL character. Remove it.", reason="nul_character")
    repeated_names = [name for name, values in parameters.items() if len(values) > 1]
    if repeated_names:
        problems = [FieldError(f"/{name}"[:200], "duplicate_key", "Send it once.") for name in repeated_names]
        raise InvalidRequestError(
            "A parameter is repeated. Send each once.", reason="duplicate_key", field_errors=problems
        )
    return {
        name: _convert_parameter(schema["properties"].get(name, {}), values[0]) for name, values in parameters.items()
    }


def _convert_parameter(member: Mapping[str, Any], text: str) -> Any:
    kind = member.get("type")
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
