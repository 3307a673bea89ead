"""The action of the list of ops that changes many at once, with a page that asks what."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.html import format_html
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminRadioSelectWidget, UnfoldAdminTextInputWidget

from console import diff_view
from core.admin import base
from registry.drafts import bulk_edits, draft
from registry.drafts.bulk_edits import OpChanges
from registry.models import Group, Op

KEEP = ""  # the choice that leaves a field as it is
MAX_NAMED = 20  # ops on the page
APPLY = "apply"  # in the POST of the page


class BulkChangeForm(forms.Form):
    """What to change on the selected ops."""

    status = forms.ChoiceField(
        choices=[(KEEP, "Keep"), (Op.Status.RETIRED, "Retire"), (Op.Status.ACTIVE, "Make active")],
        required=False,
        widget=UnfoldAdminRadioSelectWidget(),
        help_text="Models do not see a retired op after the next release.",
    )
    confirm = forms.ChoiceField(
        label="Confirmation by the end user",
        choices=[(KEEP, "Keep"), ("on", "Needed"), ("off", "Not needed")],
        required=False,
        widget=UnfoldAdminRadioSelectWidget(),
    )
    timeout_ms = forms.IntegerField(
        label="Time-out (ms)",
        min_value=100,
        max_value=120_000,
        required=False,
        widget=UnfoldAdminIntegerFieldWidget(),
        help_text="If empty, each op keeps its own.",
    )
    group = forms.CharField(
        label="Move to the group",
        max_length=200,
        required=False,
        widget=UnfoldAdminTextInputWidget(attrs={"list": "groups", "autocomplete": "off"}),
        help_text="If empty, they stay. The old paths become aliases, so that earlier calls still work.",
    )

    def clean_group(self) -> str:
        """Refuse a group that does not exist."""
        group: str = self.cleaned_data["group"]
        if group and not Group.objects.filter(path=group).exists():
            raise forms.ValidationError(f"The group {group} does not exist. Add it first.")
        return group

    def clean(self) -> Any:
        """Refuse a form that changes nothing."""
        if not self.errors and not any(self.cleaned_data.values()):
            raise forms.ValidationError("Choose what to change.")
        return super().clean()

    def to_changes(self) -> OpChanges:
        """Return what the valid form says."""
        chosen = self.cleaned_data
        return OpChanges(
            status=Op.Status(chosen["status"]) if chosen["status"] else None,
            confirm=chosen["confirm"] == "on" if chosen["confirm"] else None,
            timeout_ms=chosen["timeout_ms"],
            group=chosen["group"] or None,
        )


class BulkChangeMixin(base.ModelAdmin[Op]):
    """Adds the action to the list of ops."""

    @admin.action(description="Retire, move, confirmation, time-out …", permissions=["change"])
    def change_selected(self, request: HttpRequest, queryset: QuerySet[Op]) -> HttpResponse | None:
        """Ask what to change on the selected ops; with the page's form, do it."""
        ops = list(queryset.order_by("op").only("pk", "op"))
        form = BulkChangeForm(request.POST if APPLY in request.POST else None)
        if form.is_bound and form.is_valid():
            try:
                changes = bulk_edits.change_ops(ops, form.to_changes(), by=str(request.user), at=timezone.now())
            except (draft.NothingToChange, draft.DraftRefused, draft.DraftChanged) as error:
                form.add_error(None, f"Nothing was changed. {error}")
            else:
                message = format_html(
                    "Changed {} in the draft. The audit log can revert each change. {}",
                    diff_view.format_change_counts(changes),
                    diff_view.build_review_link(request),
                )
                self.message_user(request, message, messages.SUCCESS)
                return None
        context: dict[str, Any] = {
            "title": f"Change {len(ops):,} op{'' if len(ops) == 1 else 's'}",
            "form": form,
            "ops": ops[:MAX_NAMED],
            "left": max(0, len(ops) - MAX_NAMED),
            "selected": request.POST.getlist(ACTION_CHECKBOX_NAME),
            "select_across": request.POST.get("select_across", ""),
            "groups": Group.objects.values_list("path", flat=True),
        }
        return TemplateResponse(
            request, "console/copy/change_ops.html", self.admin_site.each_context(request) | context
        )
