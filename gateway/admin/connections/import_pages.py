"""The pages that import a document: choose it, see what is in it, pick operations, read the report."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from core.admin import base
from gateway.admin.connections.forms import NEW, DocumentForm, PickForm
from registry.admin import diff_page
from registry.imports import import_job
from registry.imports.import_job import ImportRefused
from registry.models import Connection, DocumentImport

RECENT = 10


class ImportPagesMixin(base.ModelAdmin[Connection]):
    """Adds the import pages to the admin of connections."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        own = [
            path("import/", view(self.choose_view), name="registry_connection_import"),
            path("import/<int:pk>/", view(self.import_view), name="registry_documentimport"),
        ]
        return [*own, *super().get_urls()]

    def has_import_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may import: it writes the draft and sets up a connection."""
        return diff_page.can_write_draft(request) and self.has_add_permission(request)

    def choose_view(self, request: HttpRequest) -> HttpResponse:
        """Show the form for a document, and the latest imports. A POST starts to read the document."""
        self._require_permission(request)
        initial = {"url": request.GET.get("url", "")}
        form = DocumentForm(request.POST or None, request.FILES or None, initial=initial)
        if request.method == "POST" and form.is_valid():
            row = import_job.start_reading(
                url=form.cleaned_data["url"], files=form.read_files(), by=request.user.get_username()
            )
            return redirect("admin:registry_documentimport", row.pk)
        context = {"title": "Import an OpenAPI document", "form": form, "recent": _list_recent()}
        return self._render(request, "gateway/connections/choose_document.html", context)

    def import_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show an import: its progress, what to pick, or its report. A POST starts to import what was picked."""
        self._require_permission(request)
        row = get_object_or_404(DocumentImport.objects.select_related("connection"), pk=pk)
        context: dict[str, Any] = {"title": f"Import of {row.found.get('title') or row}", "row": row}
        if row.state == DocumentImport.State.READY:
            form = PickForm(request.POST or None, row=row)
            if request.method == "POST" and form.is_valid() and _start(row, form):
                return redirect("admin:registry_documentimport", row.pk)
            context["form"] = form
        context["is_working"] = row.state in (DocumentImport.State.READING, DocumentImport.State.IMPORTING)
        return self._render(request, "gateway/connections/document_import.html", context)

    def _require_permission(self, request: HttpRequest) -> None:
        if not self.has_import_permission(request):
            raise PermissionDenied

    def _render(self, request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
        return TemplateResponse(request, template, self.admin_site.each_context(request) | context)


def _start(row: DocumentImport, form: PickForm) -> bool:
    """Start the import. Return False, with an error in the form, if it cannot run like this."""
    data = form.cleaned_data
    try:
        connection = _get_connection(row, data)
        import_job.start_importing(row, form.read_selection(), group=data["group"], connection=connection)
    except ImportRefused as error:
        form.add_error(None, str(error))
        return False
    return True


def _get_connection(row: DocumentImport, data: dict[str, Any]) -> Connection:
    if data["connection"] != NEW:
        return Connection.objects.get(name=data["connection"])
    return Connection(
        **row.found["connection"] | {"name": data["name"], "kind": Connection.Kind.HTTP, "base_url": data["base_url"]}
    )


def _list_recent() -> list[DocumentImport]:
    return list(DocumentImport.objects.defer("document", "found", "report").select_related("connection")[:RECENT])
