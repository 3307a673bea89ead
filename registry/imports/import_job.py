"""Imports that an admin starts on a page. They run in the background and end in a report."""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from statistics import quantiles

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError, Q
from django.db.models.functions import Now
from django.utils import timezone

from core.background import leases
from core.background.poller import run_in_background
from core.background.retention import Expiring
from core.text import token_budget
from registry.catalog import builder
from registry.help import help_pages, token_counts
from registry.help.help_pages import HelpQuery
from registry.imports import document_source, import_document, mcp_import, preview
from registry.imports.document_source import DocumentFiles, HostNotAllowed, UnreadableDocument
from registry.imports.import_document import ImportableDocument, Selection
from registry.imports.import_source import ImportSource
from registry.imports.mcp_import import ReadServer
from registry.imports.run_import import ImportResult, InvalidImportGroup
from registry.models import Connection, DocumentImport
from registry.text.cleanup import escape_for_terminal

MAX_LISTED = 10  # names after a remark, unless all are requested
VERBOSITY_HINT = " (--verbosity 2 lists all)"  # for the command
MAX_OPERATIONS = 2_000  # of one import on a page: a minute of work for the process that also answers calls
LEASE = timedelta(minutes=1)
TOOLS_FILE = "tools.json"  # where the tools of a server are stored until they are imported
KEPT_FOR = timedelta(days=30)
STEP_FIELDS = ("url", "document", "found", "report", "state", "progress", "error")  # what a step may change
State = DocumentImport.State
log = logging.getLogger(__name__)


def format_report(
    result: ImportResult, source: ImportSource, *, show_all: bool = False, hint: str = VERBOSITY_HINT
) -> str:
    """Return the report of an import, one sentence per line. Untrusted text is escaped for a terminal.

    `hint` says how to see the names that were left out.
    """
    merged = result.merged
    added = [path for path in merged.added if path in result.upstream_names]
    updated = set(merged.updated) - set(result.retired)
    previously_imported = [path for path in result.upstream_names if path in updated]
    lines = [
        f"{len(result.upstream_names)} {source.unit}: {len(added)} ops added, {len(previously_imported)} updated, "
        f"{len(result.upstream_names) - len(added) - len(previously_imported)} unchanged; "
        f"{len(result.retired)} retired, {len(result.refusals)} left out."
    ]
    lines += [
        f"Left out: {escape_for_terminal(refusal.name)}: {escape_for_terminal(refusal.reason)}"
        for refusal in result.refusals
    ]
    lines += [f"Retired, no longer in {source.origin}: {path}." for path in limit_names(result.retired, show_all, hint)]
    lines += [escape_for_terminal(remark) for remark in source.remarks]
    lines += [f"Kept your edit: {place}." for place in merged.kept_edits]
    for sentence, names in sorted(result.remarks.items()):
        names_text = ", ".join(map(escape_for_terminal, limit_names(names, show_all, hint)))
        lines.append(f"{len(names)} × {escape_for_terminal(sentence)} {names_text}")
    return "\n".join([*lines, _format_tokens(result, source)])


def limit_names(names: list[str], show_all: bool, hint: str = VERBOSITY_HINT) -> list[str]:
    """Return the first names, and how many more there are, unless all are requested."""
    if show_all or len(names) <= MAX_LISTED:
        return names
    return [*names[:MAX_LISTED], f"… {len(names) - MAX_LISTED} more{hint}"]


def _format_tokens(result: ImportResult, source: ImportSource) -> str:
    """Return a line with the tokens a model reads: the plain list, compared with browsing the group and op help."""
    before = token_budget.count(source.tools_text)
    if not result.upstream_names:
        return f"Tokens: {before} as a list."
    catalog = builder.build_catalog("", result.content)
    group, group_tokens = _find_group(result), _count_group_tokens(result)
    counts = token_counts.count_catalog_tokens(catalog).values()
    short, full = ([count[form] for count in counts] for form in (0, 1))
    return (
        f"Tokens: {before:,} as a list, read with every request. Now {group_tokens:,} to browse {group}, "
        f"and for one op {_format_spread(short)} short, {_format_spread(full)} full."
    )


def _find_group(result: ImportResult) -> str:
    """Return the group of an import, which has all of its ops."""
    return min((each["path"] for each in result.content["groups"]), key=len)


def _count_group_tokens(result: ImportResult) -> int:
    """Return the tokens that a model reads to list the group; 0 if nothing was imported."""
    if not result.upstream_names:
        return 0
    catalog = builder.build_catalog("", result.content)
    return token_budget.count(help_pages.answer_query(catalog, HelpQuery(path=_find_group(result))).body)


def _format_spread(counts: list[int]) -> str:
    if len(counts) == 1:
        return str(counts[0])
    percentiles = quantiles(counts, n=20, method="inclusive")
    return f"{percentiles[9]:.0f} (p95 {percentiles[18]:.0f})"


class ImportRefused(Exception):
    """An import cannot run like this. The message says what to change."""


def start_reading(
    *, url: str = "", files: Mapping[str, bytes] | None = None, hosts: Iterable[str] = (), by: str
) -> DocumentImport:
    """Start reading a document, from an address or from uploaded files: {name: content}, the document first.

    `hosts` may be called for files, besides the host of the address.
    """
    uploaded = _name_uploads(files) if files else None
    row = DocumentImport.objects.create(
        url=url,
        document=uploaded.to_archive() if uploaded else b"",
        found={"hosts": sorted(hosts)},
        progress="Fetching the document",
        created_by=by,
        **leases.begin(LEASE),
    )
    run_in_background("import", partial(_run, row.pk, _read))
    return row


def start_reading_server(connection: Connection, *, by: str) -> DocumentImport:
    """Start asking an MCP server for its tools: that of a saved connection, with its credentials, or of a new one."""
    row = DocumentImport.objects.create(
        url=mcp_import.get_address(connection)[:500],
        connection=None if connection._state.adding else connection,
        found={"connection": mcp_import.describe_connection(connection)},
        progress="Asking the server for its tools",
        created_by=by,
        **leases.begin(LEASE),
    )
    run_in_background("import", partial(_run, row.pk, _read_tools))
    return row


def start_importing(
    row: DocumentImport,
    selection: Selection,
    *,
    group: str,
    connection: Connection,
    names: Mapping[str, str] | None = None,
) -> None:
    """Start importing what was picked, with the chosen names in the group. Saves a new connection.

    One import has a limited number of operations, because its thread shares the process with those of calls. Raises
    ImportRefused.
    """
    count = _read_stored(row).count(selection)
    if not count:
        raise ImportRefused(f"No {row.unit} matches. Pick fewer conditions.")
    if count > MAX_OPERATIONS:
        ways = "words" if row.is_server else "tag, method or words"
        raise ImportRefused(
            f"{count:,} {row.unit}s are picked, and one import takes {MAX_OPERATIONS:,}. Pick some by {ways}, or "
            "import all with manage.py import_ops."
        )
    row.found |= {"names": dict(names or {}), "count": count}
    if connection._state.adding:
        connection.save()
        row.found |= {"made_connection": True}
    claimed = DocumentImport.objects.filter(pk=row.pk, state=State.READY).update(
        state=State.IMPORTING,
        group=group,
        connection=connection,
        found=row.found,
        selection=selection.to_json(),
        progress=_format_progress(row, 0),
        updated_at=timezone.now(),
        **leases.begin(LEASE),
    )
    if claimed:
        run_in_background("import", partial(_run, row.pk, _import))


def delete_old(at: datetime) -> bool:
    """Delete imports after a month, and end those whose process stopped."""
    is_more_left = Expiring(DocumentImport.objects.all(), "created_at", KEPT_FOR).delete(at)
    working = DocumentImport.objects.filter(state__in=(State.READING, State.IMPORTING))
    # One without a lease is of a process of 0.1.0, which only said when it was last alive. Such a process, which still
    # runs during an upgrade, ends imports of this version after a minute.
    stopped = working.filter(leases.ENDED | Q(held_until=None, updated_at__lt=Now() - LEASE))
    error = "The process that worked on it stopped. Nothing was lost; import again."
    while row := leases.claim(stopped, LEASE):
        row.state, row.error = State.FAILED, error
        _end(row)
    return is_more_left


def _run(pk: int, step: Callable[[DocumentImport], None]) -> None:
    row = DocumentImport.objects.get(pk=pk)
    if not row.holder:
        return  # it was ended before it began
    try:
        with leases.keep(row, LEASE):
            step(row)
    except (UnreadableDocument, InvalidImportGroup) as error:
        row.state, row.error = State.FAILED, str(error)[:1000]
    except IntegrityError:
        row.state, row.error = State.FAILED, "The draft was changed at the same time. Import again."
    except Exception:
        row.state, row.error = State.FAILED, "The import failed because of a gateway error. See the server's log."
        raise
    finally:
        _end(row)


def _end(row: DocumentImport) -> None:
    """Store how a step ended, unless the import was ended for this process, which had stood still."""
    changes = {name: getattr(row, name) for name in STEP_FIELDS}
    try:
        leases.release(row, **changes, updated_at=timezone.now())
    except leases.LeaseLost:
        log.warning("import.lease_lost import=%s", row)
        return
    if row.state == State.FAILED:
        _remove_made_connection(row)


def _remove_made_connection(row: DocumentImport) -> None:
    """Remove the connection that a failed import made, unless something uses it."""
    connection = row.connection
    if connection is None or not row.found.get("made_connection"):
        return
    references = [(each.related_model, each.field.name) for each in Connection._meta.related_objects]
    if sum(model._base_manager.filter(**{name: connection}).count() for model, name in references) > 1:
        return  # more than this import
    with suppress(ProtectedError), transaction.atomic():  # an op has it now
        row.connection = None  # else it would be deleted with the connection
        row.save(update_fields=["connection"])
        connection.delete()


def _read(row: DocumentImport) -> None:
    hosts = row.found["hosts"]
    try:
        files = _load_files(row, hosts)
        _show_progress(row, "Reading the document")
        document = import_document.read_document(files)
    except HostNotAllowed as error:  # the document itself is there
        row.found |= {"unasked_hosts": [error.host]}
        raise
    row.document = files.to_archive()
    row.url = files.url[:500] if row.url else ""
    row.found = preview.describe_document(document) | {
        "hosts": hosts,
        "unasked": files.unasked,
        "unasked_hosts": files.unasked_hosts,
    }
    row.state, row.progress = State.READY, ""


def _read_tools(row: DocumentImport) -> None:
    connection = row.connection or Connection(**row.found["connection"])
    server = mcp_import.read_server(connection)
    row.document = DocumentFiles(TOOLS_FILE, {TOOLS_FILE: server.to_bytes()}).to_archive()
    row.found |= preview.describe_server(server, row.connection) | {
        "sessions": mcp_import.describe_sessions(connection)
    }
    row.state, row.progress = State.READY, ""


def _import(row: DocumentImport) -> None:
    document = _read_stored(row)
    if row.connection is None:
        raise UnreadableDocument("Its connection was deleted in the meantime.")
    result, source = import_document.import_document(
        document,
        import_document.read_selection(row.selection),
        group=row.group,
        connection=row.connection,
        by=row.created_by,
        at=timezone.now(),
        names=row.found["names"],
        progress=lambda done: _show_progress(row, _format_progress(row, done)),
    )
    row.report = {
        "text": format_report(result, source, hint=""),
        "ops": len(result.upstream_names),
        "left_out": len(result.refusals),
        "tokens_as_list": token_budget.count(source.tools_text),
        "tokens_of_group": _count_group_tokens(result),
    }
    row.document = b""  # the connection knows where it came from
    row.state, row.progress = State.DONE, ""


def _load_files(row: DocumentImport, hosts: Collection[str]) -> DocumentFiles:
    if row.document:
        return document_source.read_archive(bytes(row.document))
    return document_source.fetch_document(row.url, hosts)


def _read_stored(row: DocumentImport) -> ImportableDocument:
    files = document_source.read_archive(bytes(row.document), row.found.get("hosts", ()), row.found.get("unasked", {}))
    return ReadServer.from_bytes(files.document) if row.is_server else import_document.read_document(files)


def _format_progress(row: DocumentImport, done: int) -> str:
    count = row.found["count"]
    return f"Importing {f'{done:,} of ' if done else ''}{count:,} {row.unit}{'s' if count > 1 else ''}"


def _show_progress(row: DocumentImport, progress: str) -> None:
    row.progress = progress
    row.save(update_fields=["progress", "updated_at"])


def _name_uploads(files: Mapping[str, bytes]) -> DocumentFiles:
    named = {f"file:///{name}": content for name, content in files.items()}
    return DocumentFiles(next(iter(named)), named)
