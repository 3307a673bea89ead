"""Copy as files in the admin: download the draft, and import files after a look at what they change."""

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

from core import desk
from registry import changes, comparison, draft, export, files, snapshot, uploads
from registry.admin import showing
from registry.changes import Action
from registry.forms import FilesForm
from registry.models import Op

SALT = "registry.files"  # of what goes to the browser and comes back between the look and the import


class Filing(desk.ModelAdmin[Op]):
    """The page of files, on the ops' pages: they are most of it."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        own = [
            path("files/", view(self.files_view), name="registry_op_files"),
            path("files/draft.zip", view(self.download_view), name="registry_op_download"),
        ]
        return [*own, *super().get_urls()]

    def has_filing_permission(self, request: HttpRequest) -> bool:
        """Whether somebody may write whole files into the draft, and so take them out."""
        return showing.may_write_draft(request)

    def download_view(self, request: HttpRequest) -> HttpResponse:
        """Answer the draft as an archive of YAML files."""
        if not self.has_filing_permission(request):
            raise PermissionDenied
        headers = {"Content-Disposition": 'attachment; filename="draft.zip"'}
        return HttpResponse(export.to_zip(snapshot.draft()), content_type="application/zip", headers=headers)

    def files_view(self, request: HttpRequest) -> HttpResponse:
        """Take files, show what they would change, and on a second POST write that into the draft."""
        if not self.has_filing_permission(request):
            raise PermissionDenied
        if "content" in request.POST:
            form, told = FilesForm(), {"errors": self._import(request)}
            if not told["errors"]:
                return redirect("admin:registry_release_review")
        else:
            form = FilesForm(request.POST, request.FILES) if request.method == "POST" else FilesForm()
            told = _looked_at(form) if form.is_valid() else {}
        context = self.admin_site.each_context(request) | {"title": "Copy as files", "form": form} | told
        return TemplateResponse(request, "registry/files.html", context)

    def _import(self, request: HttpRequest) -> list[str]:
        """Write what was looked at into the draft; return why that cannot be, in sentences."""
        try:
            content = signing.loads(request.POST["content"], salt=SALT)
            by, at = str(request.user), timezone.now()
            found = draft.write(content, by=by, at=at, note="Import of files", seen=request.POST.get("seen", ""))
        except signing.BadSignature:
            return ["Nothing was imported. Choose the files again."]
        except draft.Refused as error:
            return ["Nothing was imported.", *map(str, error.problems[: showing.LISTED])]
        except (draft.Moved, draft.NothingToDo) as error:
            return [f"Nothing was imported. {error}"]
        self.message_user(request, f"Imported into the draft: {showing.counted(found)}.", messages.SUCCESS)
        return []


def _looked_at(form: FilesForm) -> dict[str, Any]:
    """Return what some files would change; what is wrong with them stands on the form."""
    try:
        sent = [(file.name or "", file.read()) for file in form.cleaned_data["chosen"]]
        content = files.parse(uploads.texts(sent), alone=False)
    except uploads.Unreadable as error:
        form.add_error("chosen", str(error))
        return {}
    except files.BadCatalog as error:
        form.add_error("chosen", [str(problem) for problem in error.problems[: showing.LISTED]])
        return {}
    before = snapshot.draft()
    found = [change for change in changes.between(before, content) if change.action != Action.REMOVED]
    page = Paginator(found, showing.PAGE).get_page(1)
    told = {"counted": showing.counted(found), "left": len(found) - len(page), "seen": snapshot.version(before)}
    told |= {"looked": True, "content": signing.dumps(content, salt=SALT, compress=True)}
    return told | showing.differences(page, comparison.read(list(page), before, content))
