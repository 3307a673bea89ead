"""The page that tries an op: args in an editor, a subject, and the answer that the API would give."""

import json
from functools import partial
from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.widgets import UnfoldAdminRadioSelectWidget, UnfoldAdminTextInputWidget

from audit import audit_log
from audit.models import AuditEntry
from console.access.roles import RUN_FOR_REAL, TRY_AS_ANY_SUBJECT
from console.copy import answer_fields
from console.copy.answer_fields import AnswerFieldsForm
from core import demo_data, logs
from core.admin import base
from core.admin.form_fields import PrettyJSONEncoder
from core.text import json_text
from gateway.access import request_context
from gateway.contracts.envelopes import EnvelopeResponse, Trace
from gateway.execution import dry_runs
from registry.catalog import cache
from registry.catalog.model import Catalog
from registry.jsonschema import schema_check, signatures
from registry.models import Op, Release

MAX_ARGS_CHARS = 100_000  # characters


class TryOpForm(forms.Form):
    """The call to try: args, subject, and `under`, the version to run (the draft or the live release)."""

    args = forms.CharField(max_length=MAX_ARGS_CHARS, widget=base.JSON_WIDGET)
    subject = forms.RegexField(
        r"\A[\x21-\x7e]{1,200}\Z",
        required=False,
        error_messages={"invalid": "A subject has 1 to 200 visible ASCII characters."},
        widget=UnfoldAdminTextInputWidget,
    )
    under = forms.ChoiceField(label="Run with", widget=UnfoldAdminRadioSelectWidget)

    confirmation = forms.CharField(
        label="Run it for real",
        required=False,
        max_length=200,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(
        self, *args: Any, op: Op, choices: list[tuple[str, str]], may_choose_subject: bool, may_run: bool, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.op = op
        if not may_run:
            del self.fields["confirmation"]
        else:
            self.fields[
                "confirmation"
            ].help_text = (
                f"If empty, nothing is sent. Type {op} to send this write to {op.connection}; it cannot be undone."
            )
        self.may_choose_subject = may_choose_subject
        self.fields["under"].choices = choices  # type: ignore[attr-defined]  # it is a ChoiceField
        needed = f"The end user to call for; {op} needs one. " if op.needs_subject else "The end user to call for. "
        self.fields["subject"].help_text = needed + (
            "The answer shows this user's rows, so the history of changes records it."
            if may_choose_subject
            else f"You can choose a demo user: {_name_demo_users()}."
        )

    def clean_subject(self) -> str:
        """Refuse a real user's name without the permission to see this user's rows."""
        subject: str = self.cleaned_data["subject"]
        if subject and subject not in demo_data.list_demo_subjects() and not self.may_choose_subject:
            raise forms.ValidationError(
                f"You can try ops only as a demo user: {_name_demo_users()}. Admins can try as any user."
            )
        return subject

    def clean_confirmation(self) -> str:
        """Refuse any other text than the op's path: it is a typing error."""
        confirmation: str = self.cleaned_data["confirmation"]
        if confirmation not in ("", self.op.op):
            raise forms.ValidationError(f"Type {self.op.op}, or leave this empty. Nothing was sent.")
        return confirmation


def show_try_op(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a call filled in from an example and, once it is sent, its answer. Requires permission to change ops."""
    if not request.user.has_perm("registry.change_op"):
        raise PermissionDenied
    op = get_object_or_404(Op.objects.select_related("connection"), pk=pk)
    is_remote_write = op.kind == Op.Kind.WRITE and _is_remote(op)
    catalogs_by_version, refusal = _find_runnable_catalogs(op)
    build_form = partial(
        TryOpForm,
        op=op,
        may_run=is_remote_write and request.user.has_perm(RUN_FOR_REAL),
        choices=[(version, _label_version(version)) for version in catalogs_by_version],
        may_choose_subject=request.user.has_perm(TRY_AS_ANY_SUBJECT),
        initial={
            "args": _build_initial_args(op, request.GET.get("example", "")),
            "subject": request.GET.get("subject", demo_data.get_demo_subject() if op.needs_subject else ""),
            "under": next(iter(catalogs_by_version), ""),
        },
    )
    form = build_form(request.POST or None)
    context = {"title": f"Try {op}", "op": op, "form": form, "can_run": bool(catalogs_by_version), "refusal": refusal}
    context |= {"is_remote": _is_remote(op)}
    context |= {"examples": [str(example) for example in op.examples.all()]}
    if "recorded" in request.POST:
        form = build_form(None)
        context |= {"form": form, "preview": _change_fields(request, op)}
    elif catalogs_by_version and form.is_valid():
        context |= _run_call(request, op, catalogs_by_version, form.cleaned_data)
    return TemplateResponse(request, "console/copy/try_op.html", admin.site.each_context(request) | context)


def _is_remote(op: Op) -> bool:
    return op.connection is not None and op.connection.is_remote


def _find_runnable_catalogs(op: Op) -> tuple[dict[str, Catalog], str]:
    """Return the catalogs that can run the op, by version, the draft first; and why one is missing, or ""."""
    try:
        live = cache.get_live_catalog()
    except cache.NoLiveRelease as error:
        return {}, str(error)
    runnable = {live.version: live} if op.op in live.ops else {}
    try:
        return {dry_runs.DRAFT_VERSION: dry_runs.build_draft_catalog(op), **runnable}, ""
    except dry_runs.DraftNotServable as error:
        return runnable, f"The draft cannot run: {error}"


def _label_version(version: str) -> str:
    if version == dry_runs.DRAFT_VERSION:
        return "Saved draft"
    return f"Live release {Release.objects.only('version', 'number', 'name').get(pk=version).short_name}"


def _build_initial_args(op: Op, chosen: str) -> str:
    """Return the args of the chosen example (by index) or of the first; without examples, the required args."""
    examples: list[dict[str, Any]] = list(op.examples.values_list("args", flat=True))
    if examples:
        args = next((args for number, args in enumerate(examples) if str(number) == chosen), examples[0])
    else:
        args = (
            {}
            if schema_check.find_problems(op.parameters_schema)
            else signatures.build_usage_args(op.parameters_schema, None)
        )
    return json.dumps(args, cls=PrettyJSONEncoder)


def _name_demo_users() -> str:
    return " or ".join(sorted(demo_data.list_demo_subjects()))


def _run_call(
    request: HttpRequest, op: Op, catalogs_by_version: dict[str, Catalog], call: dict[str, str]
) -> dict[str, Any]:
    """Run the call and return its answer for the page, and a preview of the fields that a model sees of it."""
    trace = Trace(request_context.read_trace_id(request.META), source=dry_runs.TRIAL_SOURCE)
    logs.trace.set(trace.id)
    by, for_real = request.user.get_username(), bool(call.get("confirmation"))
    if call["subject"] not in {"", *demo_data.list_demo_subjects()}:
        # Recorded first: nobody sees a user's rows without a trace.
        kind, action = "subject", AuditEntry.Action.TRIED
        audit_log.record_action(kind, call["subject"], action, by=by, at=trace.at, note=op.op)
    if for_real:
        audit_log.record_action("op", op.op, AuditEntry.Action.TRIED, by=by, at=trace.at, note="Sent for real")
    try:
        answer = dry_runs.try_op(
            op=op.op,
            args=call["args"],
            subject=call["subject"],
            by=by,
            catalog=catalogs_by_version[call["under"]],
            trace=trace,
            for_real=for_real,
        )
    finally:
        logs.clear_context()
    is_remote_read = _is_remote(op) and op.kind == Op.Kind.READ and answer.envelope["ok"]
    preview = answer_fields.start_preview(op, answer.envelope["result"]) if is_remote_read else None
    return {"preview": preview, "answer": _describe_answer(answer, call["under"], trace)}


def _change_fields(request: HttpRequest, op: Op) -> answer_fields.FieldsPreview | None:
    """Show what the typed fields leave of the recorded answer, and save them if requested."""
    form = AnswerFieldsForm(request.POST)
    if not form.is_valid():
        messages.error(request, "The recorded answer is damaged. Try the op again.")
        return None
    if "save" in request.POST:
        answer_fields.save_fields(op, form.read_fields(), by=request.user.get_username())
        messages.success(request, "Saved into the draft. Models see it once you publish.")
    return answer_fields.preview_typed(form)


def _describe_answer(answer: EnvelopeResponse, version: str, trace: Trace) -> dict[str, Any]:
    envelope = answer.envelope
    message = envelope["result"].get("message") if envelope["ok"] else envelope["error"]["message"]
    errors = [] if envelope["ok"] else envelope["error"]["details"].get("field_errors", [])
    return {
        "message": message if isinstance(message, str) else "",
        "notes": [*(str(error["message"]) for error in errors), *envelope["meta"]["warnings"]],
        "status": f"{answer.status} {HTTPStatus(answer.status).phrase}",
        "ok": answer.envelope["ok"],
        "headers": [
            ("Run with", _label_version(version)),
            ("Gateway-Trace", trace.id),
            ("Server-Timing", trace.format_server_timing()),
        ],
        "envelope": json_text.dump(answer.envelope, indent=True).decode(),
        "size": len(json_text.dump(answer.envelope)),
        "events": f"{reverse('admin:analytics_operationevent_changelist')}?q={trace.id}",
    }
