"""Edit an op from an eval case, and choose which op."""

import json
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AutocompleteSelect
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.html import format_html
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from analytics.events.models import OperationEvent
from console import contents, diff_view
from console.evals import results
from core.admin import base
from core.templatetags.admin_format import compact
from registry.drafts import draft, edits
from registry.drafts.edits import OpEdit
from registry.evals import evaluation
from registry.models import Op, OpAlias
from registry.releases import help_diff
from registry.snapshot import diff
from registry.snapshot.copy_kinds import Kind
from registry.snapshot.entries import OpEntry

MAX_KEY_LENGTH = 19  # digits of a key that databases can look up
PREFILLED = ("op", "edit", "text", "argument", "evidence")


class OpPathField(forms.ModelChoiceField):  # type: ignore[type-arg]  # its value is a path
    """A choice of an op of the draft, found by typing a part of its path. The value is the path."""

    def __init__(self, *, site: admin.AdminSite, **kwargs: Any) -> None:
        # An alias refers to an op, so its field knows how to look for one.
        widget = AutocompleteSelect(OpAlias._meta.get_field("op"), site)
        super().__init__(Op.objects.all(), widget=widget, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        """Return the primary key of the op with a path. Typed values are primary keys, or are dropped."""
        if not isinstance(value, str) or (value.isascii() and value.isdigit() and len(value) < MAX_KEY_LENGTH):
            return value
        return Op.objects.filter(op=value.replace("\0", "")).values_list("pk", flat=True).first()

    def clean(self, value: Any) -> str:
        return str(super().clean(value).op)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return str(self.prepare_value(initial) or "") != str(data or "")


TEXT_LABELS = {
    OpEdit.KEYWORD: "Words that people search for",
    OpEdit.ALIAS: "Other name of the op",
    OpEdit.ARGUMENT_ALIAS: "Other name of the argument",
    OpEdit.DO: "What to do",
    OpEdit.DONT: "What not to do",
    OpEdit.EDGE_CASE: "What to do in a special case",
    OpEdit.EXAMPLE: "Args of the call, as JSON",
}


class OpEditForm(forms.Form):
    """One addition to an op. The script of the page shows the fields and the label of the chosen kind."""

    edit = forms.ChoiceField(
        label="Add",
        choices=OpEdit.choices,
        widget=UnfoldAdminSelectWidget(
            attrs={"data-labels": json.dumps(TEXT_LABELS), "data-with-argument": OpEdit.ARGUMENT_ALIAS}
        ),
    )
    argument = forms.CharField(
        label="Argument of the op", required=False, max_length=200, widget=UnfoldAdminTextInputWidget()
    )
    text = forms.CharField(max_length=5_000, widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}))
    evidence = forms.CharField(
        required=False,
        max_length=500,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text="Stored with the change in the history.",
    )

    def __init__(self, *args: Any, site: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields = {"op": OpPathField(site=site, label="Op"), **self.fields}
        self.fields["text"].label = TEXT_LABELS.get(self["edit"].value() or OpEdit.KEYWORD, "Text")

    def clean(self) -> dict[str, Any]:
        """Add the op's entry with the edit as `entry`, and without it as `before`."""
        cleaned = super().clean() or {}
        if {"op", "edit", "text"} <= cleaned.keys():
            before = draft.read_op_entry(cleaned["op"])
            if before is None:
                self.add_error("op", f"The op {cleaned['op']} no longer exists.")
                return cleaned
            try:
                entry = edits.apply_edit(
                    before, OpEdit(cleaned["edit"]), cleaned["text"], argument=cleaned.get("argument", "")
                )
            except edits.InvalidOpEdit as error:
                self.add_error("text", str(error))
            else:
                cleaned |= {"before": before, "entry": entry}
        return cleaned


class OpEditPageMixin(base.ModelAdmin[Op]):
    """Adds the page to the op admin."""

    def get_urls(self) -> list[URLPattern]:
        own = path("edit/", self.admin_site.admin_view(self.edit_view), name="registry_op_edit")
        return [own, *super().get_urls()]

    def edit_view(self, request: HttpRequest) -> HttpResponse:
        """Show a prefilled edit with its effect; on POST with `save` write it into the draft."""
        if not self.has_change_permission(request):
            raise PermissionDenied
        if request.method == "POST":
            form = OpEditForm(request.POST, site=self.admin_site)
        else:
            values = _read_prefilled(request)
            needed = ("op", "text", *(("argument",) if values.get("edit") == OpEdit.ARGUMENT_ALIAS else ()))
            is_complete = all(values.get(name) for name in needed)  # else a fresh form would open with errors
            form = OpEditForm(values if is_complete else None, initial=values, site=self.admin_site)
        if form.is_bound and form.is_valid() and "save" in request.POST and self._save(request, form):
            return redirect("admin:registry_release_review")
        context: dict[str, Any] = {"title": "Draft edit", "form": form}
        if form.is_bound and "entry" in form.cleaned_data:
            context |= _build_effect_context(form.cleaned_data["before"], form.cleaned_data["entry"])
        return TemplateResponse(request, "console/evals/op_edit.html", self.admin_site.each_context(request) | context)

    def _save(self, request: HttpRequest, form: OpEditForm) -> bool:
        """Write the edit into the draft and return whether it worked. Adds errors to the form."""
        data = form.cleaned_data
        note = data["evidence"] or "Draft edit"
        try:
            draft.write_entry(Kind.OP, data["op"], data["entry"], by=str(request.user), at=timezone.now(), note=note)
        except draft.DraftRefused as error:
            form.add_error(None, [str(problem) for problem in error.problems[: diff_view.MAX_LISTED]])
        except (draft.DraftChanged, draft.NothingToChange) as error:
            form.add_error(None, str(error))
        else:
            message = format_html("Saved in the draft: {}. {}", data["op"], diff_view.build_review_link(request))
            self.message_user(request, message, messages.SUCCESS)
            return True
        return False


def _read_prefilled(request: HttpRequest) -> dict[str, Any]:
    """Return the form's values from the URL.

    `event` names an event with stored content: the words of a search, or the args of an example. They are not in the
    URL itself, because URLs end in logs.
    """
    values: dict[str, Any] = {name: request.GET[name] for name in PREFILLED if name in request.GET}
    if values.get("op"):
        values["op"] = Op.objects.filter(op=values["op"]).values_list("pk", flat=True).first() or ""
    args = read_stored_args(request)
    if args is not None:
        is_example = values.get("edit") == OpEdit.EXAMPLE
        values["text"] = compact(args) if is_example else str(args.get("query", ""))
    return values


def read_stored_args(request: HttpRequest) -> dict[str, Any] | None:
    """Return the stored args of the event in the URL, for users who may see events; None if there are none."""
    event = request.GET.get("event", "")
    if not (event.isascii() and event.isdigit() and len(event) < 19 and contents.may_see(request)):
        return None
    content = OperationEvent.objects.filter(pk=int(event)).values_list("content", flat=True).first()
    args = (content or {}).get("args")
    return args if isinstance(args, dict) else None


def _build_effect_context(before: OpEntry, entry: OpEntry) -> dict[str, Any]:
    change = diff.diff_entries(Kind.OP, before, entry)
    passages = help_diff.diff_fields({field: list(pair) for field, pair in change.fields.items()}) if change else []
    return {"passages": passages, **results.build_result_context(evaluation.compare_op_edit(entry))}
