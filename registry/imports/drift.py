"""Check whether the definitions of an upstream have changed since they were imported.

Documents are fetched again, and MCP servers are asked again. Other hosts that a document refers to are not called: what
needs their files is not compared.
"""

import logging
from datetime import datetime, timedelta
from functools import partial

from django.db.models import F, Q
from django.utils import timezone

from core.background.poller import run_in_background
from registry.imports import definitions, document_source, mcp_import
from registry.imports.document_source import UnreadableDocument
from registry.imports.import_document import ImportableDocument, read_document, read_selection
from registry.models import Connection

log = logging.getLogger(__name__)


def check_when_due(at: datetime) -> bool:
    """Start the next check of an upstream that is due. Returns whether more are due."""
    due = _find_due(at)
    if not due:
        return False
    first = due[0]
    # The process that moves `checked_at` forward does the check.
    claimed = Connection.objects.filter(pk=first.pk, checked_at=first.checked_at).update(checked_at=at)
    if claimed:
        run_in_background("drift", partial(check_connection, first.pk))
    return len(due) > 1


def check_connection(pk: int) -> str:
    """Read the upstream of a connection again and compare it with what was imported. Return what is wrong, or ""."""
    connection = Connection.objects.get(pk=pk)
    at, error = timezone.now(), ""
    try:
        document = _read_upstream(connection)
        if document.compute_digest() == connection.document_digest:
            definitions.clear_seen(connection)
        else:
            _compare(connection, document, at)
    except UnreadableDocument as unreadable:
        error = str(unreadable)
    Connection.objects.filter(pk=pk).update(checked_at=at, check_error=error[:500])
    return error


def _read_upstream(connection: Connection) -> ImportableDocument:
    if connection.kind == Connection.Kind.MCP:
        return mcp_import.read_server(connection)
    return read_document(document_source.fetch_document(connection.document_url))


def _compare(connection: Connection, document: ImportableDocument, at: datetime) -> None:
    """Compare everything that was ever imported, also what the last import did not pick."""
    known = connection.definitions.exclude(approved_digest="").values_list("upstream_name", flat=True)
    source = document.pick(read_selection(connection.import_selection), connection.import_group, keep=known)
    unread = frozenset(each.name for each in source.refusals if each.is_unread)
    changes = definitions.record_seen(connection, source.ops, unread=unread, at=at)
    if changes:
        log.warning("connection.changed name=%s changed=%s gone=%s", connection, changes.changed, changes.gone)


def _find_due(at: datetime) -> list[Connection]:
    """Return the connections that are due (see Connection.is_watched), longest unchecked first."""
    has_source = ~Q(document_url="") | Q(kind=Connection.Kind.MCP)
    watched = Connection.objects.filter(has_source, ~Q(import_group=""), check_every__gt=0)
    return [
        connection
        for connection in watched.order_by(F("checked_at").asc(nulls_first=True))
        if connection.checked_at is None or connection.checked_at + timedelta(hours=connection.check_every) <= at
    ]
