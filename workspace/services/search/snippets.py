"""Snippets of text around search matches."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from workspace.entity_types import ENTITY_TYPE_BY_NAME
from workspace.services.search.matching import fold_case
from workspace.services.search.ranking import SearchHit

SNIPPET_LENGTH = 160  # characters
CONTEXT_BEFORE = 40  # characters before the matched word


def build_snippets(hits: Iterable[SearchHit]) -> dict[UUID, str]:
    """Return a snippet for each hit that has text, with one query per type."""
    by_kind: dict[str, dict[UUID, SearchHit]] = {}
    for hit in hits:
        by_kind.setdefault(hit.kind, {})[hit.id] = hit
    snippets = {}
    for name, hits_by_id in by_kind.items():
        kind = ENTITY_TYPE_BY_NAME[name]
        for id, *texts in kind.get_rows().filter(pk__in=hits_by_id).values_list("pk", *kind.texts):
            snippets[id] = build_snippet(texts, hits_by_id[id].matched)
    return {id: text for id, text in snippets.items() if text}


def build_snippet(texts: Sequence[str], words: Sequence[str]) -> str:
    """Return the text around the first match in the texts, or the beginning of the first text without a match.

    Collapses white space. An ellipsis marks where the text continues.
    """
    for text in texts:
        folded_text = fold_case(text)
        positions = [position for word in words if (position := folded_text.find(fold_case(word))) >= 0]
        if positions:
            return _extract(text, max(0, min(positions) - CONTEXT_BEFORE))
    return next((_extract(text, 0) for text in texts if text.strip()), "")


def _extract(text: str, start: int) -> str:
    end = start + SNIPPET_LENGTH
    shown = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{shown}{'…' if end < len(text) else ''}"
