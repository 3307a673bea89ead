"""Template context of the preview on pages of copy."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

import orjson

from analytics import reports
from core import jsonplaces
from core.deskfilters import signed
from registry.admin import showing
from registry.checks import Finding
from registry.models import Op, parent_of
from registry.preview import Answer, Preview, TextPreview
from registry.typed import Typed

TITLES = {"short": "Short", "full": "Full", "arg": "Argument"}

# Rules that also block saving. Other blocking problems can be saved in the draft and fixed later.
REFUSED = frozenset(("schema_invalid", "group_missing", "example_invalid", "name_taken"))


class Weight(StrEnum):
    """What a problem blocks."""

    SAVING = "saving"
    PUBLISHING = "publishing"
    NOTHING = "nothing"  # a warning; publishing needs a reason


class Told(NamedTuple):
    """One problem: where it is, what is wrong and how to fix it. Without an input it is about the whole op."""

    weight: Weight
    input: str
    label: str
    line: int
    column: int
    message: str
    fix: str


class Read(NamedTuple):
    """One form of help: parsed for display, as it is sent, and its cost."""

    form: str
    title: str
    body: dict[str, Any]
    text: str
    size: int  # bytes
    cost: str


def of_op(shown: Preview, found: Typed, *, was: str, at: datetime) -> dict[str, Any]:
    """Return the template context of an op's preview. `was` is the op's path in the draft."""
    told = _told(shown.findings, found)
    wrong = {each.input for each in told if each.weight != Weight.NOTHING}
    examples = [name for name in found.inputs.values() if name.startswith("examples-") and name.endswith("-args")]
    return _common(shown, found, told) | {
        "answers": list(_reads(shown, was, at)),
        "valid": sorted({name for name in examples if name not in wrong}),
    }


def of_text(shown: TextPreview, found: Typed, *, at: datetime) -> dict[str, Any]:
    """Return the template context of a group's or prompt section's preview."""
    group = shown.entry.get("path")
    listed = reports.reads_a_day(parent_of(group), at=at).listed if group else None
    return _common(shown, found, _told(shown.findings, found)) | {
        "text": shown.answer.body.decode(),
        "size": len(shown.answer.body),
        "cost": cost_of(shown.answer, listed),
    }


def _common(shown: Preview | TextPreview, found: Typed, told: list[Told]) -> dict[str, Any]:
    return {
        "preview": shown,
        "is_left": any(each.is_left for each in found.unreadable),
        "is_retired": shown.entry.get("status") == Op.Status.RETIRED,
        "problems": told,
        "counts": {str(weight): sum(each.weight == weight for each in told) for weight in Weight},
    }


def _told(findings: Iterable[Finding], found: Typed) -> list[Told]:
    return sorted([*_unreadable(found), *_findings(findings, found)], key=lambda each: list(Weight).index(each.weight))


def _unreadable(found: Typed) -> Iterator[Told]:
    for each in found.unreadable:
        label = found.labels.get(each.input, "")
        yield Told(Weight.SAVING, each.input, label, each.line, each.column, each.message, "")


def _findings(findings: Iterable[Finding], found: Typed) -> Iterator[Told]:
    """Yield the findings of the checks, except for unreadable inputs: there the checks did not see the typed value."""
    unreadable = {each.input for each in found.unreadable}
    for finding in findings:
        name, pointer = found.input_of(finding.field)
        if name not in unreadable:
            weight = Weight.NOTHING if not finding.blocks else Weight.PUBLISHING
            weight = Weight.SAVING if finding.rule in REFUSED else weight
            line = _line(found.texts.get(name, ""), pointer or _pointer(finding))
            label = found.labels.get(name) or finding.field.replace("/", ", ").capitalize()
            yield Told(weight, name, label, line, 0, finding.message, finding.fix)


def _pointer(finding: Finding) -> str:
    """Return the place of a finding within an example's args, which its message starts with."""
    return finding.message.partition(": ")[0] if finding.rule == "example_invalid" else ""


def _line(text: str, pointer: str) -> int:
    """Return the line in the typed JSON that a pointer leads to, 0 if unknown."""
    if not text or not pointer.strip("/"):
        return 0
    return jsonplaces.line_and_column(text, jsonplaces.nearest(text, pointer))[0]


def _reads(shown: Preview, was: str, at: datetime) -> Iterator[Read]:
    often = reports.reads_a_day(was, at=at) if was else None
    a_day = {"short": often.short, "full": often.full} if often else {}
    for form, answer in shown.answers.items():
        text = answer.body.decode()
        cost = cost_of(answer, a_day.get(form))
        yield Read(form, TITLES[form], orjson.loads(text), text, len(answer.body), cost)


def cost_of(answer: Answer, reads: float | None) -> str:
    """Return an answer's cost in words. `reads` is how often it is read a day, None if unknown."""
    tokens = f"{answer.tokens:,} tokens"
    if answer.more is None:
        return f"{tokens} (not live yet)"
    if answer.more == 0:
        return f"{tokens} (same as live)"
    against = f"{signed(answer.more)} compared to live"
    if reads is None:
        return f"{tokens} ({against})"
    if not reads:
        return f"{tokens} ({against}; not read in the last {reports.DAYS} days)"
    return f"{tokens} ({against}; {showing.a_day(answer.more * reads)})"
