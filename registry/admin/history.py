"""Admin pages of copy record every change, and warn before a save overwrites someone else's change."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from analytics.admin import AuditEntryAdmin, Historied
from analytics.models import AuditEntry
from registry import draft, reverting, watching
from registry.admin import showing
from registry.changes import Action
from registry.watching import Copy, Watch

SEEN = "seen"
TOLD = 3  # changes named in a conflict message


class CopyForm(forms.ModelForm):  # type: ignore[type-arg]  # used with several models
    """A form that refuses once to overwrite changes made since it was opened."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None:
            self.initial[SEEN] = watching.stamp(watching.copy_of(self.instance))

    def clean(self) -> Any:
        """Raise ValidationError if someone changed the row meanwhile. Saving the same page again overwrites it."""
        cleaned = super().clean()
        if self.instance.pk is None:
            return cleaned
        row = _locked(watching.copy_of(self.instance))
        now, seen = watching.stamp(row), self.data.get(self.add_prefix(SEEN), "")
        if seen != now:
            sent: Any = self.data.copy()  # type: ignore[attr-defined]  # a QueryDict, in the admin
            sent[self.add_prefix(SEEN)] = now
            self.data = sent
            raise ValidationError(_told(row, seen), code="moved")
        return cleaned


class Recorded(Historied):
    """A page that records its changes in the history, whether made in a form, a list or an action."""

    form = CopyForm

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fieldsets, with the hidden `seen` field in the first if the row can be changed."""
        found: list[tuple[Any, dict[str, Any]]] = [
            (name, {**options, "fields": [field for field in options["fields"] if field != SEEN]})
            for name, options in super().get_fieldsets(request, obj)
        ]
        if obj is not None and self.has_change_permission(request, obj):
            found[0][1]["fields"].append(SEEN)
        return found

    def told_as(self, row: Any) -> tuple[str, str]:
        """Return the kind and name of a row in the history; for a rule, those of its op."""
        return watching.named(watching.copy_of(row))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        watch = _watch(request)
        watch.look(_rows(obj))
        super().save_model(request, obj, form, change)
        if not change and watching.copy_of(obj) is obj:
            watch.add(obj)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        _watch(request).record(by=str(request.user), at=timezone.now())

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        with watching.recorded(_rows(obj), by=str(request.user), at=timezone.now()):
            super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        rows = [row for obj in queryset for row in _rows(obj)]
        with watching.recorded(rows, by=str(request.user), at=timezone.now()):
            super().delete_queryset(request, queryset)


@admin.register(AuditEntry)
class HistoryAdmin(AuditEntryAdmin):
    """All recorded changes, with an action to revert changes of copy."""

    actions = ["take_back"]

    @admin.action(description="Revert the selected changes, newest first", permissions=["revert"])
    def take_back(self, request: HttpRequest, queryset: QuerySet[AuditEntry]) -> None:
        for entry in queryset.order_by("-id"):
            try:
                reverting.revert(entry, by=str(request.user), at=timezone.now())
            except (reverting.NotRevertible, draft.Refused, draft.NothingToDo, draft.Moved) as error:
                self.message_user(request, f"{entry}: {error}", messages.ERROR)
            else:
                self.message_user(request, f"Reverted in the draft: {entry}.")

    def has_revert_permission(self, request: HttpRequest) -> bool:
        return showing.may_write_draft(request)


def _watch(request: HttpRequest) -> Watch:
    watch: Watch = vars(request).setdefault("copy_watch", Watch())
    return watch


def _rows(obj: Any) -> Iterable[Copy]:
    """Return the rows of copy that saving or deleting a row changes: for a rule its op, and the op it had before."""
    if obj.pk is None:
        return [row for row in [watching.copy_of(obj)] if row.pk is not None]
    saved = type(obj)._default_manager.filter(pk=obj.pk).first()
    found = {(type(row), row.pk): row for row in (watching.copy_of(obj), watching.copy_of(saved or obj))}
    return found.values()


def _locked(row: Copy) -> Any:
    """Return the current row, locked until the page is saved, so that simultaneous saves wait for each other."""
    return type(row)._default_manager.select_for_update().get(pk=row.pk)


def _told(row: Copy, seen: str) -> str:
    """Return a message with who changed what since the page was opened, and what to do."""
    told = [
        f"{entry.by} {entry.action}"
        + (f" {', '.join(sorted(entry.changes))}" if entry.action == Action.CHANGED else " it")
        + f" at {entry.time:%H:%M} UTC"
        for entry in watching.since(row, seen)[-TOLD:]
    ]
    return (
        f"{'; '.join(told) or 'Someone changed it'}, after you opened this page. Nothing was saved. Reload to see the"
        " new version, or save again to overwrite it."
    )
