"""The history of an entry, and the page that reverts one change."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.timezone import localtime

from audit import audit_log
from audit.models import AuditEntry
from console import diff_view
from console.access.audit_log import AuditEntryAdmin
from console.log_pages import AuditHistoryAdmin
from core.admin import base
from registry.drafts import draft, edits, history
from registry.drafts.history import ChangeTracker
from registry.releases import help_diff
from registry.snapshot import diff
from registry.snapshot.copy_kinds import CopyRow
from registry.snapshot.diff import Action

REVERT_ERRORS = (edits.NotRevertible, draft.DraftRefused, draft.NothingToChange, draft.DraftChanged)
SEEN_FIELD = "seen"
MAX_NAMED_CHANGES = 3  # changes named in a conflict message


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
                what = audit_log.describe_entry(entry)
                done = format_html("Reverted in the draft: {}. {}", what, diff_view.build_review_link(request))
                self.message_user(request, done, messages.SUCCESS)
                changelist = reverse("admin:audit_auditentry_changelist")
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


class CopyForm(forms.ModelForm):  # type: ignore[type-arg]  # used with several models
    """A form that refuses once to overwrite changes made since it was opened."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None:
            self.initial[SEEN_FIELD] = history.make_stamp(history.get_copy_row(self.instance))

    def clean(self) -> Any:
        """Raise ValidationError if someone changed the row in the meantime. Saving again overwrites it."""
        cleaned = super().clean()
        if self.instance.pk is None:
            return cleaned
        row = _lock_row(history.get_copy_row(self.instance))
        current_stamp, seen = history.make_stamp(row), self.data.get(self.add_prefix(SEEN_FIELD), "")
        if seen != current_stamp:
            form_data: Any = self.data.copy()  # type: ignore[attr-defined]  # a QueryDict, in the admin
            form_data[self.add_prefix(SEEN_FIELD)] = current_stamp
            self.data = form_data
            raise ValidationError(_describe_conflict(row, seen), code="moved")
        return cleaned


class TrackedChangesMixin(AuditHistoryAdmin):
    """A page that records its changes in the history, whether made in a form, a list or an action."""

    form = CopyForm

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fieldsets, with the hidden `seen` field in the first if the row can be changed."""
        fieldsets: list[tuple[Any, dict[str, Any]]] = [
            (name, {**options, "fields": [field for field in options["fields"] if field != SEEN_FIELD]})
            for name, options in super().get_fieldsets(request, obj)
        ]
        if obj is not None and self.has_change_permission(request, obj):
            fieldsets[0][1]["fields"].append(SEEN_FIELD)
        return fieldsets

    def get_audit_key(self, row: Any) -> tuple[str, str]:
        """Return the kind and name of a row in the history; for a rule, those of its op."""
        return history.get_history_key(history.get_copy_row(row))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        tracker = _get_tracker(request)
        tracker.remember_rows(_find_changed_rows(obj))
        super().save_model(request, obj, form, change)
        if not change and history.get_copy_row(obj) is obj:
            tracker.remember_new(obj)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        _get_tracker(request).record_changes(by=str(request.user), at=timezone.now())

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        with history.track_changes(_find_changed_rows(obj), by=str(request.user), at=timezone.now()):
            super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        rows = [row for obj in queryset for row in _find_changed_rows(obj)]
        with history.track_changes(rows, by=str(request.user), at=timezone.now()):
            super().delete_queryset(request, queryset)


@admin.register(AuditEntry)
class HistoryAdmin(RevertPageMixin, AuditEntryAdmin):
    """All recorded changes, with an action to revert changes of copy."""

    actions = ["take_back"]
    fields = ["time", "by", "kind", "name", "action", "differences", "note"]
    readonly_fields = ["differences"]

    @admin.display(description="What changed")
    def differences(self, entry: AuditEntry) -> str:
        """Return the changed fields as HTML, word by word."""
        return render_to_string("console/copy/changed_fields.html", {"passages": help_diff.diff_fields(entry.changes)})

    @admin.action(description="Revert the selected changes, newest first", permissions=["revert"])
    def take_back(self, request: HttpRequest, queryset: QuerySet[AuditEntry]) -> None:
        for entry in queryset.order_by("-id"):
            try:
                edits.revert_change(entry, by=str(request.user), at=timezone.now())
            except REVERT_ERRORS as error:
                self.message_user(request, f"{entry}: {error}", messages.ERROR)
            else:
                self.message_user(request, f"Reverted in the draft: {entry}.")

    def has_revert_permission(self, request: HttpRequest) -> bool:
        return diff_view.can_write_draft(request)


def _get_tracker(request: HttpRequest) -> ChangeTracker:
    tracker: ChangeTracker = vars(request).setdefault("copy_watch", ChangeTracker())
    return tracker


def _find_changed_rows(obj: Any) -> Iterable[CopyRow]:
    """Return the rows of copy that saving or deleting a row changes: for a rule its op, and the op it had before."""
    if obj.pk is None:
        return [row for row in [history.get_copy_row(obj)] if row.pk is not None]
    saved = type(obj)._default_manager.filter(pk=obj.pk).first()
    copy_rows = {(type(row), row.pk): row for row in (history.get_copy_row(obj), history.get_copy_row(saved or obj))}
    return copy_rows.values()


def _lock_row(row: CopyRow) -> Any:
    """Return the current row, locked until the page is saved, so that simultaneous saves wait for each other."""
    return type(row)._default_manager.select_for_update().get(pk=row.pk)


def _describe_conflict(row: CopyRow, seen: str) -> str:
    """Return a message with who changed what since the page was opened, and what to do."""
    descriptions = [
        f"{entry.by} {entry.action}"
        + (f" {', '.join(sorted(entry.changes))}" if entry.action == Action.CHANGED else " it")
        + f" at {date_format(localtime(entry.time), 'H:i e')}"
        for entry in history.list_changes_since(row, seen)[-MAX_NAMED_CHANGES:]
    ]
    return (
        f"{'; '.join(descriptions) or 'Someone changed it'}, after you opened this page. Nothing was saved. "
        "Reload to see the new version, or save again to overwrite it."
    )
