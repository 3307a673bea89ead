"""Live preview: a panel next to an admin form that updates while the form is edited, before anything is saved."""

from typing import Any, ClassVar

from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import URLPattern, path, reverse

from core.admin import base

MAX_BYTES = 500_000  # of a posted form. The largest op forms have 60,000; 1,000 subjects have 200,000


class LivePreviewAdmin(base.ModelAdmin[Any]):
    """Admin page with a live preview. Its script posts the unsaved form to `preview_url` and shows the HTML."""

    preview_path: ClassVar[str]  # the last path segment of the preview's URL: .../preview/

    def render_preview(self, request: HttpRequest, row: Any) -> str:
        """Return the preview as HTML. `row` is the saved row, or None for a new one."""
        raise NotImplementedError

    def has_preview_permission(self, request: HttpRequest, row: Any) -> bool:
        """Return whether the user may see the preview: anyone who may save the form."""
        return self.has_change_permission(request, row) if row else self.has_add_permission(request)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.preview_view)
        preview_urls = [
            path(f"add/{self.preview_path}/", view, name=self._preview_url_name("add_")),
            path(f"<path:object_id>/{self.preview_path}/", view, name=self._preview_url_name()),
        ]
        return preview_urls + super().get_urls()

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        row = kwargs.get("obj")
        row = row if row is not None and row.pk is not None else None
        if self.has_preview_permission(request, row):
            name, url_args = (
                (self._preview_url_name(), [quote(row.pk)]) if row else (self._preview_url_name("add_"), [])
            )
            context["preview_url"] = reverse(f"admin:{name}", args=url_args)
        return super().render_change_form(request, context, *args, **kwargs)

    def preview_view(self, request: HttpRequest, object_id: str | None = None) -> HttpResponse:
        """Return the preview of the posted form. Saves nothing; invalid input is not an error."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_BYTES:
            return HttpResponse("This form is too large for a live preview.", status=413)
        row = self.get_object(request, unquote(object_id)) if object_id is not None else None
        if row is None and object_id is not None:
            raise Http404("This row does not exist.")
        if not self.has_preview_permission(request, row):
            raise PermissionDenied
        return HttpResponse(self.render_preview(request, row))

    def bind_form(self, request: HttpRequest, row: Any) -> Any:
        """Return the page's form, bound to the posted data."""
        return self.get_form(request, row, change=row is not None)(request.POST, instance=row)

    def _preview_url_name(self, prefix: str = "") -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{prefix}{self.preview_path}"
