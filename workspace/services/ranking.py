"""Rows of several kinds in one ranked list, whatever the database: each text is read once, Python does the rest."""

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

WEIGHTS = (12, 6, 2, 2)  # of a word by where it stands first: in the title, the description, a longer text
OPEN, FINISHED = 4, 3  # what a row's words count by: what is over comes lower, but stays above a step in WEIGHTS

# Together they bound what one search may cost: that none of the words is in 2,500 documents of 24 kB is told in less
# than a second.
MOST_WORDS = 8
MOST_ROWS = 2_000  # of each kind, those updated last
MOST_CHARACTERS = 30_000  # of each text, from its beginning

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


@dataclass(frozen=True, slots=True)
class Sighting:
    """A row that has at least one of the words."""

    row: dict[str, Any]  # its COLUMNS
    places: tuple[int, ...]  # the words, as bits, in each of its texts, the weightiest first
    weight: int  # OPEN or FINISHED

    @property
    def words(self) -> int:
        """Tell the words that it has anywhere, as bits."""
        return reduce(or_, self.places)

    @property
    def score(self) -> int:
        """Count each word where it weighs most."""
        total = seen = 0
        for weight, words in zip(WEIGHTS, self.places, strict=False):
            total += weight * (words & ~seen).bit_count()
            seen |= words
        return total * self.weight


@dataclass(frozen=True, slots=True)
class Look:
    """What a look through the rows of all kinds has seen: the rows with a word, and the kinds that have more rows."""

    sightings: list[Sighting]
    cut: list[Kind]


def look(kinds: Iterable[Kind], *, subject: str, project_id: str | None, words: Sequence[str]) -> Look:
    """Look for words in the MOST_ROWS rows of each kind that a subject sees and that were updated last.

    Costs one query a kind, which reads each text once, whichever of the words it has.
    """
    seen = Look(sightings=[], cut=[])
    for kind in kinds:
        rows = list(_rows(kind, subject=subject, project_id=project_id, words=words)[: MOST_ROWS + 1])
        seen.sightings.extend(_sightings(rows[:MOST_ROWS], kind))
        if len(rows) > MOST_ROWS:
            seen.cut.append(kind)
    return seen


def best(sightings: Iterable[Sighting], *, words: Sequence[str], all_words: bool, limit: int) -> tuple[list[Hit], int]:
    """Return the best rows and how many there are.

    With `all_words` a row has every word in any of its texts, else at least one. Ties go to the newest update.
    """
    every = (1 << len(words)) - 1
    wanted = [each for each in sightings if not all_words or each.words == every]
    wanted.sort(key=lambda each: (each.score, each.row["found_at"], each.row["pk"]), reverse=True)
    return [_ranked(each, words) for each in wanted[:limit]], len(wanted)


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
