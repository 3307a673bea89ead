"""What blocks publishing a draft, as the review shows it and publishing refuses it."""

from collections.abc import Iterable

from core.text import json_text
from registry import checks
from registry.checks import Finding
from registry.snapshot.diff import CopyChange
from registry.snapshot.entries import Snapshot

_sound_hashes: dict[str, str] = {}  # op -> hash of its entry when nothing blocked it


def find_problems(
    content: Snapshot, *, canonical_text: str | None = None, changes: Iterable[CopyChange] = ()
) -> list[Finding]:
    """Return the blocking findings of a snapshot (see `checks.find_errors`).

    An op without problems is checked by itself again only after it has changed: most of a large draft stays the same
    between two looks at the review, and until it is published.
    """
    global _sound_hashes
    hashes = {op["op"]: json_text.try_digest(op) for op in content["ops"]}
    sound = {name for name, digest in hashes.items() if digest and _sound_hashes.get(name) == digest}
    problems = checks.find_errors(content, canonical_text=canonical_text, valid_paths=sound, changes=changes)
    blocked = {finding.op for finding in problems}
    _sound_hashes = {name: digest for name, digest in hashes.items() if name not in blocked}
    return problems
