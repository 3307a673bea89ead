"""Pages of copy with a live preview of what a model will read, updated while the user types."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.forms import Script
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from analytics import links, reports
from core.beside import Beside
from registry import catalogs, checks, draft, preview, typed, watching
from registry.admin import preview_parts
from registry.catalogs import Catalog
from registry.models import Group, Op, PromptSection
from registry.typed import Typed


class Previewing(Beside):
    """Adds a live preview to the page of a row."""

    beside = "preview"
    preview_template: str
    compressed_fields = False  # labels above inputs, because the form has half of the width

    class Media:
        js = [Script(f"desk/op/{name}.js", defer=True) for name in ("editor", "rows", "preview")]
        css = {"all": ["desk/op/op.css"]}

    def preview_of(self, request: HttpRequest, row: Any, *, live: Catalog | None, at: datetime) -> dict[str, Any]:
        """Return the preview's template context. `row` is the saved row, None for a new one."""
        raise NotImplementedError

    def is_told(self, request: HttpRequest, row: Any) -> bool:
        """Show the preview to every user who may view the row."""
        return self.has_view_permission(request, row) if row else self.has_add_permission(request)

    def beside_of(self, request: HttpRequest, row: Any) -> str:
        return render_to_string(self.preview_template, self.preview_of(request, row, live=_live(), at=timezone.now()))


class OpPreviewing(Previewing):
    """Adds to the page of an op a preview, call statistics and links to related pages."""

    preview_template = "registry/op/preview.html"

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        op: Op | None = kwargs.get("obj")
        if op is not None and op.pk is not None:
            context["figures"] = reports.of_op(op.op, at=timezone.now())
            context["rows"] = {
                "calls": links.week_of(op.op, links.CALLS),
                "failed": links.week_of(op.op, links.FAILED),
                "mending": links.week_of(op.op, links.MENDING),
            }
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
        """Yield (label, URL) of pages about the op that the user may see."""
        if self.has_change_permission(request, op):
            yield "Try it", reverse("admin:op_try", args=[op.pk])
        live = _live()
        if live and op.op in live.ops and request.user.has_perm("registry.view_release"):
            text = reverse("admin:registry_release_read", args=[live.version])
            yield "Live text", f"{text}?{urlencode({'op': op.op})}"


class TextPreviewing(Previewing):
    """Adds a preview to the page of a group or prompt section: its text, tokens and problems."""

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
