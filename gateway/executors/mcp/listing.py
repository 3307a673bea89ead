"""Ask an MCP server what it offers, for an import or a check."""

from dataclasses import dataclass

from core.database.deadlines import Deadline
from core.http.async_client import AsyncCall, current_call
from gateway.contracts.errors import GatewayError
from gateway.executors.mcp.definition_check import UnknownProgram
from gateway.executors.mcp.sessions import session_pool, tool_listing
from gateway.executors.mcp.sessions.tool_listing import MAX_TOOLS, TooManyTools
from gateway.executors.remote import credentials
from gateway.executors.remote.credentials import BuiltRequest
from registry.catalog.connections import ConnectionConfig
from registry.imports.document_source import UnreadableDocument
from registry.imports.mcp_import import McpListing
from registry.models import Connection
from registry.text import cleanup

SECONDS = 60
MAX_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class _Administrator:
    """No user is sent to the server: what it offers must not depend on an end user."""

    deadline: Deadline
    subject: str = ""
    client_id: int = 0


def list_server(connection: Connection) -> McpListing:
    """Return what the server of a connection offers, in a separate session. Raises UnreadableDocument."""
    config = ConnectionConfig.of_row(connection)
    call = AsyncCall(max_bytes=MAX_BYTES)
    try:
        call.headers = _build_headers(config)
        return session_pool.run_on_loop(_list(config, call), seconds=SECONDS)
    except GatewayError as error:
        raise UnreadableDocument(str(error)) from None
    except TimeoutError:
        raise UnreadableDocument(f"The server did not answer within {SECONDS} seconds.") from None
    except UnknownProgram:
        raise UnreadableDocument(
            f'The program "{config.command}" is not one of GATEWAY_MCP_COMMANDS. Add it to this setting.'
        ) from None
    except TooManyTools:
        raise UnreadableDocument(f"The server lists more than {MAX_TOOLS:,} tools.") from None
    except Exception as error:
        raise UnreadableDocument(_explain(config, call, error)) from None


def _build_headers(config: ConnectionConfig) -> dict[str, str]:
    if config.is_program:
        return {}
    request = BuiltRequest("POST", config.base_url, dict(config.headers))
    caller = _Administrator(Deadline.after(milliseconds=SECONDS * 1000))
    return dict(credentials.apply_credentials(request, caller, config).headers)


async def _list(config: ConnectionConfig, call: AsyncCall) -> McpListing:
    current_call.set(call)  # also of the requests after the handshake: the SDK sends each in its caller's context
    session = session_pool.open_session(config, call)
    try:
        await session.wait_until_open()
        client = session.client
        tools = await tool_listing.list_tools(client)
        info = client.server_info
        has_resources = client.server_capabilities.resources is not None
        title = cleanup.strip_blank(info.title or "") or cleanup.strip_blank(info.name) if info else ""
        return McpListing(title, info.version if info else "", tools, has_resources)
    finally:
        call.status, call.error = call.status or session.opening.status, call.error or session.opening.error
        session.close()
        await session.wait_until_closed()


def _explain(config: ConnectionConfig, call: AsyncCall, error: Exception) -> str:
    if config.is_program:
        return f'The program "{config.command}" does not answer as an MCP server: {type(error).__name__}.'
    if call.error is not None:
        return f"The server cannot be reached. {call.error}"
    if call.status in (401, 403):
        return f"The server answered with status {call.status}. Enter its credentials on the page of the connection."
    if call.status >= 400:
        return f"The server answered with status {call.status}. Check the address: it must be that of the MCP endpoint."
    return "The server at this address does not answer as an MCP server. Check the address."
