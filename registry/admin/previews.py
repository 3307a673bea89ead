"""Pages of copy beside what a model will read of it: while somebody types, before anything is saved."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.forms import Script
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template.loader import render_to_string
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from analytics import reports
from core import desk
from registry import catalogs, checks, draft, preview, typed, watching
from registry.admin import preview_parts
from registry.catalogs import Catalog
from registry.models import Group, Op, PromptSection
from registry.typed import Typed

MAX_BYTES = 500_000  # of a form; those of the largest ops that were seen have 60,000


class Previewing(desk.ModelAdmin[Any]):
    """A page with a preview."""

    preview_template: str
    compressed_fields = False  # labels above their inputs, which have half of the page

    class Media:
        js = [Script(f"desk/op/{name}.js", defer=True) for name in ("editor", "rows", "preview")]
        css = {"all": ["desk/op/op.css"]}

    def preview_of(self, request: HttpRequest, row: Any, *, live: Catalog | None, at: datetime) -> dict[str, Any]:
        """Return what the template of the preview needs, given the row as it is saved; None: it is new."""
        raise NotImplementedError

    def get_urls(self) -> list[URLPattern]:
        view, name = self.admin_site.admin_view(self.preview), self.opts.model_name
        own = [
            path("add/preview/", view, name=f"registry_{name}_add_preview"),
            path("<path:object_id>/preview/", view, name=f"registry_{name}_preview"),
        ]
        return own + super().get_urls()

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        row, name = kwargs.get("obj"), f"admin:registry_{self.opts.model_name}"
        if row is None or row.pk is None:
            context["preview_url"] = reverse(f"{name}_add_preview")
        else:
            context["preview_url"] = reverse(f"{name}_preview", args=[quote(row.pk)])
        return super().render_change_form(request, context, *args, **kwargs)

    def preview(self, request: HttpRequest, object_id: str | None = None) -> HttpResponse:
        """Answer what a model will read of the row as the form that is sent says it, as parts of the page.

        Nothing is saved, and nothing that is typed fails.
        """
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_BYTES:
            return HttpResponse("This is too large to be shown while it is typed.", status=413)
        row = self.get_object(request, unquote(object_id)) if object_id is not None else None
        if row is None and object_id is not None:
            raise Http404("There is no such row.")
        if not (self.has_view_permission(request, row) if row else self.has_add_permission(request)):
            raise PermissionDenied
        parts = self.preview_of(request, row, live=_live(), at=timezone.now())
        return HttpResponse(render_to_string(self.preview_template, parts))

    def bound(self, request: HttpRequest, row: Any) -> Any:
        """Return the page's form with what was sent."""
        return self.get_form(request, row, change=row is not None)(request.POST, instance=row)


class OpPreviewing(Previewing):
    """The page of an op with a preview, and with what there is about it elsewhere."""

    preview_template = "registry/op/preview.html"

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        op: Op | None = kwargs.get("obj")
        if op is not None and op.pk is not None:
            context["figures"] = reports.of_op(op.op, at=timezone.now())
            context["links"] = list(self._links(request, op))
        return super().render_change_form(request, context, *args, **kwargs)

    def preview_of(self, request: HttpRequest, row: Op | None, *, live: Catalog | None, at: datetime) -> dict[str, Any]:
        was = row.op if row else ""
        found = self._typed(request, row)
        argument = request.POST.get("preview-argument", "")
        shown = preview.of_entry(found.entry, context=checks.current(), live=live, was=was, argument=argument)
        return preview_parts.of_op(shown, found, was=was, at=at)

    def _typed(self, request: HttpRequest, op: Op | None) -> Typed:
        form = self.bound(request, op)
        formsets = [
            formset(data=request.POST, instance=form.instance, queryset=inline.get_queryset(request))
            for formset, inline in self.get_formsets_with_inlines(request, op)
            if inline.has_change_permission(request, op)
        ]
        return typed.read(form, formsets)

    def _links(self, request: HttpRequest, op: Op) -> Iterator[tuple[str, str]]:
        """Yield (label, address) of what there is about an op elsewhere, for whoever may see it."""
        if self.has_change_permission(request, op):
            yield "Try it", reverse("admin:op_try", args=[op.pk])
        live = _live()
        if live and op.op in live.ops and request.user.has_perm("registry.view_release"):
            text = reverse("admin:registry_release_read", args=[live.version])
            yield "Live text", f"{text}?{urlencode({'op': op.op})}"


class TextPreviewing(Previewing):
    """The page of a group or a prompt section with a preview: one text, its tokens, what is to mend."""

    change_form_template = "registry/text_form.html"
    preview_template = "registry/text_preview.html"

    def preview_of(
        self, request: HttpRequest, row: Group | PromptSection | None, *, live: Catalog | None, at: datetime
    ) -> dict[str, Any]:
        was = watching.named(row)[1] if row else ""
        found = typed.read_one(self.bound(request, row))
        shown = preview.of_text(draft.KIND_OF[self.model], found.entry, live=live, was=was)
        return preview_parts.of_text(shown, found, at=at)


def _live() -> Catalog | None:
    try:
        return catalogs.live()
    except catalogs.NothingLive:
        return None
