"""Copy in the admin: every change is written down, and nobody overwrites what they have not seen."""

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
TOLD = 3  # changes that a refusal names


class CopyForm(forms.ModelForm):  # type: ignore[type-arg]  # of whichever model the page is
    """A form that knows what its row said when it was opened, and refuses once to save over something newer."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None:
            self.initial[SEEN] = watching.stamp(watching.copy_of(self.instance))

    def clean(self) -> Any:
        """Raise ValidationError with who changed what meanwhile; the next save of the same page is one knowingly."""
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
    """A page whose changes go into the history, whether they are made in a form, in a list or by an action."""

    form = CopyForm

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fieldsets, with what was seen hidden in the first where the row can be changed."""
        found: list[tuple[Any, dict[str, Any]]] = [
            (name, {**options, "fields": [field for field in options["fields"] if field != SEEN]})
            for name, options in super().get_fieldsets(request, obj)
        ]
        if obj is not None and self.has_change_permission(request, obj):
            found[0][1]["fields"].append(SEEN)
        return found

    def told_as(self, row: Any) -> tuple[str, str]:
        """Return the kind and name of a row; a rule is told with its op."""
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
    """Every change, and an action that takes one of copy back."""

    actions = ["take_back"]

    @admin.action(description="Take the selected changes back, the newest first", permissions=["revert"])
    def take_back(self, request: HttpRequest, queryset: QuerySet[AuditEntry]) -> None:
        for entry in queryset.order_by("-id"):
            try:
                change = reverting.revert(entry, by=str(request.user), at=timezone.now())
            except (reverting.NotRevertible, draft.Refused, draft.NothingToDo, draft.Moved) as error:
                self.message_user(request, f"{entry}: {error}", messages.ERROR)
            else:
                self.message_user(request, f"Taken back: {entry}. {change.name} is as before in the draft.")

    def has_revert_permission(self, request: HttpRequest) -> bool:
        return showing.may_write_draft(request)


def _watch(request: HttpRequest) -> Watch:
    watch: Watch = vars(request).setdefault("copy_watch", Watch())
    return watch


def _rows(obj: Any) -> Iterable[Copy]:
    """Return the rows of copy that saving or deleting a row changes: of a rule its op, and the op it was at before."""
    if obj.pk is None:
        return [row for row in [watching.copy_of(obj)] if row.pk is not None]
    saved = type(obj)._default_manager.filter(pk=obj.pk).first()
    found = {(type(row), row.pk): row for row in (watching.copy_of(obj), watching.copy_of(saved or obj))}
    return found.values()


def _locked(row: Copy) -> Any:
    """Return a row as it is now, held until the page is saved: two who save at once save one after the other."""
    return type(row)._default_manager.select_for_update().get(pk=row.pk)


def _told(row: Copy, seen: str) -> str:
    """Return who changed what since a page was opened, and what to do about it."""
    told = [
        f"{entry.by} {entry.action}"
        + (f" {', '.join(sorted(entry.changes))}" if entry.action == Action.CHANGED else " it")
        + f" at {entry.time:%H:%M} UTC"
        for entry in watching.since(row, seen)[-TOLD:]
    ]
    return (
        f"{'; '.join(told) or 'Somebody changed it'}, after you opened this page. Nothing was saved. Open the page anew"
        " to see that, or save again to put what stands here in its place."
    )
