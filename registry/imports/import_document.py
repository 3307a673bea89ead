"""Import an OpenAPI document: parse it, pick operations, and set up their connection."""

import logging
import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Protocol

from audit import audit_log
from audit.models import AuditEntry
from core import limited_process
from core.database.deadlines import DeadlineExceeded
from core.limited_process import ProcessFailed, ProcessTimedOut
from registry.drafts import history
from registry.imports import definitions, document_source, run_import
from registry.imports.document_source import MAX_SECONDS, DocumentFiles, HostNotAllowed, UnreadableDocument
from registry.imports.import_source import ImportSource
from registry.imports.openapi import InvalidDocument, OpenApiDocument
from registry.imports.openapi.parsing import ParsingTask
from registry.imports.openapi.references import DocumentTooLarge, OtherHost
from registry.imports.run_import import ImportResult, Progress
from registry.models import Connection

log = logging.getLogger(__name__)
MAX_BYTES_HERE = 1_000_000  # larger files are parsed in a separate process
MAX_VALUES_HERE = 200_000  # the same limit for values: a small YAML file can expand
MAX_MEMORY = 2_000_000_000  # bytes of address space
_PROGRAM = "registry.imports.openapi.parsing"
_AUTH_BY_SCHEME = {
    "none": Connection.Auth.NONE,
    "bearer": Connection.Auth.BEARER,
    "basic": Connection.Auth.BASIC,
    "api_key": Connection.Auth.API_KEY,
    "oauth2_client_credentials": Connection.Auth.CLIENT_CREDENTIALS,
    "oauth2_authorization_code": Connection.Auth.USER_OAUTH,
}


def parse_files(files: DocumentFiles) -> OpenApiDocument:
    """Return what a document holds. Loads the files that it refers to. Raises UnreadableDocument.

    Reading begins again with what was loaded, because the process that reads a large document can fetch nothing.
    """
    task = ParsingTask(files.url, files.files)
    try:
        while True:
            document = _parse(task, files)
            if not task.unread:
                return document
            for address in sorted(task.unread):
                _load(address, task, files)
    except InvalidDocument as error:
        raise UnreadableDocument(str(error)) from None
    except DeadlineExceeded:
        raise UnreadableDocument(
            f"The document and its files were not read within {MAX_SECONDS} seconds. Send a part of it."
        ) from None


def _load(address: str, task: ParsingTask, files: DocumentFiles) -> None:
    try:
        files.load(address)
    except HostNotAllowed as error:
        task.failures[address] = OtherHost(str(error))
    except UnreadableDocument as error:
        task.failures[address] = InvalidDocument(str(error))


def _parse(task: ParsingTask, files: DocumentFiles) -> OpenApiDocument:
    if files.size <= MAX_BYTES_HERE:
        try:
            return task.parse(MAX_VALUES_HERE)
        except DocumentTooLarge:
            pass
    seconds = files.deadline.get_remaining_ms() / 1000
    try:
        answer = limited_process.run(_PROGRAM, pickle.dumps(task), seconds=seconds, memory=MAX_MEMORY)
    except ProcessTimedOut:
        raise DeadlineExceeded from None
    except ProcessFailed as error:
        log.warning("import.process_failed error=%s", error)
        raise UnreadableDocument("The document needs too much memory to be read. Send a part of it.") from None
    outcome, task.unread = pickle.loads(answer)  # noqa: S301 - our own program wrote it
    if isinstance(outcome, InvalidDocument):
        raise outcome
    document: OpenApiDocument = outcome
    return document


@dataclass(frozen=True, slots=True)
class Selection:
    """Which operations of a document become ops. Empty parts pick everything."""

    tags: Sequence[str] = ()
    methods: Sequence[str] = ()
    search: str = ""
    include_deprecated: bool = True
    without: Sequence[str] = ()  # names that were not ticked

    def to_json(self) -> dict[str, Any]:
        """Return the selection as it is stored."""
        return {name: value for name, value in asdict(self).items() if value not in ((), [], "", True)}


class ImportableDocument(Protocol):
    """What an upstream offers, once it was read: a document, or the list of an MCP server."""

    @property
    def title(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def document_url(self) -> str:
        """Where it can be fetched again; empty if it has no address."""

    def pick(self, selection: Selection, group: str, *, keep: Iterable[str] = ()) -> ImportSource:
        """Return what is picked as ops of a group, and what is in `keep`, by its name upstream."""

    def count(self, selection: Selection) -> int:
        """Return how much is picked."""

    def compute_digest(self) -> str:
        """Return the hash of everything."""


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document that was read: what it holds, and its files."""

    files: DocumentFiles
    content: OpenApiDocument = field(repr=False)

    @property
    def title(self) -> str:
        return self.content.title or self.files.url

    @property
    def version(self) -> str:
        return self.content.version

    @property
    def document_url(self) -> str:
        return self.files.url if self.files.url.startswith(("http://", "https://")) else ""

    def pick(self, selection: Selection, group: str = "", *, keep: Iterable[str] = ()) -> ImportSource:
        """Return the picked operations as ops, and those in `keep`. Their content does not depend on the group."""
        picked = self.content.select(**asdict(selection), keep=keep)
        return document_source.build_source(picked, whole=self.content)

    def count(self, selection: Selection) -> int:
        """Return how many operations are picked."""
        return len(self.content.select(**asdict(selection)).operations)

    def compute_digest(self) -> str:
        """Return the hash of the files."""
        return self.files.compute_digest()


def read_document(files: DocumentFiles) -> ReadDocument:
    """Read a document. Raises UnreadableDocument."""
    return ReadDocument(files, parse_files(files))


def read_selection(value: Mapping[str, Any]) -> Selection:
    """Return a stored selection."""
    return Selection(**value)


def import_document(
    document: ImportableDocument,
    selection: Selection,
    *,
    group: str,
    connection: Connection,
    by: str,
    at: datetime,
    names: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> tuple[ImportResult, ImportSource]:
    """Import what is picked into a group of the draft. They run through the connection. See `run_import.import_ops`.

    Raises InvalidImportGroup, and IntegrityError if the draft was changed at the same time.
    """
    source = document.pick(selection, group)
    result = run_import.import_ops(source, group=group, connection=connection.name, names=names, progress=progress)
    note = f"Import of {document.title or connection} into {group}"
    history.record_changes(result.merged.changes, by=by, at=at, note=note)
    if result.merged.changes:
        kind, action = "connection", AuditEntry.Action.IMPORTED
        audit_log.record_action(kind, str(connection), action, by=by, at=at, note=f"{note}: {result.merged}")
    imported = set(result.upstream_names.values())
    definitions.approve_imported(connection, [op for op in source.ops if op.name in imported], at=at)
    connection.import_group, connection.import_selection = group, selection.to_json()
    connection.imported_at = connection.checked_at = at
    connection.check_error, connection.document_digest = "", document.compute_digest()
    if document.document_url:
        connection.document_url = document.document_url[:500]
    connection.save()
    return result, source


def describe_connection(document: OpenApiDocument) -> dict[str, Any]:
    """Return the fields of a connection that a document names: its server and its authentication."""
    scheme = document.security
    return {
        "base_url": document.base_url,
        "idempotency_header": document.idempotency_header,
        "auth": _AUTH_BY_SCHEME[scheme.kind],
        "key_in": scheme.location or Connection.KeyIn.HEADER,
        "key_name": scheme.name,
        "more_keys": {name: place for place, name in scheme.more_keys},
        "token_url": scheme.token_url,
        "authorize_url": scheme.authorize_url,
        "scopes": " ".join(scheme.scopes)[:1000],
    }
