"""Read an MCP server for an import: what it offers, and the connection to it."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlsplit

from registry.imports import mcp_server, mcp_source
from registry.imports.document_source import UnreadableDocument
from registry.imports.import_document import Selection
from registry.imports.import_source import ImportSource
from registry.imports.mcp_server import McpListing
from registry.models import Connection

PROGRAM_PREFIX = "program:"  # before the name of a program in an address


@dataclass(frozen=True, slots=True)
class ReadServer:
    """A server that was read: its tools, and whether its connection tells it the end user."""

    listing: McpListing = field(repr=False)
    needs_subject: bool = False
    document_url: str = ""  # there is no document

    @property
    def title(self) -> str:
        return self.listing.title

    @property
    def version(self) -> str:
        return self.listing.version

    def pick(self, selection: Selection, group: str, *, keep: Iterable[str] = ()) -> ImportSource:
        """Return the tools with all words of the selection as ops of a group, and those in `keep`."""
        return mcp_source.build_source(
            self.listing.tools, group=group, needs_subject=self.needs_subject, search=selection.search, keep=keep
        )

    def count(self, selection: Selection) -> int:
        """Return how many tools the selection picks."""
        return len(self.pick(selection, "").ops)

    def compute_digest(self) -> str:
        """Return the hash of the definitions of all tools, in whatever order the server lists them."""
        digests = sorted(mcp_server.digest_tool(tool) for tool in self.listing.tools)
        return hashlib.sha256("".join(digests).encode()).hexdigest()

    def to_bytes(self) -> bytes:
        """Return what `from_bytes` reads."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> "ReadServer":
        """Return a server that was stored."""
        fields = json.loads(content)
        return cls(**fields | {"listing": McpListing(**fields["listing"])})


def read_server(connection: Connection) -> ReadServer:
    """Ask the server of a connection, which need not be saved. Raises UnreadableDocument."""
    if connection.auth == Connection.Auth.USER_OAUTH and not connection.is_program:
        raise UnreadableDocument(
            "Each end user signs in to this server, so it cannot be asked for its tools without one. Choose a bearer "
            "token while you import."
        )
    return ReadServer(mcp_server.list_server(connection), connection.names_subject)


def build_connection(address: str) -> Connection:
    """Return a new connection to the server at an http(s) address, or `program:` and a name. Raises UnreadableDocument.

    An address whose path ends with /sse is that of a server from before streamable HTTP.
    """
    if address.startswith(PROGRAM_PREFIX):
        command = address.removeprefix(PROGRAM_PREFIX)
        return Connection(kind=Connection.Kind.MCP, transport=Connection.Transport.STDIO, command=command)
    if not address.startswith(("http://", "https://")):
        raise UnreadableDocument(
            "An MCP server is an http:// or https:// address, or program: and a name in GATEWAY_MCP_COMMANDS."
        )
    is_sse = urlsplit(address).path.rstrip("/").endswith("/sse")
    transport = Connection.Transport.SSE if is_sse else Connection.Transport.HTTP
    return Connection(kind=Connection.Kind.MCP, transport=transport, base_url=address)


def get_address(connection: Connection | Mapping[str, Any]) -> str:
    """Return the address of a connection's server, as `build_connection` takes it."""
    values = connection if isinstance(connection, Mapping) else connection.__dict__
    is_program = values["transport"] == Connection.Transport.STDIO
    return f"{PROGRAM_PREFIX}{values['command']}" if is_program else str(values["base_url"])


def describe_connection(connection: Connection) -> dict[str, str]:
    """Return the fields of a new connection to the same server."""
    return {name: str(getattr(connection, name)) for name in ("kind", "transport", "base_url", "command")}


def describe_sessions(connection: Connection) -> str:
    """Return a sentence on who shares a session with the server of a connection, and why."""
    what, who = ("program", "program") if connection.is_program else ("session", "server")
    if connection.names_subject:
        return f"Each end user has a {what} of their own, because the {who} is told the end user."
    if connection.shares_sessions:
        return f"All callers share one {what}, because the connection says that the {who} keeps nothing of its callers."
    return (
        f"Each end user of a client has a {what} of their own, because the {who} may keep something of its callers. If "
        "it does not, switch on Shared session on the page of the connection."
    )
