"""What a check says: which rule, of which op, where, what is wrong and what to write instead."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum

_NUMBERS = re.compile(r"\d[\d,.]*")


class Severity(StrEnum):
    """What a finding means for publishing."""

    BLOCKS = "blocks"  # it would break serving: there is no release with it
    WARNS = "warns"  # a model may misread it: a release with it needs a reason


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to mend.

    `field` leads through the op's entry, such as parameters_schema/properties/limit or policy/do/0. What concerns a
    group or a prompt section has its name in `op`.
    """

    op: str
    field: str
    rule: str
    severity: Severity
    message: str
    fix: str

    def __str__(self) -> str:
        return f"{self.op}, {self.field}: {self.told}"

    @property
    def told(self) -> str:
        """What is wrong and what to do about it."""
        return f"{self.message} {self.fix}"

    @property
    def blocks(self) -> bool:
        """Whether nothing with it can be published."""
        return self.severity == Severity.BLOCKS

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What makes it the same finding after an edit: numbers aside, since places shift and counts change."""
        return self.op, self.rule, _NUMBERS.sub("#", self.field), _NUMBERS.sub("#", self.message)

    def as_dict(self) -> dict[str, str]:
        """Return {op, field, rule, severity, message, fix}."""
        return {name: str(value) for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that is checked: its name, what is wrong where it finds something, and what to do in general."""

    name: str
    what: str
    fix: str
    severity: Severity = Severity.WARNS

    def found(self, op: str, field: str, message: str, fix: str = "") -> Finding:
        """Return a finding of this rule; `fix` says what to write here, where that can be known."""
        return Finding(op, field, self.name, self.severity, message, fix or self.fix)


def new(found: Iterable[Finding], known: Iterable[Finding]) -> list[Finding]:
    """Return the findings that are not among the known ones, each of which stands for one."""
    left = Counter(finding.key for finding in known)
    fresh = []
    for finding in found:
        if left[finding.key]:
            left[finding.key] -= 1
        else:
            fresh.append(finding)
    return fresh


def pointer(*parts: str | int) -> str:
    """Return a path through an entry, its parts escaped as in a JSON pointer (RFC 6901)."""
    return "/".join([_escaped(str(part)) for part in parts])


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1") if "~" in part or "/" in part else part
