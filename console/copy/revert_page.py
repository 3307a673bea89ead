"""The page that reverts one change of copy: it shows what would change in the draft, and asks to confirm."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import urlencode

from analytics import audit_text
from analytics.models import AuditEntry
from console import diff_view
from core.admin import base
from registry.drafts import draft, edits
from registry.releases import help_diff
from registry.snapshot import diff

REVERT_ERRORS = (edits.NotRevertible, draft.DraftRefused, draft.NothingToChange, draft.DraftChanged)


class RevertPageMixin(base.ModelAdmin[AuditEntry]):
    """Adds the page to the audit log, and a link to it on the page of an entry."""

    change_form_template = "console/copy/audit_entry.html"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.revert_view)
        return [path("<int:pk>/revert/", view, name="registry_change_revert"), *super().get_urls()]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        entry = kwargs.get("obj")
        if entry is not None and diff_view.can_write_draft(request):
            context["may_revert"] = not _explain_refusal(entry)
        return super().render_change_form(request, context, *args, **kwargs)

    def revert_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show what reverting a change would do to the draft; on POST do it."""
        if not diff_view.can_write_draft(request):
            raise PermissionDenied
        entry = self.get_queryset(request).filter(pk=pk).first()
        if entry is None:
            raise Http404("This entry does not exist.")
        refusal = _explain_refusal(entry)
        if request.method == "POST" and not refusal:
            try:
                edits.revert_change(entry, by=str(request.user), at=timezone.now())
            except REVERT_ERRORS as error:
                refusal = str(error)
            else:
                what = audit_text.describe_entry(entry)
                done = format_html("Reverted in the draft: {}. {}", what, diff_view.build_review_link(request))
                self.message_user(request, done, messages.SUCCESS)
                changelist = reverse("admin:analytics_auditentry_changelist")
                return redirect(f"{changelist}?{urlencode({'kind': entry.kind, 'name': entry.name})}")
        context: dict[str, Any] = {"title": "Revert", "entry": entry, "refusal": refusal}
        context |= {} if refusal else _build_effect(entry)
        return TemplateResponse(
            request, "console/copy/revert_change.html", self.admin_site.each_context(request) | context
        )


def _explain_refusal(entry: AuditEntry) -> str:
    try:
        edits.plan_revert(entry)
    except edits.NotRevertible as error:
        return str(error)
    return ""


def _build_effect(entry: AuditEntry) -> dict[str, Any]:
    plan = edits.plan_revert(entry)
    change = diff.diff_entries(plan.kind, plan.current, plan.previous)
    passages = help_diff.diff_fields(change.fields) if change else ()
    if plan.previous is None:
        effect = "is removed from the draft"
    else:
        effect = "is in the draft again" if plan.current is None else "changes in the draft as follows"
    return {"passages": passages, "effect": f"{plan.kind.label.capitalize()} {entry.name} {effect}."}
