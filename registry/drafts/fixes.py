"""Fixes of warnings that need no person: the same for every warning of a check."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from datetime import datetime
from typing import Any, NamedTuple

from core.text import json_pointer
from registry.checks import Finding, single_op, text_locations
from registry.drafts import draft
from registry.snapshot import snapshot
from registry.snapshot.copy_kinds import COPY_KINDS, Kind
from registry.snapshot.diff import CopyChange
from registry.text import cleanup

_SENTENCE_END = re.compile(r"(?<=[.!?])(?=\s)|(?<=\n)")


class RuleFix(NamedTuple):
    """The fix of one check. `apply` changes an entry in place."""

    label: str  # of its button
    apply: Callable[[dict[str, Any], Finding], None]


def get_label(rule: str) -> str:
    """Return the label of the button that fixes the warnings of a check; "" if each needs a person."""
    return _FIXES[rule].label if rule in _FIXES else ""


def fix_findings(findings: Iterable[Finding], *, by: str, at: datetime) -> list[CopyChange]:
    """Fix warnings of checks that have a fix, and return what changed in the draft.

    Raises draft.NothingToChange, draft.DraftRefused, draft.DraftChanged.
    """
    by_entry: dict[tuple[Kind, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        by_entry[finding.kind, finding.op].append(finding)
    fixed: dict[Kind, list[Any]] = {kind: [] for kind in COPY_KINDS}
    for kind in COPY_KINDS:
        rows = draft.get_rows(kind, [name for each, name in by_entry if each == kind])
        for name, row in rows.items():
            entry: dict[str, Any] = deepcopy(dict(snapshot.row_to_entry(row)))
            for finding in by_entry[kind, name]:
                _FIXES[finding.rule].apply(entry, finding)
            fixed[kind].append(entry)
    labels = ", ".join(dict.fromkeys(get_label(finding.rule) for each in by_entry.values() for finding in each))
    return draft.write_snapshot(snapshot.build_snapshot(fixed), by=by, at=at, note=f"Fixed warnings: {labels}")


def _shorten_summary(entry: dict[str, Any], finding: Finding) -> None:
    entry["summary"] = cleanup.write_summary(entry["summary"], finding.op)


def _delete_default(entry: dict[str, Any], finding: Finding) -> None:
    place, _, name = finding.field.rpartition("/")
    json_pointer.resolve(entry, f"/{place}").pop(name)


def _delete_hidden_characters(entry: dict[str, Any], _: Finding) -> None:
    entry.update(_map_texts(entry, cleanup.strip_hidden_characters))


def _delete_instructions(entry: dict[str, Any], finding: Finding) -> None:
    entry.update(_map_texts(entry, _drop_instructions))
    if "summary" in entry and not entry["summary"].strip():
        entry["summary"] = cleanup.write_summary("", finding.op)


def _drop_instructions(text: str) -> str:
    if not cleanup.find_instruction(text):
        return text
    return "".join(part for part in _SENTENCE_END.split(text) if not cleanup.find_instruction(part)).strip()


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with every string changed, except for the names of members."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_map_texts(each, change) for each in value]
    if isinstance(value, dict):
        return {name: _map_texts(each, change) for name, each in value.items()}
    return value


_FIXES = {
    single_op.TOO_LONG.name: RuleFix("Shorten the summaries", _shorten_summary),
    single_op.OUTSIDE_ENUM.name: RuleFix("Delete the defaults", _delete_default),
    single_op.REFUSED.name: RuleFix("Delete the defaults", _delete_default),
    text_locations.HIDDEN.name: RuleFix("Delete the characters", _delete_hidden_characters),
    text_locations.INSTRUCTION.name: RuleFix("Delete the sentences", _delete_instructions),
}
