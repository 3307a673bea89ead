"""Format changes for a terminal: op by op, field by field, line by line."""

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from registry import export
from registry.changes import Action, Change

CONTEXT = 1  # unchanged lines around a difference


def told(changes: Sequence[Change]) -> str:
    """Return changes as text, with their number at the end."""
    lines = [line for change in changes for line in _change(change)]
    return "\n".join([*lines, _counted(changes)])


def _counted(changes: Sequence[Change]) -> str:
    counts = {action: sum(change.action == action for change in changes) for action in Action}
    return ", ".join(f"{count} {action}" for action, count in counts.items()) + "."


def _change(change: Change) -> Iterator[str]:
    yield f"{change.kind} {change.name} {change.action}"
    if change.action == Action.CHANGED:
        for name, (before, after) in change.fields.items():
            yield f"  {name}"
            yield from (f"    {_printable(line)}" for line in _lines(before, after))


def _lines(before: Any, after: Any) -> Iterator[str]:
    found = difflib.unified_diff(_text(before), _text(after), n=CONTEXT, lineterm="")
    for number, line in enumerate(found):
        if number > 1 and not line.startswith("@@"):  # the first two are file names
            yield line


def _text(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.splitlines()
    return export.text(value).splitlines() if value not in ([], {}, None) else []


def _printable(line: str) -> str:
    """Return an untrusted line with non-printable characters escaped."""
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in line)
