"""Findings of checks: rule, op, field, problem and fix; and the accepted warnings of shipped ops.

A test fails for an entry that the shipped catalog no longer needs.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from core.text import json_pointer
from registry.snapshot.copy_kinds import Kind
from registry.snapshot.diff import Action, CopyChange

_NUMBERS = re.compile(r"\d[\d,.]*")
_WHOLE_ROW = "Each field of the row is an argument. A model reads this help once, before its first write of this kind."
_WHOLE_PROJECT = "One call creates a whole project. Its help lists the fields of every kind of row."
_FILTERED = "Each filter saves reading unwanted rows. Short help is read far more often and is within its budget."
_NEEDS_RULES = "Its rules stop a model from losing data it does not see: other rows, events, the order of a tree."
WAIVERS: dict[tuple[str, str], str] = {
    (op, rule): reason
    for reason, rule, ops in (
        (_WHOLE_PROJECT, "short_over_budget", ["onto.project.create", "onto.project.graph.reorganize"]),
        (_WHOLE_PROJECT, "full_over_budget", ["onto.project.create", "onto.project.graph.reorganize"]),
        (_WHOLE_ROW, "short_over_budget", ["onto.task.create", "onto.task.update"]),
        (
            _WHOLE_ROW,
            "full_over_budget",
            [
                *(f"onto.{kind}.create" for kind in ("document", "goal", "milestone", "plan", "risk", "task")),
                *(f"onto.{kind}.update" for kind in ("document", "goal", "plan", "project", "task")),
                "cal.event.create",
                "cal.event.update",
                "cal.project.set",
            ],
        ),
        (
            _FILTERED,
            "full_over_budget",
            """
    cal.event.list cal.slot.find onto.document.section.get onto.document.tree.get onto.project.get
    onto.task.list util.web.visit
""".split(),
        ),
        (
            _NEEDS_RULES,
            "full_over_budget",
            ["cal.task.schedule", "onto.document.tree.move", "onto.edge.link", "onto.task.docs.create_or_attach"],
        ),
    )
    for op in ops
}


class Severity(StrEnum):
    """What a finding means for publishing."""

    BLOCKS = "blocks"  # it would break serving: it cannot be published
    WARNS = "warns"  # a model may misread it: publishing needs a reason
    HINTS = "hints"  # what an imported text leaves open: nothing has to be done


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem in the copy.

    `field` is a path in the op's entry, such as parameters_schema/properties/limit or policy/do/0. For an entry of
    another kind, `op` has its name.
    """

    op: str
    field: str
    rule: str
    severity: Severity
    message: str
    fix: str
    kind: Kind = Kind.OP

    def __str__(self) -> str:
        return f"{self.op}, {self.field}: {self.summary}"

    @property
    def summary(self) -> str:
        """What is wrong and how to fix it."""
        return f"{self.message} {self.fix}"

    @property
    def is_blocking(self) -> bool:
        """Whether the draft cannot be published with it."""
        return self.severity == Severity.BLOCKS

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Identifies the finding across edits. Numbers are ignored, because positions and counts change."""
        return self.op, self.rule, _NUMBERS.sub("#", self.field), _NUMBERS.sub("#", self.message)

    def as_dict(self) -> dict[str, str]:
        """Return {op, field, rule, severity, message, fix, kind}."""
        return {name: str(value) for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class CheckRule:
    """One rule: its name, what it finds, and the general fix.

    `is_hint_if_imported`: for an imported op its warnings are hints. They are about texts that the service wrote, which
    nobody rewrites for a thousand ops, and a call that goes wrong because of them is refused with what to send. Rules
    of its policy are written by people, and stay warnings.
    """

    name: str
    problem: str
    fix: str
    severity: Severity = Severity.WARNS
    is_hint_if_imported: bool = False

    def make_finding(self, op: str, field: str, message: str, fix: str = "", *, kind: Kind = Kind.OP) -> Finding:
        """Return a finding of this rule. `fix` replaces the general fix if a specific one is known."""
        return Finding(op, field, self.name, self.severity, message, fix or self.fix, kind)


def select_new_findings(findings: Iterable[Finding], known_findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that are not known yet. Each known finding cancels one with the same key."""
    known_counts = Counter(finding.key for finding in known_findings)
    new_findings = []
    for finding in findings:
        if known_counts[finding.key]:
            known_counts[finding.key] -= 1
        else:
            new_findings.append(finding)
    return new_findings


def join_pointer(*parts: str | int) -> str:
    """Return a path in an entry, with its parts escaped as in a JSON Pointer (RFC 6901)."""
    return "/".join([json_pointer.escape(str(part)) for part in parts])


@dataclass(frozen=True)
class EntryAges:
    """How new entries are: 0 for one that is unchanged since the live release, 1 for a changed one, 2 for a new one."""

    changed: dict[tuple[Kind, str], int] = field(default_factory=dict)

    @classmethod
    def from_changes(cls, changes: Iterable[CopyChange]) -> "EntryAges":
        """Return the ages of the entries of a draft, by what changed since the live release."""
        return cls({(each.kind, each.name): 2 if each.action == Action.ADDED else 1 for each in changes})

    def get_rank(self, kind: Kind, name: str) -> int:
        """Return a number that is larger for a newer entry."""
        return self.changed.get((kind, name), 0)

    def is_newer(self, kind: Kind, name: str, other_kind: Kind, other_name: str) -> bool:
        """Return whether the first of two entries is newer."""
        return self.get_rank(kind, name) > self.get_rank(other_kind, other_name)


NO_AGES = EntryAges()  # nothing is live: the later entry is to blame
