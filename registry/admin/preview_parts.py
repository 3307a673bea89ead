"""What a preview tells, in the words of its page."""

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

# What saving refuses as well; all else that blocks can be saved and worked on.
REFUSED = frozenset(("schema_invalid", "group_missing", "example_invalid", "name_taken"))


class Weight(StrEnum):
    """What a thing to mend keeps from happening."""

    SAVING = "saving"
    PUBLISHING = "publishing"
    NOTHING = "nothing"  # a warning: publishing needs a reason


class Told(NamedTuple):
    """One thing to mend: where, what is wrong and what to write. Without an input it is about the whole op."""

    weight: Weight
    input: str
    label: str
    line: int
    column: int
    message: str
    fix: str


class Read(NamedTuple):
    """One form of help: as a person reads it, as it is sent, and what it costs."""

    form: str
    title: str
    body: dict[str, Any]
    text: str
    size: int  # bytes
    cost: str


def of_op(shown: Preview, found: Typed, *, was: str, at: datetime) -> dict[str, Any]:
    """Return what the template of an op's preview needs; `was` is the path that the op has in the draft."""
    told = _told(shown.findings, found)
    wrong = {each.input for each in told if each.weight != Weight.NOTHING}
    examples = [name for name in found.inputs.values() if name.startswith("examples-") and name.endswith("-args")]
    return _common(shown, found, told) | {
        "reads": list(_reads(shown, was, at)),
        "valid": sorted({name for name in examples if name not in wrong}),
    }


def of_text(shown: TextPreview, found: Typed, *, at: datetime) -> dict[str, Any]:
    """Return what the template of a group's or a prompt section's preview needs."""
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
        "told": told,
        "counts": {str(weight): sum(each.weight == weight for each in told) for weight in Weight},
    }


def _told(findings: Iterable[Finding], found: Typed) -> list[Told]:
    return sorted([*_unreadable(found), *_findings(findings, found)], key=lambda each: list(Weight).index(each.weight))


def _unreadable(found: Typed) -> Iterator[Told]:
    for each in found.unreadable:
        label = found.labels.get(each.input, "")
        yield Told(Weight.SAVING, each.input, label, each.line, each.column, each.message, "")


def _findings(findings: Iterable[Finding], found: Typed) -> Iterator[Told]:
    """Yield what the checks find, but for inputs that cannot be read: what is checked there is not what is typed."""
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
    """Return where in an example's args a finding is: its message begins with it."""
    return finding.message.partition(": ")[0] if finding.rule == "example_invalid" else ""


def _line(text: str, pointer: str) -> int:
    """Return the line of JSON as typed that a pointer leads to, 0 where it leads nowhere in particular."""
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
    """Return what an answer costs in words; `reads` says how often a day it is read, None where that is not known."""
    tokens = f"{answer.tokens:,} tokens"
    if answer.more is None:
        return f"{tokens} (not live yet)"
    if answer.more == 0:
        return f"{tokens} (as live)"
    against = f"{signed(answer.more)} against live"
    if reads is None:
        return f"{tokens} ({against})"
    if not reads:
        return f"{tokens} ({against}; nobody read it in the last {reports.DAYS} days)"
    return f"{tokens} ({against}; {showing.a_day(answer.more * reads)})"
