"""Ranked search over rows of several types. The database reads each text once; Python does the ranking."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.db.models import CharField, F, Q, QuerySet, Value
from django.db.models.functions import Left

from workspace.entity_types import PROJECT, EntityType
from workspace.services.search.search import WordsIn

WEIGHTS = (12, 6, 2, 2)  # of a word by the first column that has it: title, description, longer texts
UNFINISHED, FINISHED = 4, 3  # factors by state: finished rows rank lower, but by less than a step in WEIGHTS

# Together they bound the cost of a search: one without a match in 2,500 documents of 24 kB takes less than a second.
MAX_WORDS = 8
MAX_ROWS = 2_000  # of each type, the most recently updated
MAX_CHARACTERS = 30_000  # of each text, from its beginning

HIT_COLUMNS = ("pk", "found_kind", "found_title", "found_project", "found_project_name", "found_at")


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A search result: `score` from 0 to 1, and the words of the query that it matches."""

    kind: str
    id: UUID
    title: str
    project_id: UUID
    project_name: str
    score: float
    matched: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WordMatch:
    """A row that matches at least one word."""

    row: dict[str, Any]  # its HIT_COLUMNS
    word_masks: tuple[int, ...]  # a bit mask of words for each text, highest weight first
    weight: int  # UNFINISHED or FINISHED

    @property
    def word_mask(self) -> int:
        """The bit mask of the words in any of its texts."""
        return reduce(or_, self.word_masks)

    def keep_words(self, mask: int) -> "WordMatch":
        """Return the match with only the words of a bit mask."""
        return replace(self, word_masks=tuple(words & mask for words in self.word_masks))

    @property
    def score(self) -> int:
        """The sum of the word weights. Each word counts once, where it weighs most."""
        total = seen = 0
        for weight, words in zip(WEIGHTS, self.word_masks, strict=False):
            total += weight * (words & ~seen).bit_count()
            seen |= words
        return total * self.weight


@dataclass(frozen=True, slots=True)
class ScanResult:
    """The rows that match a word, and the types with more rows than were searched."""

    matches: list[WordMatch]
    cut_kinds: list[EntityType]


def scan_rows(kinds: Iterable[EntityType], *, subject: str, project_id: str | None, words: Sequence[str]) -> ScanResult:
    """Search the MAX_ROWS most recently updated rows of each type that the subject can see.

    Takes one query per type, which reads each text once.
    """
    result = ScanResult(matches=[], cut_kinds=[])
    for kind in kinds:
        rows = list(_query_word_matches(kind, subject=subject, project_id=project_id, words=words)[: MAX_ROWS + 1])
        result.matches.extend(_iter_matches(rows[:MAX_ROWS], kind))
        if len(rows) > MAX_ROWS:
            result.cut_kinds.append(kind)
    return result


def rank_matches(
    matches: Iterable[WordMatch], *, words: Sequence[str], wanted: Sequence[str], all_words: bool, limit: int
) -> tuple[list[SearchHit], int]:
    """Return the best `limit` rows and the number of all matching rows.

    Of the `words` that were searched, only the `wanted` ones count. With `all_words` a row must have each of them, in
    any of its texts; otherwise one is enough. Ties sort by the newest update.
    """
    wanted_mask = sum(1 << index for index, word in enumerate(words) if word in wanted)
    counted = [match.keep_words(wanted_mask) for match in matches]
    selected = [match for match in counted if (match.word_mask == wanted_mask if all_words else match.word_mask)]
    selected.sort(key=lambda match: (match.score, match.row["found_at"], match.row["pk"]), reverse=True)
    return [_score_match(match, words, len(wanted)) for match in selected[:limit]], len(selected)


def query_visible_rows(kind: EntityType, *, subject: str, project_id: str | None) -> QuerySet[Any]:
    """Return the visible rows of a type, in one project or in all, annotated with HIT_COLUMNS."""
    queryset = kind.get_rows().visible_to(subject)
    if project_id is not None:
        queryset = queryset.filter(**{"pk" if kind is PROJECT else "project_id": project_id})
    return queryset.annotate(
        found_kind=Value(kind.name, output_field=CharField()),
        found_title=F(kind.label),
        found_project=F("pk" if kind is PROJECT else "project_id"),
        found_project_name=F("name" if kind is PROJECT else "project__name"),
        found_at=F("updated_at"),
    )


def union_all(parts: Sequence[QuerySet[Any]]) -> QuerySet[Any]:
    """Return the union of the querysets."""
    return parts[0].union(*parts[1:], all=True) if len(parts) > 1 else parts[0]


def get_text_columns(kind: EntityType) -> tuple[str, ...]:
    """Return the names of the searched columns, highest weight first."""
    return (kind.label, *kind.texts)


def _query_word_matches(
    kind: EntityType, *, subject: str, project_id: str | None, words: Sequence[str]
) -> QuerySet[Any]:
    queryset = query_visible_rows(kind, subject=subject, project_id=project_id)
    word_masks = {
        f"words_in_{column}": WordsIn(Left(column, MAX_CHARACTERS), words) for column in get_text_columns(kind)
    }
    is_finished = Q(state_key__in=kind.final_states) if kind.final_states else Value(False)
    newest: QuerySet[Any] = queryset.annotate(found_over=is_finished, **word_masks).order_by("-updated_at", "-pk")
    return newest.values(*HIT_COLUMNS, "found_over", *word_masks)


def _iter_matches(rows: Iterable[dict[str, Any]], kind: EntityType) -> Iterator[WordMatch]:
    names = [f"words_in_{column}" for column in get_text_columns(kind)]
    for row in rows:
        words = tuple(row[name] for name in names)
        if any(words):
            yield WordMatch(row=row, word_masks=words, weight=FINISHED if row["found_over"] else UNFINISHED)


def _score_match(match: WordMatch, words: Sequence[str], wanted_count: int) -> SearchHit:
    max_score = WEIGHTS[0] * UNFINISHED * wanted_count
    matched = tuple(word for index, word in enumerate(words) if match.word_mask >> index & 1)
    return build_hit(match.row, score=match.score / max_score, matched=matched)


def build_hit(row: dict[str, Any], *, score: float, matched: tuple[str, ...]) -> SearchHit:
    """Return a row with HIT_COLUMNS as a search hit."""
    return SearchHit(
        kind=row["found_kind"],
        id=row["pk"],
        title=row["found_title"],
        project_id=row["found_project"],
        project_name=row["found_project_name"],
        score=score,
        matched=matched,
    )
