"""Repair results of MCP servers that do not follow the protocol, so that one wrong part does not cost the others.

The SDK refuses a whole result for one part that it does not know or that is wrong. So results are repaired before it
sees them: a part that cannot be read is left out, with a remark in the metadata of the result, and a tool that it would
refuse is kept as the server defines it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import mcp_types
from mcp.client.session import ClientSession
from mcp_types import methods
from pydantic import TypeAdapter, ValidationError

from core.http.async_client import current_call
from core.text.lenient_json import LenientReader, UnreadableJSON
from gateway.executors.remote.result_values import wrap_value
from registry.text import cleanup

# Members of a result's metadata that only we set.
REMARKS = "tool-gateway/remarks"
UNUSUAL_TOOLS = "tool-gateway/unusual-tools"

NEEDED_OF_TOOL = ("name", "inputSchema")  # nothing here needs the others
MAX_TRIES = 10  # members of one part that are left out
Raw = dict[str, Any]

_BLOCK: TypeAdapter[Any] = TypeAdapter(mcp_types.ContentBlock)
_CONTENTS: TypeAdapter[Any] = TypeAdapter(mcp_types.TextResourceContents | mcp_types.BlobResourceContents)
_RESOURCE: TypeAdapter[Any] = TypeAdapter(mcp_types.Resource)


def repair_results(session: ClientSession) -> None:
    """Repair each result of a session before the SDK checks it."""
    dispatcher = session._dispatcher  # if the SDK ever renames it, this raises AttributeError and no session opens
    send = dispatcher.send_raw_request

    async def send_and_repair(method: str, params: Mapping[str, Any] | None, opts: Any = None) -> Raw:
        raw = await send(method, params, opts)
        return repair_result(method, raw, session.protocol_version or mcp_types.LATEST_PROTOCOL_VERSION)

    dispatcher.send_raw_request = send_and_repair  # type: ignore[method-assign]


def repair_result(method: str, raw: Raw, version: str) -> Raw:
    """Return a result that the SDK accepts, with what it would refuse left out or kept in the metadata."""
    repair = _REPAIRS.get(method)
    if repair is None or not isinstance(raw, dict):
        return raw
    raw_meta = raw.get("_meta")
    meta = {name: each for name, each in (raw_meta if isinstance(raw_meta, dict) else {}).items() if name not in _OURS}
    call = current_call.get()
    repaired, added = repair(raw, version)
    if call is not None:
        if REMARKS in added:
            added[REMARKS] = list(dict.fromkeys([*call.remarks, *added[REMARKS]]))
        call.remarks = ()
    return {name: each for name, each in repaired.items() if name != "_meta"} | {"_meta": meta | added}


def _repair_call(raw: Raw, _: str) -> tuple[Raw, Raw]:
    if raw.get("resultType") == "input_required":
        return raw, {}
    reader = LenientReader()
    remarks: list[str] = []
    try:
        raw = {name: reader.repair(each) for name, each in raw.items()}
    except UnreadableJSON:
        remarks.append("The answer has too many values and was left out.")
        raw = {name: each for name, each in raw.items() if name in ("resultType", "isError")}
    content = raw.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    kept = []
    for block in blocks if isinstance(blocks, list) else ():
        if _is_valid(_BLOCK, block):
            kept.append(block)
        else:
            remarks.append(_describe_unread(block))
    raw = raw | {"content": kept, "isError": raw.get("isError") in (True, "true", 1)}
    if (structure := raw.pop("structuredContent", None)) is not None:
        raw["structuredContent"] = wrap_value(structure)
    return raw, {REMARKS: list(dict.fromkeys([*remarks, *reader.remarks]))}


def _repair_tools(raw: Raw, version: str) -> tuple[Raw, Raw]:
    """Keep the tools that the SDK would refuse beside the others, without the members that are wrong."""
    tools = raw.get("tools")
    usual: list[Any] = []
    unusual: list[Raw] = []
    for tool in tools if isinstance(tools, list) else ():
        if _is_plain_tool(tool):
            usual.append(tool)
            continue
        repaired, is_valid = _drop_wrong_members(tool if isinstance(tool, dict) else {}, raw, version)
        (usual if is_valid else unusual).append(repaired)
    return raw | {"tools": usual} | _repair_cursor(raw), {UNUSUAL_TOOLS: unusual} if unusual else {}


def _is_plain_tool(tool: Any) -> bool:
    """Return whether a tool has only members that are valid without a closer look, as nearly all have."""
    if not isinstance(tool, dict) or not tool.keys() <= _PLAIN_MEMBERS:
        return False
    annotations = tool.get("annotations", {})
    return (
        all(isinstance(each, str) for each in (tool.get("name"), tool.get("title", ""), tool.get("description", "")))
        and all(_is_plain_schema(tool[name]) for name in ("inputSchema", "outputSchema") if name in tool)
        and "inputSchema" in tool
        and isinstance(annotations, dict)
        and all(isinstance(each, str if name == "title" else bool) for name, each in annotations.items())
    )


def _is_plain_schema(schema: Any) -> bool:
    if not isinstance(schema, dict) or schema.get("type") != "object" or not isinstance(schema.get("$schema", ""), str):
        return False
    properties, required = schema.get("properties", {}), schema.get("required", [])
    return (
        isinstance(properties, dict)
        and all(isinstance(each, dict) for each in properties.values())
        and isinstance(required, list)
        and all(isinstance(each, str) for each in required)
    )


_PLAIN_MEMBERS = frozenset({"name", "title", "description", "inputSchema", "outputSchema", "annotations"})


def _drop_wrong_members(tool: Raw, raw: Raw, version: str) -> tuple[Raw, bool]:
    """Return a tool without its wrong members, and whether the SDK accepts it then."""
    for _ in range(MAX_TRIES):
        try:
            methods.validate_server_result("tools/list", version, raw | {"tools": [tool]} | _repair_cursor(raw))
            mcp_types.Tool.model_validate(tool, by_name=False)
            return tool, True
        except KeyError:
            return tool, True
        except ValidationError as error:
            places = [place["loc"][2:] if place["loc"][:1] == ("tools",) else place["loc"] for place in error.errors()]
            wrong = {place[0] for place in places if place and place[0] in tool} - set(NEEDED_OF_TOOL)
            if not wrong:
                return tool, False
            tool = {name: each for name, each in tool.items() if name not in wrong}
    return tool, False


def _repair_resources(raw: Raw, _: str) -> tuple[Raw, Raw]:
    resources = raw.get("resources")
    kept = [each for each in resources if _is_valid(_RESOURCE, each)] if isinstance(resources, list) else []
    return raw | {"resources": kept} | _repair_cursor(raw), {}


def _repair_contents(raw: Raw, _: str) -> tuple[Raw, Raw]:
    contents = raw.get("contents")
    contents = contents if isinstance(contents, list) else []
    kept = [each for each in contents if _is_valid(_CONTENTS, each)]
    remarks = ["A part of the resource could not be read and was left out."] if len(kept) < len(contents) else []
    return raw | {"contents": kept}, {REMARKS: remarks}


def _repair_cursor(raw: Raw) -> Raw:
    """Return the cursor of a list: one that is no text ends it."""
    cursor = raw.get("nextCursor")
    return {} if cursor is None or isinstance(cursor, str) else {"nextCursor": None}


def _is_valid(adapter: TypeAdapter[Any], value: Any) -> bool:
    if isinstance(value, dict) and value.keys() == {"type", "text"} and value["type"] == "text":
        return isinstance(value["text"], str)
    try:
        adapter.validate_python(value, by_name=False)
    except ValidationError:
        return False
    return True


def _describe_unread(block: Any) -> str:
    kind = block.get("type") if isinstance(block, dict) else None
    name = f' of the type "{kind}"' if isinstance(kind, str) and cleanup.is_identifier(kind) else ""
    return f"A part of the answer{name} could not be read and was left out."


_OURS = frozenset({REMARKS, UNUSUAL_TOOLS})
_REPAIRS: dict[str, Callable[[Raw, str], tuple[Raw, Raw]]] = {
    "tools/call": _repair_call,
    "tools/list": _repair_tools,
    "resources/list": _repair_resources,
    "resources/read": _repair_contents,
}
