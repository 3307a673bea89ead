"""Check whether the definitions of an upstream have changed since they were imported."""

import logging
from datetime import datetime, timedelta
from functools import partial

from django.db.models import F, Q
from django.utils import timezone

from core.background import run_in_background
from registry.imports import definitions, document_source
from registry.imports.document_source import UnreadableDocument
from registry.imports.import_document import read_document, read_selection
from registry.models import Connection

log = logging.getLogger(__name__)


def check_when_due(at: datetime) -> bool:
    """Start the checks that are due, one at a time. Returns whether more are due: a periodic job."""
    due = _find_due(at)
    if not due:
        return False
    first = due[0]
    # Whoever moves `checked_at` forward does the check.
    claimed = Connection.objects.filter(pk=first.pk, checked_at=first.checked_at).update(checked_at=at)
    if claimed:
        run_in_background("drift", partial(check_connection, first.pk))
    return len(due) > 1


def check_connection(pk: int) -> str:
    """Fetch the document of a connection and compare it with what was imported. Return what is wrong, or ""."""
    connection = Connection.objects.get(pk=pk)
    at, error = timezone.now(), ""
    try:
        files = document_source.fetch_document(connection.document_url)
        document = read_document(files)
        if files.compute_digest() == connection.document_digest:
            definitions.clear_seen(connection)
        else:
            source = document.pick(read_selection(connection.import_selection))
            changes = definitions.record_seen(connection, source.ops, at=at)
            if changes:
                log.warning("connection.changed name=%s changed=%s gone=%s", connection, changes.changed, changes.gone)
    except UnreadableDocument as unreadable:
        error = str(unreadable)
    Connection.objects.filter(pk=pk).update(checked_at=at, check_error=error[:500])
    return error


def _find_due(at: datetime) -> list[Connection]:
    watched = Connection.objects.filter(~Q(document_url=""), ~Q(import_group=""), check_every__gt=0)
    return [
        connection
        for connection in watched.order_by(F("checked_at").asc(nulls_first=True))
        if connection.checked_at is None or connection.checked_at + timedelta(hours=connection.check_every) <= at
    ]
