"""Pages of copy with a live preview of what a model will read, updated while the user types."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.forms import Script
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from analytics import reports
from analytics.events.event_filters import CountedAs
from console.copy import form_entry, op_list, preview_parts
from console.copy.form_entry import FormEntry
from console.reports import row_links
from core.admin.page_parts import LivePreviewAdmin
from registry import checks
from registry.catalog import cache, connections
from registry.catalog.model import Catalog
from registry.drafts import history
from registry.models import Op, Pin
from registry.releases import preview
from registry.snapshot.copy_kinds import KIND_BY_MODEL, CopyRow


class PreviewMixin(LivePreviewAdmin):
    """Adds a live preview to the page of a row."""

    preview_path = "preview"
    preview_template: str
    compressed_fields = False  # labels above inputs, because the form has half of the width

    class Media:
        js = [Script(f"console/op/{name}.js", defer=True) for name in ("json_editor", "rows", "jump_links", "preview")]
        css = {"all": ["console/op/op.css"]}

    def build_preview_context(
        self, request: HttpRequest, row: Any, *, live: Catalog | None, at: datetime
    ) -> dict[str, Any]:
        """Return the preview's template context. `row` is the saved row, None for a new one."""
        raise NotImplementedError

    def has_preview_permission(self, request: HttpRequest, row: Any) -> bool:
        """Show the preview to every user who may view the row."""
        return self.has_view_permission(request, row) if row else self.has_add_permission(request)

    def render_preview(self, request: HttpRequest, row: Any) -> str:
        return render_to_string(
            self.preview_template, self.build_preview_context(request, row, live=_get_live_catalog(), at=timezone.now())
        )


class OpPreviewMixin(PreviewMixin):
    """Adds to the page of an op a preview, call statistics and links to related pages."""

    preview_template = "console/copy/op/preview.html"

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        op: Op | None = kwargs.get("obj")
        if op is not None and op.pk is not None:
            context["figures"] = reports.get_op_figures(op.op, at=timezone.now())
            context["row_urls"] = {
                "calls": row_links.to_last_days_of_op(op.op, CountedAs.CALLS),
                "failed": row_links.to_last_days_of_op(op.op, CountedAs.FAILED),
                "repairs": row_links.to_last_days_of_op(op.op, CountedAs.REPAIRED),
            }
            context["missing"] = op_list.explain_missing(op, connections.refresh_connections())
            context["links"] = list(self._iterate_links(request, op))
        return super().render_change_form(request, context, *args, **kwargs)

    def build_preview_context(
        self, request: HttpRequest, row: Op | None, *, live: Catalog | None, at: datetime
    ) -> dict[str, Any]:
        was = row.op if row else ""
        typed_op = self._read_typed_op(request, row)
        argument = request.POST.get("preview-argument", "")
        op_preview = preview.preview_op(
            typed_op.entry, context=checks.get_current_context(), live=live, was=was, argument=argument
        )
        findings = [*checks.find_unrunnable_ops([op_preview.entry]), *op_preview.findings]
        return preview_parts.build_op_context(replace(op_preview, findings=findings), typed_op, was=was, at=at)

    def _read_typed_op(self, request: HttpRequest, op: Op | None) -> FormEntry:
        form = self.bind_form(request, op)
        formsets = [
            formset(data=request.POST, instance=form.instance, queryset=inline.get_queryset(request))
            for formset, inline in self.get_formsets_with_inlines(request, op)
            if inline.has_change_permission(request, op)
        ]
        return form_entry.read_op_forms(form, formsets)

    def _iterate_links(self, request: HttpRequest, op: Op) -> Iterator[tuple[str, str]]:
        """Yield (label, URL) of pages about the op that the user may see."""
        if self.has_change_permission(request, op):
            yield "Try it", reverse("admin:op_try", args=[op.pk])
        live = _get_live_catalog()
        if live and op.op in live.ops and request.user.has_perm("registry.view_release"):
            text = reverse("admin:registry_release_read", args=[live.version])
            yield "Live text", f"{text}?{urlencode({'op': op.op})}"


class TextPreviewMixin(PreviewMixin):
    """Adds a preview to the page of a row of copy that is no op: its text, tokens and problems."""

    change_form_template = "console/copy/text_form.html"
    preview_template = "console/copy/text_preview.html"

    def build_preview_context(
        self, request: HttpRequest, row: CopyRow | None, *, live: Catalog | None, at: datetime
    ) -> dict[str, Any]:
        was = history.get_history_key(row)[1] if row else ""
        typed_row = form_entry.read_text_form(self.bind_form(request, row))
        if self.model is Pin:
            text_preview = preview.preview_pin(typed_row.entry, live=live, was=was)
        else:
            text_preview = preview.preview_text(KIND_BY_MODEL[self.model], typed_row.entry, live=live, was=was)
        return preview_parts.build_text_context(text_preview, typed_row, is_new=row is None, at=at)


def _get_live_catalog() -> Catalog | None:
    try:
        return cache.get_live_catalog()
    except cache.NoLiveRelease:
        return None
