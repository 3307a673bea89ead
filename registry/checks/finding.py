"""The results of checks: rule, op, field, what is wrong and how to fix it."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum

from core.text import json_pointer
from registry.snapshot.copy_kinds import Kind

_NUMBERS = re.compile(r"\d[\d,.]*")


class Severity(StrEnum):
    """What a finding means for publishing."""

    BLOCKS = "blocks"  # it would break serving: it cannot be published
    WARNS = "warns"  # a model may misread it: publishing needs a reason


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
    """One rule: its name, what it finds, and the general fix."""

    name: str
    problem: str
    fix: str
    severity: Severity = Severity.WARNS

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
