"""Rows of several kinds in one ranked list, whatever the database: one UNION, ordered by where the words stand."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any
from uuid import UUID

from django.db.models import Case, CharField, F, IntegerField, QuerySet, Value, When
from django.db.models.expressions import Combinable

from workspace.kinds import PROJECT, Kind
from workspace.services import search

WEIGHTS = (12, 6, 2)  # of a word by where it stands first: in the title, the description, the content
OPEN, FINISHED = 4, 3  # what a row's words count by: what is over comes lower, but stays above a step in WEIGHTS

MOST_WORDS = 16  # each costs a look into every text; the words of a row travel as bits of one integer

COLUMNS = ("pk", "found_kind", "found_title", "found_project", "found_project_name", "found_at")


@dataclass(frozen=True, slots=True)
class Hit:
    """A row that was found: `score` from 0 to 1, and which words of the query it has."""

    kind: str
    id: UUID
    title: str
    project_id: UUID
    project_name: str
    score: float
    matched: tuple[str, ...]


def find(
    kinds: Iterable[Kind], *, subject: str, project_id: str | None, words: Sequence[str], all_words: bool, limit: int
) -> tuple[list[Hit], int]:
    """Return the best rows that a subject sees and how many there are, in two queries, or one where all are returned.

    With `all_words` a row has every word in any of its texts, else at least one. Ties go to the newest update.
    """
    wanted = search.all_of if all_words else search.any_of
    parts = [
        visible(kind, subject=subject, project_id=project_id)
        .filter(wanted(list(words), columns=places(kind)))
        .annotate(found_score=_score(kind, words), found_words=_bits(kind, words))
        .values(*COLUMNS, "found_score", "found_words")
        for kind in kinds
    ]
    found = together(parts)
    rows = list(found.order_by("-found_score", "-found_at", "-pk")[: limit + 1])
    total = len(rows) if len(rows) <= limit else found.count()
    return [_ranked(row, words) for row in rows[:limit]], total


def visible(kind: Kind, *, subject: str, project_id: str | None) -> QuerySet[Any]:
    """Return a kind's rows that a subject sees, in one project or in all, with the columns that all kinds share."""
    found = kind.rows().visible_to(subject)
    if project_id is not None:
        found = found.filter(**{"pk" if kind is PROJECT else "project_id": project_id})
    return found.annotate(
        found_kind=Value(kind.name, output_field=CharField()),
        found_title=F(kind.label),
        found_project=F("pk" if kind is PROJECT else "project_id"),
        found_project_name=F("name" if kind is PROJECT else "project__name"),
        found_at=F("updated_at"),
    )


def together(parts: Sequence[QuerySet[Any]]) -> QuerySet[Any]:
    """Return the rows of all parts as one."""
    return parts[0].union(*parts[1:], all=True) if len(parts) > 1 else parts[0]


def places(kind: Kind) -> tuple[str, ...]:
    """Name the columns that words are looked for in, the weightiest first."""
    return (kind.label, *kind.texts)


def _score(kind: Kind, words: Sequence[str]) -> Combinable:
    """Each word counts where it weighs most."""
    total = reduce(add, (_weight(kind, word) for word in words))
    return total * Case(When(state_key__in=kind.finished, then=FINISHED), default=OPEN, output_field=IntegerField())


def _weight(kind: Kind, word: str) -> Combinable:
    found = [
        When(search.any_of([word], columns=(column,)), then=weight)
        for column, weight in zip(places(kind), WEIGHTS, strict=False)
    ]
    return Case(*found, default=0, output_field=IntegerField())


def _bits(kind: Kind, words: Sequence[str]) -> Combinable:
    has = [When(search.any_of([word], columns=places(kind)), then=1 << index) for index, word in enumerate(words)]
    return reduce(add, (Case(each, default=0, output_field=IntegerField()) for each in has))


def _ranked(row: dict[str, Any], words: Sequence[str]) -> Hit:
    best = WEIGHTS[0] * OPEN * len(words)
    matched = tuple(word for index, word in enumerate(words) if row["found_words"] >> index & 1)
    return hit(row, score=row["found_score"] / best, matched=matched)


def hit(row: dict[str, Any], *, score: float, matched: tuple[str, ...]) -> Hit:
    """Return a row with COLUMNS as a hit."""
    return Hit(
        kind=row["found_kind"],
        id=row["pk"],
        title=row["found_title"],
        project_id=row["found_project"],
        project_name=row["found_project_name"],
        score=score,
        matched=matched,
    )
