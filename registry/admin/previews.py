"""The page of an op beside what a model will read of it: while somebody types, before anything is saved."""

from collections.abc import Iterator
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
from registry import catalogs, checks, preview, typed
from registry.admin import preview_parts
from registry.catalogs import Catalog
from registry.models import Op
from registry.typed import Typed

MAX_BYTES = 500_000  # of a form; those of the largest ops that were seen have 60,000


class Previewing(desk.ModelAdmin[Op]):
    """A page of ops with a preview."""

    compressed_fields = False  # labels above their inputs, which have half of the page

    class Media:
        js = [Script(f"desk/op/{name}.js", defer=True) for name in ("editor", "rows", "preview")]
        css = {"all": ["desk/op/op.css"]}

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.preview)
        own = [
            path("add/preview/", view, name="registry_op_add_preview"),
            path("<path:object_id>/preview/", view, name="registry_op_preview"),
        ]
        return own + super().get_urls()

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        op: Op | None = kwargs.get("obj")
        if op is not None and op.pk is not None:
            context["figures"] = reports.of_op(op.op, at=timezone.now())
            context["preview_url"] = reverse("admin:registry_op_preview", args=[quote(op.pk)])
            context["links"] = list(self._links(request, op))
        else:
            context["preview_url"] = reverse("admin:registry_op_add_preview")
        return super().render_change_form(request, context, *args, **kwargs)

    def preview(self, request: HttpRequest, object_id: str | None = None) -> HttpResponse:
        """Answer what a model will read of the op as the form that is sent says it, as parts of the page.

        Nothing is saved, and nothing that is typed fails.
        """
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_BYTES:
            return HttpResponse("This is too large to be shown while it is typed.", status=413)
        op = self._op(request, object_id)
        was = op.op if op else ""
        found = self._typed(request, op)
        shown = preview.of_entry(
            found.entry,
            context=checks.current(),
            live=_live(),
            was=was,
            argument=request.POST.get("preview-argument", ""),
        )
        parts = preview_parts.parts(shown, found, was=was, at=timezone.now())
        return HttpResponse(render_to_string("registry/op/preview.html", parts))

    def _links(self, request: HttpRequest, op: Op) -> Iterator[tuple[str, str]]:
        """Yield (label, address) of what there is about an op elsewhere, for whoever may see it."""
        if self.has_change_permission(request, op):
            yield "Try it", reverse("admin:op_try", args=[op.pk])
        live = _live()
        if live and op.op in live.ops and request.user.has_perm("registry.view_release"):
            text = reverse("admin:registry_release_read", args=[live.version])
            yield "Live text", f"{text}?{urlencode({'op': op.op})}"

    def _op(self, request: HttpRequest, object_id: str | None) -> Op | None:
        op: Op | None = self.get_object(request, unquote(object_id)) if object_id is not None else None
        if op is None and object_id is not None:
            raise Http404("There is no such op.")
        if not (self.has_view_permission(request, op) if op else self.has_add_permission(request)):
            raise PermissionDenied
        return op

    def _typed(self, request: HttpRequest, op: Op | None) -> Typed:
        form = self.get_form(request, op, change=op is not None)(request.POST, instance=op)
        formsets = [
            formset(data=request.POST, instance=form.instance, queryset=inline.get_queryset(request))
            for formset, inline in self.get_formsets_with_inlines(request, op)
            if inline.has_change_permission(request, op)
        ]
        return typed.read(form, formsets)


def _live() -> Catalog | None:
    try:
        return catalogs.live()
    except catalogs.NothingLive:
        return None
