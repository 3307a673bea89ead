"""Format changes for a terminal: op by op, field by field, line by line."""

from collections.abc import Iterator, Sequence
from typing import Any

from registry.files import export
from registry.snapshot.diff import CHANGE_ACTIONS, Action, CopyChange
from registry.text import word_diff

CONTEXT_LINES = 1  # unchanged lines around a difference
_SIGNS = {"both": " ", "before": "-", "after": "+"}


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
    pieces = word_diff.diff_lines(_to_text(before), _to_text(after), context=CONTEXT_LINES)
    for piece in pieces:
        if piece != word_diff.LEFT_OUT:
            yield from (f"{_SIGNS[piece.side]}{line}" for line in piece.text.splitlines())


def _to_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return export.dump_yaml(value) if value not in ([], {}, None) else ""


def _escape_unprintable(line: str) -> str:
    """Return an untrusted line with non-printable characters escaped."""
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in line)
