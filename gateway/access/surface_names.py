"""Name ops in answers as the caller's surface shows them: by tool name if the op is a tool there, else by path.

So a model knows each op by one name. The gateway writes all of its texts with paths. This is the one place where they
change.
"""

from collections.abc import Mapping
from typing import Any, cast

from analytics.flags import Surface
from core.text import json_text
from gateway.access import release_routing
from gateway.access.request_context import Caller
from gateway.contracts.envelopes import Envelope, Trace
from gateway.contracts.errors import InternalError
from registry.catalog import cache
from registry.catalog.model import Catalog, CatalogOp
from registry.help import discovery_pages, op_names
from registry.help.answers import HelpAnswer, build_answer
from registry.help.op_names import OpToolNames
from registry.models import ROOT
from registry.snapshot.copy_kinds import AGENTS_PATH

TOOL_SURFACES = frozenset((Surface.DISCOVERY, Surface.LEGACY, Surface.NATIVE))
MCP = "mcp"  # the source of a call whose tools are those of the caller's surface
UTILITY = "utility"  # the category of ops about the product
_VALUES = frozenset(("args", "applied_defaults"))  # of the caller, not texts of the gateway
_OWN_MESSAGE = "message"  # the member of a result that the op's handler has written


def get_tool_names(caller: Caller | None, trace: Trace, catalog: Catalog) -> Mapping[str, str]:
    """Return {path: tool name} of the ops that the caller's model knows by the names of their tools.

    These are all ops, by Gateway-Toolset or over MCP by its tools, or those of the hybrid surface that have tools of
    their own. A client without a toolset has read names in help, which are paths.
    """
    if caller is None or not _shows_tools(caller, trace):
        return {}
    names = OpToolNames.of(catalog)
    if caller.routing.surface in TOOL_SURFACES:
        return names
    return {path: names[path] for path in caller.routing.own_tools if path in names}


def _shows_tools(caller: Caller, trace: Trace) -> bool:
    if caller.routing.surface in TOOL_SURFACES:
        return caller.has_toolset or trace.source == MCP
    return bool(caller.routing.own_tools)


def name_ops_for_surface(text: str, surface: str, catalog: Catalog) -> str:
    """Return a text with the names of a surface."""
    return op_names.replace_paths(text, OpToolNames.of(catalog)) if surface in TOOL_SURFACES else text


def name_ops_in_help(answer: HelpAnswer, names: Mapping[str, str]) -> HelpAnswer:
    """Return an answer of help or discovery with tool names."""
    body = op_names.replace_paths_in_values(json_text.load(answer.body), names)
    return build_answer(body, answer.path, answer.result_count, op_kind=answer.op_kind, found_paths=answer.found_paths)


def name_ops_in_envelope(envelope: Envelope, catalog: Catalog, names: Mapping[str, str], *, surface: str) -> Envelope:
    """Return an envelope with tool names. `op` stays the canonical op. A `help_path` is one of the surface.

    A result stays as it is but for its message: the rest are rows, or texts of a service. Only the ops that explain the
    product, without any rows, return texts throughout.
    """
    named: dict[str, Any] = {**envelope}
    for part in ("error", "meta"):
        if part in named:
            named[part] = op_names.replace_paths_in_values(named[part], names, kept=_VALUES)
    if surface in TOOL_SURFACES and "error" in named:
        path = named["error"]["help_path"]
        if path in catalog.groups or path == AGENTS_PATH:
            named["error"]["help_path"] = _find_tool_of_group(path, catalog, surface)
    if (result := envelope.get("result")) is not None:
        named["result"] = _name_ops_in_result(result, catalog.ops.get(envelope["op"] or ""), names)
    return cast(Envelope, named)


def name_ops_in_failure(envelope: Envelope, caller: Caller | None, trace: Trace) -> Envelope:
    """Return the envelope of a call that failed early with the names of the caller's surface.

    It stays as it is if there is no release to read them from.
    """
    if caller is None or not _shows_tools(caller, trace):
        return envelope
    try:
        catalog = release_routing.get_catalog(caller.routing)
        names = get_tool_names(caller, trace, catalog)
        return name_ops_in_envelope(envelope, catalog, names, surface=caller.routing.surface)
    except (InternalError, cache.NoLiveRelease):
        return envelope


def name_ops_in_entries(results: list[dict[str, Any]], caller: Caller, trace: Trace) -> list[dict[str, Any]]:
    """Return the results of a batch with the names of the caller's surface. Help has its own already."""
    if not _shows_tools(caller, trace):
        return results
    catalog = release_routing.get_catalog(caller.routing)
    names, surface = get_tool_names(caller, trace, catalog), caller.routing.surface
    return [
        result if result.get("type") == "help" else _name_ops_in_entry(result, catalog, names, surface)
        for result in results
    ]


def _name_ops_in_entry(
    result: dict[str, Any], catalog: Catalog, names: Mapping[str, str], surface: str
) -> dict[str, Any]:
    envelope = cast(Envelope, {"op": None, **result})
    named = cast(dict[str, Any], name_ops_in_envelope(envelope, catalog, names, surface=surface))
    if "items" in result:  # of a loop: an envelope a row
        named["items"] = [_name_ops_in_entry(each, catalog, names, surface) for each in result["items"]]
    return named


def _find_tool_of_group(path: str, catalog: Catalog, surface: str) -> str:
    """Return the tool that tells of a group's ops. Where no tool does, it is the root, as if no op was known."""
    return discovery_pages.find_discovery_tool(catalog, path) if surface == Surface.DISCOVERY else ROOT


def _name_ops_in_result(result: dict[str, Any], op: CatalogOp | None, names: Mapping[str, str]) -> dict[str, Any]:
    if op is not None and _explains_product(op):
        named: dict[str, Any] = op_names.replace_paths_in_values(result, names)
        return named
    message = result.get(_OWN_MESSAGE)
    if op is None or op.is_of_service or not isinstance(message, str):
        return result
    return {**result, _OWN_MESSAGE: op_names.replace_paths(message, names)}


def _explains_product(op: CatalogOp) -> bool:
    """Return whether all that an op returns are texts about the product: it is about no rows and of no user."""
    return op.category == UTILITY and not (op.entity or op.needs_subject or op.is_of_service)
