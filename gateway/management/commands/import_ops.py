import json
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import IntegrityError
from django.urls import reverse
from django.utils import timezone

from audit import audit_log
from audit.models import AuditEntry
from gateway.credentials import connection_secrets
from registry.drafts import history
from registry.imports import document_source, functions, import_document, import_job, mcp_import, openai, run_import
from registry.imports.document_source import DocumentFiles, UnreadableDocument
from registry.imports.import_document import ReadDocument, Selection
from registry.imports.import_source import ImportSource, Refusal
from registry.imports.run_import import ImportResult
from registry.models import Connection, Release
from registry.releases import lifecycle, publishing
from registry.text.cleanup import escape_for_terminal

OPENAPI, MCP = "openapi", "mcp"
REVIEW_PAGE = "admin:registry_release_review"
EXIT_INCOMPLETE = 3  # exit code if some functions or operations were left out and the rest imported
EXIT_NOT_PUBLISHED = 4  # exit code if they were imported and the draft cannot be published


class Command(BaseCommand):
    help = (
        "Import an OpenAPI document, the tools of an MCP server, or a list of functions in a provider's format, into "
        "the draft. Never overwrites an edit."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        formats = [OPENAPI, MCP, *openai.ProviderFormat]
        parser.add_argument("source", help="a file; for openapi also an address; for mcp an address or program:NAME")
        parser.add_argument("--format", choices=formats, required=True, help="what the source is")
        parser.add_argument("--group", required=True, help="the group for the ops, such as crm")
        parser.add_argument(
            "--connection", default="", help="openapi, mcp: the connection; the group's name if left out"
        )
        parser.add_argument("--base-url", default="", help="openapi: the service's address, if the document has none")
        parser.add_argument("--tag", action="append", default=[], help="openapi: only operations with this tag")
        parser.add_argument("--method", action="append", default=[], help="openapi: only operations with this method")
        parser.add_argument("--search", default="", help="openapi, mcp: only what has these words in its texts")
        parser.add_argument(
            "--allow-host",
            action="append",
            default=[],
            metavar="HOST",
            help="openapi: another host that the document's files and redirects may be fetched from",
        )
        parser.add_argument("--map", type=Path, help="write {op path: upstream name} to this JSON file")
        parser.add_argument("--publish", action="store_true", help="publish the whole draft after the import")

    def handle(self, *args: Any, **options: Any) -> None:
        show_all = options["verbosity"] > 1
        source_name, group = escape_for_terminal(Path(options["source"]).name), options["group"]
        note = f"Import of {source_name} into {group}"
        result, source, remark = self._import(options, note)
        self.stdout.write(import_job.format_report(result, source, show_all=show_all))
        if options["format"] in (OPENAPI, MCP) and not options["publish"]:
            self.stdout.write(f"They are in the draft. Review and publish them on {reverse(REVIEW_PAGE)}.")
        if remark:
            self.stdout.write(remark)
        if options["map"]:
            self._write_map(options["map"], result.upstream_names)
        if options["publish"]:
            self._publish(note, show_all)
        if result.refusals:
            count = len(result.refusals)
            raise CommandError(
                f"{count} of {count + len(result.upstream_names)} {source.unit} were left out, the rest was imported.",
                returncode=EXIT_INCOMPLETE,
            )

    def _import(self, options: dict[str, Any], note: str) -> tuple[ImportResult, ImportSource, str]:
        try:
            if options["format"] == MCP:
                return _import_tools(options)
            return _import_openapi(options) if options["format"] == OPENAPI else _import_functions(options, note)
        except OSError as error:
            name = escape_for_terminal(options["source"])
            raise CommandError(f"Cannot read {name}: {error.strerror}.") from None
        except (openai.InvalidFunctionList, run_import.InvalidImportGroup, UnreadableDocument) as error:
            raise CommandError(f"{escape_for_terminal(str(error))} Nothing was imported.") from None
        except IntegrityError:
            message = "The draft was changed at the same time. Nothing was imported. Try again."
            raise CommandError(message) from None

    def _write_map(self, file: Path, names: dict[str, str]) -> None:
        try:
            file.write_text(json.dumps(names, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
        except OSError as error:
            raise CommandError(f"Imported, but the map could not be written: {error.strerror}.") from None

    def _publish(self, note: str, show_all: bool) -> None:
        try:
            # Imported copy has many warnings, and new ops are found instead of others. The report lists what to review.
            release = publishing.publish_draft(
                note=note, by="import_ops", at=timezone.now(), accepted=note, accepted_loss=note
            )
        except lifecycle.AlreadyLive:
            self.stdout.write("The live release is up to date.")
        except publishing.NotPublishable as error:
            problems = [escape_for_terminal(str(problem)) for problem in error.problems]
            raise CommandError(
                "\n".join(
                    ["Imported, but the draft cannot be published.", *import_job.limit_names(problems, show_all)]
                ),
                returncode=EXIT_NOT_PUBLISHED,
            ) from None
        else:
            self.stdout.write(f"Release {release.version[:12]} with {release.op_count} ops is live.")
            if release.accepted_warnings:
                self.stdout.write(_describe_warnings(release))


def _describe_warnings(release: Release) -> str:
    counts = Counter(warning["rule"] for warning in release.accepted_warnings).most_common()
    rules = import_job.limit_names([f"{count} × {rule}" for rule, count in counts], show_all=False)
    page = reverse("admin:registry_release_change", args=[release.version])
    count = len(release.accepted_warnings)
    found = "1 warning" if count == 1 else f"{count} warnings"
    return f"The checks have {found}, accepted with the note of the import: {', '.join(rules)}. Read them on {page}."


def _import_functions(options: dict[str, Any], note: str) -> tuple[ImportResult, ImportSource, str]:
    content = Path(options["source"]).read_bytes()
    document = openai.parse_functions(content, openai.ProviderFormat(options["format"]))
    run_import.check_group(options["group"])
    source = functions.read_functions(document, options["group"])
    result = run_import.import_ops(source, group=options["group"])
    at = timezone.now()
    history.record_changes(result.merged.changes, by="import_ops", at=at, note=note)
    if result.merged.changes:
        kind, action = "copy", AuditEntry.Action.IMPORTED
        audit_log.record_action(kind, options["group"], action, by="import_ops", at=at, note=f"{note}: {result.merged}")
    return result, source, ""


def _import_openapi(options: dict[str, Any]) -> tuple[ImportResult, ImportSource, str]:
    """Import a document. Also return a sentence on what its connection lacks, "" if nothing."""
    run_import.check_group(options["group"])
    document = import_document.read_document(_read_files(options["source"], options["allow_host"]))
    connection = _get_connection(options, document)
    selection = Selection(options["tag"], options["method"], options["search"])
    if not document.pick(selection).ops:
        tags = sorted({tag for operation in document.content.operations for tag in operation.tags})
        known = f" Its tags are {', '.join(map(escape_for_terminal, tags[:20]))}." if tags else ""
        left_out = _list_reasons(document.content.refusals)
        reasons = f" Left out: {' '.join(left_out)}" if left_out else ""
        raise CommandError(f"No operation of the document matches.{known}{reasons} Nothing was imported.")
    result, source = import_document.import_document(
        document, selection, group=options["group"], connection=connection, by="import_ops", at=timezone.now()
    )
    asked = import_document.describe_connection(document.content)["auth"]
    missing = connection_secrets.describe_missing(connection, needs_credentials=asked != Connection.Auth.NONE)
    return result, source, " ".join(filter(None, [_describe_unasked(document.files.unasked_hosts), missing]))


def _describe_unasked(hosts: list[str]) -> str:
    """Return which hosts the document refers to whose files were not read, "" if none."""
    if not hosts:
        return ""
    names = ", ".join(map(escape_for_terminal, hosts[:10]))
    return f"The document refers to files on other hosts, which were not read: {names}. Allow each with --allow-host."


def _import_tools(options: dict[str, Any]) -> tuple[ImportResult, ImportSource, str]:
    """Import the tools of an MCP server. Also return a sentence on who shares a session with it.

    With missing settings, the connection could not have listed them.
    """
    if unfit := [name for name in ("base_url", "tag", "method", "allow_host") if options[name]]:
        raise CommandError(f"--{unfit[0].replace('_', '-')} is not for MCP servers. Nothing was imported.")
    run_import.check_group(options["group"])
    connection = _get_server_connection(options)
    server = mcp_import.read_server(connection)
    selection = Selection(search=options["search"])
    if not (picked := server.pick(selection, options["group"])).ops:
        raise CommandError(f"{_explain_nothing(picked)} Nothing was imported.")
    connection.save()
    result, source = import_document.import_document(
        server, selection, group=options["group"], connection=connection, by="import_ops", at=timezone.now()
    )
    return result, source, mcp_import.describe_sessions(connection)


def _get_server_connection(options: dict[str, Any]) -> Connection:
    """Return the connection to a server, with its credentials if there is one. A new one is not saved yet."""
    new = mcp_import.build_connection(options["source"])
    new.name = options["connection"] or options["group"].replace(".", "_")
    connection = Connection.objects.filter(name=new.name).first() or new
    if connection.kind != Connection.Kind.MCP:
        raise CommandError(f"The connection {connection} is not an MCP server. Use another name with --connection.")
    if (address := mcp_import.get_address(connection)) != options["source"]:
        raise CommandError(
            f"The connection {connection} is to {escape_for_terminal(address)}. Import from there, or choose another "
            "name with --connection."
        )
    try:
        connection.full_clean(validate_unique=False)
    except ValidationError as error:
        raise CommandError(
            f"The connection cannot be set up. {' '.join(error.messages)} Nothing was imported."
        ) from None
    return connection


def _explain_nothing(source: ImportSource) -> str:
    """Return why no tool of a server can be imported."""
    if source.other_names:
        names = import_job.limit_names(sorted(source.other_names), show_all=False)
        return f"No tool of the server matches. It has {', '.join(map(escape_for_terminal, names))}."
    reasons = _list_reasons(source.refusals)
    return " ".join(["None of its tools can be imported.", *reasons] if reasons else ["The server has no tools."])


def _list_reasons(refusals: Sequence[Refusal]) -> list[str]:
    """Return the first things that were left out, each with its reason."""
    return [f"{escape_for_terminal(each.name)}: {escape_for_terminal(each.reason)}" for each in refusals[:10]]


def _read_files(source: str, hosts: list[str]) -> DocumentFiles:
    if source.startswith(("http://", "https://")):
        return document_source.fetch_document(source, hosts)
    return document_source.read_path(Path(source), hosts)


def _get_connection(options: dict[str, Any], document: ReadDocument) -> Connection:
    """Return the connection for the ops. A new one gets the server and authentication that the document names."""
    name = options["connection"] or options["group"].replace(".", "_")
    connection = Connection.objects.filter(name=name).first()
    if connection is None:
        fields = import_document.describe_connection(document.content)
        connection = Connection(name=name, kind=Connection.Kind.HTTP, **fields)
    elif connection.kind != Connection.Kind.HTTP:
        raise CommandError(f"The connection {connection} is not an HTTP service. Use another name with --connection.")
    connection.base_url = options["base_url"] or connection.base_url
    try:
        connection.full_clean(validate_unique=False)
    except ValidationError as error:
        wrong = {name: texts for name, texts in error.message_dict.items() if not _is_entered_later(connection, name)}
        if wrong:
            problems = " ".join(f"{field}: {' '.join(texts)}" for field, texts in wrong.items())
            hint = "Send the service's address with --base-url." if "base_url" in wrong else problems
            raise CommandError(f"The connection cannot be set up. {hint} Nothing was imported.") from None
    connection.save()
    return connection


def _is_entered_later(connection: Connection, name: str) -> bool:
    """Return whether a column is one that an admin enters with the credentials, and is still empty."""
    return name in connection_secrets.ENTERED_LATER and not getattr(connection, name)
