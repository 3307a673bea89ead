"""Stored files as resources: the address of a file is `gateway://files/<id>`.

MCP has no way to send a file to a server, so clients upload files over HTTP. Ops take the id in either case.
"""

from base64 import b64encode

from mcp_types import BlobResourceContents, ReadResourceResult, ResourceTemplate, TextResourceContents

from gateway.contracts.errors import InvalidRequestError
from gateway.executors.remote import result_values
from gateway.mcp_server.caller_source import McpCall
from gateway.mcp_server.errors import build_unknown_error
from gateway.mcp_server.tool_calls import require_scope
from gateway.models import Scope

PREFIX = "gateway://files/"
MAX_BYTES = 5_000_000  # of a file that is read as a resource; an answer of this protocol is one text in memory
TEMPLATE = ResourceTemplate(
    uri_template=f"{PREFIX}{{id}}",
    name="file",
    title="A stored file",
    description="Id of a file that was uploaded or that an op returned",
)


def read_file(call: McpCall, uri: str) -> ReadResourceResult:
    """Return a file of the caller, as text if it is text in UTF-8. Raises MCPError if there is none."""
    require_scope(call, Scope.EXEC_READ)
    caller = call.caller
    file_id = uri.removeprefix(PREFIX)
    file = result_values.find_file(file_id, client_id=caller.key.client_id, subject=caller.subject, at=call.trace.at)
    if file is None:
        raise build_unknown_error("resource", uri, [], field="uri")
    if file.size > MAX_BYTES:
        raise InvalidRequestError(
            f"The file has {file.size:,} bytes, and a resource at most {MAX_BYTES:,}. Download the file over HTTP.",
            reason="file_too_large",
        )
    content = bytes(file.content)
    text = _decode(content) if file.content_type.startswith("text/") else None
    contents: TextResourceContents | BlobResourceContents = (
        BlobResourceContents(uri=uri, mime_type=file.content_type, blob=b64encode(content).decode())
        if text is None
        else TextResourceContents(uri=uri, mime_type=file.content_type, text=text)
    )
    return ReadResourceResult(contents=[contents], ttl_ms=0, cache_scope="private")


def _decode(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None
