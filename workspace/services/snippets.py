"""Snippets of text around search matches."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from workspace.kinds import KINDS
from workspace.services.matching import folded
from workspace.services.ranking import Hit

LENGTH = 160  # characters
BEFORE = 40  # characters before the matched word


def of_hits(hits: Iterable[Hit]) -> dict[UUID, str]:
    """Return a snippet for each hit that has text, with one query per type."""
    by_kind: dict[str, dict[UUID, Hit]] = {}
    for hit in hits:
        by_kind.setdefault(hit.kind, {})[hit.id] = hit
    found = {}
    for name, of_kind in by_kind.items():
        kind = KINDS[name]
        for id, *texts in kind.rows().filter(pk__in=of_kind).values_list("pk", *kind.texts):
            found[id] = snippet(texts, of_kind[id].matched)
    return {id: text for id, text in found.items() if text}


def snippet(texts: Sequence[str], words: Sequence[str]) -> str:
    """Return the text around the first match in the texts, or the beginning of the first text without a match.

    Collapses white space. An ellipsis marks where the text continues.
    """
    for text in texts:
        there = folded(text)
        places = [place for word in words if (place := there.find(folded(word))) >= 0]
        if places:
            return _cut(text, max(0, min(places) - BEFORE))
    return next((_cut(text, 0) for text in texts if text.strip()), "")


def _cut(text: str, start: int) -> str:
    end = start + LENGTH
    shown = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{shown}{'…' if end < len(text) else ''}"
