"""Template context of the preview on pages of copy."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from analytics import reports
from console import diff_view
from console.copy.form_entry import FormEntry
from core.templatetags.admin_format import signed
from core.text import json_text
from registry.checks import Finding
from registry.models import Op, get_parent_path
from registry.releases.preview import AnswerPreview, OpPreview, TextPreview

FORM_TITLES = {"short": "Short", "full": "Full", "arg": "Argument"}

# Rules that also block saving. Other blocking problems can be saved in the draft and fixed later.
RULES_BLOCKING_SAVE = frozenset(("schema_invalid", "group_missing", "example_invalid", "name_taken"))


class ProblemSeverity(StrEnum):
    """What a problem blocks."""

    BLOCKS_SAVING = "blocks-saving"
    BLOCKS_PUBLISHING = "blocks-publishing"
    WARNING = "warning"  # a warning; publishing needs a reason


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


def build_op_context(preview: OpPreview, typed: FormEntry, *, was: str, at: datetime) -> dict[str, Any]:
    """Return the template context of an op's preview. `was` is the op's path in the draft."""
    problems = _collect_problems(preview.findings, typed, is_new=not was)
    blocked_inputs = {each.input for each in problems if each.severity != ProblemSeverity.WARNING}
    examples = [name for name in typed.inputs.values() if name.startswith("examples-") and name.endswith("-args")]
    return _build_common_context(preview, typed, problems, is_new=not was) | {
        "answers": list(_render_answers(preview, was, at)),
        "valid": sorted({name for name in examples if name not in blocked_inputs}),
    }


def build_text_context(preview: TextPreview, typed: FormEntry, *, is_new: bool, at: datetime) -> dict[str, Any]:
    """Return the template context of a group's or prompt section's preview. `is_new`: the row is not saved yet."""
    group = preview.entry.get("path")
    daily_reads = reports.average_daily_reads(get_parent_path(group), at=at).listed if group else None
    problems = _collect_problems(preview.findings, typed, is_new=is_new)
    return _build_common_context(preview, typed, problems, is_new=is_new) | {
        "text": preview.answer.body.decode(),
        "size": len(preview.answer.body),
        "cost": format_cost(preview.answer, daily_reads),
    }


def _build_common_context(
    preview: OpPreview | TextPreview, typed: FormEntry, problems: list[PreviewProblem], *, is_new: bool
) -> dict[str, Any]:
    return {
        "preview": preview,
        "still_missing": [typed.labels[name] for name in typed.missing] if is_new else [],
        "uses_saved_values": any(each.keeps_saved_value for each in typed.unreadable),
        "is_retired": preview.entry.get("status") == Op.Status.RETIRED,
        "problems": problems,
        "counts": {
            severity.name.lower(): sum(each.severity == severity for each in problems) for severity in ProblemSeverity
        },
    }


def _collect_problems(findings: Iterable[Finding], typed: FormEntry, *, is_new: bool) -> list[PreviewProblem]:
    """Return the problems, the worst first.

    While a new row lacks values that it needs, its empty inputs have no problems yet: nobody has come to them.
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
            severity = ProblemSeverity.WARNING if not finding.is_blocking else ProblemSeverity.BLOCKS_PUBLISHING
            severity = ProblemSeverity.BLOCKS_SAVING if finding.rule in RULES_BLOCKING_SAVE else severity
            line = _find_line(typed.texts.get(name, ""), pointer or _extract_pointer(finding))
            label = typed.labels.get(name) or finding.field.replace("/", ", ").capitalize()
            yield PreviewProblem(severity, name, label, line, 0, finding.message, finding.fix)


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
