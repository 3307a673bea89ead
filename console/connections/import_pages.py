"""Pages that import ops, and approve changes of an upstream."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied
from django.db.models import Count, F, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.defaultfilters import pluralize
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from console import chat_links, diff_view
from console.connections.import_forms import DocumentForm, ServerForm
from console.connections.pick_forms import PickForm, PickToolsForm
from console.connections.secrets import describe_secrets
from core.admin import base
from registry.drafts import history
from registry.drafts.merge import MergeReport, iterate_ops_of_source
from registry.imports import definitions, import_job
from registry.imports.import_job import ImportRefused
from registry.imports.mcp_import import PROGRAM_PREFIX
from registry.imports.run_import import get_upstream_name
from registry.models import Connection, DocumentImport, Op, UpstreamDefinition
from registry.releases import help_diff
from registry.releases.help_diff import ChangedPassage

RECENT = 10
FEW_OPS = 20  # which one can read without a filter
MAX_SHOWN = 50  # changes on one page

# The fields of an entry that the import chose, not the upstream.
_OWN_FIELDS = {"op", "status", *definitions.CHOSEN_FIELDS}

# The fields that are made of a tool's definition, which is shown itself.
_FROM_DEFINITION = {"description", "parameters_schema"}


class ImportPagesMixin(base.ModelAdmin[Connection]):
    """Adds the import pages to the admin of connections."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        own = [
            path("import/", view(self.choose_view), name="registry_connection_import"),
            path("import/mcp/", view(self.choose_server_view), name="registry_connection_import_server"),
            path("import/<int:pk>/", view(self.import_view), name="registry_documentimport"),
        ]
        return [*own, *super().get_urls()]

    def has_import_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may import: it writes the draft and sets up a connection."""
        return diff_view.can_write_draft(request) and self.has_add_permission(request)

    def choose_view(self, request: HttpRequest) -> HttpResponse:
        """Show the form for a document, and the latest imports. A POST starts to read the document."""
        self._require_permission(request)
        initial = {"url": request.GET.get("url", "")}
        form = DocumentForm(request.POST or None, request.FILES or None, initial=initial)
        if request.method == "POST" and form.is_valid():
            row = import_job.start_reading(
                url=form.cleaned_data["url"],
                files=form.read_files(),
                hosts=request.POST.getlist("hosts"),
                by=request.user.get_username(),
            )
            return redirect("admin:registry_documentimport", row.pk)
        context = {"title": "Import an OpenAPI document", "form": form, "recent": _list_recent(is_server=False)}
        return self._render(request, "console/connections/choose_document.html", context)

    def choose_server_view(self, request: HttpRequest) -> HttpResponse:
        """Show the form for an MCP server, and the latest imports. A POST starts to ask the server for its tools."""
        self._require_permission(request)
        initial = {name: request.GET.get(name, "") for name in ("connection", "url", "program")}
        form = ServerForm(request.POST if request.method == "POST" else None, initial=initial)
        if request.method == "POST" and form.is_valid():
            row = import_job.start_reading_server(form.cleaned_data["server"], by=request.user.get_username())
            return redirect("admin:registry_documentimport", row.pk)
        context = {"title": "Import an MCP server", "form": form, "recent": _list_recent(is_server=True)}
        return self._render(request, "console/connections/choose_server.html", context)

    def import_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show an import: its progress, what to pick, or its report. A POST starts to import what was picked."""
        self._require_permission(request)
        row = get_object_or_404(DocumentImport.objects.select_related("connection"), pk=pk)
        context: dict[str, Any] = {"title": f"Import of {row.found.get('title') or row}", "row": row}
        if row.state == DocumentImport.State.READY:
            form = (PickToolsForm if row.is_server else PickForm)(request.POST or None, row=row)
            if request.method == "POST" and form.is_valid() and _start(row, form):
                return redirect("admin:registry_documentimport", row.pk)
            context |= {
                "form": form,
                "opens_filter": len(row.found.get("ops", ())) > FEW_OPS or any(field.value() for field in form.filters),
                "opens_target": any(
                    field.errors or (field.name == "base_url" and not field.value()) for field in form.target
                ),
            }
        elif row.state == DocumentImport.State.FAILED and not row.is_server:
            context["form"] = DocumentForm(initial={"url": row.url})
        elif row.state == DocumentImport.State.DONE:
            context |= _describe_done(row)
        context |= {"again": _build_again_url(row), "new_connection": urlencode(row.found.get("connection", {}))}
        context["is_working"] = row.state in (DocumentImport.State.READING, DocumentImport.State.IMPORTING)
        return self._render(request, "console/connections/document_import.html", context)

    def _require_permission(self, request: HttpRequest) -> None:
        if not self.has_import_permission(request):
            raise PermissionDenied

    def _render(self, request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
        return TemplateResponse(request, template, self.admin_site.each_context(request) | context)


def _start(row: DocumentImport, form: PickForm | PickToolsForm) -> bool:
    """Start the import. Return False, with an error in the form, if it cannot run like this."""
    group, connection = form.cleaned_data["group"], form.get_connection(row)
    try:
        import_job.start_importing(
            row, form.read_selection(), group=group, connection=connection, names=form.read_names()
        )
    except ImportRefused as error:
        form.add_error(None, str(error))
        return False
    return True


def _describe_done(row: DocumentImport) -> dict[str, Any]:
    """Return what the page of a finished import says about the next step."""
    count = row.report.get("ops", 0)
    note = f"{row.found.get('title') or row.group}: {count} op{pluralize(count)}"
    query = {"note": note, "only": [row.group, f"{row.group}.*"]}  # the import by itself, without what others edited
    return {
        "lacks_credentials": row.connection is not None
        and any(not secret.is_usable for secret in describe_secrets(row.connection)),
        "review_url": f"{reverse('admin:registry_release_review')}?{urlencode(query, doseq=True)}",
        **chat_links.build_context(Op.objects.filter(source=row.group)),
    }


def _build_again_url(row: DocumentImport) -> str:
    """Return the address of the form that starts an import of the same upstream, filled in."""
    if not row.is_server:
        return f"{reverse('admin:registry_connection_import')}?{urlencode({'url': row.url})}"
    if row.connection is not None:
        query = {"connection": row.connection.name}
    elif row.url.startswith(PROGRAM_PREFIX):
        query = {"program": row.url.removeprefix(PROGRAM_PREFIX)}
    else:
        query = {"url": row.url}
    return f"{reverse('admin:registry_connection_import_server')}?{urlencode(query)}"


def _list_recent(*, is_server: bool) -> list[DocumentImport]:
    kind = Q(found__connection__kind=Connection.Kind.MCP)
    rows = DocumentImport.objects.filter(kind if is_server else Q(found__connection__kind__isnull=True))
    return list(rows.defer("document", "found", "report").select_related("connection")[:RECENT])


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """One operation that changed: its op, and what differs in each field; `is_gone` from its upstream."""

    upstream_name: str
    seen_digest: str
    op: Op | None
    is_gone: bool
    passages: tuple[ChangedPassage, ...]


def annotate_counts(connections: QuerySet[Connection]) -> QuerySet[Connection]:
    """Add to connections how many ops run through each, and how many definitions changed."""
    is_changed = (
        ~Q(definitions__seen_digest=F("definitions__approved_digest"))
        & ~Q(definitions__approved_digest="")
        & Q(definitions__isnull=False)
    )
    return connections.annotate(
        op_total=Count("ops", filter=Q(ops__status=Op.Status.ACTIVE), distinct=True),
        changed=Count("definitions", filter=is_changed, distinct=True),
    )


def describe_upstream_changes(connection: Connection) -> list[DefinitionChange]:
    """Return the changes that wait for approval, with the difference of each."""
    waiting = definitions.list_changed(connection)[:MAX_SHOWN]
    ops = {get_upstream_name(op.shipped): op for op in iterate_ops_of_source(connection.import_group) if op.shipped}
    return [
        DefinitionChange(
            row.upstream_name,
            row.seen_digest,
            op := ops.get(row.upstream_name),
            row.seen is None,
            _diff_definition(row, (op and op.shipped) or {}),
        )
        for row in waiting
    ]


def find_changed_again(connection: Connection, names: Sequence[str], shown: Sequence[str]) -> list[str]:
    """Return the names whose definition has changed since it was shown, by its digest."""
    rows = connection.definitions.filter(upstream_name__in=names).exclude(seen_digest__in=shown)
    return list(rows.values_list("upstream_name", flat=True))


def approve_upstream_changes(
    connection: Connection, names: Sequence[str], *, by: str, at: datetime
) -> MergeReport | None:
    """Approve the chosen changes, and record them in the history. Return None if none was chosen."""
    if not names:
        return None
    report = definitions.approve_changes(connection, names, at=at)
    history.record_changes(report.changes, by=by, at=at, note=f"Approved changes of {connection}")
    return report


def _diff_definition(row: UpstreamDefinition, shipped: dict[str, Any]) -> tuple[ChangedPassage, ...]:
    """Return the differences: for a tool, first its definition, then the other changes of its op."""
    if row.seen is None:
        return ()
    if row.seen_definition is None:
        return _diff(shipped, row.seen, _OWN_FIELDS)
    of_op = _diff(shipped, row.seen, _OWN_FIELDS | _FROM_DEFINITION)
    return _diff(row.approved_definition or {}, row.seen_definition, set()) + of_op


def _diff(before: dict[str, Any], after: dict[str, Any], left_out: set[str]) -> tuple[ChangedPassage, ...]:
    names = sorted((after.keys() | before.keys()) - left_out)
    pairs = {name: (before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)}
    return help_diff.diff_fields(pairs)
