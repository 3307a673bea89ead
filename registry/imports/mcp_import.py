"""Import the tools of an MCP server: what it offers, its connection, and its tools as ops."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlsplit

from registry import result_row
from registry.imports import danger, functions, op_paths, openai, schema_repair
from registry.imports.danger import Danger
from registry.imports.document_source import UnreadableDocument
from registry.imports.import_document import Selection
from registry.imports.import_source import ImportSource, ParsedToolName, Refusal, SourceOp
from registry.imports.openai import FunctionDefinition, ProviderFormat
from registry.jsonschema.dialect import Schema
from registry.models import Connection, Op
from registry.text import cleanup, flow_words

_NAMED_DEFINITION = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
READ_ONLY_UNLIKE_NAME = "Its server says that it only reads, but its name says that it writes. Check its kind."
DELETES_UNLIKE_HINT = "Its server says that it only reads, but its name says that it deletes: it is a write."
FEW_WORDS = 3  # a description with fewer says less than a title

# The members of a tool (mcp: Tool) that an admin sees and approves.
_DEFINITION = ("title", "description", "inputSchema", "outputSchema", "annotations")
PROGRAM_PREFIX = "program:"  # before the name of a program in an address


@dataclass(frozen=True, slots=True)
class McpListing:
    """The tools of a server as it defines them (mcp: Tool, in JSON with its names), and what else it has."""

    title: str
    version: str
    tools: list[dict[str, Any]] = field(repr=False)
    has_resources: bool = False


# Raises UnreadableDocument if the server cannot be reached or does not speak the protocol.
ListServer = Callable[[Connection], McpListing]


def set_lister(lister: ListServer) -> None:
    """Set the function that asks the server of a connection, which need not be saved."""
    global _list_server
    _list_server = lister


def list_server(connection: Connection) -> McpListing:
    """Return what the server of a connection offers. Raises UnreadableDocument."""
    return _list_server(connection)


def digest_tool(tool: dict[str, Any]) -> str:
    """Return the SHA-256 of a tool's definition: everything that a model or a client reads about it."""
    definition = {name: tool[name] for name in _NAMED_DEFINITION if tool.get(name) is not None}
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()


def _refuse(_: Connection) -> McpListing:
    raise UnreadableDocument("This process cannot reach MCP servers.")


_list_server: ListServer = _refuse


def build_source(
    tools: Iterable[Mapping[str, Any]],
    *,
    group: str,
    needs_subject: bool,
    search: str = "",
    without: Iterable[str] = (),
    keep: Iterable[str] = (),
    title: str = "",
) -> ImportSource:
    """Return the tools that have all words of `search` as ops, except those in `without`; also those in `keep`.

    All tools take part in finding paths, so that these do not depend on what is picked.
    """
    usable, refusals = _split_tools(tools)
    schemas: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for name, (_, function) in usable.items():
        try:
            schemas[name] = schema_repair.repair_parameters(function.parameters)
        except schema_repair.UnusableParameters as error:
            refusals.append(Refusal(name, str(error)))
    parsed_names = op_paths.parse_tool_names([usable[name][1] for name in schemas], group)
    words, always, never = search.casefold().split(), set(keep), set(without)
    picked = [name for name in schemas if name in always or (name not in never and _matches(usable[name][0], words))]
    return ImportSource(
        [_build_op(*usable[name], parsed_names[name], *schemas[name], needs_subject=needs_subject) for name in picked],
        refusals,
        other_names=frozenset(schemas.keys() - set(picked)),
        tools_text=_write_tools(usable[name][1] for name in picked),
        unit="tools",
        origin="the server's list",
        title=title,
    )


def _split_tools(
    tools: Iterable[Mapping[str, Any]],
) -> tuple[dict[str, tuple[dict[str, Any], FunctionDefinition]], list[Refusal]]:
    """Return the tools by name, each also as a function, and those that cannot be read."""
    refusals: list[Refusal] = []
    readable: list[dict[str, Any]] = []
    for tool in map(dict, tools):
        if problem := _find_unstorable(tool) or _find_missing(tool):
            refusals.append(Refusal(cleanup.strip_hidden_characters(str(tool.get("name") or "a tool"))[:80], problem))
        else:
            readable.append(tool)
    items = [
        {"name": tool.get("name"), "description": _describe(tool), "input_schema": tool.get("inputSchema")}
        for tool in readable
    ]
    parsed = openai.collect_functions(items, ProviderFormat.ANTHROPIC, unit="tool")
    refusals += [Refusal(each.name, each.reason) for each in parsed.refusals]
    by_name = {tool["name"]: tool for tool in reversed(readable) if isinstance(tool.get("name"), str)}
    return {each.name: (by_name[each.name], each) for each in parsed.functions}, refusals


def _find_missing(tool: dict[str, Any]) -> str:
    """Return why a tool cannot be called as its server defines it; "" if it can."""
    if tool.get("inputSchema") is not None:
        return ""
    return "It has no inputSchema, so its arguments are not known. Ask its server's maintainer to add it."


def _find_unstorable(tool: dict[str, Any]) -> str:
    """Return why a definition cannot be stored, "" if it can: all of it is kept, for the diff of a later change."""
    definition = _get_definition(tool)
    try:
        json.dumps(definition, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return "Its definition has half a surrogate pair, a number that JSON cannot have, or too many levels."
    has_nul = any("\x00" in text for text in cleanup.iterate_strings(definition))
    return "Its definition has a NUL character." if has_nul else ""


def _build_op(
    tool: dict[str, Any],
    function: FunctionDefinition,
    parsed: ParsedToolName,
    schema: Schema,
    repairs: list[str],
    *,
    needs_subject: bool,
) -> SourceOp:
    risk = danger.judge_function(function.name, parsed, cleanup.write_summary(function.description, function.name))
    is_write, remarks = _is_write(tool, parsed, risk)
    if not is_write:
        risk = Danger.NONE
    fields = functions.build_fields(function, parsed, schema, risk)
    if row := result_row.find_row(_outline_answer(tool.get("outputSchema")), parsed.entity):
        fields["result_row"] = row
    hints = _get_annotations(tool)
    fields.pop("flow_labels", None)  # those of its name alone
    if labels := flow_words.find_flow_labels([function.name], is_write=is_write, hints=hints):
        fields["flow_labels"] = labels
    fields |= {"kind": Op.Kind.WRITE if is_write else Op.Kind.READ, "needs_subject": needs_subject}
    definition = _get_definition(tool)
    found = [*repairs, *remarks, *risk.remarks, *functions.find_remarks(function), *cleanup.find_remarks(definition)]
    is_destructive = _get_annotations(tool).get("destructiveHint") is True
    return SourceOp(
        function.name,
        parsed,
        function.name,
        fields,
        list(dict.fromkeys(found)),
        confirm=is_write and (is_destructive or risk.asks_first),
        definition=definition,
        digest=digest_tool(tool),
    )


def _outline_answer(schema: Any, depth: int = 2) -> dict[str, Any]:
    """Return the members of an answer as an outline (see registry.result_row), without references."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return {
        name: _outline_answer(each, depth - 1) if isinstance(each, dict) and "properties" in each and depth else None
        for name, each in (properties.items() if isinstance(properties, dict) else ())
        if isinstance(each, dict) and each.get("type") != "array"
    }


def _is_write(tool: dict[str, Any], parsed: ParsedToolName, risk: Danger) -> tuple[bool, list[str]]:
    """Return whether a tool writes, by its server or else by its name, and remarks on contradictions.

    The server's word is not enough if the name says that the tool deletes: reads are retried, and tests send them for
    real.
    """
    hint = _get_annotations(tool).get("readOnlyHint")
    if hint is not True:
        return hint is False or parsed.is_write or risk.is_harmful, []
    if risk.is_harmful:
        return True, [DELETES_UNLIKE_HINT]
    return False, [READ_ONLY_UNLIKE_NAME] if parsed.is_write and parsed.has_verb else []


def _get_definition(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tool[name] for name in _DEFINITION if tool.get(name) is not None}


def _get_annotations(tool: Mapping[str, Any]) -> dict[str, Any]:
    annotations = tool.get("annotations")
    return annotations if isinstance(annotations, dict) else {}


def _describe(tool: Mapping[str, Any]) -> str:
    """Return the description of a tool, after its title if the description alone says little."""
    description, title = (cleanup.strip_blank(str(tool.get(name) or "")) for name in ("description", "title"))
    title = title or cleanup.strip_blank(str(_get_annotations(tool).get("title") or ""))
    if not title or len(description.split()) >= FEW_WORDS:
        return description
    is_repeated = description.casefold() in (title.casefold(), str(tool.get("name")).casefold())
    return title if not description or is_repeated else f"{title.rstrip('.')}. {description}"


def _matches(tool: Mapping[str, Any], words: list[str]) -> bool:
    text = " ".join(str(tool.get(name) or "") for name in ("name", "title", "description")).casefold()
    return all(word in text for word in words)


def _write_tools(tools: Iterable[FunctionDefinition]) -> str:
    """Return the tools as a model would get them without a gateway: a list in compact JSON."""
    listed = [{"name": each.name, "description": each.description, "input_schema": each.parameters} for each in tools]
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class ReadServer:
    """A server that was read: its tools, and whether its connection sends it the end user."""

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
        return build_source(
            self.listing.tools,
            group=group,
            needs_subject=self.needs_subject,
            search=selection.search,
            without=selection.without,
            keep=keep,
            title=self.title,
        )

    def count(self, selection: Selection) -> int:
        """Return how many tools the selection picks."""
        return len(self.pick(selection, "").ops)

    def compute_digest(self) -> str:
        """Return the hash of the definitions of all tools, in whatever order the server lists them."""
        digests = sorted(digest_tool(tool) for tool in self.listing.tools)
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
            "Each end user signs in to this server, so its tools cannot be listed without one. Choose a bearer "
            "token while you import."
        )
    return ReadServer(list_server(connection), connection.names_subject)


def build_connection(address: str) -> Connection:
    """Return a new connection to the server at an http(s) address, or `program:` and a name. Raises UnreadableDocument.

    An address whose path ends with /sse belongs to a server from before streamable HTTP.
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
        return f"Each end user has a separate {what}, because the {who} receives the end user."
    if connection.shares_sessions:
        return f"All callers share one {what}, because the connection says that the {who} stores nothing about them."
    return (
        f"Each end user of a client has a separate {what}, because the {who} may store something about its callers. If "
        "it does not, switch on Shared session on the page of the connection."
    )
