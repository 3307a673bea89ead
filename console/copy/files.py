"""The page of copy as files: download the draft, or preview and import files."""

from typing import Any

from django.contrib import messages
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone

from audit import audit_log
from audit.models import AuditEntry
from console import diff_view
from console.forms import ImportFilesForm
from core.admin import base
from registry.drafts import draft
from registry.files import export, loader, yaml_format
from registry.models import Op
from registry.releases import help_diff
from registry.snapshot import diff, snapshot
from registry.snapshot.diff import Action

# Signs the content that goes to the browser with the preview and comes back with the import.
SIGNING_SALT = "registry.files"


class CopyFilesMixin(base.ModelAdmin[Op]):
    """Adds the files page to the op admin."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        own = [
            path("files/", view(self.files_view), name="registry_op_files"),
            path("files/draft.zip", view(self.download_view), name="registry_op_download"),
        ]
        return [*own, *super().get_urls()]

    def has_filing_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may import files into the draft, and so also export them."""
        return diff_view.can_write_draft(request)

    def download_view(self, request: HttpRequest) -> HttpResponse:
        """Return the draft as a ZIP archive of YAML files."""
        if not self.has_filing_permission(request):
            raise PermissionDenied
        try:
            archive = export.to_zip(snapshot.snapshot_draft())
        except (ValueError, RecursionError):  # half of a surrogate pair, or hundreds of levels
            message = "An entry of the draft cannot be written to a file. Review and publish names it."
            self.message_user(request, message, messages.ERROR)
            return redirect("admin:registry_op_files")
        audit_log.record_export("copy", "draft.zip", by=str(request.user), at=timezone.now())
        headers = {"Content-Disposition": 'attachment; filename="draft.zip"'}
        return HttpResponse(archive, content_type="application/zip", headers=headers)

    def files_view(self, request: HttpRequest) -> HttpResponse:
        """Show what uploaded files would change; a second POST writes them into the draft."""
        if not self.has_filing_permission(request):
            raise PermissionDenied
        if "content" in request.POST:
            form, preview_context = ImportFilesForm(), {"errors": self._import_content(request)}
            if not preview_context["errors"]:
                return redirect("admin:registry_release_review")
        else:
            form = ImportFilesForm(request.POST, request.FILES) if request.method == "POST" else ImportFilesForm()
            preview_context = _build_import_preview(form) if form.is_valid() else {}
        context = self.admin_site.each_context(request) | {"title": "Copy as files", "form": form} | preview_context
        return TemplateResponse(request, "console/copy/files.html", context)

    def _import_content(self, request: HttpRequest) -> list[str]:
        """Import the previewed content into the draft. Return error messages, empty on success."""
        try:
            content = signing.loads(request.POST["content"], salt=SIGNING_SALT)
            by, at = str(request.user), timezone.now()
            imported = draft.write_snapshot(
                content, by=by, at=at, note="Import of files", seen=request.POST.get("seen", "")
            )
        except signing.BadSignature:
            return ["Nothing was imported. Choose the files again."]
        except draft.DraftRefused as error:
            return ["Nothing was imported.", *map(str, error.problems[: diff_view.MAX_LISTED])]
        except (draft.DraftChanged, draft.NothingToChange) as error:
            return [f"Nothing was imported. {error}"]
        counts = diff_view.format_change_counts(imported)
        audit_log.record_action(
            "copy", "files", AuditEntry.Action.IMPORTED, by=by, at=at, note=f"Into the draft: {counts}"
        )
        self.message_user(request, f"Imported into the draft: {counts}.", messages.SUCCESS)
        return []


def _build_import_preview(form: ImportFilesForm) -> dict[str, Any]:
    """Return the template context of what the files would change. Adds errors in the files to the form."""
    try:
        uploaded = [(file.name or "", file.read()) for file in form.cleaned_data["chosen"]]
        content = yaml_format.parse_files(loader.read_yaml_files(uploaded), alone=False)
    except loader.UnreadableUpload as error:
        form.add_error("chosen", str(error))
        return {}
    except yaml_format.InvalidCatalogFiles as error:
        form.add_error("chosen", [str(problem) for problem in error.problems[: diff_view.MAX_LISTED]])
        return {}
    before = snapshot.snapshot_draft()
    found_changes = [change for change in diff.diff_snapshots(before, content) if change.action != Action.REMOVED]
    page = Paginator(found_changes, diff_view.PAGE_SIZE).get_page(1)
    context = {
        "change_counts": diff_view.format_change_counts(found_changes),
        "remaining": len(found_changes) - len(page),
        "seen": snapshot.compute_version(before),
    }
    context |= {"is_preview": True, "content": signing.dumps(content, salt=SIGNING_SALT, compress=True)}
    return context | diff_view.build_diff_context(page, help_diff.build_differences(list(page), before, content))
