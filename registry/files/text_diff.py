"""Format changes for a terminal: op by op, field by field, line by line."""

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from registry.files import export
from registry.snapshot.diff import CHANGE_ACTIONS, Action, CopyChange

CONTEXT_LINES = 1  # unchanged lines around a difference


def format_changes(changes: Sequence[CopyChange]) -> str:
    """Return changes as text, with their number at the end."""
    lines = [line for change in changes for line in _format_change(change)]
    return "\n".join([*lines, _format_counts(changes)])


def _format_counts(changes: Sequence[CopyChange]) -> str:
    counts = {action: sum(change.action == action for change in changes) for action in CHANGE_ACTIONS}
    return ", ".join(f"{count} {action}" for action, count in counts.items()) + "."


def _format_change(change: CopyChange) -> Iterator[str]:
    yield f"{change.kind} {change.name} {change.action}"
    if change.action == Action.CHANGED:
        for name, (before, after) in change.fields.items():
            yield f"  {name}"
            yield from (f"    {_escape_unprintable(line)}" for line in _diff_lines(before, after))


def _diff_lines(before: Any, after: Any) -> Iterator[str]:
    diff = difflib.unified_diff(_to_lines(before), _to_lines(after), n=CONTEXT_LINES, lineterm="")
    for number, line in enumerate(diff):
        if number > 1 and not line.startswith("@@"):  # the first two are file names
            yield line


def _to_lines(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.splitlines()
    return export.dump_yaml(value).splitlines() if value not in ([], {}, None) else []


def _escape_unprintable(line: str) -> str:
    """Return an untrusted line with non-printable characters escaped."""
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in line)
