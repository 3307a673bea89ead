"""Ranked search over rows of several types. The database reads each text once; Python does the ranking."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.db.models import CharField, F, Q, QuerySet, Value
from django.db.models.functions import Left

from workspace.kinds import PROJECT, Kind
from workspace.services.matching import WordsIn

WEIGHTS = (12, 6, 2, 2)  # of a word by the first column that has it: title, description, longer texts
OPEN, FINISHED = 4, 3  # factors by state: finished rows rank lower, but by less than a step in WEIGHTS

# Together they bound the cost of a search: one without a match in 2,500 documents of 24 kB takes less than a second.
MOST_WORDS = 8
MOST_ROWS = 2_000  # of each type, the most recently updated
MOST_CHARACTERS = 30_000  # of each text, from its beginning

COLUMNS = ("pk", "found_kind", "found_title", "found_project", "found_project_name", "found_at")


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result: `score` from 0 to 1, and the words of the query that it matches."""

    kind: str
    id: UUID
    title: str
    project_id: UUID
    project_name: str
    score: float
    matched: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sighting:
    """A row that matches at least one word."""

    row: dict[str, Any]  # its HIT_COLUMNS
    places: tuple[int, ...]  # a bit mask of words for each text, highest weight first
    weight: int  # UNFINISHED or FINISHED

    @property
    def words(self) -> int:
        """The bit mask of the words in any of its texts."""
        return reduce(or_, self.places)

    @property
    def score(self) -> int:
        """The sum of the word weights. Each word counts once, where it weighs most."""
        total = seen = 0
        for weight, words in zip(WEIGHTS, self.places, strict=False):
            total += weight * (words & ~seen).bit_count()
            seen |= words
        return total * self.weight


@dataclass(frozen=True, slots=True)
class Look:
    """The rows that match a word, and the types with more rows than were searched."""

    sightings: list[Sighting]
    cut: list[Kind]


def look(kinds: Iterable[Kind], *, subject: str, project_id: str | None, words: Sequence[str]) -> Look:
    """Search the MAX_ROWS most recently updated rows of each type that the subject can see.

    Takes one query per type, which reads each text once.
    """
    seen = Look(sightings=[], cut=[])
    for kind in kinds:
        rows = list(_rows(kind, subject=subject, project_id=project_id, words=words)[: MOST_ROWS + 1])
        seen.sightings.extend(_sightings(rows[:MOST_ROWS], kind))
        if len(rows) > MOST_ROWS:
            seen.cut.append(kind)
    return seen


def best(sightings: Iterable[Sighting], *, words: Sequence[str], all_words: bool, limit: int) -> tuple[list[Hit], int]:
    """Return the best `limit` rows and the number of all matching rows.

    With `all_words` a row must have every word, in any of its texts; otherwise one word is enough. Ties sort by the
    newest update.
    """
    every = (1 << len(words)) - 1
    wanted = [each for each in sightings if not all_words or each.words == every]
    wanted.sort(key=lambda each: (each.score, each.row["found_at"], each.row["pk"]), reverse=True)
    return [_ranked(each, words) for each in wanted[:limit]], len(wanted)


def visible(kind: Kind, *, subject: str, project_id: str | None) -> QuerySet[Any]:
    """Return the visible rows of a type, in one project or in all, annotated with HIT_COLUMNS."""
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
    """Return the union of the querysets."""
    return parts[0].union(*parts[1:], all=True) if len(parts) > 1 else parts[0]


def places(kind: Kind) -> tuple[str, ...]:
    """Return the names of the searched columns, highest weight first."""
    return (kind.label, *kind.texts)


def _rows(kind: Kind, *, subject: str, project_id: str | None, words: Sequence[str]) -> QuerySet[Any]:
    found = visible(kind, subject=subject, project_id=project_id)
    told = {f"words_in_{column}": WordsIn(Left(column, MOST_CHARACTERS), words) for column in places(kind)}
    over = Q(state_key__in=kind.finished) if kind.finished else Value(False)
    newest: QuerySet[Any] = found.annotate(found_over=over, **told).order_by("-updated_at", "-pk")
    return newest.values(*COLUMNS, "found_over", *told)


def _sightings(rows: Iterable[dict[str, Any]], kind: Kind) -> Iterator[Sighting]:
    names = [f"words_in_{column}" for column in places(kind)]
    for row in rows:
        words = tuple(row[name] for name in names)
        if any(words):
            yield Sighting(row=row, places=words, weight=FINISHED if row["found_over"] else OPEN)


def _ranked(found: Sighting, words: Sequence[str]) -> Hit:
    best = WEIGHTS[0] * OPEN * len(words)
    matched = tuple(word for index, word in enumerate(words) if found.words >> index & 1)
    return hit(found.row, score=found.score / best, matched=matched)


def hit(row: dict[str, Any], *, score: float, matched: tuple[str, ...]) -> Hit:
    """Return a row with HIT_COLUMNS as a search hit."""
    return Hit(
        kind=row["found_kind"],
        id=row["pk"],
        title=row["found_title"],
        project_id=row["found_project"],
        project_name=row["found_project_name"],
        score=score,
        matched=matched,
    )
