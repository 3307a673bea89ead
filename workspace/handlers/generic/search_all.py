"""Search all kinds of rows, with snippets, by trigrams on PostgreSQL.

A title matches a word if it has at least half of the word's trigrams: its runs of three characters, including a space
on either side. The comparison runs in Python, so that every database gives the same results.
"""

import re
from collections.abc import Iterable, Sequence, Set
from datetime import date, datetime
from typing import Any
from uuid import UUID

from core.handler_contract import OpOutcome, OpRequest
from workspace.entity_types import ENTITY_TYPE_BY_NAME, EntityType
from workspace.services import access
from workspace.services.entities import pagination, serialization
from workspace.services.search import ranking, search
from workspace.services.search.ranking import SearchHit
from workspace.services.search.search import fold_case
from workspace.services.time import times

STATE = "state_key"
FACTS = (STATE, "due_at", "target_date", "end_date", "end_at")  # of a row, besides its title
SNIPPET_LENGTH = 160  # characters
CONTEXT_BEFORE = 40  # characters before the matched word
MAX_TITLES = 2_000  # the most recently updated; comparing them takes less than 250 ms
MIN_SHARE = 0.5  # the share of a word's trigrams that a title must have
_BETWEEN_WORDS = re.compile(r"[\W_]+")
WITH_ALL_WORDS = "{shown} of {total} rows with every word, best first."
WITH_ANY_WORD = "No row has every word. {shown} of {total} rows with any of them, best first; see matched for which."
SIMILAR_TITLES = "No row has any of the words. {shown} of {total} rows with similar titles, closest first."
SEARCH_LIMITED = "Searched only the {most:,} most recently updated {plural}; {path} finds older ones."
NO_MATCHES = "No row has any of the words or a similar title. Try other words, or list the rows."


def load_shown_fields(hits: Iterable[SearchHit]) -> dict[UUID, dict[str, Any]]:
    """Return the state, the date and a snippet of each hit, as far as it has them, with one query per type."""
    by_kind: dict[str, dict[UUID, SearchHit]] = {}
    for hit in hits:
        by_kind.setdefault(hit.kind, {})[hit.id] = hit
    shown = {}
    for name, hits_by_id in by_kind.items():
        kind = ENTITY_TYPE_BY_NAME[name]
        facts = [column for column in FACTS if column in kind.columns]
        for row in kind.get_rows().filter(pk__in=hits_by_id).values("pk", *kind.texts, *facts):
            snippet = build_snippet([row[column] for column in kind.texts], hits_by_id[row["pk"]].matched)
            dates = {column: row[column] for column in facts if column != STATE}
            shown[row["pk"]] = {
                STATE: row.get(STATE) or None,
                **{column: _format_date(value) for column, value in dates.items()},
                "snippet": snippet or None,
            }
    return shown


def _format_date(value: date | None) -> str | None:
    return times.format_time(value) if isinstance(value, datetime) else value.isoformat() if value else None


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


def find_similar_titles(
    kinds: Iterable[EntityType], *, subject: str, project_id: str | None, words: Sequence[str], limit: int
) -> tuple[list[SearchHit], int]:
    """Return the rows with the most similar titles, and the number of all similar rows, in one query."""
    trigrams_by_word = [(word, grams) for word in words if (grams := extract_trigrams(word))]
    if not trigrams_by_word:
        return [], 0
    parts = [
        ranking.query_visible_rows(kind, subject=subject, project_id=project_id).values(*ranking.HIT_COLUMNS)
        for kind in kinds
    ]
    hits = []
    for row in ranking.union_all(parts).order_by("-found_at", "-pk")[:MAX_TITLES]:
        matches = get_trigram_shares(trigrams_by_word, row["found_title"])
        if matches:
            score = sum(matches.values()) / len(words)
            hits.append(ranking.build_hit(row, score=score, matched=tuple(matches)))
    hits.sort(key=lambda hit: -hit.score)  # stable sort: ties stay in order of their update
    return hits[:limit], len(hits)


def get_trigram_shares(trigrams_by_word: Iterable[tuple[str, Set[str]]], title: str) -> dict[str, float]:
    """Return the share of trigrams found in the title, for each word that is similar enough."""
    title_trigrams = extract_trigrams(title)
    shares_by_word = {word: len(grams & title_trigrams) / len(grams) for word, grams in trigrams_by_word}
    return {word: share for word, share in shares_by_word.items() if share >= MIN_SHARE}


def extract_trigrams(text: str) -> set[str]:
    """Return the trigrams of a text. Empty if it has neither letters nor digits."""
    spaced = _BETWEEN_WORDS.sub(" ", f" {text.casefold()} ")
    return {spaced[at : at + 3] for at in range(len(spaced) - 2)}


def search_all_kinds(request: OpRequest) -> OpOutcome:
    """Return the best rows of the requested kinds: with all words, else with any, else with a similar title.

    Raises NotFound for its project_id, InvalidArgs.
    """
    words, warnings = _parse_words(request.args["query"])
    types = request.args.get("types") or list(ENTITY_TYPE_BY_NAME)
    kinds = [kind for name, kind in ENTITY_TYPE_BY_NAME.items() if name in types]
    hits, total, template, cut_warnings = _search_in_stages(request, kinds, words)
    project_id = request.args.get("project_id")
    if project_id is not None and not total:  # a match already proves that the project is visible
        access.require_project(subject=request.subject, id=project_id)
    message = template.format(shown=len(hits), total=total) + _suggest_ops(hits)
    shown = load_shown_fields(hits)
    rows, shared = serialization.take_out_project([_serialize_hit(hit, shown.get(hit.id, {})) for hit in hits])
    result = {
        **shared,
        "results": rows,
        "total": total,
        "has_more": total > len(hits),
        "message": message,
    }
    return OpOutcome(result=result, warnings=(*warnings, *cut_warnings))


def _parse_words(query: str) -> tuple[list[str], tuple[str, ...]]:
    words = search.split_required_words(query)
    if len(words) <= ranking.MAX_WORDS:
        return words, ()
    words = search.leave_out_stop_words(words)
    too_many = len(words) > ranking.MAX_WORDS
    warning = f"Searched for only the first {ranking.MAX_WORDS} words of query."
    return words[: ranking.MAX_WORDS], ((warning,) if too_many else ())


def _search_in_stages(
    request: OpRequest, kinds: Sequence[EntityType], words: list[str]
) -> tuple[list[SearchHit], int, str, tuple[str, ...]]:
    limit = min(request.args.get("limit", pagination.DEFAULT_LIMIT), pagination.MAX_LIMIT)
    project_id, subject = request.args.get("project_id"), request.subject
    candidates = ranking.scan_rows(kinds, subject=subject, project_id=project_id, words=words)
    cut_warnings = tuple(
        SEARCH_LIMITED.format(most=ranking.MAX_ROWS, plural=kind.plural, path=kind.get_op_path("search"))
        for kind in candidates.cut_kinds
    )
    telling = search.leave_out_stop_words(words)
    for wanted, all_words, template in (
        (words, True, WITH_ALL_WORDS),
        (telling, True, WITH_ALL_WORDS),
        (telling, False, WITH_ANY_WORD),
    ):
        hits, total = ranking.rank_matches(
            candidates.matches, words=words, wanted=wanted, all_words=all_words, limit=limit
        )
        if hits:
            return hits, total, template, cut_warnings
    hits, total = find_similar_titles(kinds, subject=subject, project_id=project_id, words=words, limit=limit)
    return hits, total, SIMILAR_TITLES if hits else NO_MATCHES, cut_warnings


def _suggest_ops(hits: Sequence[SearchHit]) -> str:
    kinds = dict.fromkeys(hit.kind for hit in hits)
    ops = ", ".join(ENTITY_TYPE_BY_NAME[kind].get_op_path("get") for kind in kinds)
    return f" Complete rows: {ops}." if ops else ""


def _serialize_hit(hit: SearchHit, shown: dict[str, Any]) -> dict[str, Any]:
    row = {
        "type": hit.kind,
        "id": str(hit.id),
        "project_id": str(hit.project_id),
        "project_name": hit.project_name,
        "title": hit.title,
        **shown,
        "matched": list(hit.matched),
        "score": round(hit.score, 2),
    }
    return {name: value for name, value in row.items() if value is not None}
