"""The live preview of copy next to its form: help, tokens and findings."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, cast
from urllib.parse import urlencode

from django.forms import Script
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.text import get_text_list

from analytics import reports
from analytics.events.event_filters import CountedAs
from console import diff_view
from console.copy import form_entry, op_failures, op_list
from console.copy.form_entry import FormEntry
from console.reports.parts import report_query
from core.admin.page_parts import LivePreviewAdmin
from core.templatetags.admin_format import signed
from core.text import json_text
from registry import checks
from registry.catalog import cache, connections
from registry.catalog.model import Catalog
from registry.checks import Finding, Severity
from registry.drafts import history
from registry.jsonschema import dialect, schema_check
from registry.jsonschema.arguments import iter_arguments
from registry.models import Op, Pin, get_parent_path
from registry.releases import preview
from registry.releases.preview import AnswerPreview, OpPreview, TextPreview
from registry.snapshot import diff, snapshot
from registry.snapshot.copy_kinds import KIND_BY_MODEL, CopyRow
from registry.snapshot.entries import Entry, OpEntry, PinEntry

FORM_TITLES = {"short": "Short", "full": "Full", "arg": "Argument"}

# Keywords of a schema that say what to send; without them, a model reads only the type.
WORDS_OF_ARGUMENT = frozenset(("description", "x-note", "enum", "const"))

# Rules that also block saving. Other blocking problems can be saved in the draft and fixed later.
RULES_BLOCKING_SAVE = frozenset(("schema_invalid", "group_missing", "example_invalid", "name_taken"))


class ProblemSeverity(StrEnum):
    """What a problem blocks."""

    BLOCKS_SAVING = "blocks-saving"
    BLOCKS_PUBLISHING = "blocks-publishing"
    WARNING = "warning"  # a warning; publishing needs a reason
    HINT = "hint"


_SEVERITIES = {
    Severity.BLOCKS: ProblemSeverity.BLOCKS_PUBLISHING,
    Severity.WARNS: ProblemSeverity.WARNING,
    Severity.HINTS: ProblemSeverity.HINT,
}


class PreviewProblem(NamedTuple):
    """One problem: where it is, what is wrong and how to fix it. Without an input it is about the whole op."""

    severity: ProblemSeverity
    input: str
    label: str
    line: int
    column: int
    message: str
    fix: str


class RenderedAnswer(NamedTuple):
    """One form of help: parsed for display, as it is sent, and its cost."""

    form: str
    title: str
    body: dict[str, Any]
    text: str
    size: int  # bytes
    cost: str


def build_op_context(preview: OpPreview, typed: FormEntry, *, saved: OpEntry | None, at: datetime) -> dict[str, Any]:
    """Return the template context of an op's preview. `saved` is its entry in the draft, None for a new op."""
    was = saved["op"] if saved else ""
    problems = [*_collect_problems(preview.findings, typed, is_new=not was), *_iterate_hints(preview.entry, typed)]
    blocked_inputs = {
        each.input for each in problems if each.severity not in (ProblemSeverity.WARNING, ProblemSeverity.HINT)
    }
    examples = [name for name in typed.inputs.values() if name.startswith("examples-") and name.endswith("-args")]
    return _build_common_context(preview, typed, problems, saved=cast("Entry | None", saved)) | {
        "answers": list(_render_answers(preview, was, at)),
        "valid": sorted({name for name in examples if name not in blocked_inputs}),
    }


def build_text_context(preview: TextPreview, typed: FormEntry, *, saved: Entry | None, at: datetime) -> dict[str, Any]:
    """Return the template context of a group's or prompt section's preview. `saved` is its entry in the draft."""
    group = preview.entry.get("path")
    daily_reads = reports.average_daily_reads(get_parent_path(group), at=at).listed if group else None
    problems = _collect_problems(preview.findings, typed, is_new=saved is None)
    return _build_common_context(preview, typed, problems, saved=saved) | {
        "text": preview.answer.body.decode(),
        "size": len(preview.answer.body),
        "cost": format_cost(preview.answer, daily_reads),
    }


def _build_common_context(
    preview: OpPreview | TextPreview, typed: FormEntry, problems: list[PreviewProblem], *, saved: Entry | None
) -> dict[str, Any]:
    is_new = saved is None
    return {
        "preview": preview,
        "still_missing": [typed.labels[name] for name in typed.missing] if is_new else [],
        "uses_saved_values": any(each.keeps_saved_value for each in typed.unreadable),
        "is_unsaved": bool(typed.unreadable) or not (saved and diff.is_same_json(saved, typed.entry)),
        "is_retired": preview.entry.get("status") == Op.Status.RETIRED,
        "problems": problems,
        "passes_checks": all(each.severity == ProblemSeverity.HINT for each in problems),
        "counts": {
            severity.name.lower(): sum(each.severity == severity for each in problems) for severity in ProblemSeverity
        },
    }


def _collect_problems(findings: Iterable[Finding], typed: FormEntry, *, is_new: bool) -> list[PreviewProblem]:
    """Return the problems, the worst first.

    While a new row lacks values that it needs, its empty inputs have no problems yet: the user may still fill them in.
    """
    untouched = typed.empty if is_new and typed.missing else set()
    problems = [*_iterate_unreadable(typed), *_iterate_findings(findings, typed)]
    return sorted(
        (each for each in problems if each.input not in untouched),
        key=lambda each: list(ProblemSeverity).index(each.severity),
    )


def _iterate_unreadable(typed: FormEntry) -> Iterator[PreviewProblem]:
    for each in typed.unreadable:
        label = typed.labels.get(each.input, "")
        yield PreviewProblem(ProblemSeverity.BLOCKS_SAVING, each.input, label, each.line, each.column, each.message, "")


def _iterate_findings(findings: Iterable[Finding], typed: FormEntry) -> Iterator[PreviewProblem]:
    """Yield the findings of the checks, except for unreadable inputs: there the checks did not see the typed value."""
    unreadable = {each.input for each in typed.unreadable}
    for finding in findings:
        name, pointer = typed.find_input(finding.field)
        if name not in unreadable:
            severity = _SEVERITIES[finding.severity]
            severity = ProblemSeverity.BLOCKS_SAVING if finding.rule in RULES_BLOCKING_SAVE else severity
            line = _find_line(typed.texts.get(name, ""), pointer or _extract_pointer(finding))
            label = typed.labels.get(name) or finding.field.replace("/", ", ").capitalize()
            yield PreviewProblem(severity, name, label, line, 0, finding.message, finding.fix)


def _iterate_hints(entry: OpEntry, typed: FormEntry) -> Iterator[PreviewProblem]:
    """Yield a hint about arguments of which a model reads only the type."""
    schema, name = entry["parameters_schema"], typed.inputs.get("parameters_schema", "")
    if schema_check.find_problems(schema) or any(each.input == name for each in typed.unreadable):
        return
    forms = ((argument, dialect.dereference(schema, form)) for argument, form, _ in iter_arguments(schema))
    bare = [argument for argument, form in forms if WORDS_OF_ARGUMENT.isdisjoint(form)]
    if bare:
        verb = "argument has" if len(bare) == 1 else "arguments have"
        message = f"{len(bare)} {verb} no description: {get_text_list(bare, 'and')}. Models have to guess what to send."
        yield PreviewProblem(ProblemSeverity.HINT, name, typed.labels.get(name, ""), 0, 0, message, "")


def _extract_pointer(finding: Finding) -> str:
    """Return the place of a finding within an example's args, which its message may start with."""
    place = finding.message.partition(": ")[0]
    return place if finding.rule == "example_invalid" and place.startswith("/") else ""


def _find_line(text: str, pointer: str) -> int:
    """Return the line in the typed JSON that a pointer leads to, 0 if unknown."""
    if not text or not pointer.strip("/"):
        return 0
    return json_text.get_line_and_column(text, json_text.find_offset(text, pointer))[0]


def _render_answers(preview: OpPreview, was: str, at: datetime) -> Iterator[RenderedAnswer]:
    daily_reads = reports.average_daily_reads(was, at=at) if was else None
    reads_by_form = {"short": daily_reads.short, "full": daily_reads.full} if daily_reads else {}
    for form, answer in preview.answers.items():
        text = answer.body.decode()
        cost = format_cost(answer, reads_by_form.get(form))
        yield RenderedAnswer(form, FORM_TITLES[form], json_text.load(text), text, len(answer.body), cost)


def format_cost(answer: AnswerPreview, reads: float | None) -> str:
    """Return an answer's cost in words. `reads` is how often it is read a day, None if unknown."""
    tokens = f"{answer.tokens:,} tokens"
    if answer.added_tokens is None:
        return f"{tokens} (not live yet)"
    if answer.added_tokens == 0:
        return f"{tokens} (same as live)"
    difference = f"{signed(answer.added_tokens)} compared to live"
    if reads is None:
        return f"{tokens} ({difference})"
    if not reads:
        return f"{tokens} ({difference}; not read in the last {reports.DAYS} days)"
    return f"{tokens} ({difference}; {diff_view.format_daily_cost(answer.added_tokens * reads)})"


class PreviewMixin(LivePreviewAdmin):
    """Adds a live preview to the page of a row."""

    preview_path = "preview"
    preview_template: str
    compressed_fields = False  # labels above inputs, because the form has half of the width

    class Media:
        js = [Script(f"console/op/{name}.js", defer=True) for name in ("json_editor", "rows", "preview")]
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

    class Media:
        js = [Script(f"console/op/{name}.js", defer=True) for name in ("arguments_table", "parts")]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        op: Op | None = kwargs.get("obj")
        if op is not None and op.pk is not None:
            at = timezone.now()
            context["figures"] = reports.get_op_figures(op.op, at=at)
            context["causes"] = op_failures.list_causes(request, op, live=_get_live_catalog(), at=at)
            context["row_urls"] = {
                "calls": report_query.to_last_days_of_op(op.op, CountedAs.CALLS),
                "failed": report_query.to_last_days_of_op(op.op, CountedAs.FAILED),
                "repairs": report_query.to_last_days_of_op(op.op, CountedAs.REPAIRED),
            }
            context["missing"] = op_list.explain_missing(op, connections.refresh_connections())
            context["links"] = list(self._iterate_links(request, op))
        return super().render_change_form(request, context, *args, **kwargs)

    def build_preview_context(
        self, request: HttpRequest, row: Op | None, *, live: Catalog | None, at: datetime
    ) -> dict[str, Any]:
        saved = snapshot.op_to_entry(row) if row else None  # reading the form changes the row
        was = saved["op"] if saved else ""
        typed_op = self._read_typed_op(request, row)
        argument = request.POST.get("preview-argument", "")
        op_preview = preview.preview_op(
            cast(OpEntry, typed_op.entry), context=checks.get_current_context(), live=live, was=was, argument=argument
        )
        findings = [*checks.find_unrunnable_ops([op_preview.entry]), *op_preview.findings]
        return build_op_context(replace(op_preview, findings=findings), typed_op, saved=saved, at=at)

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
    """Adds a preview to the page of a row of copy other than an op: its text, tokens and problems."""

    change_form_template = "console/copy/text_form.html"
    preview_template = "console/copy/text_preview.html"

    def build_preview_context(
        self, request: HttpRequest, row: CopyRow | None, *, live: Catalog | None, at: datetime
    ) -> dict[str, Any]:
        was = history.get_history_key(row)[1] if row else ""
        saved = snapshot.row_to_entry(row) if row else None  # reading the form changes the row
        typed_row = form_entry.read_text_form(self.bind_form(request, row))
        if self.model is Pin:
            text_preview = preview.preview_pin(cast(PinEntry, typed_row.entry), live=live, was=was)
        else:
            text_preview = preview.preview_text(KIND_BY_MODEL[self.model], typed_row.entry, live=live, was=was)
        return build_text_context(text_preview, typed_row, saved=saved, at=at)


def _get_live_catalog() -> Catalog | None:
    try:
        return cache.get_live_catalog()
    except cache.NoLiveRelease:
        return None
